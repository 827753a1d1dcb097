/* The page: its figures, and the updates after a change. */

const KINDS = {
  transit: { title: "Transit: supply and demand", draw: drawTransit, asks: [], here: () => "transit" in data.figures },
  tail: { title: "Tail of the work of an item", draw: drawTail, asks: ["log"], here: () => "tails" in data.figures },
  launch: { title: "Tail latency of a launch", draw: drawLaunch, asks: ["log"], here: () => "launches" in data.figures },
  tiles: { title: "Tiles and waves of a product", draw: drawProduct, asks: [], tall: 1.9, here: () => "tiles" in data.figures },
  roofline: { title: "Roofline", draw: drawRoofline, asks: [], tall: 1.2, here: () => "roofline" in data.figures },
  limits: { title: "Limiting terms", draw: drawLimits, asks: ["family", "over", "log"], here: () => data.families.length && LEVERS.size },
  lines: { title: "Lines over one input", draw: drawLines, asks: ["quantity", "over", "by", "log"], here: () => LEVERS.size },
  map: { title: "Map over two inputs", draw: drawMap, asks: ["quantity", "over", "by"], here: () => LEVERS.size > 1 },
  pareto: { title: "Pareto front of two outputs", draw: drawPareto, asks: ["quantity", "other", "log"], here: () => configured() > 1 && numbers().length > 1 },
};

const numbers = () => drawables().filter((name) => !flagsOf(name) && !LEVERS.has(name));
const drawables = () => [...new Set([...data.outputs, ...data.program.outputs.filter((name) => !LEVERS.has(name) && !name.startsWith("PLACE_OF_"))])];

/** Complete the options of the figure, the model's own figure first. */
function settle() {
  const kinds = Object.keys(KINDS).filter((kind) => KINDS[kind].here());
  if (!kinds.includes(view.kind)) view.kind = kinds[0];
  const plain = data.outputs.filter((name) => !flagsOf(name)), all = drawables();
  const goal = data.best?.goals[0].name;
  if (!all.includes(view.quantity)) view.quantity = goal ?? plain[0] ?? all[0];
  if (!all.includes(view.other)) view.other = plain.find((name) => name !== view.quantity) ?? numbers().find((name) => name !== view.quantity) ?? "";
  const long = [...LEVERS.values()].filter((lever) => !lever.categories).sort((a, b) => (b.axis?.count ?? 0) - (a.axis?.count ?? 0));
  const levers = [...long, ...LEVERS.values()];
  if (!LEVERS.has(view.over)) view.over = levers[0]?.name ?? "";
  if (!LEVERS.has(view.by)) view.by = "";
  if (view.kind === "map" && ["", view.over].includes(view.by)) {
    const others = levers.filter((lever) => lever.name !== view.over);
    view.by = (others.find((lever) => lever.axis?.count > 1) ?? others[0]).name;
  }
}

/** Whether y is logarithmic: for tails of launches, and for positive values over more than a decade of which x is logarithmic. */
function logByDefault() {
  const lever = LEVERS.get(view.over), { of, terms } = data.families[view.family] ?? data.families[0] ?? {};
  if (!["lines", "limits"].includes(view.kind) || !lever.log) return view.kind === "launch";
  const values = along(lever, lever.samples(ALONG), view.kind === "limits" ? [...Object.values(terms), of] : [view.quantity]).flatMap((ys) => [...ys].filter(Number.isFinite));
  return Math.min(...values) > 0 && Math.max(...values) > 10 * Math.min(...values);
}

function drawn(size, colors = palette()) {
  return KINDS[view.kind].draw(size, colors);
}

function showChoices() {
  const levers = [...LEVERS.keys()], asks = KINDS[view.kind]?.asks ?? [], all = drawables();
  const change = (name) => (value) => { view[name] = value; settle(); view.log = logByDefault(); showChoices(); changed(); };
  const kinds = Object.keys(KINDS).filter((kind) => KINDS[kind].here());
  const one = (name, label, values, labels = values) =>
    asks.includes(name) ? element("label", {}, `${label} `, chooser(label, values, labels, view[name], change(name))) : null;
  byId("choices").replaceChildren(...[
    element("label", {}, "figure ", chooser("figure", kinds, kinds.map((kind) => KINDS[kind].title), view.kind, change("kind"))),
    one("family", "of", data.families.map((_, k) => String(k)), data.families.map(({ of }) => of)),
    one("quantity", view.kind === "pareto" ? "across" : "shown", view.kind === "pareto" ? numbers() : all),
    one("other", "upwards", numbers()),
    one("over", "over", levers),
    one("by", view.kind === "map" ? "by" : "a line each", view.kind === "map" ? levers : ["", ...levers], view.kind === "map" ? levers : ["(one line)", ...levers]),
    asks.includes("log") ? element("label", {}, element("input", { type: "checkbox", checked: view.log, onchange: (event) => { view.log = event.target.checked; changed(); } }), view.kind === "pareto" ? " log x and y" : " log y") : null,
  ].filter(Boolean));
}

let chart = null;
/** Width of a figure, in pixels, beyond which its texts grow with it. */
const GROWS = 760;

function redraw() {
  if (!KINDS[view.kind]) return; // there is no input
  const box = byId("figure"), wide = Math.max(300, box.clientWidth), width = Math.round(Math.min(wide, GROWS)); // beyond, texts grow, too
  const tall = (width < 500 && KINDS[view.kind].tall) || 1; // panels are stacked on a phone
  chart = drawn({ width, height: Math.round(tall * Math.min(Math.max(width * (width < 500 ? 0.85 : 0.6), 270), 520)) });
  box.innerHTML = String(chart);
  box.classList.toggle("tall", box.offsetHeight > 0.45 * innerHeight); // inputs need the rest of the window
  const svg = box.firstChild;
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `${KINDS[view.kind].title}: ${chart.y.title} over ${chart.x.title}${chart.note ? `; ${chart.note}` : ""}`);
  const held = data.stored ? [] : stale([view.over, view.by].filter((name) => GIVEN.has(name)));
  byId("figure-note").textContent = [chart.note, ...held.map(([name, given]) => `${name} is that of the study along ${given.join(", ")}`)].filter(Boolean).join("; ");
}

let later = 0;

/** Update after a change: the figure and the outputs at once, the rest later. */
function changed() {
  here.run();
  redraw();
  showOutputs();
  for (const control of controls.values()) control.show();
  clearTimeout(later);
  later = setTimeout(settled, 120);
}

function settled() {
  if (byId("advice").open) showAdvice();
  if (byId("steps").open) showTree();
  byId("found").replaceChildren();
  byId("best-note").textContent = "";
  searching++;
  const link = written();
  if (link !== location.hash) history.replaceState(null, "", link);
}

/** Move the levers of the figure to the pointer. */
function pick(event) {
  if (!(event.buttons & 1) || !chart) return;
  const box = byId("figure").firstChild.getBoundingClientRect(), scale = chart.width / box.width;
  const x = chart.x.value(((event.clientX - box.left) * scale - chart.left) / (chart.right - chart.left));
  const y = chart.y.value((chart.bottom - (event.clientY - box.top) * scale) / (chart.bottom - chart.top));
  if (x < chart.x.low || x > chart.x.high || y < chart.y.low || y > chart.y.high) return;
  if (chart.picked) {
    const [over, a, by, b] = chart.picked(x, y);
    if (a === undefined || b === undefined) return;
    over.move(here, a);
    by.move(here, b);
  } else if (["lines", "limits"].includes(view.kind)) {
    const lever = LEVERS.get(view.over), samples = lever.samples(ALONG);
    lever.move(here, samples[lever.categories ? Math.round(x) : nearest(samples.map((sample) => lever.numberOf(sample)), x)]);
  } else return;
  event.preventDefault();
  changed();
}

function begin() {
  document.title = data.title;
  byId("title").textContent = data.title;
  byId("note").textContent = data.note;
  byId("about").textContent = [`model ${data.model}`, data.machine && `machine ${data.machine}`, data.workload && `workload ${data.workload}`,
    ...data.axes.filter((axis) => axis.size > axis.count).map((axis) => `${axis.count.toLocaleString("en")} of ${axis.size.toLocaleString("en")} values of ${axis.name}`)].filter(Boolean).join(" · ");
  if (data.stored) {
    byId("computed").textContent = "The values are stored data.";
    for (const id of ["advice", "steps", "save-study", "save-point"]) byId(id).hidden = true;
  }
  byId("version").textContent = data.version;
  makeControls();
  makeParts();
  view.family = Math.max(0, data.families.findIndex(({ of }) => of === data.guides[0]?.limits));
  view.kind = Object.keys(KINDS).find((kind) => KINDS[kind].here()) ?? "lines";
  settle();
  if (view.kind === "lines") view.by = data.axes.find(({ name, labels, count }) => labels && count > 1 && count <= 8 && name !== view.over)?.name ?? "";
  view.log = logByDefault();
  read(location.hash);
  settle();
  if (view.kind === "limits" && !location.hash) { // a constant answers nothing
    const lever = LEVERS.get(view.over), [ys] = along(lever, lever.samples(ALONG), [data.families[view.family].of]);
    if (Math.max(...ys) - Math.min(...ys) <= 1e-9 * Math.abs(ys[0])) view.kind = LEVERS.size > 1 ? "map" : "lines";
    settle();
    view.log = logByDefault();
  }
  showChoices();
  const all = drawables();
  const fill = (id, values, labels, chosen) => {
    byId(id).append(...values.map((value, k) => element("option", { value }, labels[k])));
    byId(id).value = chosen;
  };
  fill("explained", all, all, view.quantity);
  fill("moved", numbers(), numbers(), numbers().includes(view.quantity) ? view.quantity : numbers()[0]);
  const goals = data.best ? ["", ...numbers()] : numbers();
  fill("goal", goals, goals.map((name) => name || `${goalWords(data.best.goals)} (the study)`), data.best ? "" : byId("moved").value);
  byId("explained").addEventListener("change", showTree);
  byId("moved").addEventListener("change", showAdvice);
  byId("steps").addEventListener("toggle", showTree);
  byId("advice").addEventListener("toggle", showAdvice);
  const sensed = () => {
    byId("sense").hidden = byId("goal").value === "";
    byId("sense").value = isMaximized(byId("goal").value) ? "maximize" : "minimize";
  };
  sensed();
  byId("goal").addEventListener("change", sensed);
  byId("find").addEventListener("click", findBest);
  byId("save-svg").addEventListener("click", saveSvg);
  byId("save-png").addEventListener("click", savePng);
  byId("save-study").addEventListener("click", () => handed("study.toml", "application/toml", studyFile(false)));
  byId("save-point").addEventListener("click", () => handed("configuration.toml", "application/toml", studyFile(true)));
  byId("copy-link").addEventListener("click", copyLink);
  byId("restore").addEventListener("click", () => { read("#"); changed(); });
  for (const kind of ["pointerdown", "pointermove"]) byId("figure").addEventListener(kind, pick);
  darkness.addEventListener("change", redraw);
  addEventListener("resize", redraw);
  addEventListener("hashchange", () => {
    if (location.hash === written()) return;
    read(location.hash);
    settle();
    showChoices();
    changed();
  });
  changed();
}

globalThis.explorer = { data, here, view, Point, LEVERS, controls, changed, drawn, parsed, valueText, written, read, studyFile, search, movers, moves, pngOf, KINDS, settle };
begin();
