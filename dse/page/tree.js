/* The outputs, and the steps behind them: value, formula, source. */

function showOutputs() {
  const broken = here.broken();
  byId("outputs").replaceChildren(...data.outputs.map((name) => {
    const row = data.quantities[name] ?? {};
    return element("div", { class: "output" }, element("dt", { title: row.meaning ?? "" }, name),
      element("dd", { "data-name": name }, quantityText(name, here.get(name))), element("dd", { class: "note" }, row.meaning ?? ""));
  }));
  byId("feasible").textContent = [
    broken.length ? `Not feasible: ${broken.map(({ text }) => text).join("; ")}.` : "",
    ...stale().map(([name, given]) => `${name} was computed in Python for the ${given.join(", ")} of the study, not for the values set here.`),
  ].filter(Boolean).join(" ");
}

/** Quantities that Python computed from inputs that have changed since. */
function stale() {
  const moved = [...Object.keys(here.set), ...Object.keys(here.off)];
  if (!moved.length) return [];
  return Object.keys(data.definitions)
    .filter((name) => ["table", "statistic"].includes(definitionOf(name).kind) && !(name in here.set))
    .map((name) => [name, moved.filter((given) => given !== name && behind(name).has(given))])
    .filter(([, given]) => given.length);
}

/** All quantities behind a quantity. */
function behind(name, seen = new Set()) {
  for (const need of definitionOf(name)?.needs ?? []) {
    if (!seen.has(need)) behind(need, seen.add(need));
  }
  return seen;
}

/** The steps behind a quantity, as a tree that grows when opened. */
function branch(name, open = false) {
  const definition = definitionOf(name), row = data.quantities[name] ?? {};
  const value = OUTPUTS.has(name) ? quantityText(name, here.get(name), 6) : "(label)";
  const head = [element("b", {}, nameText(name)), ` = ${value}`];
  const given = name in here.set || name in here.off;
  const source = given ? "given on this page" : definition?.source ?? "";
  const parts = [row.meaning ? element("p", {}, row.meaning) : null,
    definition && "formula" in definition && !given ? equationOf(name, definition) : null,
    element("p", { class: "note" }, [source, definition?.when ? `with ${definition.when}` : "", definition?.kind === "table" ? "computed in Python" : "",
      definition?.formula === null ? "the function f is too long to be shown" : "", definition?.kind === "default" && !given ? "default" : ""].filter(Boolean).join("; "))];
  const needs = given ? [] : definition?.needs ?? [];
  const node = element("details", { "data-step": name, open }, element("summary", {}, ...head), ...parts);
  const grow = () => {
    if (node.open && needs.length && !node.querySelector(":scope > details")) node.append(...needs.map((need) => branch(need)));
  };
  node.addEventListener("toggle", grow);
  if (open) node.append(...needs.map((need) => branch(need)));
  return node;
}

function showTree() {
  const open = new Set([...byId("tree").querySelectorAll("details[open]")].map((node) => pathOf(node)));
  const name = byId("explained").value;
  byId("tree").replaceChildren(branch(name, true));
  const walk = (node) => {
    for (const child of node.querySelectorAll(":scope > details")) {
      if (open.has(pathOf(child))) {
        child.open = true;
        if (!child.querySelector(":scope > details")) {
          const needs = definitionOf(child.dataset.step)?.needs ?? [];
          if (!(child.dataset.step in here.set)) child.append(...needs.map((need) => branch(need)));
        }
        walk(child);
      }
    }
  };
  walk(byId("tree").firstChild);
}

function pathOf(node) {
  const names = [];
  for (let one = node; one?.dataset?.step; one = one.parentElement) names.unshift(one.dataset.step);
  return names.join(">");
}
