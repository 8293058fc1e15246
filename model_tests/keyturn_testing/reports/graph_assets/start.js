// The page as a whole: what never changes is shown once, and the rest whenever the walk has moved.

function say(text) {
  byId("said").textContent = text;
}

function showHead() {
  byId("about").textContent = `${VALUES.about}: ${VALUES.counts}`;
  const count = (status) => VALUES.properties.filter((each) => each.status === status).length;
  const [broken, unknown] = [count("broken"), count("unknown")];
  const verdict = broken ? ["broken", `${counted(broken, "property").replace("propertys", "properties")} broken`]
    : unknown ? ["unknown", `${unknown} of ${VALUES.properties.length} not known`]
      : ["holds", `all ${VALUES.properties.length} hold`];
  byId("verdict").className = verdict[0];
  fill("verdict", el("span", { "aria-hidden": "true" }, SIGNS[verdict[0]]), ` ${verdict[1]}`);
  const beyond = STATES.filter((state) => !state.expanded).length;
  showNotice("incomplete", VALUES.stopped === null ? "" : `This is a part of the graph: the exploration ended at ${VALUES.stopped}, `
    + `and ${counted(beyond, "state")} of ${STATES.length} ${beyond === 1 ? "was" : "were"} not looked beyond. What was not seen is not known.`);
}

function render() {
  const before = document.activeElement;
  showNotice("notice", walk.wrong ? `This address does not fit this graph: ${walk.wrong}. The walk starts at the beginning.` : "");
  showState();
  showActions();
  showPath();
  showProperties();
  showMap();
  document.title = `State ${here()} · Keyturn`;
  say(`State ${here()}: ${stateWords(here())}`);
  // What had the focus may be gone with the state before; the next thing to read is the state.
  if (before && !before.isConnected) focusAgain(before);
  keepInView(byId("path").querySelector("[aria-current]"));
}

/** Scroll the page to the state, where it is out of sight: whoever took an action or began a walk wants to see it. */
const showWhere = () => byId("state-title").scrollIntoView({ block: "nearest" });

/** Scroll a column of its own, never the page, so that an entry is seen. */
function keepInView(entry) {
  const column = entry?.closest(".side");
  if (!column || column.scrollHeight <= column.clientHeight) return;
  const [inner, outer] = [entry.getBoundingClientRect(), column.getBoundingClientRect()];
  if (inner.top < outer.top) column.scrollTop -= outer.top - inner.top + 40;
  if (inner.bottom > outer.bottom) column.scrollTop += inner.bottom - outer.bottom + 40;
}

/** Give the focus to what stands for an element that was shown anew, or else to the state. */
function focusAgain(before) {
  const label = before.getAttribute("aria-label");
  const again = before.classList.contains("walk") && [...document.querySelectorAll(".walk")].find((each) => each.getAttribute("aria-label") === label);
  const title = byId("state-title");
  (again || title).focus({ preventScroll: true });
}

byId("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address is for the path
  byId("state-title").focus();
});
byId("first").addEventListener("click", () => goTo(walk.steps, 0));
byId("back").addEventListener("click", goBack);
byId("forward").addEventListener("click", goOn);
byId("faults").addEventListener("click", toggleFaults);
byId("help").addEventListener("click", () => byId("keys").showModal());
byId("search").addEventListener("input", showResults);
document.addEventListener("keydown", pressed);
window.addEventListener("popstate", restore);
new ResizeObserver(showMap).observe(byId("map"));

showHead();
showLegend();
showKeys();
restore();
showResults();
