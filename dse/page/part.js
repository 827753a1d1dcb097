/* The form to choose another part of a served store, with more of its values. */

function makeParts() {
  if (!data.stored?.served) return;
  const long = data.axes.filter((axis) => axis.values && data.stored.axes[axis.name] > 1);
  const problem = element("p", { class: "problem", role: "status" });
  const rows = long.map(({ name, values, count, size }) => {
    const unit = LEVERS.get(name).unit, ends = [Math.min(...values), Math.max(...values)];
    const typed = ends.map((end, k) => element("input", { type: "text", class: "value", value: valueText(end, unit, 8), "aria-label": `${name} ${k ? "to" : "from"}` }));
    const sizes = `${count.toLocaleString("en")} of ${size.toLocaleString("en")} here, of ${data.stored.axes[name].toLocaleString("en")} stored`;
    return { name, typed, node: element("p", {}, element("b", {}, name), " from ", typed[0], " to ", typed[1], " ", element("span", { class: "note" }, sizes)) };
  });
  const go = (event) => {
    event.preventDefault();
    try {
      const ranges = rows.map(({ name, typed }) => [name, typed.map((one) => parsed(name, one.value)).join(":")]);
      location.assign(`/?${new URLSearchParams(ranges)}${location.hash}`);
    } catch (error) {
      problem.textContent = error.message;
    }
  };
  byId("controls").append(element("form", { onsubmit: go }, element("details", { open: true }, element("summary", {}, "Part of the store"),
    ...rows.map(({ node }) => node), problem, element("p", {}, element("button", {}, "Show this part"), " ", element("a", { href: "/" }, "all")))));
}
