/* Scales, axes and marks of figures, as the text of an SVG. */

/** The colour-blind safe colours of Okabe and Ito, then others, with dashes. */
const COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a8a8a", "#b8a600", "#9467bd", "#a0522d", "#17a2a2", "#d62778"];
const DASHES = ["", "7 3", "2 2.5", "9 3 2 3", "12 4", "5 2 1 2 1 2", "3 2", "1 3"];
/** Blue on a dark page; height of a row of text. */
const BRIGHT = "#4a9fe0", ROW = 13;
const darkness = matchMedia("(prefers-color-scheme: dark)");

/** The colours of a figure; exported ones are light. */
function palette(dark = darkness.matches) {
  return dark
    ? { ink: "#e8e8e8", paper: "#16181d", grid: "#363a43", weak: "#a0a6b0", dark }
    : { ink: "#1a1a1a", paper: "#ffffff", grid: "#e3e3e3", weak: "#626262", dark };
}

/** A colour and dash for each name, its usual ones first; no two are the same, and colours repeat only after all were used. */
function looksOf(names) {
  const taken = [], all = DASHES.flatMap((_, j) => COLORS.map((color, k) => ({ color, dash: DASHES[(j + k) % DASHES.length] })));
  const isFree = (keys) => (look) => !taken.some((other) => keys.every((key) => other[key] === look[key]));
  for (const name of names) {
    const looks = [data.figures.looks[name], ...all].filter((look) => look && look.color !== "#000000");
    taken.push(looks.find(isFree(["color"])) ?? looks.find(isFree(["color", "dash"])) ?? looks[0]);
  }
  return taken;
}

function ticksOf(low, high, log, count) {
  if (!(high > low)) return [low];
  const decades = Math.log10(high) - Math.log10(low), upTo = (size) => Array.from({ length: size + 1 }, (_, k) => k);
  if (log && decades >= 1) {
    const step = Math.max(1, Math.ceil(decades / count)), first = Math.floor(Math.log10(low));
    return upTo(Math.ceil(decades / step) + 1).flatMap((k) => (decades <= 2 ? [1, 2, 5] : [1]).map((m) => Number(`${m}e${first + k * step}`)))
      .filter((value) => value >= low * 0.999 && value <= high * 1.001);
  }
  const rough = high / count - low / count, size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, size === 1 ? 5 : 2.5, 5, 10].map((m) => m * size).find((m) => m >= rough * 0.999), first = Math.ceil(low / step - 1e-9);
  return upTo(Math.floor(high / step + 1e-9) - first).map((k) => Number(((first + k) * step).toPrecision(12)));
}

class Side {
  constructor({ name, unit = "", low = 0, high = 1, log = false, labels = null, cells = null, isEven = false }) {
    if (labels) [low, high] = [-0.5, labels.length - 0.5];
    [low, high] = [low, high].map((end) => Math.min(Math.max(end, -FAR), FAR));
    if (!(high > low)) [low, high] = low === 0 ? [0, 1] : [low - Math.abs(low) / 2, low + Math.abs(low) / 2];
    if (!(high > low)) high = low + 1;
    Object.assign(this, { name, unit, low, high, labels, cells, isEven, log: log && (cells ?? [low])[0] > 0 });
    [this.factor, this.letters] = prefixOf([Math.max(...(cells ?? [low, high]).map(Math.abs))], unit);
  }

  share(value) {
    if (this.log && !this.cells) return (Math.log(value) - Math.log(this.low)) / (Math.log(this.high) - Math.log(this.low));
    return (value - this.low) / (this.high - this.low);
  }

  value(share) {
    return this.log && !this.cells ? Math.exp(Math.log(this.low) + share * (Math.log(this.high) - Math.log(this.low))) : this.low + share * (this.high - this.low);
  }

  get title() {
    const unit = this.unit === "1" ? "" : this.letters + this.unit;
    return this.name + (unit ? ` [${unit}]` : "");
  }

  ticks(count) {
    if (this.cells?.length > count && this.isEven) {
      const places = (value) => { const k = Math.max(1, this.cells.findIndex((cell) => cell >= value)); return k - 1 + (value - this.cells[k - 1]) / (this.cells[k] - this.cells[k - 1]); };
      return ticksOf(this.cells[0] / this.factor, this.cells.at(-1) / this.factor, this.log, count).map((value) => [places(value * this.factor), digits(value, 4)]);
    }
    if (this.labels) {
      const step = Math.ceil(this.labels.length / (this.cells ? count : 3 * count));
      return this.labels.map((label, k) => [k, label]).filter(([k]) => k % step === 0);
    }
    return ticksOf(this.low / this.factor, this.high / this.factor, this.log, count).map((value) => [value * this.factor, digits(value, 4)]);
  }
}

const near = (value) => Math.round(value * 100) / 100;
/** A coordinate within the range of SVG; far outside for NaN. */
const inside = (place) => near(Math.min(Math.max(Number.isNaN(place) ? -1e4 : place, -1e4), 1e4));
/** Lines of at most `wide` pixels, where a character has about 7.5; a longer word is a line. */
function linesOf(text, wide) {
  const lines = [""];
  for (const word of text.split(" ")) {
    if (lines.at(-1) && 7.5 * (lines.at(-1).length + 1 + word.length) > wide) lines.push(word);
    else lines.push(`${lines.pop()} ${word}`.trim());
  }
  return lines;
}
/** A label shortened in its middle, as labels differ at their ends. */
const cut = (text, most) => (text.length > most ? `${text.slice(0, most / 2 - 1)}…${text.slice(-most / 2)}` : text);

/** A figure with two axes; `marks` are the drawn elements, `ends` texts at values beside its right edge. */
class Chart {
  constructor({ x, y, width, height, colors, legend = [], ends = [] }) {
    Object.assign(this, { x, y, width, height, colors, ends });
    this.legend = legend;
    this.names = [x, y].map((side) => linesOf(side.title, width - 12));
    const rows = this.legendRows();
    const wide = Math.max(...y.ticks(5).map(([, text]) => cut(text, 16).length));
    this.left = Math.min(26 + 7 * wide, width / 3);
    this.right = width - 12 - Math.min(Math.max(0, ...ends.map(({ text }) => 7 * text.length)), width / 3);
    this.top = 9 + 15 * this.names[1].length + 17 * rows.length;
    this.bottom = height - (this.steep ? 51 : 29) - 15 * this.names[0].length;
    this.rows = rows;
    [this.marks, this.labels] = [[], []];
  }

  /** Write on the figure, above all marks, with a border in the colour of the page. */
  label(x, y, text, { anchor = "middle", color = this.colors.ink, more = "" } = {}) {
    this.labels.push(`<text x="${near(x)}" y="${near(y)}" text-anchor="${anchor}" fill="${color}" stroke="${this.colors.paper}" stroke-width="4" stroke-linejoin="round" paint-order="stroke" ${more}>${escaped(text)}</text>`);
  }

  get steep() {
    return this.x.labels && !this.x.cells && this.x.labels.join("").length * 7 > this.width - 120;
  }

  across(value) {
    return inside(this.left + this.x.share(value) * (this.right - this.left));
  }

  up(value) {
    return inside(this.bottom - this.y.share(value) * (this.bottom - this.top));
  }

  legendRows() {
    const rows = [];
    let used = Infinity;
    for (const entry of this.legend) {
      const lines = linesOf(entry.text, this.width - 50), wide = 44 + 7 * lines[0].length;
      if (used + wide > this.width + 4 || lines.length > 1) used = 10;
      if (used === 10) rows.push([]);
      rows.at(-1).push({ ...entry, text: lines[0], at: used });
      for (const text of lines.slice(1)) rows.push([{ text, at: 10 }]);
      used = lines.length > 1 ? Infinity : used + wide;
    }
    return rows;
  }

  /** A line through points, interrupted at NaN. */
  line(xs, ys, { color, dash = "", wide = 2, steps = false }) {
    let path = "", on = false;
    xs.forEach((value, k) => {
      if (!Number.isFinite(ys[k]) || (this.y.log && ys[k] <= 0)) {
        on = false;
        return;
      }
      const [px, py] = [this.across(value), this.up(ys[k])];
      path += on ? (steps ? `H${px}V${py}` : `L${px} ${py}`) : `M${px} ${py}`;
      on = true;
    });
    this.marks.push(`<path d="${path}" fill="none" stroke="${color}" stroke-width="${wide}" stroke-dasharray="${dash}" stroke-linejoin="round"/>`);
  }

  dots(xs, ys, { color, size = 5 }) {
    let path = "";
    xs.forEach((value, k) => {
      if (Number.isFinite(value) && Number.isFinite(ys[k])) path += `M${this.across(value)} ${this.up(ys[k])}h0`;
    });
    this.marks.push(`<path d="${path}" stroke="${color}" stroke-width="${size}" stroke-linecap="round" fill="none"/>`);
  }

  upright(value, { color = this.colors.weak, dash = "3 3" } = {}) {
    const at = this.across(value);
    this.marks.push(`<path d="M${at} ${this.top}V${this.bottom}" stroke="${color}" stroke-dasharray="${dash}"/>`);
  }

  band(low, high, color, text) {
    const [a, b] = [low, high].map((value) => Math.min(Math.max(this.across(value), this.left), this.right));
    this.marks.push(`<rect x="${a}" y="${this.top}" width="${near(b - a)}" height="${near(this.bottom - this.top)}" fill="${color}" opacity="0.13"/>`);
    if (b - a > 14 && text) {
      const turned = b - a < 7 * text.length;
      const [tx, ty] = [(a + b) / 2, this.top + (turned ? 8 : 14)];
      this.label(tx, ty, text, { color: this.colors.weak, ...(turned ? { anchor: "start", more: `transform="rotate(90 ${near(tx)} ${ty})" dy="4"` } : {}) });
    }
  }

  ring(x, y, text = "") {
    if (!Number.isFinite(x) || !Number.isFinite(y)) return;
    const [px, py] = [this.across(x), this.up(y)], { ink, paper } = this.colors;
    this.marks.push(`<circle cx="${px}" cy="${py}" r="6" fill="${paper}" stroke="${ink}" stroke-width="2.5"/>`);
    if (text) {
      const end = px > (this.left + this.right) / 2;
      this.label(px + (end ? -10 : 10), py - (py < this.top + 20 ? -19 : 9), text, { anchor: end ? "end" : "start" });
    }
  }

  star(x, y) {
    const [px, py] = [this.across(x), this.up(y)];
    const points = Array.from({ length: 10 }, (_, k) => {
      const [turn, far] = [(k * Math.PI) / 5, k % 2 ? 4 : 10];
      return `${near(px + far * Math.sin(turn))},${near(py - far * Math.cos(turn))}`;
    });
    this.marks.push(`<polygon points="${points.join(" ")}" fill="#d55e00" stroke="${this.colors.paper}" stroke-width="1"/>`);
  }

  /** The texts beside the right edge, apart from each other. */
  endTexts() {
    const rows = this.ends.map((end) => ({ ...end, at: Math.min(Math.max(this.up(end.value), this.top + 5), this.bottom) })).sort((a, b) => a.at - b.at);
    rows.forEach((row, k) => { if (k) row.at = Math.max(row.at, rows[k - 1].at + ROW); });
    rows.reduceRight((below, row) => (row.at = Math.min(row.at, below - ROW)), this.bottom + ROW - 4);
    return rows.map(({ text, color, at }) => `<text x="${near(this.right + 5)}" y="${near(at + 4)}" fill="${color}" class="end">${escaped(cut(text, Math.floor((this.width - this.right) / 7)))}</text>`).join("");
  }

  toString() {
    const { left, right, top, bottom, width, height, colors } = this;
    const parts = [];
    for (const [value, text] of this.x.ticks(Math.max(2, Math.floor((right - left) / (this.steep ? 35 : this.x.log ? 50 : 70))))) {
      const at = this.across(value);
      if (!this.x.labels) parts.push(`<path d="M${at} ${top}V${bottom}" stroke="${colors.grid}"/>`);
      parts.push(this.steep
        ? `<text x="${at}" y="${bottom + 12}" text-anchor="end" transform="rotate(-28 ${at} ${bottom + 12})">${escaped(cut(text, 18))}</text>`
        : `<text x="${Math.min(at, width - 2 - 3.75 * text.length)}" y="${bottom + 16}" text-anchor="middle">${escaped(text)}</text>`);
    }
    for (const [value, text] of this.y.ticks(Math.max(2, Math.floor((bottom - top) / 45)))) {
      const at = this.up(value);
      if (!this.y.labels) parts.push(`<path d="M${left} ${at}H${right}" stroke="${colors.grid}"/>`);
      parts.push(`<text x="${left - 6}" y="${at + 4}" text-anchor="end">${escaped(cut(text, 16))}</text>`);
    }
    const [under, over] = this.names;
    const names = under.map((text, k) => `<text x="${Math.min(Math.max((left + right) / 2, 4 + 3.75 * text.length), width - 4 - 3.75 * text.length)}" y="${height - 8 - 15 * (under.length - 1 - k)}" text-anchor="middle">${escaped(text)}</text>`).join("") +
      over.map((text, k) => `<text x="6" y="${15 + 15 * k}">${escaped(text)}</text>`).join("");
    const legend = this.rows.flatMap((row, k) => row.map(({ at, text, color, dash, area }) => {
      const y = 14 + 15 * over.length + 17 * k;
      const mark = !color ? "" : area ? `<rect x="${at}" y="${y - 6}" width="22" height="11" fill="${color}"/>`
        : `<path d="M${at} ${y}h24" stroke="${color}" stroke-width="2.5" stroke-dasharray="${dash ?? ""}"/>`;
      return `${mark}<text x="${at + 29}" y="${y + 4}">${escaped(text)}</text>`;
    }));
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="12" fill="${colors.ink}">` +
      `<rect width="${width}" height="${height}" fill="${colors.paper}"/>${parts.join("")}${names}${legend.join("")}` +
      `<clipPath id="inside"><rect x="${left}" y="${top - 1}" width="${right - left + 8}" height="${bottom - top + 9}"/></clipPath>` +
      `<g clip-path="url(#inside)">${[...this.marks, ...this.labels].join("")}</g><rect x="${left}" y="${top}" width="${near(right - left)}" height="${near(bottom - top)}" fill="none" stroke="${colors.weak}"/>${this.endTexts()}</svg>`;
    return colors.dark ? svg.replaceAll(COLORS[0], BRIGHT) : svg;
  }
}
