/* The figures of every study: lines along a lever, limiting terms, Pareto front. */

/** Points along a line, cells along the side of a map, configurations of a front. */
const ALONG = 240, SIDE = 100, FRONT = 4000;
/** Lines for the labels of an axis; factor by which a term may be off the limit wherever it is shown. */
const MOST_LABELS = 16, NEAR = 100;

/** The options of the figure, stored in the link to the page. */
const view = { kind: "lines", over: "", by: "", quantity: "", other: "", family: 0, log: false };

const flagsOf = (name) => data.quantities[name]?.flags;

function sideOf(lever, samples) {
  const name = lever.meaning ? `${lever.name.replace("PLACE_OF_", "")}, ${lever.meaning}` : lever.name;
  if (lever.categories) return new Side({ name, labels: samples.map((sample) => lever.text(sample)) });
  const values = samples.map((sample) => lever.numberOf(sample));
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return new Side({ name, unit: lever.unit, low, high, log: lever.log });
}

function rangeSide(name, unit, values, log) {
  const finite = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
  let [low, high] = finite.length ? [Math.min(...finite), Math.max(...finite)] : [0, 1];
  if (!log) {
    if (low > 0 && low < high / 2) low = 0;
    const room = (high - low) * 0.06;
    [low, high] = [low === 0 ? 0 : low - room, high + room];
  } else [low, high] = [low / 1.15, high * 1.15];
  return new Side({ name, unit, low, high, log });
}

function quantitySide(name, values, log = false) {
  const row = data.quantities[name] ?? {}, flags = flagsOf(name);
  const label = row.meaning ? `${name}, ${row.meaning}` : name;
  if (!flags) return rangeSide(label, row.unit, values, log);
  const most = Math.max(...Object.keys(flags).map(Number));
  return new Side({ name: label, labels: Array.from({ length: most + 1 }, (_, k) => flags[k] ?? "") });
}

function along(lever, samples, names, from = here, all = false) {
  const point = new Point(from), columns = names.map(() => new Float64Array(samples.length));
  samples.forEach((sample, k) => {
    lever.move(point, sample);
    point.run();
    const holds = all || point.feasible;
    names.forEach((name, n) => { columns[n][k] = holds ? point.get(name) : NaN; });
  });
  return columns;
}

const xsOf = (lever, samples) => samples.map((sample, k) => (lever.categories ? k : lever.numberOf(sample)));
const nowOf = (lever, samples) => (lever.categories ? samples.indexOf(here.at[lever.name]) : lever.now(here));

/** A chart of lines, whose names are beside its right edge, at the last value that is shown. */
function namedLines(sides, lever, lines) {
  const lastOf = ({ ys }) => ys.findLast((value) => value >= sides.y.low && value <= sides.y.high);
  const chart = new Chart({ ...sides, ends: lines.map((line) => ({ ...line, value: lastOf(line) })).filter(({ text, value }) => text && value !== undefined) });
  for (const line of lines) {
    if (lever.categories) chart.dots(line.xs, line.ys, { ...line, size: 3 + 3 * line.wide });
    else chart.line(line.xs, line.ys, line);
  }
  return chart;
}

function drawLines(size, colors) {
  const lever = LEVERS.get(view.over), samples = lever.samples(ALONG, true), xs = xsOf(lever, samples);
  const other = view.by && view.by !== view.over ? LEVERS.get(view.by) : null;
  const several = other ? other.samples(other.categories ? MOST_LABELS : 8) : [null], looks = looksOf(several.map(String));
  const lines = several.map((sample, k) => {
    const point = new Point(here);
    if (other) other.move(point, sample);
    const [ys] = along(lever, samples, [view.quantity], point);
    const now = other && other.now(here) === (other.categories ? sample : other.numberOf(sample));
    return { ys, text: other ? other.text(sample) : "", ...looks[k], wide: now || !other ? 3 : 1.6 };
  });
  const y = quantitySide(view.quantity, lines.flatMap(({ ys }) => [...ys]), view.log);
  const chart = namedLines({ x: sideOf(lever, samples), y, ...size, colors }, lever, lines.map(({ ys, ...look }) => {
    const drawn = xs.map((_, k) => k).filter((k) => !lever.axis || Number.isInteger(samples[k]) || Number.isFinite(ys[k])); // no gap between the values of an axis
    return { ...look, xs: drawn.map((k) => xs[k]), ys: drawn.map((k) => ys[k]), steps: Boolean(flagsOf(view.quantity)) };
  }));
  chart.upright(nowOf(lever, samples));
  chart.ring(nowOf(lever, samples), here.feasibleValue(view.quantity), quantityText(view.quantity, here.feasibleValue(view.quantity), 4));
  return chart;
}

function drawLimits(size, colors) {
  const family = data.families[view.family] ?? data.families[0];
  const lever = LEVERS.get(view.over), samples = lever.samples(ALONG, true), xs = xsOf(lever, samples);
  const names = [...Object.values(family.terms), family.of];
  const columns = along(lever, samples, names, here, true);
  const result = columns.at(-1), reached = result.filter((value) => Number.isFinite(value) && value > 0), ends = [Math.min(...reached) / NEAR, Math.max(...reached) * NEAR];
  const isNear = (ys) => ys.some((value, k) => Number.isFinite(value) && (family.largest ? value * NEAR >= result[k] : value <= result[k] * NEAR));
  const keys = Object.fromEntries(Object.entries(family.terms).map(([key, name]) => [name, key]));
  const shown = names.map((name, k) => ({ name, ys: columns[k] })).filter(({ name, ys }) => name === family.of || isNear(ys));
  const values = shown.flatMap(({ ys }) => [...ys]).filter((value) => !reached.length || !view.log || (value >= ends[0] && value <= ends[1]));
  const y = rangeSide(`${family.of} and its terms; the ${family.largest ? "largest" : "smallest"} decides`, data.quantities[family.of].unit, values, view.log);
  if (!view.log && !family.largest) { // the result and at least the limit next above it
    const most = Math.max(...reached, 0), next = shown.flatMap(({ ys }) => Math.max(...[...ys].filter(Number.isFinite))).filter((high) => high > most * 1.01);
    y.high = Math.min(y.high, Math.max(most * 2.5, Math.min(...next, most * 8) * 1.06) || y.high);
  }
  const looks = looksOf(shown.slice(0, -1).map(({ name }) => name));
  const chart = namedLines({ x: sideOf(lever, samples), y, ...size, colors }, lever,
    shown.map(({ name, ys }, k) => ({ xs, ys, text: keys[name] ?? name, wide: 2, ...(looks[k] ?? { color: colors.ink, dash: "", wide: 3.5 }) })));
  chart.upright(nowOf(lever, samples));
  chart.ring(nowOf(lever, samples), here.get(family.of), quantityText(family.of, here.get(family.of), 4));
  return chart;
}

/** The configurations of the axes: all, or at most `most` evenly spaced ones. */
function configurations(most) {
  const axes = data.axes.map(({ name }) => LEVERS.get(name));
  const places = axes.map((lever) => lever.samples(lever.axis.count));
  while (places.reduce((all, list) => all * list.length, 1) > most) {
    const longest = places.reduce((best, list, k) => (list.length > places[best].length ? k : best), 0);
    const list = places[longest], count = Math.ceil(list.length / 2);
    places[longest] = Array.from({ length: count }, (_, k) => list[Math.round((k * (list.length - 1)) / Math.max(count - 1, 1))]);
  }
  return { axes, places, count: places.reduce((all, list) => all * list.length, 1) };
}

/** Yield every computed configuration and its number, the last axis fastest. */
function* walked({ axes, places, count }, from = here) {
  const point = new Point(from), at = places.map(() => 0);
  axes.forEach((lever, k) => lever.move(point, places[k][0]));
  for (let n = 0; n < count; n++) {
    point.run();
    yield [point, n];
    for (let k = axes.length - 1; k >= 0; k--) {
      at[k] = (at[k] + 1) % places[k].length;
      axes[k].move(point, places[k][at[k]]);
      if (at[k]) break;
    }
  }
}

function isWide(values) {
  const finite = values.filter(Number.isFinite), low = Math.min(...finite);
  return low > 0 && Math.max(...finite) > 100 * low;
}

let cloud = { of: "" };

/** Two quantities at every configuration, cached until an input changes. */
function cloudOf(names) {
  const of = JSON.stringify([names, here.set]);
  if (cloud.of === of) return cloud;
  const all = configurations(FRONT), xs = [], ys = [];
  for (const [point] of walked(all)) {
    xs.push(point.feasibleValue(names[0]));
    ys.push(point.feasibleValue(names[1]));
  }
  cloud = { of, xs, ys, count: all.count };
  return cloud;
}

const isMaximized = (name) => data.best?.goals.some((goal) => goal.name === name && goal.maximize) ||
  data.guides.some((guide) => guide.goal === name && guide.maximize) || /throughput|flops|per_watt|efficiency|speedup|occupancy|bandwidth_used|insts_per_second/.test(name);

function drawPareto(size, colors) {
  const names = [view.quantity, view.other], { xs, ys, count } = cloudOf(names);
  const signs = names.map((name) => (isMaximized(name) ? -1 : 1));
  const order = xs.map((_, k) => k).filter((k) => Number.isFinite(xs[k]) && Number.isFinite(ys[k]))
    .sort((a, b) => signs[0] * (xs[a] - xs[b]) || signs[1] * (ys[a] - ys[b]));
  const front = [];
  for (const k of order) {
    if (!front.length || signs[1] * ys[k] < signs[1] * ys[front.at(-1)]) front.push(k);
  }
  const legend = [{ text: `Pareto front: ${signs[0] < 0 ? "maximize" : "minimize"} ${names[0]}, ${signs[1] < 0 ? "maximize" : "minimize"} ${names[1]}`, color: "#d55e00" }];
  const log = view.log || [xs, ys].every(isWide);
  const chart = new Chart({ x: quantitySide(names[0], xs, log), y: quantitySide(names[1], ys, log), ...size, colors, legend });
  chart.dots(xs, ys, { color: colors.dark ? "#77808c" : "#9aa0a6", size: 3 });
  chart.line(front.map((k) => xs[k]), front.map((k) => ys[k]), { color: "#d55e00", wide: 1.5, dash: "2 3" });
  chart.dots(front.map((k) => xs[k]), front.map((k) => ys[k]), { color: "#d55e00", size: 7 });
  chart.ring(here.feasibleValue(names[0]), here.feasibleValue(names[1]));
  const whole = data.axes.reduce((all, axis) => all * axis.size, 1);
  chart.note = count === whole ? `all ${count.toLocaleString("en")} configurations` : `${count.toLocaleString("en")} of ${whole.toLocaleString("en")} configurations, evenly spaced`;
  return chart;
}
