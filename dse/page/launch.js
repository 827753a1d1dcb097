/* Tail latency of a launch: the exact laws that Python computed along the axes. */

const RAREST = 1e-6;

function drawLaunch(size, colors) {
  const { axes, keys } = data.figures.launches;
  const index = axes.reduce((all, axis) => all * AXES.get(axis).count + here.at[axis], 0);
  const law = keys[here.key][index], step = OUTPUTS.has("step_time") ? here.get("step_time") : here.value("step_time");
  const others = keys.flat().filter((other) => other !== law);
  const times = (one) => one.steps.map((steps) => steps * step), seen = times(law);
  const legend = [{ text: "a launch here", color: "#0072b2" }];
  if (others.length) legend.push({ text: "at other values of the axes, same time of a step", color: colors.weak, dash: "1 2" });
  const ends = [law, ...others].map((one) => one.steps.at(-1) * step);
  const high = Math.min(Math.max(...ends), 3 * seen.at(-1));
  const x = new Side({ name: "time of a launch", unit: "s", low: view.log ? seen[0] * 0.9 : 0, high });
  const y = view.log ? new Side({ name: "chance that it lasts longer", low: RAREST, high: 1.5, log: true }) : new Side({ name: "chance that it lasts longer", low: 0, high: 1.05 });
  const chart = new Chart({ x, y, ...size, colors, legend });
  for (const other of others) chart.line(times(other), other.tail, { color: colors.weak, dash: "1 2", wide: 1, steps: true });
  chart.line(seen, law.tail, { ...legend[0], wide: 2.6, steps: true });
  const quantiles = [];
  for (const level of [0.5, 0.99, 0.9999]) {
    const k = law.tail.findIndex((share) => share <= 1 - level);
    if (k < 0) continue;
    chart.ring(seen[k], law.tail[k], String(level));
    quantiles.push(`${digits(100 * level, 6)} % ${quantiles.length ? "" : "of launches finish "}within ${valueText(seen[k], "s")}`);
  }
  for (const name of ["launch_time_mean", "waves_time"]) if (OUTPUTS.has(name)) chart.upright(here.get(name), { dash: name === "waves_time" ? "2 4" : "6 3" });
  chart.note = `${quantiles.join(", ")}. ` +
    "Dashed: mean; dotted: waves times the mean block. Python computed the exact law of the steps along the axes; other inputs change only the time of a step.";
  return chart;
}
