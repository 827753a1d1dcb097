/* The study as numbers: positions on axes, values set by the user, and computed quantities. */

const place = (names) => new Map(names.map((name, k) => [name, k]));
const INPUTS = place(data.program.inputs);
const OUTPUTS = place(data.program.outputs);
const CHOICES = Object.values(data.program.choices);
const AXES = new Map(data.axes.map((axis) => [axis.name, axis]));
for (const axis of data.axes) {
  axis.values = axis.values?.map(number);
  axis.count = (axis.labels ?? axis.values).length;
}
for (const leaf of Object.values(data.leaves)) {
  for (const variant of leaf.variants) variant.values = Float64Array.from(variant.values, number);
}
/** Inputs besides the axes and their columns: values and formulas of the study. */
const GIVEN = new Set(data.program.inputs.filter((name) => !AXES.has(name) && data.quantities[name]?.domain &&
  !name.startsWith("PLACE_OF_") && !data.axes.some((axis) => axis.columns?.includes(name))));

/** The first label; for laws the first that is not constant. */
function firstOf(axis) {
  const { axes, laws } = data.figures.tails ?? { axes: [], laws: [] };
  return axes.join() === axis.name ? Math.max(0, laws.findIndex(({ work }) => work.length > 3)) : 0;
}

/** A configuration: indices along axes (default: the middle), values off the axes, values set. */
class Point {
  constructor(from) {
    this.at = from ? { ...from.at } : Object.fromEntries(data.axes.map((axis) => [axis.name, axis.values ? axis.count >> 1 : firstOf(axis)]));
    this.off = { ...from?.off };
    this.set = { ...from?.set };
    this.x = new Float64Array(data.program.inputs.length);
    this.c = new Int32Array(CHOICES.length);
    this.y = new Float64Array(data.program.outputs.length + data.conditions.length);
    this.fill();
  }

  /** The index of the graph chosen by the switches. */
  get key() {
    return data.switches.reduce((key, name) => key * AXES.get(name).count + this.at[name], 0);
  }

  fill() {
    const key = this.key;
    for (const [name, k] of INPUTS) this.x[k] = this.value(name, key);
    Object.keys(data.program.choices).forEach((name, k) => {
      this.c[k] = CHOICES[k][2 * key + (name in this.set ? 1 : 0)];
    });
  }

  value(name, key = this.key) {
    if (name in this.set) return this.set[name];
    if (name in this.off) return this.off[name];
    return this.own(name, key);
  }

  own(name, key = this.key) {
    const leaf = data.leaves[name];
    if (!leaf) return NaN;
    const { axes, values } = leaf.variants[leaf.which ? leaf.which[key] : 0];
    let index = 0;
    for (const axis of axes) index = index * AXES.get(axis).count + this.at[axis];
    return values[index];
  }

  run() {
    compute(this.x, this.c, this.y);
    return this.y;
  }

  get(name) {
    return this.y[OUTPUTS.get(name)];
  }

  /** The broken conditions of model and study; with `best`, also those of its query. */
  broken(best = false) {
    return data.conditions.filter(({ of }, k) => (best || of !== "best") && !this.y[OUTPUTS.size + k]);
  }

  get feasible() {
    return data.conditions.every(({ of }, k) => of === "best" || this.y[OUTPUTS.size + k]);
  }

  feasibleValue(name) {
    return this.feasible ? this.get(name) : NaN;
  }
}

/** An input that can be moved: an axis or a number. */
class Lever {
  constructor(name) {
    this.name = name;
    this.axis = AXES.get(name);
    this.row = data.quantities[name] ?? { unit: "" };
    this.unit = this.row.unit ?? "";
    this.meaning = this.row.meaning ?? "";
    this.categories = this.axis?.labels;
    const names = this.categories?.map((label) => label.replace(/^.*\/|\.toml$/g, "")); // of files, if they differ
    this.words = new Set(names).size === names?.length ? names : this.categories;
    const follows = (leaf) => INPUTS.has(leaf) && data.leaves[leaf].variants.some(({ axes }) => axes.includes(name));
    this.follows = data.switches.includes(name) ? null : Object.keys(data.leaves).filter(follows);
    this.snaps = this.axis?.kind === "zip" || this.follows?.some((leaf) => leaf !== name);
    this.bounds = this.axis ? null : rangeOf(this);
    const values = this.axis?.values;
    this.log = this.bounds?.log ?? (values?.length > 2 && Math.min(...values) > 0 && (values[1] - values[0]) * 4 < values.at(-1) - values.at(-2));
  }

  /** At most `most` samples: indices of an axis, if `fine` also fractional ones between its values; or numbers. */
  samples(most, fine = false) {
    if (!this.axis) return [...new Set(Array.from({ length: most }, (_, k) => this.between(k / (most - 1))))];
    const { count, values } = this.axis, shown = Math.min(count, most), isFine = fine && values && shown === count && count > 1 && !this.snaps && INPUTS.has(this.name);
    const parts = isFine ? Math.floor((most - 1) / (count - 1)) : 1, steps = (shown - 1) * parts;
    return Array.from({ length: steps + 1 }, (_, k) => (k * (count - 1)) / Math.max(steps, 1)).map((k) => (isFine ? k : Math.round(k)))
      .filter((k) => Number.isInteger(k) || !this.row.whole || !values.includes(this.numberOf(k)));
  }

  between(share) {
    const { low, high, log } = this.bounds;
    let value = share <= 0 ? low : share >= 1 ? high
      : log ? Math.exp(Math.log(low) + (Math.log(high) - Math.log(low)) * share) : low + (high - low) * share;
    if (!this.row.whole && share > 0 && share < 1) value = Number(value.toPrecision(4));
    return this.row.whole ? Math.round(value) : value;
  }

  share(value) {
    const { low, high, log } = this.bounds;
    const share = log ? (Math.log(value) - Math.log(low)) / (Math.log(high) - Math.log(low)) : (value - low) / (high - low);
    return Math.min(Math.max(share, 0), 1) || 0;
  }

  numberOf(sample) {
    if (!this.axis?.values) return sample;
    const low = Math.floor(sample), share = sample - low, [from, to] = this.axis.values.slice(low, low + 2);
    const value = !share ? from : this.log ? from * (to / from) ** share : from + share * (to - from);
    return this.row.whole ? Math.round(value) : value;
  }

  text(sample) {
    return this.categories ? this.words[sample] : valueText(this.numberOf(sample), this.unit);
  }

  textAt(point) {
    return `${this.name} = ${this.categories ? this.words[point.at[this.name]] : valueText(this.now(point), this.unit)}`;
  }

  /** The value at a point, as a number. */
  now(point) {
    if (this.name in point.off) return point.off[this.name];
    if (this.axis) return this.categories ? point.at[this.name] : this.axis.values[point.at[this.name]];
    const own = point.value(this.name);
    return Number.isNaN(own) ? point.get(this.name) : own;
  }

  move(point, sample) {
    if (this.axis) {
      delete point.off[this.name];
      point.at[this.name] = Math.round(sample);
      if (!Number.isInteger(sample)) point.off[this.name] = this.numberOf(sample);
    } else point.set[this.name] = sample;
    this.refresh(point);
  }

  /** Move a point to a number, which may lie between the values of the axis. */
  put(point, value) {
    if (!this.axis) return this.move(point, value);
    const near = nearest(this.axis.values, value);
    this.move(point, near);
    if (this.axis.values[near] === value) return undefined;
    if (this.snaps) throw new Error(`the nearest value of its axis is ${this.text(near)}`);
    point.off[this.name] = value;
    return this.refresh(point);
  }

  refresh(point) {
    const k = INPUTS.get(this.name);
    if (this.follows === null || (!this.axis && (k === undefined || this.name in data.program.choices))) return point.fill();
    for (const leaf of this.follows) point.x[INPUTS.get(leaf)] = point.value(leaf);
    if (k !== undefined) point.x[k] = point.value(this.name);
    return undefined;
  }
}

const nearest = (values, value) => values.reduce((best, one, k) => (Math.abs(one - value) < Math.abs(values[best] - value) ? k : best), 0);

const FAR = 1e300; // no slider goes farther

/** The range of a slider: the typical range, extended to the study's value. */
function rangeOf(lever) {
  const { row } = lever;
  const own = here.value(lever.name), value = Number.isFinite(own) ? own : here.get(lever.name);
  const [low, high, lowOpen, highOpen] = row.domain.map((end) => (typeof end === "boolean" ? end : number(end)));
  let ends = row.typical ? row.typical.map(number) : !Number.isFinite(value) || value === 0 ? [0, row.whole ? 16 : 1]
    : value > 0 ? [value / 8, value * 8] : [8 * value, -8 * value];
  ends = ends.map((end) => Math.min(Math.max(end, -FAR), FAR));
  if (Number.isFinite(value)) ends = [Math.min(ends[0], value), value < ends[1] ? ends[1] : Math.max(value, 2 * value)]; // with room above the value
  if (row.whole) ends = [Math.floor(ends[0]), Math.ceil(ends[1])];
  if (ends[0] < low || (lowOpen && ends[0] === low)) ends[0] = lowOpen && ends[1] > low ? low + (ends[1] - low) / 1000 : low;
  if (ends[1] > high || (highOpen && ends[1] === high)) ends[1] = highOpen ? high - (high - ends[0]) / 1000 : high;
  if (!(ends[1] > ends[0])) ends[1] = ends[0] + 1;
  return { low: ends[0], high: ends[1], log: ends[0] > 0 && Math.log(ends[1]) - Math.log(ends[0]) >= Math.log(50) };
}

const here = new Point();
here.run();
const LEVERS = new Map([...AXES.keys(), ...GIVEN].map((name) => [name, new Lever(name)]));

/** Configurations among which a feasible one is searched, if the middle of the axes is none. */
const NEARBY = 500;
if (!here.feasible) {
  const farOf = ({ at }) => data.axes.reduce((far, { name, count }) => far + Math.abs(at[name] - here.at[name]) / count, 0);
  let least = Infinity, nearby = here.at;
  for (const [point] of walked(configurations(NEARBY))) if (point.feasible && farOf(point) < least) [least, nearby] = [farOf(point), { ...point.at }];
  here.at = nearby;
  here.fill();
  here.run();
}
const start = new Point(here);
start.run();
