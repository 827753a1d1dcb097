/* The roofline (Williams 2009): kernels below the roofs and ceilings of the machine at this point. */

const ROOM = 3, ROUNDED = 1.001, TERA = 1e12, KERNEL = "#d55e00", SMALL = 'font-size="11"';
/** Height of a label, in pixels; ceilings that are nearer than this share a label. */
const LABEL = 11;

const RATE = OUTPUTS.has("attained_flops") ? "attained_flops" : "attainable_flops"; // without a time, a kernel is on its roof
/** The rate of a kernel, and its operations per byte of each level of memory. */
const placed = (point, levels) => ({ rate: point.get(RATE) / TERA, at: levels.map(({ intensity }) => point.get(intensity)) });

/** The name of a workload without its folder. */
const nameOf = (text) => text.split("/").at(-1).replace(".toml", "");

/** The kernels on the axis of workloads, the one of this point last. */
function kernels(levels) {
  const lever = LEVERS.get("workload"), mine = { ...placed(here, levels), name: nameOf(lever ? lever.text(here.at.workload) : data.workload ?? "kernel") };
  const others = (lever?.samples(40) ?? []).filter((sample) => sample !== here.at.workload).map((sample) => {
    const point = new Point(here);
    lever.move(point, sample);
    point.run();
    return { ...placed(point, levels), name: nameOf(lever.text(sample)) };
  });
  return [...others, mine];
}

/** Labels of the ceilings, from low to high; ceilings that are near share a label. */
function ceilingLabels(chart, peaks) {
  const lines = [];
  for (const { name, rate } of peaks) {
    const last = lines.at(-1), text = `${name} ${digits(rate, 4)}`;
    if (last && chart.up(last.rate) - chart.up(rate) < LABEL) Object.assign(last, { rate, text: `${text}, ${last.text}` });
    else lines.push({ rate, text });
  }
  return lines;
}

function drawRoofline(size, colors) {
  const { levels, ceilings } = data.figures.roofline;
  const roofs = levels.map((level) => ({ ...level, speed: here.get(level.bandwidth) / TERA }));
  const peaks = ceilings.map(({ name, quantity }) => ({ name, rate: here.get(quantity) / TERA })).filter(({ rate }) => rate > 0).sort((a, b) => a.rate - b.rate);
  const top = peaks.at(-1).rate, fastest = Math.max(...roofs.map(({ speed }) => speed));
  const all = kernels(levels).filter(({ rate, at }) => rate > 0 && Number.isFinite(at[0]));
  const places = [...all.flatMap(({ at }) => at), ...roofs.map(({ speed }) => top / speed)].filter((place) => place > 0 && Number.isFinite(place));
  const [low, high] = [Math.min(...places) / ROOM, Math.max(...places) * ROOM];
  const x = new Side({ name: "operations per byte [FLOP/byte]", low, high, log: true });
  const y = new Side({ name: "operations per second [TFLOP/s]", low: Math.min(...all.map(({ rate }) => rate), roofs[0].speed * low * ROOM) / ROOM, high: top * ROOM, log: true });
  const legend = roofs.map(({ name, speed, color, dash }) => ({ text: `${name} ${digits(speed * 1000, 4)} GB/s`, color, dash }));
  const chart = new Chart({ x, y, ...size, colors, legend });
  roofs.forEach(({ speed }, k) => chart.line([low, top / speed], [low * speed, top], { ...legend[k], wide: 2 }));
  for (const { rate } of peaks) chart.line([rate / fastest, high], [rate, rate], { color: colors.weak, wide: 1 });
  for (const { text, rate } of ceilingLabels(chart, peaks)) chart.label(chart.right - 4, chart.up(rate) - 3, text, { anchor: "end", color: colors.weak, more: SMALL });
  for (const { rate, at, name } of all.slice(0, -1)) {
    const isRight = chart.across(at[0]) > (chart.left + chart.right) / 2;
    chart.dots([at[0]], [rate], { color: KERNEL, size: 8 });
    chart.label(chart.across(at[0]) + (isRight ? -8 : 8), chart.up(rate) + 4, name, { anchor: isRight ? "end" : "start", more: SMALL });
  }
  const mine = all.at(-1), roof = here.get("attainable_flops") / TERA;
  if (!mine || mine.rate !== here.get(RATE) / TERA) {
    chart.note = "This kernel has no floating-point operations, or no bytes of DRAM.";
    return chart;
  }
  const caches = mine.at.slice(1).filter((at) => Number.isFinite(at) && at !== mine.at[0]);
  chart.dots(caches, caches.map(() => mine.rate), { color: colors.weak, size: 5 });
  chart.ring(mine.at[0], mine.rate, mine.name);
  const share = mine.rate / roof;
  chart.note = `${mine.name}: ${RATE === "attained_flops" ? `${digits(mine.rate, 4)} of at most ${digits(roof, 4)} TFLOP/s (${digits(100 * share, 3)} %)` : `at most ${digits(roof, 4)} TFLOP/s`} at ${digits(mine.at[0], 4)} FLOP per byte of DRAM. ` +
    (share > ROUNDED ? "Fault: the kernel is above a roof, so its time, its work or the machine is wrong. " : "") + (caches.length ? "Small dots: per byte of the caches. " : "") +
    "Horizontal lines: peak rates in TFLOP/s (of integers for INT8). Slanted lines: bandwidths.";
  return chart;
}
