// The graph: the values of the page as objects, the shortest way to each state, and what a state is called.

const VALUES = JSON.parse(document.getElementById("values").textContent);

const TOLD = VALUES.told.map(([kind, subject, fault, outcome, refused, because, moves, effects, renamed], number) => ({
  number, kind, subject, fault, outcome, refused: refused === 1, because, moves, effects,
  places: renamed?.[0], renamed: renamed?.[1] ?? [],
}));

const STATES = VALUES.states.map(([cases, cards, found], number) => ({
  number,
  cases: cases.map(([name, account, is]) => ({ name, account, is })),
  cards: cards.map((each) => {
    const [of, status, facts] = VALUES.cards[each];
    return { of, status, facts };
  }),
  found,
  expanded: number < VALUES.steps.length,
}));

/** How many cases and accounts there are decides whether a card says to which it belongs. */
const MOST_CASES = Math.max(...STATES.map((state) => state.cases.length));
const MOST_ACCOUNTS = new Set(STATES.flatMap((state) => state.cases.map(({ account }) => account))).size;

const OPEN = new Set(VALUES.machine.rows.map(([from]) => from));

/** The steps that leave a state: each with its place, what is told of it, and the state that it leads to. */
function stepsOf(number) {
  const flat = VALUES.steps[number] ?? [];
  const steps = [];
  for (let place = 0; 2 * place < flat.length; place += 1) {
    steps.push({ place, told: TOLD[flat[2 * place]], end: flat[2 * place + 1] });
  }
  return steps;
}

/** The end of one step, or nothing where there is no such step. */
const endOf = (number, place) => VALUES.steps[number]?.[2 * place + 1];
const toldOf = (number, place) => TOLD[VALUES.steps[number][2 * place]];

// How each state is reached first; states stand in the order in which they were found.
const CAME = [null];
const DEPTH = [0];
VALUES.steps.forEach((flat, number) => {
  for (let place = 0; 2 * place < flat.length; place += 1) {
    const end = flat[2 * place + 1];
    if (CAME[end] === undefined) {
      CAME[end] = { from: number, place };
      DEPTH[end] = DEPTH[number] + 1;
    }
  }
});

function shortestWay(number) {
  const places = [];
  for (let here = number; CAME[here]; here = CAME[here].from) places.unshift(CAME[here].place);
  return places;
}

// ---- In words

const caseName = ({ name, account }) => (MOST_ACCOUNTS > 1 ? `${name} of ${account}` : name);

const factsOf = (card, state) => [...(MOST_CASES > 1 ? [`of ${state.cases[card.of].name}`] : []), ...card.facts];

function stateWords(number) {
  const state = STATES[number];
  if (!state.cases.length) return "nothing is there yet";
  const cases = state.cases.map((each) => `${caseName(each)} ${each.is}`);
  const cards = state.cards.map((card, place) => `card ${place + 1} ${[card.status, ...factsOf(card, state)].join(", ")}`);
  return [...cases, ...cards].join("; ");
}

/** What matters most in a state, for its colour. */
function moodOf(number) {
  const statuses = STATES[number].cards.map((card) => card.status);
  if (!statuses.length) return "empty";
  if (statuses.includes("resolving")) return "flight";
  return statuses.some((status) => OPEN.has(status)) ? "waiting" : "ended";
}

function stepName(told) {
  return `${told.kind}${told.subject ? ` · ${told.subject}` : ""}${told.fault ? `, and ${told.fault}` : ""}`;
}

const counted = (number, thing) => `${number} ${thing}${number === 1 ? "" : "s"}`;
