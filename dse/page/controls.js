/* A slider or a list for every axis and every value that may be given. */

const STEPS = 1000;

/** An element with attributes and children; text is text, never markup. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const byId = (id) => document.getElementById(id);

/** A list to choose from; `labels` beside each value. */
function chooser(label, values, labels, chosen, change) {
  const list = element("select", { "aria-label": label, onchange: () => change(list.value) },
    ...values.map((value, k) => element("option", { value }, labels[k])));
  list.value = chosen;
  return list;
}

/** What moves one lever, and shows where it stands. */
class Control {
  constructor(lever) {
    this.lever = lever;
    const id = `lever-${lever.name}`;
    const told = lever.meaning + (lever.unit ? ` [${lever.unit}]` : "");
    this.problem = element("p", { class: "problem", id: `${id}-problem`, role: "status" });
    if (lever.categories) {
      this.slider = element("select", { id }, ...lever.categories.map((label, k) => element("option", { value: k }, label)));
      this.slider.addEventListener("change", () => this.change(() => lever.move(here, Number(this.slider.value))));
    } else {
      const most = lever.axis ? lever.axis.count - 1 : STEPS;
      this.slider = element("input", { type: "range", id, min: 0, max: Math.max(most, 1), step: 1, "aria-describedby": `${id}-problem` });
      this.slider.addEventListener("input", () => this.change(() => this.slide(Number(this.slider.value))));
      this.typed = element("input", { type: "text", class: "value", "aria-label": `${lever.name}, typed, with its unit`, autocomplete: "off", spellcheck: "false",
        onchange: () => this.change(() => lever.put(here, parsed(lever.name, this.typed.value)), true) });
    }
    this.reset = element("button", { type: "button", class: "reset", title: "as the study has it", "aria-label": `${lever.name} as the study has it`,
      onclick: () => this.change(() => this.restore()) }, "↺");
    this.node = element("div", { class: "control" },
      element("label", { for: id, title: told }, element("b", {}, lever.name.replace("PLACE_OF_", "")), element("span", {}, told)),
      element("div", { class: "row" }, this.slider, this.typed, this.reset), this.problem);
    this.show();
  }

  slide(step) {
    const { lever } = this;
    if (lever.bounds) lever.move(here, lever.between(step / STEPS));
    else lever.move(here, Math.min(step, lever.axis.count - 1));
  }

  restore() {
    const { name, axis } = this.lever;
    delete here.off[name];
    delete here.set[name];
    if (axis) here.at[name] = start.at[name];
    here.fill();
  }

  change(move, typed = false) {
    try {
      move();
      this.problem.textContent = "";
    } catch (error) {
      this.problem.textContent = error.message;
    }
    (this.typed ?? this.slider).setAttribute("aria-invalid", this.problem.textContent !== "");
    changed();
    if (typed) this.show();
  }

  /** Let the control stand where the page does. */
  show() {
    const { lever } = this, { name } = lever;
    const moved = name in here.off || name in here.set || (lever.axis && here.at[name] !== start.at[name]);
    this.reset.style.visibility = moved ? "visible" : "hidden";
    if (lever.categories) {
      this.slider.value = here.at[name];
      return;
    }
    const now = lever.now(here), text = valueText(now, lever.unit, 6);
    if (lever.bounds) this.slider.value = Math.round(STEPS * lever.share(now));
    else this.slider.value = here.at[name];
    this.slider.setAttribute("aria-valuetext", text);
    if (document.activeElement !== this.typed || !moved) this.typed.value = text;
    if (document.activeElement !== this.typed) this.typed.value = text;
  }
}

const controls = new Map();

/** The controls: axes first, then what the study sets, its files tell and what stands by default. */
function makeControls() {
  const groups = [["Axes", [...AXES.keys()].filter((name) => name in data.quantities || AXES.get(name).count > 1)]];
  const titles = { set: "Set by the study", python: "Computed in Python", workload: "Workload", machine: "Machine and others", default: "Defaults" };
  const sorted = Object.fromEntries(Object.keys(titles).map((key) => [key, []]));
  for (const name of GIVEN) sorted[groupOf(name)].push(name);
  groups.push(...Object.entries(titles).map(([key, title]) => [title, sorted[key], key]));
  for (const [title, names, key] of groups) {
    if (!names.length) continue;
    const made = names.map((name) => {
      controls.set(name, new Control(LEVERS.get(name)));
      return controls.get(name).node;
    });
    const open = key === undefined || (key === "set" && names.length <= 8);
    byId("controls").append(element("details", { open }, element("summary", {}, `${title} (${names.length})`),
      key === "python" ? element("p", { class: "note" }, computedWhere(names)) : null, ...made));
  }
}

function groupOf(name) {
  const { kind, source } = data.definitions[name].variants[0];
  if (kind === "table" || kind === "statistic") return "python";
  if (source === "set by the study") return "set";
  if (data.workload && source.startsWith(`${data.workload}:`)) return "workload";
  return kind === "default" || (kind === "formula" && source === "") ? "default" : "machine";
}

/** What is to be known of quantities that Python computed. */
function computedWhere(names) {
  const along = [...new Set(names.flatMap((name) => data.leaves[name].variants.flatMap((one) => one.axes)))];
  const where = along.length ? `at every value of ${along.join(", ")} that the page holds` : "for the study";
  return `No formula of the page yields these. Python computed them ${where}; they follow no other input. They may be given here.`;
}
