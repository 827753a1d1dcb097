/* The roofline (Williams 2009): kernels below the roofs and ceilings of the machine at this point. */

const ROOM = 3, ROUNDED = 1.001, TERA = 1e12, KERNEL = "#d55e00", MACHINES = ["#009e73", "#cc79a7", "#e69f00", "#8a8a8a"];

const RATE = OUTPUTS.has("attained_flops") ? "attained_flops" : "attainable_flops"; // without a time, a kernel is on its roof
/** The rate of a kernel, and its operations per byte of each level of memory. */
const placed = (point, levels) => ({ rate: point.get(RATE) / TERA, at: levels.map(({ intensity }) => point.get(intensity)) });

/** The name of a workload without its folder. */
const nameOf = (text) => text.split("/").at(-1).replace(".toml", "");

/** The other labels of an axis, if it is one of the study, each with the point there. */
function elsewhere(axis, at) {
  const lever = LEVERS.get(axis);
  return !lever?.categories ? [] : lever.samples(40).filter((sample) => sample !== at.at[axis]).map((sample) => {
    const point = new Point(at);
    lever.move(point, sample);
    point.run();
    return [nameOf(lever.text(sample)), point];
  });
}

/** The roofs and ceilings of the machine at a point, and its kernels, that of the point last. */
function machineAt(point, name) {
  const { levels, ceilings } = data.figures.roofline, lever = LEVERS.get("workload");
  const kernels = [...elsewhere("workload", point), [nameOf(lever ? lever.text(point.at.workload) : data.workload ?? "kernel"), point]];
  return {
    name, roofs: levels.map((level) => ({ ...level, speed: point.get(level.bandwidth) / TERA })),
    peaks: ceilings.map((ceiling) => ({ text: ceiling.name, rate: point.get(ceiling.quantity) / TERA })).filter(({ rate }) => rate > 0).sort((a, b) => b.rate - a.rate),
    kernels: kernels.map(([kernel, at]) => ({ ...placed(at, levels), name: kernel })).filter(({ rate, at }) => rate > 0 && Number.isFinite(at[0])),
  };
}

function drawRoofline(size, colors) {
  const machine = machineAt(here), others = elsewhere("machine", here).map(([name, point]) => machineAt(point, name)), all = [machine, ...others];
  const { roofs, peaks, kernels } = machine, top = peaks[0].rate, fastest = Math.max(...roofs.map(({ speed }) => speed));
  const places = all.flatMap((one) => [...one.kernels.flatMap(({ at }) => at), ...one.roofs.map(({ speed }) => one.peaks[0].rate / speed)]).filter((place) => place > 0 && Number.isFinite(place));
  const [low, high] = [Math.min(...places) / ROOM, Math.max(...places) * ROOM];
  const rates = all.flatMap((one) => [...one.kernels.map(({ rate }) => rate), one.roofs[0].speed * low * ROOM]);
  const x = new Side({ name: "operations per byte [FLOP/byte]", low, high, log: true });
  const y = new Side({ name: "operations per second [TFLOP/s]", low: Math.min(...rates) / ROOM, high: Math.max(...all.map((one) => one.peaks[0].rate)) * ROOM, log: true });
  const looks = others.map(({ name }, k) => ({ text: name, color: MACHINES[k % MACHINES.length], dash: DASHES[Math.floor(k / MACHINES.length)], wide: 1.2 }));
  const legend = [...roofs.map(({ name, speed, color, dash }) => ({ text: `${name} ${digits(speed * 1000, 4)} GB/s`, color, dash })), ...looks];
  const ends = peaks.map(({ text, rate }) => ({ text: size.width < 500 ? text : `${text} ${digits(rate, 4)}`, value: rate, color: colors.weak }));
  const chart = new Chart({ x, y, ...size, colors, legend, ends });
  others.forEach((other, k) => {
    const [{ speed }] = other.roofs, [{ rate }] = other.peaks, kernel = other.kernels.find(({ name }) => name === kernels.at(-1)?.name);
    chart.line([low, rate / speed, high], [low * speed, rate, rate], looks[k]);
    if (kernel) chart.dots([kernel.at[0]], [kernel.rate], { color: looks[k].color, size: 8 });
  });
  for (const { rate } of peaks) chart.line([rate / fastest, high], [rate, rate], { color: colors.weak, wide: 1 });
  roofs.forEach(({ speed }, k) => chart.line([low, top / speed], [low * speed, top], { ...legend[k], wide: k ? 2 : 3.5 }));
  for (const { rate, at, name } of kernels.slice(0, -1)) {
    const isRight = chart.across(at[0]) > (chart.left + chart.right) / 2;
    chart.dots([at[0]], [rate], { color: KERNEL, size: 8 });
    chart.label(chart.across(at[0]) + (isRight ? -8 : 8), chart.up(rate) + 4, cut(name, (chart.right - chart.left) / 15), { anchor: isRight ? "end" : "start" });
  }
  const mine = kernels.at(-1), roof = here.get("attainable_flops") / TERA;
  if (!mine || mine.rate !== here.get(RATE) / TERA) {
    chart.note = "This kernel has no floating-point operations, or no bytes of DRAM.";
    return chart;
  }
  mine.at.forEach((at, k) => {
    if (!k || !Number.isFinite(at) || at === mine.at[0]) return;
    chart.dots([at], [mine.rate], { color: colors.weak, size: 6 });
    chart.label(chart.across(at), chart.up(mine.rate) + (k % 2 ? -8 : 18), roofs[k].name.split("/")[0], { color: colors.weak });
  });
  chart.ring(mine.at[0], mine.rate, cut(mine.name, (chart.right - chart.left) / 15));
  const share = mine.rate / roof;
  chart.note = `${mine.name}: ${RATE === "attained_flops" ? `${digits(mine.rate, 4)} of at most ${digits(roof, 4)} TFLOP/s (${digits(100 * share, 3)} %)` : `at most ${digits(roof, 4)} TFLOP/s`} at ${digits(mine.at[0], 4)} FLOP per byte of DRAM. ` +
    (share > ROUNDED ? "Fault: the kernel is above a roof, so its time, its work or the machine is wrong. " : "") +
    (others.length ? "Thin: the DRAM roof and the highest peak of each other machine, with this kernel as a dot. " : "") + "Horizontal lines: peak rates in TFLOP/s (of integers for INT8).";
  return chart;
}
