// The keyboard: every key is written down in the dialog that `?` opens.

const KEYS = [
  [["1", "…", "9"], "take an action that leads on", null],
  [["j"], "to the next action", () => moveFocus(1)],
  [["k"], "to the action before", () => moveFocus(-1)],
  [["Enter"], "take the action", null],
  [["←", "Backspace"], "one step back", goBack],
  [["→"], "one step on along the path", goOn],
  [["Home"], "to the beginning of the path", () => goTo(walk.steps, 0)],
  [["End"], "to the end of the path", () => goTo(walk.steps, walk.steps.length)],
  [["w"], "the next witness", () => nextWitness(1)],
  [["W"], "the witness before", () => nextWitness(-1)],
  [["f"], "show or hide what faults do", toggleFaults],
  [["/"], "search", () => byId("search").focus()],
  [["Esc"], "leave the search, close this", null],
  [["?"], "these keys", () => byId("keys").showModal()],
];

const NAMES = { ArrowLeft: "←", ArrowRight: "→" };

function moveFocus(by) {
  const rows = [...byId("actions").querySelectorAll(".take")];
  const place = rows.indexOf(document.activeElement);
  rows[place < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(Math.max(place + by, 0), rows.length - 1)]?.focus();
}

function nextWitness(by) {
  const all = PROPERTIES.filter((each) => each.witness);
  if (!all.length) return;
  const place = all.indexOf(followed());
  walkWitness(all[place < 0 ? (by > 0 ? 0 : all.length - 1) : (place + by + all.length) % all.length]);
}

function pressed(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || byId("keys").open) return;
  if (event.target.closest("input")) {
    if (event.key === "Escape") leaveSearch();
    return;
  }
  const name = NAMES[event.key] ?? event.key;
  const digit = /^[1-9]$/.test(name) ? groupsHere()[0].steps[Number(name) - 1] : undefined;
  const act = digit ? () => take(digit.place) : KEYS.find(([keys, , does]) => does && keys.includes(name))?.[2];
  if (!act) return;
  event.preventDefault();
  act();
}

function leaveSearch() {
  byId("search").value = "";
  showResults();
  byId("state-title").focus({ preventScroll: true });
}

function showKeys() {
  fill("keys-list", KEYS.map(([keys, says]) => el("div", {}, el("dt", {}, keys.map((key) => el("kbd", {}, key))), el("dd", {}, says))));
}
