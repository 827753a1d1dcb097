/* The transit figure (Li 2015): where the supply of memory meets the demand of the lanes. */

const ENDLESS = 1e15, TRACED = 400;

/** The curve of one side: the equilibria if the other side has no limit. */
function curve(known, where, slowest, endless) {
  const { inputs, choices, supply } = data.figures.transit;
  const values = { ...known, ...endless }, x = new Float64Array(inputs.length), y = new Float64Array(3);
  const c = Object.values(choices).map((which) => which[supply[here.key]]);
  inputs.forEach((name, k) => { x[k] = values[name] ?? NaN; });
  const threads = inputs.indexOf("threads"), most = known.threads + slowest, points = [[0, 0]];
  for (let k = 1; k <= TRACED; k++) {
    x[threads] = (k * most) / TRACED;
    traced(x, c, y);
    if (y[where] <= known.threads * (1 + 1e-6)) points.push([y[where], y[0]]);
  }
  return points;
}

function drawTransit(size, colors) {
  const get = (name) => here.get(name);
  const known = Object.fromEntries(data.figures.transit.inputs.map((name) => [name, get(name)]));
  const { threads, intensity, lanes_width: lanes, ms_peak: peak, mem_latency: latency, arithmetic_latency: step } = known;
  const thinking = step * intensity;
  const demanded = Math.min(lanes * step, threads) / thinking;
  const served = (Math.min(peak * latency, threads) * thinking) / Math.max(latency, threads / ENDLESS);
  const demand = curve(known, 2, demanded * latency, { ms_peak: ENDLESS }).map(([at, rate]) => [threads - at, rate]);
  const supply = curve(known, 1, served, { lanes_width: ENDLESS });
  const most = Math.max(...supply.concat(demand).map(([, rate]) => rate));
  const legend = [
    { text: "supply of memory, f(k)", color: "#0072b2" },
    { text: "demand of the lanes, g(n − k)", color: "#d55e00", dash: "7 3" },
  ];
  const x = new Side({ name: "k, threads that wait for memory", low: 0, high: threads });
  const y = new Side({ name: "memory requests a cycle", unit: "", low: 0, high: 1.3 * most });
  const chart = new Chart({ x, y, ...size, colors, legend });
  const [filled, busy] = [get("ms_transition"), threads - get("cs_transition")];
  const edges = [...new Set([0, threads, ...[filled, busy].filter((edge) => edge > 0 && edge < threads)])].sort((a, b) => a - b);
  const shades = { thread: "#009e73", memory: "#0072b2", computation: "#d55e00", capacity: "#cc79a7" };
  for (let k = 0; k + 1 < edges.length; k++) {
    const middle = (edges[k] + edges[k + 1]) / 2;
    const name = middle > filled ? (middle < busy ? "capacity" : "memory") : middle < busy ? "computation" : "thread";
    chart.band(edges[k], edges[k + 1], shades[name], `${name} bound`);
  }
  legend.forEach((look, k) => {
    const points = [supply, demand][k];
    chart.line(points.map(([at]) => at), points.map(([, rate]) => rate), { ...look, wide: 2.6 });
  });
  const [rate, at, low, high] = ["ms_throughput", "threads_in_ms", "threads_in_ms_low", "threads_in_ms_high"].map(get);
  chart.line([low, high], [rate, rate], { color: colors.ink, wide: 4 });
  chart.ring(at, rate, `${digits(at, 4)} of ${digits(threads, 5)} threads wait`);
  chart.note = `${flagsOf("bound")?.[get("bound")] ?? ""} bound: ${digits(rate, 4)} requests and ${digits(get("cs_throughput"), 4)} operations a cycle`;
  return chart;
}
