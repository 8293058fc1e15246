// The map: every state as a dot, in the column of its distance from the beginning; the path is drawn over it.

const MOODS = [
  ["empty", "no card"],
  ["waiting", "a card waits for an answer"],
  ["flight", "a command is in flight"],
  ["ended", "every card has ended"],
];
const MOST_EDGES_OF = 120; // states; of a larger graph only the first ways are drawn, and of one that is larger still none
const MOST_WAYS_OF = 500;
const TALLEST = 210;

const COLUMNS = [];
STATES.forEach((state) => (COLUMNS[DEPTH[state.number]] ??= []).push(state.number));

/** Where the dots stand: the widest distance between them with which all columns fit. */
function placed(width) {
  const margin = 14;
  const gaps = Math.max(COLUMNS.length - 1, 1);
  const fit = (pitch) => {
    const rows = Math.floor(TALLEST / pitch);
    const wide = COLUMNS.map((column) => Math.ceil(column.length / rows));
    const least = wide.reduce((sum, each) => sum + each, 0) * pitch + gaps * Math.max(4, pitch * 0.6) + 2 * margin;
    return { pitch, wide, least };
  };
  const { pitch, wide, least } = [30, 26, 22, 18, 15, 13, 11, 10, 9, 8, 7, 6, 5, 4].map(fit).find((each) => each.least <= width) ?? fit(3);
  const gap = Math.max(4, pitch * 0.6) + Math.max(0, width - least) / gaps;
  const tall = COLUMNS.map((column, depth) => Math.ceil(column.length / wide[depth]));
  const height = Math.max(...tall) * pitch;
  const dots = [];
  const middles = [];
  let left = margin;
  COLUMNS.forEach((column, depth) => {
    const top = margin + (height - tall[depth] * pitch) / 2;
    column.forEach((number, place) => {
      const x = left + (Math.floor(place / tall[depth]) + 0.5) * pitch;
      dots[number] = { x, y: top + ((place % tall[depth]) + 0.5) * pitch };
    });
    middles.push(left + (wide[depth] * pitch) / 2);
    left += wide[depth] * pitch + gap;
  });
  return { dots, middles, width, height: height + 2 * margin + 16, radius: Math.min(8, pitch * 0.36) };
}

function curve(from, to) {
  const reach = to.x > from.x ? (to.x - from.x) * 0.45 : 0;
  if (reach) return `M${from.x},${from.y} C${from.x + reach},${from.y} ${to.x - reach},${to.y} ${to.x},${to.y}`;
  const side = 16 + Math.abs(to.y - from.y) * 0.12;
  const bend = to.x === from.x ? from.x + side : (from.x + to.x) / 2;
  const lift = to.x === from.x ? (from.y + to.y) / 2 : Math.min(from.y, to.y) - side;
  return `M${from.x},${from.y} Q${bend},${lift} ${to.x},${to.y}`;
}

const MAP = { width: 0, marks: new Set() };

/** Draw what stays: the dots, their columns and, where they can be told apart, the steps between them. */
function drawMap() {
  const width = Math.floor(byId("map").clientWidth);
  if (!width || width === MAP.width) return;
  const at = placed(width);
  Object.assign(MAP, { width, at });
  const edges = svg("g", { class: "edges" });
  if (STATES.length <= MOST_WAYS_OF) {
    const drawn = new Set();
    VALUES.steps.forEach((flat, from) => stepsOf(from).forEach(({ place, end }) => {
      const isFirst = CAME[end]?.from === from && CAME[end].place === place;
      const name = `${from} ${end}`;
      if (from === end || drawn.has(name) || !(STATES.length <= MOST_EDGES_OF || isFirst)) return;
      drawn.add(name);
      edges.append(svg("path", { d: curve(at.dots[from], at.dots[end]) }));
    }));
  }
  MAP.over = svg("g", { class: "over" });
  MAP.dots = STATES.map(({ number, expanded }) => {
    const { x, y } = at.dots[number];
    const kind = `dot ${moodOf(number)}${expanded ? "" : " unexpanded"}`;
    const dot = svg("circle", { class: kind, cx: x, cy: y, r: at.radius, onclick: () => goToState(number) });
    dot.append(svg("title", {}, `State ${number}: ${stateWords(number)}`));
    return dot;
  });
  const depths = at.middles.map((x, depth) => svg("text", { x, y: at.height - 4 }, String(depth)));
  MAP.picture = svg("svg", { viewBox: `0 0 ${width} ${at.height}`, width, height: at.height, role: "img" },
    edges, MAP.over, svg("g", { class: "dots" }, MAP.dots), svg("g", { class: "depths" }, depths));
  fill("map", MAP.picture);
}

/** Draw what changes: the path, what leaves the state, and what was searched for. */
function showMap() {
  drawMap();
  if (!MAP.picture) return;
  const along = statesAlong(walk.steps);
  const line = (from, to, kind) => svg("path", { class: kind, d: curve(MAP.at.dots[from], MAP.at.dots[to]) });
  const ends = new Set(stepsOf(here()).map(({ end }) => end));
  ends.delete(here());
  const path = along.slice(1).map((to, place) => [along[place], to, place < walk.at ? "walked" : "ahead"]);
  const { x, y } = MAP.at.dots[here()];
  MAP.over.replaceChildren(
    ...[...ends].map((end) => line(here(), end, "leaving")),
    ...path.filter(([from, to]) => from !== to).map((each) => line(...each)),
    svg("circle", { class: "here", cx: x, cy: y, r: MAP.at.radius + 4 }),
  );
  const walked = new Set(along.slice(0, walk.at + 1));
  MAP.dots.forEach((dot, number) => {
    dot.classList.toggle("on-path", walked.has(number));
    dot.classList.toggle("current", number === here());
    dot.classList.toggle("match", MAP.marks.has(number));
    dot.classList.toggle("dim", MAP.marks.size > 0 && !MAP.marks.has(number));
  });
  MAP.picture.setAttribute("aria-label", `${counted(STATES.length, "state")} by their distance from the beginning; `
    + `the path goes through ${along.slice(0, walk.at + 1).join(", ")}.`);
}

function showLegend() {
  const entry = (kind, text) => el("li", {}, svg("svg", { viewBox: "0 0 12 12", width: 12, height: 12, "aria-hidden": "true" },
    svg("circle", { class: `dot ${kind}`, cx: 6, cy: 6, r: 4.5 })), text);
  const moods = MOODS.map(([mood, text]) => entry(mood, text));
  fill("legend", moods, STATES.every((state) => state.expanded) ? "" : entry("unexpanded", "not looked beyond"));
}
