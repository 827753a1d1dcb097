/* Export: a link with the state, the figure, a study file. */

const OWN = ["kind", "over", "by", "quantity", "other", "family", "log"];

function written() {
  const link = new URLSearchParams();
  for (const { name, labels, values } of data.axes) {
    if (name in here.off) link.set(name, here.off[name]);
    else if (here.at[name] !== start.at[name]) link.set(name, labels ? labels[here.at[name]] : values[here.at[name]]);
  }
  for (const [name, value] of Object.entries(here.set)) link.set(name, value);
  for (const name of OWN) link.set(`.${name}`, view[name]);
  return `#${link}`;
}

/** Restore the state of a link; unknown and invalid values are ignored. */
function read(hash) {
  const link = new URLSearchParams(hash.slice(1));
  here.at = { ...start.at };
  here.off = {};
  here.set = {};
  for (const [name, text] of link) {
    const lever = LEVERS.get(name);
    try {
      if (lever?.categories) {
        if (lever.categories.includes(text)) here.at[name] = lever.categories.indexOf(text);
      } else if (lever) lever.put(here, checked(name, Number(text)));
    } catch {
      continue;
    }
  }
  for (const name of OWN) {
    if (link.has(`.${name}`)) view[name] = typeof view[name] === "number" ? Number(link.get(`.${name}`)) : typeof view[name] === "boolean" ? link.get(`.${name}`) === "true" : link.get(`.${name}`);
  }
  here.fill();
}

function handed(name, type, content) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

const exported = () => String(drawn({ width: 960, height: 600 }, palette(false)));

function saveSvg() {
  handed("figure.svg", "image/svg+xml", exported());
}

async function pngOf(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = element("canvas", { width: 1920, height: 1200 });
  canvas.getContext("2d").drawImage(image, 0, 0, 1920, 1200);
  return new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); });
}

async function savePng() {
  handed("figure.png", "image/png", await pngOf(exported()));
}

const quoted = (text) => JSON.stringify(text).replace(/\u007f/g, "\\u007f");
const tomlNumber = (value) => (Number.isFinite(value) ? String(value) : value > 0 ? "inf" : "-inf");

function studyFile(one) {
  const { study } = data, axes = {};
  for (const { name, labels, columns } of data.axes) {
    const value = labels ? quoted(labels[here.at[name]]) : tomlNumber(LEVERS.get(name).now(here));
    const each = columns?.map((column) => `${column} = [${tomlNumber(here.value(column))}]`);
    if (!one && study.axes[name]) axes[name] = study.axes[name];
    else axes[name] = each?.length ? `{ zip = { ${each.join(", ")} } }` : `[${value}]`;
  }
  const given = Object.fromEntries(Object.entries(here.set).map(([name, value]) => [name, tomlNumber(value)]));
  const tables = { axes, set: { ...study.set, ...given }, random: study.random, best: one ? {} : study.best };
  const title = data.title.replace(/[\u0000-\u001f\u007f]/g, " ");
  const lines = [`# ${title}: written by the page of dse explore ${data.version}`, ...study.head];
  for (const [table, values] of Object.entries(tables)) {
    const rows = Object.entries(values).map(([name, text]) => `${/^[\w-]+$/.test(name) ? name : quoted(name)} = ${text}`);
    if (rows.length) lines.push("", `[${table}]`, ...rows);
  }
  return `${lines.join("\n")}\n`;
}

async function copyLink() {
  try {
    await navigator.clipboard.writeText(location.href);
    byId("shared").textContent = "Link copied.";
  } catch {
    byId("shared").textContent = "Copy the address of this page from the browser.";
  }
}
