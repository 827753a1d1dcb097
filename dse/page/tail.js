/* Tails of the work of one item, and of the longest among the lanes that wait for it. */

const RARE = 1e-9;

function drawTail(size, colors) {
  const { axes, laws } = data.figures.tails;
  const { work, tail } = laws[axes.reduce((index, axis) => index * AXES.get(axis).count + here.at[axis], 0)];
  const lanes = here.get("lanes");
  const longest = tail.map((share) => -Math.expm1(lanes * Math.log1p(-share)));
  const last = longest.findLastIndex((share) => share > (view.log ? RARE : 1e-4));
  const shown = (list) => list.slice(0, Math.max(last, 1) + 2);
  const legend = [
    { text: "one item", color: "#0072b2" },
    { text: `the longest of ${digits(lanes, 6)} lanes`, color: "#d55e00", dash: "7 3" },
  ];
  const x = new Side({ name: "work of an item, iterations", low: Math.min(work[0], 0), high: shown(work).at(-1) });
  const y = view.log ? new Side({ name: "chance of more", low: RARE, high: 1.5, log: true }) : new Side({ name: "chance of more", low: 0, high: 1.05 });
  const chart = new Chart({ x, y, ...size, colors, legend });
  [tail, longest].forEach((shares, k) => chart.line(shown(work), shown(shares), { ...legend[k], wide: 2.6, steps: true }));
  const means = [["work_mean", "#0072b2"], ["expected_max", "#d55e00"]].filter(([name]) => OUTPUTS.has(name));
  for (const [name, color] of means) chart.upright(here.get(name), { color, dash: "2 4" });
  const known = means.map(([name]) => `${name} = ${digits(here.get(name), 5)}`).join(", ");
  chart.note = `The curves follow the lanes${known ? `; dotted: ${known}, computed in Python along the axes` : ""}.`;
  return chart;
}
