/* A matrix product on tensor cores: its tiles, the waves of blocks, and the times of its parts. */

const FULL = "#56b4e9", LAST = "#d55e00", MOST_LINES = 64, MOST_WAVES = 200, INSTANT = 1e-12;

/** The parts of the time that gemm_bound compares: the product takes the longer of its first two, and what tiles add. */
function partsOfTime() {
  const get = (name) => here.get(name), tensor = get("gemm_operations") / get("gemm_rate"), dram = get("gemm_dram_time");
  return Object.entries({
    "tensor cores": tensor, DRAM: dram, "tiles, operands": get("product_time") - Math.max(tensor, dram), "results, casts": get("gemm_output_time"),
    start: get("gemm_start_time") + get("gemm_cast_time"), "power limit": get("gemm_limited_cost") * get("gemm_operations"),
  }).filter(([, time]) => time > 0);
}

/** Fill a rectangle of a chart. */
const fill = (chart, [left, right], [low, high], color) => chart.marks.push(
  `<rect x="${chart.across(left)}" y="${chart.up(high)}" width="${near(Math.max(chart.across(right) - chart.across(left), 0.5))}" height="${near(chart.up(low) - chart.up(high))}" fill="${color}"/>`);

/** The tiles of the product; those of one wave have one shade. */
function drawTiles(size, colors, [rows, columns, tall, wide], { blocks, splits, waves, sms }) {
  const [down, across] = [Math.ceil(rows / tall), Math.ceil(columns / wide)], shades = [FULL, "#9fd4f2"];
  const legend = [{ text: "full waves, two shades", color: FULL, area: true }, { text: "last wave", color: LAST, area: true }];
  const chart = new Chart({ x: new Side({ name: "columns of the product", high: across * wide }), y: new Side({ name: "rows of the product", high: down * tall }), ...size, colors, legend });
  const first = Math.max(waves - MOST_WAVES, 0); // a wave of many is thinner than a pixel
  if (first) fill(chart, [0, across * wide], [0, down * tall], FULL);
  for (let wave = first; wave < waves; wave++) {
    const [start, end] = [wave * sms, Math.min((wave + 1) * sms, blocks)].map((block) => block / splits);
    const whole = Math.min(Math.ceil(start / across) * across, end), ends = [start, whole, Math.max(Math.floor(end / across) * across, whole), end];
    ends.slice(1).forEach((to, k) => { // the rest of a row, whole rows, and the begin of a row
      const from = ends[k], row = Math.floor(from / across);
      if (to > from) fill(chart, [(from - row * across) * wide, Math.min(to - row * across, across) * wide], [row * tall, Math.ceil(to / across) * tall], wave === waves - 1 ? LAST : shades[wave % 2]);
    });
  }
  const look = { color: colors.paper, wide: 1 };
  if (across <= MOST_LINES) for (let k = 1; k < across; k++) chart.line([k * wide, k * wide], [0, down * tall], look);
  if (down <= MOST_LINES) for (let k = 1; k < down; k++) chart.line([0, across * wide], [k * tall, k * tall], look);
  chart.line([0, columns, columns], [rows, rows, 0], { color: colors.ink, wide: 2 });
  return chart;
}

function drawWaves(size, colors, { waves, sms, share }) {
  const chart = new Chart({ x: new Side({ name: "waves of blocks", high: waves }), y: new Side({ name: "busy multiprocessors", high: sms }), ...size, colors });
  const gap = waves <= MOST_LINES ? 0.06 : 0;
  if (gap) for (let wave = 0; wave < waves - 1; wave++) fill(chart, [wave + gap, wave + 1 - gap], [0, sms], FULL);
  else fill(chart, [0, waves - 1], [0, sms], FULL);
  fill(chart, [waves - 1 + gap, waves - gap], [0, share * sms], LAST);
  return chart;
}

function drawProduct(size, colors) {
  const get = (name) => here.get(name), shape = ["product_rows", "product_columns", "gemm_tile_rows", "gemm_tile_columns"].map(get);
  const known = { blocks: get("gemm_blocks"), splits: get("gemm_splits"), waves: get("gemm_waves"), sms: get("n_sms"), share: get("gemm_last_wave_share") };
  const parts = partsOfTime(), longest = parts.reduce((best, part) => (part[1] > best[1] ? part : best));
  const limit = Object.fromEntries(parts)["power limit"], whole = get("product_time") + get("gemm_output_time") + get("gemm_start_time") + get("gemm_cast_time");
  const narrow = size.width < 500, bars = { width: size.width, height: 66 + 22 * parts.length }, rest = size.height - bars.height;
  const half = narrow ? { width: size.width, height: rest / 2 } : { width: size.width / 2, height: rest };
  const tiles = drawTiles(half, colors, shape, known), waves = drawWaves(half, colors, known);
  const times = new Chart({ x: new Side({ name: "time", unit: "s", high: 1.35 * Math.max(get("time"), longest[1]) }), y: new Side({ name: "parts of the time; dashed: run time", labels: parts.map(([name]) => name).reverse() }), ...bars, colors });
  times.upright(get("time"), { color: colors.ink });
  parts.reverse().forEach(([name, time], k) => {
    fill(times, [0, time], [k - 0.35, k + 0.35], name === longest[0] ? LAST : FULL);
    times.label(times.across(time) + 5, times.up(k) + 4, valueText(time < INSTANT ? 0 : time, "s", 3), { anchor: "start" });
  });
  const panels = [[tiles, 0, 0], narrow ? [waves, 0, half.height] : [waves, half.width, 0], [times, 0, rest]];
  const nested = panels.map(([panel, x, y], k) => String(panel).replace("<svg ", `<svg x="${x}" y="${y}" `).replace('id="inside"', `id="inside-${k}"`).replace("url(#inside)", `url(#inside-${k})`));
  waves.note = `${shape[2]} × ${shape[3]} tiles${known.splits > 1 ? `, whose sums ${known.splits} blocks share` : ""}: ${digits(known.blocks, 9)} blocks in ${digits(known.waves, 9)} ${known.waves > 1 ? "waves" : "wave"} on ${digits(known.sms)} multiprocessors. ` +
    `The last wave keeps ${digits(100 * known.share, 3)} % of them busy. Longest part: ${longest[0]}, ${valueText(longest[1], "s", 4)}. ` +
    "Tiles: what padding, operand reads, the last wave and shared sums add to tensor cores or DRAM. " +
    (limit > 0 ? `Run time: fourth root of the sum of the fourth powers of the power limit (${valueText(limit, "s", 4)}) and all other parts (${valueText(whole, "s", 4)}), or a lower bound that is larger.` : "Run time: the sum of the product, results and start.");
  waves.toString = () => `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${size.height}" width="${size.width}" height="${size.height}">${nested.join("")}</svg>`;
  return waves;
}
