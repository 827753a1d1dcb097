/* The roofline (Williams 2009): kernels below the roofs and ceilings of the machine at this point. */

const ROOM = 3, ROUNDED = 1.001;
/** Ceilings nearer than this factor share a label. */
const NEAR = 1.25;

/** The rate of a kernel, and its operations per byte of each level of memory. */
const placed = (point, levels) => ({ rate: point.get("attained_flops"), at: levels.map(({ intensity }) => point.get(intensity)) });

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

function drawRoofline(size, colors) {
  const { levels, ceilings } = data.figures.roofline;
  const roofs = levels.map((level) => ({ ...level, speed: here.get(level.bandwidth) }));
  const peaks = ceilings.map(({ name, quantity }) => ({ name, rate: here.get(quantity) })).filter(({ rate }) => rate > 0).sort((a, b) => a.rate - b.rate);
  const top = peaks.at(-1).rate, fastest = Math.max(...roofs.map(({ speed }) => speed));
  const all = kernels(levels).filter(({ rate, at }) => rate > 0 && Number.isFinite(at[0]));
  const places = [...all.flatMap(({ at }) => at), ...roofs.map(({ speed }) => top / speed)].filter((place) => place > 0 && Number.isFinite(place));
  const [low, high] = [Math.min(...places) / ROOM, Math.max(...places) * ROOM];
  const x = new Side({ name: "operations per byte", low, high, log: true });
  const y = new Side({ name: "operations per second", low: Math.min(...all.map(({ rate }) => rate), roofs[0].speed * low * ROOM) / ROOM, high: top * ROOM, log: true });
  const legend = roofs.map(({ name, speed, color, dash }) => ({ text: `${name}, ${valueText(speed, "B/s", 4)}`, color, dash }));
  const chart = new Chart({ x, y, ...size, colors, legend });
  const write = (place, rate, text, anchor) =>
    chart.marks.push(`<text x="${chart.across(place)}" y="${chart.up(rate) - 4}" text-anchor="${anchor}" font-size="10" fill="${colors.weak}">${escaped(text)}</text>`);
  roofs.forEach(({ speed }, k) => chart.line([low, top / speed], [low * speed, top], { ...legend[k], wide: 2 }));
  peaks.forEach(({ name, rate }, k) => {
    chart.line([rate / fastest, high], [rate, rate], { color: colors.weak, wide: 1 });
    peaks[k].text = `${name} ${digits(rate / 1e12, 4)} T/s`;
    if (k && rate < NEAR * peaks[k - 1].rate) [peaks[k].text, peaks[k - 1].text] = [`${peaks[k - 1].text}, ${peaks[k].text}`, ""];
  });
  for (const { text, rate } of peaks) write(high / 1.05, rate, text, "end");
  for (const { rate, at, name } of all.slice(0, -1)) {
    chart.dots([at[0]], [rate], { color: "#d55e00", size: 7 });
    write(at[0], rate, name, "middle");
  }
  const mine = all.at(-1), roof = here.get("attainable_flops");
  if (!mine || mine.rate !== here.get("attained_flops")) {
    chart.note = "This kernel has no floating-point operations, or no bytes of DRAM.";
    return chart;
  }
  chart.dots(mine.at.slice(1), mine.at.slice(1).map(() => mine.rate), { color: colors.weak, size: 5 });
  chart.ring(mine.at[0], mine.rate, mine.name);
  const share = mine.rate / roof;
  chart.note = `${digits(mine.rate / 1e12, 4)} of at most ${digits(roof / 1e12, 4)} T operations a second (${digits(100 * share, 3)} %), ${digits(mine.at[0], 4)} operations per byte of DRAM. ` +
    (share > ROUNDED ? "Fault: the kernel is above a roof, so its time, its work or the machine is wrong." : "Small dots: at the bytes of the caches.");
  return chart;
}
