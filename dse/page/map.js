/* A quantity over two levers: cells as an image, borders of cases and of feasibility. */

const rgbOf = (color) => [1, 3, 5].map((k) => parseInt(color.slice(k, k + 2), 16));
const UNIFORM = ["#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#fde725"].map(rgbOf); // viridis

function shade(share) {
  const place = Math.min(Math.max(share, 0), 1) * (UNIFORM.length - 1), low = Math.min(Math.floor(place), UNIFORM.length - 2);
  return UNIFORM[low].map((part, k) => Math.round(part + (place - low) * (UNIFORM[low + 1][k] - part)));
}

const LABELLED = [...COLORS.slice(0, 6), "#8a8a8a", "#b8a600", "#6a3d9a", "#4d4d4d", "#7a4f20", "#f2a6c9", "#1b6b3a", "#9edae5"];

/** Cells as a data URL, one pixel each; `paint` returns the colour of a cell, or nothing. */
function imageOf(wide, high, paint) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [wide, high];
  const context = canvas.getContext("2d"), image = context.createImageData(wide, high);
  for (let row = 0; row < high; row++) {
    for (let column = 0; column < wide; column++) {
      const color = paint(row, column);
      if (color) image.data.set([...color, 255], 4 * ((high - 1 - row) * wide + column));
    }
  }
  context.putImageData(image, 0, 0);
  return canvas.toDataURL();
}

/** The case whose borders a map shows: the quantity itself, or the first case of the outputs. */
function caseOf() {
  if (flagsOf(view.quantity)) return view.quantity;
  return data.program.outputs.find((name) => flagsOf(name) && data.outputs.includes(name)) ??
    data.program.outputs.find((name) => flagsOf(name));
}

function cellsOf(over, by, names) {
  const [columns, rows] = [over.samples(SIDE), by.samples(SIDE)];
  const computed = names.map(() => new Float64Array(columns.length * rows.length));
  const feasible = new Uint8Array(columns.length * rows.length), point = new Point(here);
  rows.forEach((row, j) => {
    by.move(point, row);
    columns.forEach((column, i) => {
      over.move(point, column);
      point.run();
      const k = j * columns.length + i;
      feasible[k] = point.feasible;
      names.forEach((name, n) => { computed[n][k] = point.get(name); });
    });
  });
  return { columns, rows, computed, feasible };
}

function cellSide(lever, samples) {
  const label = lever.meaning ? `${lever.name}, ${lever.meaning}` : lever.name;
  if (lever.categories) return new Side({ name: label, labels: samples.map((sample) => lever.text(sample)) });
  const cells = samples.map((sample) => lever.numberOf(sample)), [factor] = prefixOf([Math.max(...cells.map(Math.abs))], lever.unit);
  const gaps = cells.slice(1).map((cell, k) => (lever.log ? Math.log(cell / cells[k]) : cell - cells[k]));
  const isEven = lever.bounds !== null || (Math.min(...gaps) > 0 && Math.max(...gaps) < 2.1 * Math.min(...gaps)); // then round values have a place between cells
  return new Side({ name: label, unit: lever.unit, log: lever.log, cells, isEven, labels: cells.map((cell) => digits(cell / factor, 4)) });
}

function cellNow(lever, samples) {
  const values = samples.map((sample) => (lever.categories ? sample : lever.numberOf(sample)));
  return nearest(values, lever.categories ? here.at[lever.name] : lever.now(here));
}

function drawMap(size, colors) {
  const [over, by] = [LEVERS.get(view.over), LEVERS.get(view.by)], flag = caseOf();
  const { columns, rows, computed, feasible } = cellsOf(over, by, flag ? [view.quantity, flag] : [view.quantity]);
  const [values, cases] = computed, wide = columns.length, high = rows.length, flags = flagsOf(view.quantity);
  const finite = values.filter((value, k) => feasible[k] && Number.isFinite(value));
  const low = finite.reduce((a, b) => Math.min(a, b), Infinity), top = finite.reduce((a, b) => Math.max(a, b), -Infinity);
  const log = low > 0 && top / low > 30;
  const share = (value) => (log ? Math.log(value / low) / Math.log(top / low) : (value - low) / (top - low || 1));
  const blank = rgbOf(colors.dark ? "#2a2d33" : "#eeeeee");
  const cells = imageOf(wide, high, (row, column) => {
    const k = row * wide + column, value = values[k];
    if (!feasible[k] || !Number.isFinite(value)) return blank;
    return flags ? rgbOf(LABELLED[Math.abs(value) % LABELLED.length]) : shade(share(value));
  });
  const unit = data.quantities[view.quantity]?.unit;
  const present = flags ? [...new Set(finite)].sort((a, b) => a - b) : [];
  const legend = flags
    ? present.map((value) => ({ text: flags[value], color: LABELLED[value % LABELLED.length], area: true }))
    : [0, 0.25, 0.5, 0.75, 1].map((part) => ({
        text: finite.length ? valueText(log ? low * (top / low) ** part : low + part * (top - low), unit, 3) : "–",
        color: `rgb(${shade(part)})`, area: true }));
  const y = cellSide(by, rows);
  if (legend.length) legend[0].text = `${view.quantity}: ${legend[0].text}`;
  const chart = new Chart({ x: cellSide(over, columns), y, ...size, colors, legend });
  const [left, right] = [chart.across(-0.5), chart.across(wide - 0.5)], [bottom, upper] = [chart.up(-0.5), chart.up(high - 0.5)];
  chart.marks.push(`<image href="${cells}" x="${left}" y="${upper}" width="${near(right - left)}" height="${near(bottom - upper)}" preserveAspectRatio="none" style="image-rendering:pixelated"/>`);
  chart.marks.push(bordersOf(chart, wide, high, (a, b) => feasible[a] !== feasible[b], colors.ink, 1.5, "2 2"));
  if (cases) {
    chart.marks.push(bordersOf(chart, wide, high, (a, b) => feasible[a] && feasible[b] && cases[a] !== cases[b], "#ffffff", 2.5, ""));
    for (const [value, row, column, most] of regionsOf(wide, high, (k) => (feasible[k] ? cases[k] : NaN))) {
      const text = flagsOf(flag)[value] ?? "";
      if (most * (right - left) / wide > 7 * text.length) chart.marks.push(`<text x="${chart.across(column)}" y="${chart.up(row) + (Math.abs(row - cellNow(by, rows)) < 12 * high / (bottom - upper) ? -9 : 4)}" text-anchor="middle" fill="#fff" stroke="#000" stroke-width="3" paint-order="stroke">${escaped(text)}</text>`);
    }
  }
  if (!flags && finite.length) {
    const sign = isMaximized(view.quantity) ? -1 : 1;
    const best = values.reduce((b, value, k) => (feasible[k] && Number.isFinite(value) && (b < 0 || sign * value < sign * values[b]) ? k : b), -1);
    chart.star(best % wide, Math.floor(best / wide));
    chart.note = `star: ${sign < 0 ? "maximum" : "minimum"} of ${view.quantity}, ${quantityText(view.quantity, values[best])}`;
  }
  if (cases && !flags) chart.note = `${chart.note ? `${chart.note}; ` : ""}white lines and words: ${flag}`;
  if (feasible.includes(0)) chart.note += "; grey: not feasible";
  chart.ring(cellNow(over, columns), cellNow(by, rows));
  chart.picked = (a, b) => [over, columns[Math.round(a)], by, rows[Math.round(b)]];
  return chart;
}

/** For each value, the middle of the rows in which it is widest: [value, row, column, cells in the row]. */
function regionsOf(wide, high, valueOf) {
  const runs = new Map();
  for (let row = 0, start = 0; row < high; row++) {
    for (let column = 0; column < wide; column++) {
      const value = valueOf(row * wide + column);
      if (column === 0 || value !== valueOf(row * wide + column - 1)) start = column;
      if (column + 1 < wide && value === valueOf(row * wide + column + 1) || Number.isNaN(value)) continue;
      runs.set(value, [...(runs.get(value) ?? []), [value, row, (start + column) / 2, column + 1 - start]]);
    }
  }
  return [...runs.values()].map((list) => {
    const widest = Math.max(...list.map((run) => run[3])), wideRuns = list.filter((run) => run[3] >= 0.8 * widest);
    return wideRuns[wideRuns.length >> 1];
  });
}

function bordersOf(chart, wide, high, differ, color, thick, dash) {
  let path = "";
  for (let row = 0; row < high; row++) {
    for (let column = 0; column < wide; column++) {
      const k = row * wide + column;
      if (column + 1 < wide && differ(k, k + 1)) path += `M${chart.across(column + 0.5)} ${chart.up(row - 0.5)}V${chart.up(row + 0.5)}`;
      if (row + 1 < high && differ(k, k + wide)) path += `M${chart.across(column - 0.5)} ${chart.up(row + 0.5)}H${chart.across(column + 0.5)}`;
    }
  }
  return `<path d="${path}" fill="none" stroke="${color}" stroke-width="${thick}" stroke-dasharray="${dash}"/>`;
}
