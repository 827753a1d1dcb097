/* The best configuration: searched on the page if there are few, else computed in Python when the
   page was made. */

let searching = 0;

const allHeld = () => data.axes.every((axis) => axis.size === axis.count);
const configured = () => data.axes.reduce((all, axis) => all * axis.count, 1);

/** Fix the axes ``per`` of the study's query at their current values. */
function pinned(all) {
  all.axes.forEach((lever, k) => {
    const list = all.places[k];
    if (data.best?.per.includes(lever.name)) all.places[k] = [lever.categories ? here.at[lever.name] : list[nearest(list.map((sample) => lever.numberOf(sample)), lever.now(here))]];
  });
  all.count = all.places.reduce((count, list) => count * list.length, 1);
  return all;
}

const perWords = (own) => {
  const per = own ? data.best?.per ?? [] : [];
  return per.map((name) => `, ${LEVERS.get(name).textAt(here)}`).join("");
};

/** Search every configuration, in slices of time so that the page stays responsive. */
async function search(goals, where, shown) {
  const own = ++searching, all = where ? pinned(configurations(data.searched)) : configurations(data.searched), steps = walked(all);
  let best = null;
  for (let began = performance.now(), step = steps.next(); !step.done; step = steps.next()) {
    const [point, n] = step.value;
    const values = goals.map(({ name, maximize }) => (maximize ? -point.get(name) : point.get(name)));
    const counts = values.every((value) => value < Infinity) && !point.broken(where).length;
    if (counts && (!best || values.some((value, k) => value < best.values[k] && values.slice(0, k).every((one, j) => one === best.values[j])))) {
      best = { values, at: { ...point.at }, off: { ...point.off } };
    }
    if (performance.now() - began > 12) {
      shown(`searched ${n.toLocaleString("en")} of ${all.count.toLocaleString("en")}`);
      await new Promise((resolve) => { setTimeout(resolve); });
      if (own !== searching) return undefined; // another search has begun
      began = performance.now();
    }
  }
  return best && { ...best, count: all.count };
}

function goalsNow() {
  const name = byId("goal").value, goals = data.best?.goals;
  if (name === "") return goals;
  return [{ name, maximize: byId("sense").value === "maximize" }];
}

const goalWords = (goals) => goals.map(({ name, maximize }) => `${maximize ? "maximize" : "minimize"} ${name}`).join(", then ");

async function findBest() {
  const goals = goalsNow(), own = goals === data.best?.goals, note = byId("best-note");
  const words = goalWords(goals) + perWords(own);
  byId("found").replaceChildren();
  if (own && data.best.found && !Object.keys(here.set).length) return showFound(words);
  const best = await search(goals, own, (text) => { note.textContent = text; });
  if (best === undefined) return undefined;
  note.textContent = "No configuration is feasible.";
  if (!best) return undefined;
  const per = own ? data.best.per : [], whole = data.axes.reduce((all, axis) => all * (per.includes(axis.name) ? 1 : axis.size), 1);
  const point = new Point({ ...here, at: best.at, off: best.off });
  point.run();
  note.textContent = best.count === whole && allHeld()
    ? `${words}: the best of all ${whole.toLocaleString("en")} configurations, with the values given here`
    : `${words}: the best of ${best.count.toLocaleString("en")} configurations on this page, of ${whole.toLocaleString("en")} in the study`;
  return offer(point, goals.map(({ name }) => name));
}

function showFound(words) {
  const { found: answer, per } = data.best, point = new Point(here);
  const index = per.reduce((all, name) => all * AXES.get(name).count + here.at[name], 0);
  if (data.best.goals.some(({ name }) => name in answer && !Number.isFinite(number(answer[name][index])))) {
    byId("best-note").textContent = "No configuration is feasible.";
    return undefined;
  }
  for (const lever of data.axes.map(({ name }) => LEVERS.get(name))) {
    const value = answer[lever.name]?.[index];
    if (lever.categories) lever.move(point, lever.categories.indexOf(String(value)));
    else if (value !== undefined) {
      if (lever.snaps) lever.move(point, nearest(lever.axis.values, number(value)));
      else lever.put(point, number(value));
    }
  }
  point.run();
  byId("best-note").textContent = `${words}: by exact search over all ${data.axes.reduce((all, axis) => all * axis.size, 1).toLocaleString("en")} configurations when this page was made, with the values of the study`;
  return offer(point, data.best.goals.map(({ name }) => name));
}

function offer(point, names) {
  const at = data.axes.map(({ name }) => LEVERS.get(name).textAt(point));
  const values = names.map((name) => `${name} = ${quantityText(name, point.get(name))}`);
  byId("found").replaceChildren(element("p", {}, [...values, ...at].join(", ")),
    element("button", { type: "button", onclick: () => { here.at = point.at; here.off = point.off; here.fill(); changed(); } }, "go there"));
}
