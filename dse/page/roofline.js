/* The roofline (Williams 2009): kernels below the roofs and ceilings of the machine at this point. */

const ROOM = 3, ROUNDED = 1.001, TERA = 1e12, KERNEL = "#d55e00", MACHINES = ["#009e73", "#cc79a7", "#e69f00", "#8a8a8a"];

const RATE = OUTPUTS.has("attained_flops") ? "attained_flops" : "attainable_flops"; // without a time, a kernel is on its roof
/** The rate of a kernel, and its operations per byte of each level of memory. */
const placed = (point, levels) => ({ rate: point.get(RATE) / TERA, at: levels.map(({ intensity }) => point.get(intensity)) });

/** The name of a workload without its folder. */
const nameOf = (text) => text.split("/").at(-1).replace(".toml", "");

const machineName = () => nameOf(LEVERS.get("machine")?.text(here.at.machine) ?? data.machine ?? "");
/** True if the model computes the time of the kernel; a given time may be a measured one. */
const isPredicted = () => RATE === "attained_flops" && data.definitions.time.variants.some(({ kind }) => kind === "equation");

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

/** The quantity of the ceiling of the pipe that takes longest for the operations of the kernel; undefined without operations. */
function pipeAt(point) {
  const double = point.get("vector_fp64_flops"), tensor = point.get("tensor_ceiling");
  const operations = (quantity, rate) => (quantity === "fp32_ceiling" ? point.get("vector_flops") - double : quantity === "fp64_ceiling" ? double : rate === tensor ? point.get("tensor_flops") : 0);
  const times = data.figures.roofline.ceilings.map(({ quantity }) => [quantity, operations(quantity, point.get(quantity)) / point.get(quantity)]);
  return times.filter(([, time]) => time > 0).reduce((slowest, each) => (each[1] > slowest[1] ? each : slowest), [undefined, 0])[0];
}

/** The roofs and ceilings of the machine at a point, and its kernels, that of the point last. */
function machineAt(point, name) {
  const { levels, ceilings } = data.figures.roofline, lever = LEVERS.get("workload");
  const kernels = [...elsewhere("workload", point), [nameOf(lever ? lever.text(point.at.workload) : data.workload ?? "kernel"), point]];
  return {
    name, roofs: levels.map((level) => ({ ...level, speed: point.get(level.bandwidth) / TERA })),
    peaks: ceilings.map((ceiling) => ({ ...ceiling, text: ceiling.name, rate: point.get(ceiling.quantity) / TERA })).filter(({ rate }) => rate > 0).sort((a, b) => b.rate - a.rate),
    kernels: kernels.map(([kernel, at]) => ({ ...placed(at, levels), name: kernel })).filter(({ rate, at }) => rate > 0 && Number.isFinite(at[0])),
  };
}

/** Write texts beside their marks: right, left, above or below, at the first place that is free; some are left out. */
function labelMarks(chart, texts, marks) {
  const taken = marks.map(([x, y, radius]) => [x - radius, y - radius, x + radius, y + radius]);
  for (const { x, y, text, must, isCentred, ...look } of texts) {
    const wide = 7 * text.length, places = [[9, 4], [9, -9], [9, 17], [-9 - wide, 4], [-9 - wide, -9], [-9 - wide, 17], [-wide / 2, -12], [-wide / 2, 22], [-wide / 2, -26], [-wide / 2, 36]]
      .map(([right, down]) => [x + right, y + down - 10, x + right + wide, y + down + 2]);
    if (isCentred) places.unshift(...places.splice(-4));
    const isFree = (box) => box[0] >= chart.left && box[2] <= chart.right && box[1] >= chart.top && box[3] <= chart.bottom &&
      !taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3]);
    const box = places.find(isFree) ?? (must ? places[x > (chart.left + chart.right) / 2 ? 4 : 1] : null);
    if (!box) continue;
    taken.push(box);
    chart.label(box[0], box[3] - 2, text, { anchor: "start", ...look });
  }
}

function drawRoofline(size, colors) {
  const machine = machineAt(here), others = elsewhere("machine", here).map(([name, point]) => machineAt(point, name)), all = [machine, ...others];
  const { roofs, peaks, kernels } = machine, pipe = pipeAt(here), isNarrow = size.width < 500, top = peaks[0].rate, fastest = Math.max(...roofs.map(({ speed }) => speed));
  const places = all.flatMap((one) => [...one.kernels.flatMap(({ at }) => at), ...one.roofs.map(({ speed }) => one.peaks[0].rate / speed)]).filter((place) => place > 0 && Number.isFinite(place));
  const [low, high] = [Math.min(...places) / ROOM, Math.max(...places) * ROOM];
  const rates = all.flatMap((one) => [...one.kernels.map(({ rate }) => rate), one.roofs[0].speed * low * ROOM]);
  const x = new Side({ name: "operations per byte [FLOP/byte]", low, high, log: true });
  const y = new Side({ name: "operations per second [TFLOP/s]", low: Math.min(...rates) / ROOM, high: Math.max(...all.map((one) => one.peaks[0].rate)) * ROOM, log: true });
  const limitOf = ({ peaks: own }) => own.find(({ quantity }) => quantity === pipe) ?? own[0]; // an unknown pipe has the highest peak
  const numbersOf = (other) => (others.length > 2 ? "" : `: DRAM ${digits(other.roofs[0].speed * 1000, 4)} GB/s, ${limitOf(other).text} ${digits(limitOf(other).rate, 3)}`);
  const looks = others.map((other, k) => ({ text: other.name + numbersOf(other), color: MACHINES[k % MACHINES.length], dash: DASHES[Math.floor(k / MACHINES.length)], wide: 1.2 }));
  const own = machineName(), legend = [...roofs.map(({ name, speed, color, dash }, k) => ({ text: `${k || !own ? "" : `${own}: `}${name} ${digits(speed * 1000, 4)} GB/s`, color, dash })), ...looks];
  const ends = peaks.map(({ text, quantity, rate }) => ({ text: quantity === pipe ? `${text} ${digits(rate, 3)}` : isNarrow ? text : `${text} ${digits(rate, 4)}`, value: rate, color: quantity === pipe ? colors.ink : colors.weak }));
  const chart = new Chart({ x, y, ...size, colors, legend, ends });
  const shorten = (name) => cut(name, (chart.right - chart.left) / 15), at = (place, rate) => ({ x: chart.across(place), y: chart.up(rate) });
  const texts = [], marks = [];
  const dot = (place, rate, text, color, radius, look = {}) => {
    chart.dots([place], [rate], { color, size: 2 * radius });
    texts.push({ ...at(place, rate), text, ...look });
    marks.push([chart.across(place), chart.up(rate), radius]);
  };
  others.forEach((other, k) => {
    const [{ speed }] = other.roofs, { rate } = limitOf(other), kernel = other.kernels.find(({ name }) => name === kernels.at(-1)?.name);
    chart.line([low, rate / speed, high], [low * speed, rate, rate], looks[k]);
    if (kernel) dot(kernel.at[0], kernel.rate, other.name, looks[k].color, 4);
  });
  for (const { quantity, rate } of peaks) chart.line([rate / fastest, high], [rate, rate], quantity === pipe ? { color: colors.ink, wide: 2.5 } : { color: colors.weak, wide: 1 });
  roofs.forEach(({ speed }, k) => chart.line([low, top / speed], [low * speed, top], { ...legend[k], wide: k ? 2 : 3.5 }));
  for (const { rate, at: [place], name } of kernels.slice(0, -1)) dot(place, rate, shorten(name), KERNEL, 4);
  const mine = kernels.at(-1), roof = here.get("attainable_flops") / TERA;
  if (!mine || mine.rate !== here.get(RATE) / TERA) {
    labelMarks(chart, texts, marks);
    chart.note = "This kernel has no floating-point operations, or no bytes of DRAM.";
    return chart;
  }
  mine.at.forEach((place, k) => {
    if (k && Number.isFinite(place) && place !== mine.at[0]) dot(place, mine.rate, roofs[k].name.split("/")[0], colors.weak, 3, { color: colors.weak, isCentred: true });
  });
  chart.ring(mine.at[0], mine.rate);
  marks.push([chart.across(mine.at[0]), chart.up(mine.rate), 8]);
  labelMarks(chart, [{ ...at(mine.at[0], mine.rate), text: shorten(mine.name), must: true }, ...texts.reverse()], marks);
  const share = mine.rate / roof;
  chart.note = `${mine.name}: ${RATE === "attained_flops" ? `${digits(mine.rate, 4)} of at most ${digits(roof, 4)} TFLOP/s (${digits(100 * share, 3)} %)` : `at most ${digits(roof, 4)} TFLOP/s`} at ${digits(mine.at[0], 4)} FLOP per byte of DRAM. ` +
    (share > ROUNDED ? "Fault: the kernel is above a roof, so its time, its work or the machine is wrong. " : "") +
    (isPredicted() ? "Predicted by the model alone; dse analyze adds the measured error. " : "") +
    (pipe ? `Thick: the peak of ${peaks.find(({ quantity }) => quantity === pipe).text}, the pipe that this kernel uses most. ` : "") +
    (others.length ? `Thin: the DRAM roof and the ${pipe ? "peak of this pipe" : "highest peak"} of each other machine, with this kernel as a dot. ` : "") + "Horizontal lines: peak rates in TFLOP/s (of integers for INT8).";
  return chart;
}
