/* Elasticities of an output, as ``dse sensitivity`` computes them; and the moves of the model's guide. Inputs of what Python computed are left out. */

const STEP = 1e-4, STEP_RATIO = 8, WHOLE = 0.01, SAME_SLOPE = 1e-2, OCTAVE = 2 ** (1 / 32), FARTHEST = 12 * 32, LEAST_GAIN = 1.001;
const BEYOND = 1e-9, PAST = 0.01; // relative distances from a border to its next regime, and at most to a value of few digits

function movable(output) {
  const left = new Set(unfollowed(output).flatMap(([, given]) => given));
  return [...LEVERS.values()].filter((lever) => !lever.categories && INPUTS.has(lever.name) && !lever.snaps && !left.has(lever.name));
}

/** What Python computed for an output, each with its inputs: this page cannot follow a change of them. */
function unfollowed(output) {
  const used = behind(output).add(output);
  return stale([...LEVERS.keys()]).filter(([name]) => used.has(name));
}

function movedTo(lever, value) {
  const point = new Point(here), k = INPUTS.get(lever.name);
  if (!lever.axis) point.set[lever.name] = value;
  point.fill();
  if (lever.axis) point.x[k] = value;
  point.run();
  return point;
}

const logSlope = (x1, y1, x2, y2) => (x1 > 0 && x2 > 0 && y1 * y2 > 0 && Number.isFinite(y1 - y2) ? Math.log(y2 / y1) / Math.log(x2 / x1) : NaN);

/** The elasticities to smaller and to larger inputs; NaN at a jump, or where the input cannot go. */
function elasticities(lever, output) {
  const valueAt = (point) => (point.broken().some(({ of }) => of === "model") ? NaN : point.get(output));
  const x = lever.now(here), { whole } = lever.row, step = Math.max(1, Math.round(WHOLE * x));
  const sideOf = (sign) => {
    const [far, near] = [1, STEP_RATIO].map((ratio) => {
      const to = whole ? x + sign * step : x * (1 + Math.expm1(STEP / ratio)) ** sign;
      return inDomain(lever.name, to) ? logSlope(x, valueAt(here), to, valueAt(movedTo(lever, to))) : NaN;
    });
    if (whole) return { slope: far, jumps: false };
    const isSmooth = Math.abs(near - far) <= SAME_SLOPE * (1 + Math.abs(far));
    return { slope: isSmooth ? (STEP_RATIO * near - far) / (STEP_RATIO - 1) : NaN, jumps: Number.isFinite(near - far) && !isSmooth };
  };
  return { lever, step: whole ? step : 0, down: sideOf(-1), up: sideOf(1) };
}

const steepest = ({ down, up }) => [down, up].reduce((most, { slope }) => (Math.abs(slope) > Math.abs(most) ? slope : most), 0);

function movers(output) {
  if (flagsOf(output)) return [];
  return movable(output).map((lever) => elasticities(lever, output))
    .filter((one) => Math.abs(steepest(one)) > 1e-9 || one.down.jumps || one.up.jumps)
    .sort((a, b) => Math.abs(steepest(b)) - Math.abs(steepest(a)));
}

/** The regime that binds under a guide: its case, or the extreme term. */
function stateOf(guide, point = here) {
  if (flagsOf(guide.state)) return flagsOf(guide.state)[point.get(guide.state)] ?? "";
  const family = data.families.find(({ of }) => of === guide.limits);
  if (!family) return "";
  return Object.entries(family.terms).find(([, name]) => point.get(name) === point.get(guide.limits))?.[0] ?? "";
}

function gainOf(guide, point) {
  const [now, then] = [here.get(guide.goal), point.get(guide.goal)];
  return guide.maximize ? then / now : now / then;
}

/** Whether a point has the threads of the current launch, but for a partial block, and breaks no condition of the guide. */
function keepsWork(guide, point) {
  if (guide.same_work) {
    const [blocks, threads] = [point.get("blocks"), point.get("threads_per_block")], known = here.get("threads_per_block");
    const most = here.get("blocks") * known;
    if (!(blocks * threads > most - known && (blocks - 1) * threads < most)) return false;
  }
  const value = (tree, at) => (!Array.isArray(tree) ? at.get(tree)
    : tree.slice(1).map((term) => value(term, at)).reduce((a, b) => (tree[0] === "add" ? a + b : a * b)));
  return guide.conditions.every(([, least, most]) => value(least, point) <= value(most, point) || value(least, here) > value(most, here));
}

/** The move of a lever up to the next regime, with its gain. */
function follow(guide, lever, up) {
  const x = lever.now(here), state = stateOf(guide), whole = lever.row.whole;
  if (!(x > 0) || guide.directions[lever.name] === (up ? "down" : "up")) return null;
  const fits = (value) => {
    const point = inDomain(lever.name, value) && movedTo(lever, value);
    return point && !point.broken().length && keepsWork(guide, point);
  };
  const same = (value) => fits(value) && stateOf(guide, movedTo(lever, value)) === state;
  let low = x, high = null;
  for (let k = 1; k <= FARTHEST && high === null; k++) {
    const value = whole && k <= 64 ? x + (up ? k : -k) : x * OCTAVE ** (up ? k : -k);
    const next = whole ? Math.round(value) : value;
    if (next === low) continue;
    if (same(next)) low = next;
    else high = next;
    if (whole && next <= 0) break;
  }
  for (let k = 0; k < 60 && high !== null; k++) {
    const middle = whole ? Math.round((low + high) / 2) : (low + high) / 2;
    if (middle === low || middle === high) break;
    if (same(middle)) low = middle;
    else high = middle;
  }
  if (high !== null && whole && fits(high)) low = high;
  const twice = up ? 2 * x : x / 2, crosses = high !== null && fits(high);
  if (high === null) low = whole ? Math.round(twice) : twice; // no other regime follows
  const past = whole ? low : low * (1 + (up ? BEYOND : -BEYOND)), stateAt = (value) => (fits(value) ? stateOf(guide, movedTo(lever, value)) : "");
  const next = crosses ? stateAt(past) : "", tried = next && !whole ? roundPast(past, up, (value) => stateAt(value) === next) : low;
  return { lever, up, from: x, to: low, tried, gain: gainOf(guide, movedTo(lever, low)), next };
}

/** The value of the fewest digits shortly past a place that `holds`, or the place. */
function roundPast(place, up, holds) {
  const units = Array.from({ length: 12 }, (_, k) => 10 ** (Math.floor(Math.log10(place)) - k));
  return units.map((unit, k) => Number(((Math.floor(place / unit) + (up ? 1 : 0)) * unit).toPrecision(k + 2)))
    .find((value) => Math.abs(value - place) <= PAST * place && holds(value)) ?? place;
}

function moves(guide) {
  const names = new Set((guide.helps[stateOf(guide)] ?? []).flat()), known = new Set(guide.fixed);
  const behind = [...names].flatMap((name) => inputsBehind(name)).filter((name) => !known.has(name) && guide.directions[name] !== "none");
  return [...new Set(behind)].map((name) => LEVERS.get(name)).filter((lever) => lever && movable(guide.goal).includes(lever))
    .flatMap((lever) => [true, false].map((up) => follow(guide, lever, up)))
    .filter((move) => move && Number.isFinite(move.gain) && move.gain >= LEAST_GAIN)
    .sort((a, b) => b.gain - a.gain).slice(0, 6);
}

function inputsBehind(name, seen = new Set()) {
  if (seen.has(name)) return [];
  seen.add(name);
  if (LEVERS.has(name)) return [name];
  return (definitionOf(name)?.needs ?? []).flatMap((need) => inputsBehind(need, seen));
}

const definitionOf = (name) => {
  const entry = data.definitions[name];
  return entry?.variants[entry.which[here.key]];
};

function showAdvice() {
  const goals = new Set([...data.outputs, ...(data.best?.goals ?? []).map(({ name }) => name)]);
  const lines = data.guides.filter(({ goal }) => goals.has(goal)).map((guide) => {
    const state = stateOf(guide), known = moves(guide);
    return element("li", {}, element("b", {}, `${guide.goal}: ${state || quantityText(guide.goal, here.get(guide.goal))}`),
      known.length ? element("ul", {}, ...known.map((move) => element("li", {}, moveText(move, guide), " ",
        element("button", { type: "button", onclick: () => { move.lever.put(here, move.tried); changed(); } }, "try"))))
        : element("p", { class: "note" }, "no single input named by the model's guide helps before another regime is reached"));
  });
  byId("guides").replaceChildren(...(lines.length ? lines : [element("li", { class: "note" }, "The model has no guide for these outputs; see the sensitivities below.")]));
  const output = byId("moved").value, inputs = movers(output).slice(0, 12);
  const most = Math.max(...inputs.map((one) => Math.abs(steepest(one))), 1e-300);
  const sideText = ({ slope, jumps }) => (jumps ? "jumps" : Number.isNaN(slope) ? "–" : `${slope > 0 ? "+" : slope < 0 ? "−" : ""}${digits(Math.abs(slope), 3)}`);
  byId("movers").replaceChildren(...inputs.map((one) => element("tr", {},
    element("th", { scope: "row" }, one.lever.name.replaceAll("_", "_\u200b") + (one.step ? ` ± ${one.step}` : "")),
    element("td", { class: "number" }, sideText(one.down)), element("td", { class: "number" }, sideText(one.up)),
    element("td", {}, element("span", { class: steepest(one) > 0 ? "bar" : "bar falls", style: `width:${Math.max(2, (100 * Math.abs(steepest(one))) / most)}%` })))));
  const computed = unfollowed(output), left = [...new Set(computed.flatMap(([, given]) => given))];
  const note = left.length ? ` Without ${left.join(", ")}: Python computed ${computed.map(([name]) => name).join(", ")} from them. For them, use dse sensitivity.` : "";
  byId("moved-note").textContent = (!inputs.length ? `${output} does not vary with any ${left.length ? "other " : ""}input here.`
    : `Change of ${output} in percent for each percent of an input, to smaller and to larger values. Whole numbers move by the step in the table, across the steps of the output.`) + note;
}

function moveText({ lever, up, from, to, gain, next }, { goal, maximize }) {
  return `${up ? "raise" : "lower"} ${lever.name} from ${valueText(from, lever.unit)} to ${valueText(to, lever.unit)}: ` +
    `${goal} ${maximize ? "×" : "÷"} ${digits(gain, 4)}${next ? `, then ${next}` : ""}`;
}
