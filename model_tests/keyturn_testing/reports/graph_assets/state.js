// The state, what can happen in it, the path so far, and what must hold: what is shown anew with every step.

const LONGEST_PATH_SHOWN = 400;

const shown = { faults: false, step: null };

// ---- The state

function showState() {
  const number = here();
  const state = STATES[number];
  const ways = new Set(stepsOf(number).map(({ end }) => end));
  ways.delete(number);
  fill("state-title", `State ${number}`, el("span", { class: "faint" }, ` of ${STATES.length}`));
  const facts = [
    `${counted(DEPTH[number], "step")} from the beginning`,
    state.expanded ? `${counted(ways.size, "state")} one step on` : "not looked beyond: the exploration ended first",
    ...state.cases.map((each) => `${caseName(each)} is ${each.is}`),
  ];
  fill("arrived", facts.map((fact) => el("span", { class: "chip" }, fact)));
  const histories = historyOfCards();
  const cards = state.cards.map((card, place) => cardShown(card, place, histories[place] ?? [], state));
  fill("cards", cards.length ? cards : el("p", { class: "empty" }, state.cases.length ? "No card was presented yet." : "Nothing is there yet: no case, and no card."));
  byId("found").textContent = number ? `Found first with ${state.found}.` : "";
}

function cardShown(card, place, went, state) {
  return el("article", { class: "card", "aria-label": `card ${place + 1}` },
    el("header", {}, el("h3", {}, `card ${place + 1}`), el("span", { class: `status ${OPEN.has(card.status) ? card.status : "over"}` }, card.status)),
    el("ul", { class: "facts" }, factsOf(card, state).map((fact) => el("li", {}, fact))),
    machineOf(card, place, went));
}

// ---- What can happen

const KINDS = [
  ["leads", "Leads on", "Nothing leads on from here.", ({ told, end }) => !told.refused && end !== here()],
  ["refused", "Refused", "Nothing is refused here.", ({ told }) => told.refused],
  ["stays", "Changes nothing", "Everything here changes something.", ({ told, end }) => !told.refused && end === here()],
];

/** The steps of a state by what they do; those that faults hit come last, and are only there when they are wanted. */
function groupsHere() {
  const steps = stepsOf(here());
  return KINDS.map(([kind, title, none, is]) => {
    const all = steps.filter(is).sort((one, other) => (one.told.fault !== "") - (other.told.fault !== ""));
    const plain = all.filter(({ told }) => !told.fault);
    return { kind, title, none, steps: shown.faults ? all : plain, hidden: shown.faults ? 0 : all.length - plain.length };
  });
}

function showActions() {
  if (shown.step && shown.step.of === here() && toldOf(here(), shown.step.place).fault) shown.faults = true;
  byId("faults").setAttribute("aria-pressed", String(shown.faults));
  if (!STATES[here()].expanded) {
    fill("actions", el("p", { class: "empty" }, `What can happen here is not known: the exploration ended at ${VALUES.stopped}.`));
    return;
  }
  const times = new Map();
  stepsOf(here()).forEach(({ told }) => times.set(stepName(told), (times.get(stepName(told)) ?? 0) + 1));
  let key = 0;
  fill("actions", groupsHere().map(({ kind, title, none, steps, hidden }) => {
    const alternatives = (step) => times.get(stepName(step.told));
    const rows = kind === "refused" ? refusalsShown(steps, alternatives)
      : steps.map((step) => actionShown(step, kind === "leads" && key < 9 ? (key += 1) : 0, alternatives(step)));
    const more = hidden ? button({ class: "more", onclick: toggleFaults }, `${hidden} more where a fault hits`) : "";
    return el("section", { class: `group ${kind}`, "aria-label": title },
      el("h3", {}, title, " ", el("span", { class: "count" }, String(steps.length))),
      rows.length ? el(kind === "refused" ? "div" : "ul", {}, rows) : hidden ? "" : el("p", { class: "empty" }, none), more);
  }));
}

/** What is refused for the same reasons stands together, with the reasons once. */
function refusalsShown(steps, alternatives) {
  const alike = new Map();
  for (const step of steps) {
    const reasons = `${step.told.outcome} ${step.told.because.join()}`;
    alike.set(reasons, [...(alike.get(reasons) ?? []), step]);
  }
  return [...alike.values()].map((same) => el("div", { class: "refusal", role: "group", "aria-label": same[0].told.outcome },
    el("h4", { class: "outcome" }, same[0].told.outcome),
    el("div", { class: "why" }, reasonsShown(same[0].told.because)),
    el("ul", {}, same.map((step) => actionShown(step, 0, alternatives(step))))));
}

const reasonsShown = (ids) => el("dl", {}, ids.map((id) => el("div", {}, el("dt", {}, id), el("dd", {}, VALUES.requirements[id] ?? ""))));

function actionShown({ place, told, end }, key, alternatives) {
  const stays = end === here();
  const next = walk.steps[walk.at] === place;
  const wanted = shown.step && shown.step.of === here() && shown.step.place === place;
  const row = button({ class: "take", "data-place": place, onclick: () => take(place) },
    el("kbd", { class: key ? "" : "none", "aria-hidden": "true" }, key ? String(key) : ""),
    el("span", { class: "name" }, stepName({ ...told, fault: "" }), told.fault ? el("span", { class: "fault" }, told.fault) : ""),
    told.refused ? "" : el("span", { class: "outcome" }, told.outcome),
    el("span", { class: "to" }, stays ? "stays" : `state ${end}`));
  return el("li", { class: `action${next ? " next" : ""}${wanted ? " wanted" : ""}` }, row, ...aboutStep(told, alternatives));
}

/** What happens on the way, who is who afterwards, and the requirements that demand it. */
function aboutStep(told, alternatives) {
  const happens = [
    ...told.moves.map(([card, from, event, to]) => `card ${card + 1}: ${from} → ${to} (${event})`),
    ...(told.effects ? [counted(told.effects, "effect")] : []),
    ...(told.renamed.length ? [told.renamed.join(", ")] : []), // interchangeable ones may have changed places
    ...(alternatives > 1 ? [`one of ${alternatives} that the contract admits`] : []),
  ];
  const why = told.because.length && !told.refused;
  return [
    happens.length ? el("p", { class: "happens" }, happens.join(" · ")) : "",
    why ? el("details", { class: "why" }, el("summary", {}, `why: ${told.because.join(", ")}`), reasonsShown(told.because)) : "",
  ];
}

function toggleFaults() {
  shown.faults = !shown.faults;
  shown.step = null;
  showActions();
}

// ---- The path

function showPath() {
  const states = statesAlong(walk.steps);
  const property = followed();
  const begins = property?.cycle.length ? walk.steps.length - property.cycle.length : -1;
  const entry = (count) => {
    const label = count ? stepName(toldOf(states[count - 1], walk.steps[count - 1])) : "the beginning";
    const outcome = count ? toldOf(states[count - 1], walk.steps[count - 1]).outcome : "";
    const round = count === begins ? el("span", { class: "round" }, "from here round and round") : "";
    return el("li", { class: count > walk.at ? "ahead" : "" },
      button({ "aria-current": count === walk.at ? "step" : false, onclick: () => goTo(walk.steps, count) },
        el("span", { class: "count" }, `${count}.`), el("span", { class: "name" }, label),
        el("span", { class: "faint" }, `${outcome ? `${outcome} → ` : ""}state ${states[count]}`)), round);
  };
  const from = Math.max(0, Math.min(walk.at - LONGEST_PATH_SHOWN / 2, states.length - LONGEST_PATH_SHOWN));
  fill("path", states.slice(from, from + LONGEST_PATH_SHOWN).map((_, place) => entry(from + place)));
  byId("following").hidden = !property;
  fill("following", property ? [
    property.status === "broken" ? "It breaks " : "It is the witness of ", el("strong", {}, property.name),
    `: step ${walk.at} of ${walk.steps.length}.`] : "");
  byId("first").disabled = byId("back").disabled = !canGoBack();
  byId("forward").disabled = !canGoOn();
}

// ---- What must hold

const SIGNS = { holds: "✓", broken: "✗", unknown: "?" };
const URGENT = ["broken", "unknown", "holds"]; // what is read first
const PROPERTIES = [...VALUES.properties].sort((one, other) => URGENT.indexOf(one.status) - URGENT.indexOf(other.status));
const LETTERS = /^([A-Z][\d.]*(?:, [A-Z][\d.]*)*): (.*)$/;

function showProperties() {
  const current = followed();
  fill("properties", PROPERTIES.map((each) => {
    const [, ids, says] = LETTERS.exec(each.name) ?? [null, "", each.name];
    const length = each.witness ? each.witness.length + each.cycle.length : 0;
    const way = each.status === "broken" ? "walk to where it breaks" : "walk the witness";
    const walks = each.witness ? button({
      class: "walk", title: way, "aria-pressed": String(each === current),
      "aria-label": `${way} of ${each.name}, ${counted(length, "step")}`, onclick: () => walkWitness(each),
    }, `▸ ${counted(length, "step")}`) : "";
    const name = [ids ? el("b", {}, `${ids} `) : "", says];
    return el("li", { class: each.status },
      el("span", { class: "sign", role: "img", "aria-label": each.status }, SIGNS[each.status]),
      each.because.length ? el("details", {}, el("summary", {}, name), el("div", { class: "why" }, reasonsShown(each.because))) : el("p", {}, name), walks);
  }));
}

function walkWitness(property) {
  follow(property);
  if (walk.steps.length) return;
  byId("following").hidden = false;
  fill("following", el("strong", {}, property.name), ": its witness has no steps, it is the beginning itself.");
}
