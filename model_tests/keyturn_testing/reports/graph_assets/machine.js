// The status machine of one card: its eight statuses, where it is, and the transitions that it went through on the path.

const BOX = { width: 78, height: 20, column: 108, row: 26, left: 30, top: 4 };

const SPOTS = (() => {
  const spots = {};
  const [, ...columns] = VALUES.machine.columns; // the first one is what is not written yet: a dot
  columns.forEach((column, number) => column.forEach((status, row) => {
    spots[status] = { x: BOX.left + number * BOX.column, y: BOX.top + row * BOX.row };
  }));
  return spots;
})();

const MACHINE_SIZE = {
  width: Math.max(...Object.values(SPOTS).map(({ x }) => x)) + BOX.width + 4,
  height: Math.max(...Object.values(SPOTS).map(({ y }) => y)) + BOX.height + 4,
};

function arrow(from, to) {
  const end = SPOTS[to];
  const ey = end.y + BOX.height / 2;
  if (!SPOTS[from]) return `M10,${ey} H${end.x - 2}`;
  const start = SPOTS[from];
  if (end.x < start.x) return `M${start.x},${ey + 5} H${end.x + BOX.width + 2}`;
  const sx = start.x + BOX.width;
  const sy = start.y + BOX.height / 2 - (start.y === end.y ? 4 : 0);
  const turn = sx + 12;
  return start.y === end.y ? `M${sx},${sy} H${end.x - 2}` : `M${sx},${sy} C${turn},${sy} ${turn - 4},${ey} ${end.x - 2},${ey}`;
}

function machineOf(card, place, went) {
  const taken = new Set(went.map(({ from, to }) => `${from} ${to}`));
  const passed = new Set(went.flatMap(({ from, to }) => [from, to]));
  const rows = [...VALUES.machine.rows].sort((one, other) => taken.has(`${one[0]} ${one[2]}`) - taken.has(`${other[0]} ${other[2]}`));
  const arrows = rows.map(([from, event, to]) => {
    const kind = taken.has(`${from} ${to}`) ? "arrow taken" : "arrow";
    return svg("g", { class: kind }, svg("path", { d: arrow(from, to) }, svg("title", {}, `${from} → ${to}: ${event}`)));
  });
  const boxes = Object.entries(SPOTS).map(([status, { x, y }]) => {
    const kind = status === card.status ? "box is" : passed.has(status) ? "box was" : "box";
    return svg("g", { class: `${kind} ${OPEN.has(status) ? "open" : "ended"}` },
      svg("rect", { x, y, width: BOX.width, height: BOX.height, rx: 5 }),
      svg("text", { x: x + BOX.width / 2, y: y + 14 }, status));
  });
  const told = went.length ? ` Until now: ${went.map(({ event, to }) => `${event} → ${to}`).join(", ")}.` : "";
  return svg("svg", {
    class: "machine", role: "img", viewBox: `0 0 ${MACHINE_SIZE.width} ${MACHINE_SIZE.height}`,
    "aria-label": `The statuses of a card; card ${place + 1} is ${card.status}.${told}`,
  }, svg("circle", { class: went.length ? "unwritten taken" : "unwritten", cx: 7, cy: BOX.top + BOX.height / 2, r: 3.5 }), arrows, boxes);
}
