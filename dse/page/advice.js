/* What moves an output: elasticities by steps; and how far the moves of the model's guide lead. */

const STEP = 1e-4, WHOLE = 0.01, OCTAVE = 2 ** (1 / 32), FARTHEST = 12 * 32;

/** Numbers that may be moved: what is given, and the numbers on axes. */
function movable() {
  return [...LEVERS.values()].filter((lever) => !lever.categories && lever.axis?.kind !== "zip" &&
    INPUTS.has(lever.name) && !lever.snaps);
}

/** A copy of where the page stands with one input at a value, computed. */
function movedTo(lever, value) {
  const point = new Point(here), k = INPUTS.get(lever.name);
  if (lever.axis) {
    point.x[k] = value;
  } else {
    point.set[lever.name] = value;
    point.fill();
  }
  point.run();
  return point;
}

function inDomain(name, value) {
  try {
    checked(name, value);
    return true;
  } catch {
    return false;
  }
}

/** d log y / d log x of an output by an input, where the page stands; NaN where there is none. */
function elasticity(lever, output) {
  const x = lever.now(here), y = here.get(output);
  const step = lever.row.whole ? Math.max(1, Math.round(WHOLE * x)) : x * STEP;
  const ends = [x - step, x + step].filter((value) => inDomain(lever.name, value));
  const slopes = ends.map((value) => {
    const point = movedTo(lever, value), moved = point.get(output);
    return point.broken().some(({ of }) => of === "model") || !(y * moved > 0) ? NaN : Math.log(moved / y) / Math.log(value / x);
  }).filter(Number.isFinite);
  return slopes.length ? slopes.reduce((a, b) => a + b) / slopes.length : NaN;
}

/** The inputs by how much they move an output. */
function movers(output) {
  if (flagsOf(output)) return [];
  return movable().map((lever) => ({ lever, slope: elasticity(lever, output) }))
    .filter(({ slope }) => Number.isFinite(slope) && Math.abs(slope) > 1e-9)
    .sort((a, b) => Math.abs(b.slope) - Math.abs(a.slope));
}

/** Which regime binds under a guide: its case, or the term that is the extreme one. */
function stateOf(guide, point = here) {
  if (flagsOf(guide.state)) return flagsOf(guide.state)[point.get(guide.state)] ?? "";
  const family = data.families.find(({ of }) => of === guide.limits);
  if (!family) return "";
  return Object.entries(family.terms).find(([, name]) => point.get(name) === point.get(guide.limits))?.[0] ?? "";
}

/** By which factor the goal of a guide is better at a point. */
function gainOf(guide, point) {
  const [now, then] = [here.get(guide.goal), point.get(guide.goal)];
  return guide.maximize ? then / now : now / then;
}

/** How far a lever can go until another regime holds, and what is gained there. */
function follow(guide, lever, up) {
  const x = lever.now(here), state = stateOf(guide), whole = lever.row.whole;
  if (!(x > 0)) return null;
  const fits = (value) => inDomain(lever.name, value) && !movedTo(lever, value).broken().length;
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
  const gain = gainOf(guide, movedTo(lever, low));
  const next = high !== null && fits(high) ? stateOf(guide, movedTo(lever, high)) : "";
  return { lever, up, from: x, to: low, gain, next, ends: high !== null };
}

/** The moves of a guide that help, the best first. */
function moves(guide) {
  const names = new Set((guide.helps[stateOf(guide)] ?? []).flat()), known = new Set(guide.fixed);
  const behind = [...names].flatMap((name) => inputsBehind(name)).filter((name) => !known.has(name));
  return [...new Set(behind)].map((name) => LEVERS.get(name)).filter((lever) => lever && movable().includes(lever))
    .flatMap((lever) => [true, false].map((up) => follow(guide, lever, up)))
    .filter((move) => move && move.ends && Number.isFinite(move.gain) && move.gain > 1 + 1e-9)
    .sort((a, b) => b.gain - a.gain).slice(0, 6);
}

/** The inputs that a quantity is computed of. */
function inputsBehind(name, seen = new Set()) {
  if (seen.has(name)) return [];
  seen.add(name);
  if (LEVERS.has(name)) return [name];
  return (definitionOf(name)?.needs ?? []).flatMap((need) => inputsBehind(need, seen));
}

const definitionOf = (name) => {
  const found = data.definitions[name];
  return found?.variants[found.which[here.key]];
};

function showAdvice() {
  const lines = data.guides.map((guide) => {
    const state = stateOf(guide), found = moves(guide);
    return element("li", {}, element("b", {}, `${guide.goal}: ${state || told(guide.state, here.get(guide.state))}`),
      found.length ? element("ul", {}, ...found.map((move) => element("li", {}, moveText(move), " ",
        element("button", { type: "button", onclick: () => { move.lever.put(here, move.to); changed(); } }, "try"))))
        : element("p", { class: "note" }, "no single input that the model's guide names helps on the way to another regime"));
  });
  byId("guides").replaceChildren(...(lines.length ? lines : [element("li", { class: "note" }, "The model has no guide; the inputs that move an output stand below.")]));
  const output = byId("moved").value, found = movers(output).slice(0, 12);
  const most = Math.max(...found.map(({ slope }) => Math.abs(slope)), 1e-300);
  byId("movers").replaceChildren(...found.map(({ lever, slope }) => element("tr", {},
    element("th", { scope: "row" }, lever.name), element("td", { class: "number" }, `${slope > 0 ? "+" : "−"}${digits(Math.abs(slope), 3)}`),
    element("td", {}, element("span", { class: slope > 0 ? "bar" : "bar falls", style: `width:${Math.max(2, (100 * Math.abs(slope)) / most)}%` })))));
  byId("moved-note").textContent = found.length ? `1 % more of an input changes ${output} by so many percent, here.` : `No input moves ${output} smoothly here.`;
}

function moveText({ lever, up, from, to, gain, next }) {
  return `${up ? "raise" : "lower"} ${lever.name} from ${valueText(from, lever.unit)} to ${valueText(to, lever.unit)}: ` +
    `gain × ${digits(gain, 4)}${next ? `, then ${next}` : ""}`;
}
