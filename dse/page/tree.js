/* The outputs, and the steps behind them: value, formula, source. */

function showOutputs() {
  const broken = here.broken();
  byId("outputs").replaceChildren(...data.outputs.map((name) => {
    const row = data.quantities[name] ?? {};
    return element("div", { class: "output" }, element("dt", { title: row.meaning ?? "" }, name),
      element("dd", { "data-name": name }, quantityText(name, here.get(name))), element("dd", { class: "note" }, row.meaning === name ? "" : row.meaning ?? ""));
  }));
  byId("feasible").textContent = [
    broken.length ? `Not feasible: ${broken.map(({ text }) => text).join("; ")}.` : "",
    ...stale().map(([name, given]) => `${name} was computed in Python for the ${given.join(", ")} of the study, not for the values set here.`),
  ].filter(Boolean).join(" ");
}

/** Quantities that Python computed; the page cannot compute them for other inputs. */
function computedInPython() {
  return Object.keys(data.definitions).filter((name) => ["table", "statistic"].includes(definitionOf(name)?.kind) && !(name in here.set));
}

/** Quantities that Python computed from inputs that have moved since. */
function stale(moved = [...Object.keys(here.set), ...Object.keys(here.off)]) {
  return computedInPython()
    .map((name) => [name, moved.filter((given) => given !== name && behind(name).has(given))])
    .filter(([, given]) => given.length);
}

function behind(name, seen = new Set()) {
  for (const need of definitionOf(name)?.needs ?? []) {
    if (!seen.has(need)) behind(need, seen.add(need));
  }
  return seen;
}

/** The steps that are open, by the names above them. */
const opened = new Set();

/** The steps behind a quantity, as a tree that grows when opened. */
function branch(name, above = "") {
  const definition = definitionOf(name), meaning = data.quantities[name]?.meaning, path = `${above}>${name}`;
  const value = OUTPUTS.has(name) ? quantityText(name, here.get(name), 6) : "(label)";
  const given = name in here.set || name in here.off, { kind } = definition ?? {};
  const notes = given ? ["given on this page"] : [definition?.source, definition?.when && `with ${definition.when}`, kind === "table" && "computed in Python",
    definition?.formula === null && "the function f is too long to be shown", kind === "default" && "default"];
  const node = element("details", { open: !above || opened.has(path) }, element("summary", {}, element("b", {}, nameText(name)), ` = ${value}`),
    meaning ? element("p", {}, meaning) : null, definition && "formula" in definition && !given ? equationOf(name, definition) : null,
    element("p", { class: "note" }, notes.filter(Boolean).join("; ")));
  let needs = given ? [] : definition?.needs ?? [];
  const grow = () => {
    opened[node.open ? "add" : "delete"](path);
    if (!node.open) return;
    node.append(...needs.map((need) => branch(need, path)));
    needs = [];
  };
  node.addEventListener("toggle", grow);
  if (node.open) grow();
  return node;
}

function showTree() {
  byId("tree").replaceChildren(branch(byId("explained").value));
}
