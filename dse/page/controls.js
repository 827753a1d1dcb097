/* A slider or list for every axis and input. */

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

function chooser(label, values, labels, chosen, change) {
  const list = element("select", { "aria-label": label, onchange: () => change(list.value) },
    ...values.map((value, k) => element("option", { value }, labels[k])));
  list.value = chosen;
  return list;
}

class Control {
  constructor(lever) {
    this.lever = lever;
    const id = `lever-${lever.name}`;
    const text = lever.meaning + (lever.unit ? ` [${lever.unit}]` : "");
    this.problem = element("p", { class: "problem", id: `${id}-problem`, role: "status" });
    if (lever.categories) {
      this.slider = element("select", { id }, ...lever.words.map((label, k) => element("option", { value: k }, label)));
      this.slider.addEventListener("change", () => this.change(() => lever.move(here, Number(this.slider.value))));
    } else {
      const most = lever.axis ? lever.axis.count - 1 : STEPS;
      this.slider = element("input", { type: "range", id, min: 0, max: Math.max(most, 1), step: 1, "aria-describedby": `${id}-problem` });
      this.slider.addEventListener("input", () => this.change(() => this.slide(Number(this.slider.value))));
      this.typed = element("input", { type: "text", class: "value", "aria-label": `${lever.name}, typed, with its unit`, autocomplete: "off", spellcheck: "false",
        onchange: () => this.change(() => lever.put(here, parsed(lever.name, this.typed.value))) });
    }
    this.reset = element("button", { type: "button", class: "reset", title: "reset", "aria-label": `reset ${lever.name}`,
      onclick: () => this.change(() => this.restore()) }, "↺");
    this.node = element("div", { class: "control" },
      element("label", { for: id, title: text }, element("b", {}, lever.name.replace("PLACE_OF_", "")), element("span", {}, text)),
      element("div", { class: "row" }, this.slider, this.typed, this.reset), this.problem);
    this.show();
  }

  slide(step) {
    this.lever.move(here, this.lever.bounds ? this.lever.between(step / STEPS) : Math.min(step, this.lever.axis.count - 1));
  }

  restore() {
    const { name, axis } = this.lever;
    delete here.off[name];
    delete here.set[name];
    if (axis) here.at[name] = start.at[name];
    here.fill();
  }

  change(move) {
    let problem = "";
    try {
      move();
    } catch (error) {
      problem = error.message;
    }
    changed();
    this.show(problem);
  }

  /** Show the value at this point, and why an input was refused; an earlier message is removed. */
  show(problem = "") {
    this.problem.textContent = problem;
    (this.typed ?? this.slider).setAttribute("aria-invalid", problem !== "");
    const { lever } = this, { name } = lever;
    const moved = name in here.off || name in here.set || (lever.axis && here.at[name] !== start.at[name]);
    this.reset.style.visibility = moved ? "visible" : "hidden";
    const now = lever.now(here), text = valueText(now, lever.unit, 6);
    this.slider.value = lever.bounds ? Math.round(STEPS * lever.share(now)) : here.at[name];
    if (lever.categories) return;
    this.slider.setAttribute("aria-valuetext", text);
    if (document.activeElement !== this.typed || !moved) this.typed.value = text;
  }
}

const controls = new Map();

/** Configurations at which inputs are tried, and factors of their values there. */
const TRIED = 500, FACTORS = [1e-6, 1e-3, 0.125, 0.5, 2, 8, 1e3, 1e6];

/** Values from the whole domain of an input: of its slider, at the ends of the domain, next to its value, and far from it. */
function valuesOf(lever, own) {
  const values = [...lever.row.domain.slice(0, 2).map(number), own - 1, own + 1, ...FACTORS.map((factor) => factor * (own || lever.bounds.high))];
  return [0, 0.5, 1].map((share) => lever.between(share)).concat(lever.row.whole ? values.map(Math.round) : values).filter((value) => inDomain(lever.name, value));
}

/** The given numbers that change no output and no condition, at any configuration and with any value that is tried. */
function idleInputs() {
  const { roofline = { levels: [], ceilings: [] } } = data.figures;
  const drawn = [...roofline.levels.flatMap(({ intensity, bandwidth }) => [intensity, bandwidth]), ...roofline.ceilings.map(({ quantity }) => quantity)];
  const places = [...data.outputs, ...data.families.map(({ of }) => of), ...drawn].map((name) => OUTPUTS.get(name)).filter((place) => place !== undefined);
  places.push(...data.conditions.map((_, k) => OUTPUTS.size + k));
  const point = new Point();
  let idle = [...GIVEN].filter((name) => !(name in data.program.choices));
  for (let n = 1; n <= TRIED && idle.length; n++) {
    data.axes.forEach(({ name, count }, k) => { point.at[name] = Math.floor(count * ((n * Math.sqrt(4 * k + 2)) % 1)); }); // irrational steps
    point.fill();
    const first = Float64Array.from(point.run());
    idle = idle.filter((name) => {
      const k = INPUTS.get(name), own = point.x[k];
      const isSame = valuesOf(LEVERS.get(name), own).every((value) => {
        point.x[k] = value;
        return point.run() && places.every((place) => Object.is(point.y[place], first[place]));
      });
      point.x[k] = own;
      return isSame;
    });
  }
  return idle;
}

/** Make the controls: axes, then values of the study, of its files, and defaults. */
function makeControls() {
  const groups = [["Axes", [...AXES.keys()].filter((name) => name in data.quantities || AXES.get(name).count > 1)]];
  const titles = { set: "Set by the study", python: "Computed in Python", workload: "Workload", machine: "Machine and others", default: "Defaults", idle: "No effect on the outputs" };
  const idle = data.stored ? [] : idleInputs();
  const sorted = Object.fromEntries(Object.keys(titles).map((key) => [key, []]));
  for (const name of GIVEN) sorted[idle.includes(name) ? "idle" : groupOf(name)].push(name);
  if (sorted.python.length) byId("computed").textContent = `This page computes everything but the ${sorted.python.length} inputs “${titles.python}” itself, from the same equations as Python.`;
  groups.push(...Object.entries(titles).map(([key, title]) => [title, sorted[key], key]));
  for (const [title, names, key] of groups) {
    if (!names.length) continue;
    const made = names.map((name) => {
      controls.set(name, new Control(LEVERS.get(name)));
      return controls.get(name).node;
    });
    const open = key === undefined || (key === "set" && names.length <= 8);
    byId("controls").append(element("details", { open }, element("summary", {}, `${title} (${names.length})`),
      key === "python" ? element("p", { class: "note" }, computedWhere(names)) : null,
      key === "idle" ? element("p", { class: "note" }, `None of them changes an output: values from the whole domain of each were tried at ${TRIED} configurations, the other inputs as in the study.`) : null, ...made));
  }
}

function groupOf(name) {
  const { kind, source } = data.definitions[name].variants[0];
  if (kind === "table" || kind === "statistic") return "python";
  if (source === "set by the study") return "set";
  if (data.workload && source.startsWith(`${data.workload}:`)) return "workload";
  return kind === "default" || (kind === "formula" && source === "") ? "default" : "machine";
}

function computedWhere(names) {
  const along = [...new Set(names.flatMap((name) => data.leaves[name].variants.flatMap((one) => one.axes)))];
  const where = along.length ? `at every value of ${along.join(", ")} on this page` : "for the study";
  return `Python computed these values ${where}; they do not follow other inputs. You can set them here.`;
}
