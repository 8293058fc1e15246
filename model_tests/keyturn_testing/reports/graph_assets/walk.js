// The walk: the steps of the path, how far along it we are, and the address that says both.
//
// `#via=0.3&then=2&at=17` is a path of three steps, two of them walked; each number is the place of a step among those that leave
// its state. `at` is the state that is reached, so that an address of another graph is recognised.

const walk = { steps: [], at: 0, wrong: "", chosen: null };

/** The states along the path, the beginning first; they end where a step is not there. */
function statesAlong(steps) {
  const states = [0];
  for (const place of steps) {
    const end = endOf(states.at(-1), place);
    if (end === undefined) break;
    states.push(end);
  }
  return states;
}

const here = () => statesAlong(walk.steps)[walk.at];

// ---- The address

function addressOf({ steps, at }) {
  if (!steps.length) return "#";
  const parts = [];
  if (at > 0) parts.push(`via=${steps.slice(0, at).join(".")}`);
  if (at < steps.length) parts.push(`then=${steps.slice(at).join(".")}`);
  return `#${parts.join("&")}&at=${statesAlong(steps)[at]}`;
}

/** Read an address: a walk, or in `wrong` why it does not fit. */
function walkOf(fragment) {
  const bare = fragment.replace(/^#/, "");
  const nowhere = (wrong) => ({ steps: [], at: 0, wrong });
  if (!bare) return nowhere("");
  const found = /^(?:via=(\d+(?:\.\d+)*))?&?(?:then=(\d+(?:\.\d+)*))?&at=(\d+)$/.exec(bare);
  if (!found) return nowhere("it is no path");
  const [walked, ahead] = [found[1], found[2]].map((part) => (part ? part.split(".").map(Number) : []));
  const steps = [...walked, ...ahead];
  const states = statesAlong(steps);
  if (states.length <= steps.length) return nowhere(`step ${states.length} of its path is not there`);
  const reached = states[walked.length];
  if (reached !== Number(found[3])) return nowhere(`its path leads to state ${reached}, and not to state ${found[3]}`);
  return { steps, at: walked.length, wrong: "" };
}

/** Take the walk from the address, and show it. */
function restore() {
  Object.assign(walk, walkOf(location.hash));
  render();
}

/** Go on with another walk: it is a new entry of the browser's history. */
function goTo(steps, at) {
  const address = addressOf({ steps, at });
  const changes = address !== addressOf(walk) || walk.wrong;
  Object.assign(walk, { steps, at, wrong: "" });
  if (changes) history.pushState(null, "", address === "#" ? location.href.replace(/#.*$/, "") : address);
  render();
}

// ---- Moves

/** Take a step: along the path where it is the next one of it, and else as a new path from here. */
function take(place) {
  const goesOn = walk.steps[walk.at] === place;
  goTo(goesOn ? walk.steps : [...walk.steps.slice(0, walk.at), place], walk.at + 1);
  showWhere();
}

const canGoBack = () => walk.at > 0;
const canGoOn = () => walk.at < walk.steps.length || roundOf(followed()) > 0;

function goBack() {
  if (canGoBack()) goTo(walk.steps, walk.at - 1);
}

/** One step along the path; at the end of a cycle, round again. */
function goOn() {
  if (walk.at < walk.steps.length) goTo(walk.steps, walk.at + 1);
  else if (canGoOn()) goTo(walk.steps, walk.steps.length - roundOf(followed()) + 1);
}

const goToState = (number) => {
  const way = shortestWay(number);
  goTo(way, way.length);
};

// ---- Witnesses

/** The property whose witness the path is, whole; of several the one that was chosen. */
function followed() {
  if (!walk.steps.length) return undefined;
  const path = walk.steps.join(".");
  const several = VALUES.properties.filter((each) => each.witness && [...each.witness, ...each.cycle].join(".") === path);
  return several.find((each) => each === walk.chosen) ?? several.find((each) => each.status === "broken") ?? several[0];
}

const roundOf = (property) => property?.cycle.length ?? 0;

function follow(property) {
  walk.chosen = property;
  goTo([...property.witness, ...property.cycle], 0);
  showWhere();
}

// ---- What each card went through

/** The transitions of each card up to here; where names have changed, a card keeps what it went through. */
function historyOfCards() {
  const states = statesAlong(walk.steps);
  let histories = [];
  for (let count = 0; count < walk.at; count += 1) {
    const told = toldOf(states[count], walk.steps[count]);
    for (const [card, from, event, to] of told.moves) (histories[card] ??= []).push({ from, event, to });
    if (told.places) {
      const moved = [];
      told.places.forEach((to, from) => { moved[to] = histories[from]; });
      histories = moved;
    }
  }
  return histories;
}
