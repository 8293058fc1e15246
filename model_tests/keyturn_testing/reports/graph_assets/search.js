// Search: over the states by their words, and over the actions by what they are and what comes back.

const MOST_RESULTS = 60;

const INDEX = { words: null, actions: null };

const foldedWords = (text) => ` ${text.toLowerCase().replace(/[^\p{L}\p{N}_.]+/gu, " ")}`;

/** Made when somebody searches first: it looks at every step. */
function buildIndex() {
  INDEX.words = STATES.map(({ number }) => foldedWords(`state ${number} ${stateWords(number)}${STATES[number].expanded ? "" : " unexpanded"}`));
  const actions = new Map();
  VALUES.steps.forEach((_, number) => stepsOf(number).forEach(({ place, told, end }) => {
    const does = told.refused ? "refused" : end === number ? "changes nothing" : "leads on";
    const name = `${told.kind}${told.fault ? `, and ${told.fault}` : ""} → ${told.outcome}`;
    const key = `${name} ${does}`;
    const found = actions.get(key) ?? { name, does, first: { of: number, place }, states: new Set(), because: new Set(), fault: told.fault };
    found.states.add(number);
    told.because.forEach((id) => found.because.add(id));
    actions.set(key, found);
  }));
  INDEX.actions = [...actions.values()].sort((one, other) => (one.fault !== "") - (other.fault !== ""));
  INDEX.actions.forEach((each) => { each.words = foldedWords(`${each.name} ${each.does} ${[...each.because].join(" ")}`); });
}

function search(text) {
  const terms = foldedWords(text).trim().split(" ").filter((term) => term);
  if (!terms.length) return null;
  if (!INDEX.words) buildIndex();
  const fits = (words) => terms.every((term) => words.includes(` ${term}`));
  const ofNumber = /^(?:state )?(\d+)$/.exec(terms.join(" "));
  return {
    states: ofNumber ? STATES.map(({ number }) => number).filter((number) => number === Number(ofNumber[1]))
      : STATES.map(({ number }) => number).filter((number) => fits(INDEX.words[number])),
    actions: INDEX.actions.filter((each) => fits(each.words)),
  };
}

function showResults() {
  const found = search(byId("search").value);
  MAP.marks = new Set(found ? found.states : []);
  const results = (title, entries, shownAs) => entries.length ? [
    el("h3", {}, title, " ", el("span", { class: "count" }, String(entries.length))),
    el("ul", { class: "results" }, entries.slice(0, MOST_RESULTS).map((each) => el("li", {}, shownAs(each)))),
    entries.length > MOST_RESULTS ? el("p", { class: "faint" }, `and ${entries.length - MOST_RESULTS} more`) : "",
  ] : [];
  fill("results", found ? [
    results("States", found.states, (number) => button({ onclick: () => goToFound(number) },
      el("b", {}, `State ${number}`), el("span", {}, ` ${stateWords(number)}`))),
    results("Actions", found.actions, (each) => button({ onclick: () => goToAction(each.first) },
      el("b", {}, each.name), el("span", { class: "faint" }, ` ${each.does}, in ${counted(each.states.size, "state")}; first in state ${each.first.of}`))),
  ].flat() : []);
  byId("search-count").textContent = found
    ? `${counted(found.states.length, "state")}, ${counted(found.actions.length, "action")}`
    : "Words of states and of actions; all of them must fit.";
  showMap();
}

function goToFound(number) {
  goToState(number);
  showWhere();
}

/** The shortest way to a state in which an action is, and the action itself. */
function goToAction(step) {
  shown.step = step;
  goToState(step.of);
  byId("actions").querySelector(`[data-place="${step.place}"]`)?.focus();
}
