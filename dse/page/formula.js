/* Formulas in MathML. A formula is a row of short pieces, so that it can break at every operator. */

/** Precedence and sign of each operator; other operations are written as functions. */
const OPERATORS = {
  either: [1, "or"], both: [2, "and"], negate: [3, "not"], equal: [4, "="], less: [4, "<"], less_equal: [4, "≤"],
  add: [5, "+"], sub: [5, "−"], mul: [6, "·"], div: [6, "/"],
};
const FENCES = { floor: "⌊⌋", ceil: "⌈⌉", absolute: "||" };
const FUNCTIONS = { minimum: "min", maximum: "max", log: "ln", pow: "power" };
/** Most characters above or below the bar of a fraction: a phone has no room for more. */
const BAR = 30;

function math(tag, ...children) {
  const made = document.createElementNS("http://www.w3.org/1998/Math/MathML", tag);
  made.append(...children);
  return made;
}

function operator(sign) {
  const made = math("mo", sign);
  if (!"()⌊⌋⌈⌉|".includes(sign)) made.setAttribute("form", "infix"); // also at the start of a line
  else made.setAttribute("stretchy", "false");
  return made;
}

const lengthOf = (nodes) => nodes.reduce((all, node) => all + node.textContent.length, 0);
const fenced = (nodes, [open, close] = "()") => [operator(open), ...nodes, operator(close)];
const nameText = (name) => name.replace("PLACE_OF_", "place of ");

/** The pieces of a formula, in brackets if it binds less than what is around it. */
function piecesOf(tree, around = 0) {
  if (typeof tree === "string" && Number.isNaN(Number(tree))) return [math("mi", nameText(tree))];
  if (!Array.isArray(tree)) {
    const written = [math("mn", typeof tree === "boolean" ? String(tree) : digits(number(tree), 12))];
    return number(tree) < 0 && around > 5 ? fenced(written) : written;
  }
  const [op, ...terms] = tree[0] === "divide" ? ["div", tree[1], tree[2]] : tree;
  if (op in FENCES) return fenced(piecesOf(terms[0]), FENCES[op]);
  if (op === "where") {
    const [condition, yes, no] = terms.map((term) => piecesOf(term));
    return fenced([...yes, math("mtext", "\u00a0if\u00a0"), ...condition, math("mtext", "\u00a0else\u00a0"), ...no]);
  }
  const plain = terms.map((term) => piecesOf(term)), isShort = plain.every((nodes) => lengthOf(nodes) <= BAR);
  if (op === "sqrt" && isShort) return [math("msqrt", ...plain[0])];
  if (op === "pow" && isShort) return [math("msup", math("mrow", ...piecesOf(terms[0], 8)), math("mrow", ...plain[1]))];
  if (op === "div" && isShort) return [math("mfrac", ...plain.map((nodes) => math("mrow", ...nodes)))];
  if (!(op in OPERATORS)) {
    const listed = plain.flatMap((nodes, k) => (k ? [operator(","), ...nodes] : nodes));
    return [math("mi", FUNCTIONS[op] ?? op), ...fenced(listed)];
  }
  const [binds, sign] = OPERATORS[op];
  let made;
  if (op === "negate") made = [operator(sign), ...piecesOf(terms[0], binds)];
  else if (op === "mul" && terms[0] === -1) made = [operator("−"), ...piecesOf(terms[1], binds)];
  else {
    const [left, right] = [binds + (binds === 4), binds + ["sub", "div", "equal", "less", "less_equal"].includes(op)];
    made = [...piecesOf(terms[0], left), operator(sign), ...piecesOf(terms[1], right)];
  }
  return binds < around ? fenced(made) : made;
}

/** Elements with the pieces; a line may begin at each sign, and after each comma. */
function lineOf(nodes) {
  const lines = [[]];
  for (const node of nodes) {
    const before = lines.at(-1).at(-1)?.textContent;
    const isSign = node.textContent !== "," && (node.tagName === "mtext" || node.getAttribute("form"));
    if (lines.at(-1).length && (before === "," || isSign)) lines.push([]);
    lines.at(-1).push(node);
  }
  return lines.flatMap((line) => [document.createElement("wbr"), math("math", ...line)]);
}

/** The values of quotients with a divisor 0 in a formula. */
const atZero = (tree) => (Array.isArray(tree) ? [...tree.slice(1).flatMap(atZero), ...(tree[0] === "divide" ? [tree[3]] : [])] : []);

/** The equation of a quantity, in one line or with one line for each case. */
function equationOf(name, { formula, needs }) {
  const left = [math("mi", nameText(name)), operator("=")], listed = needs.flatMap((need, k) => [...(k ? [operator(",")] : []), math("mi", nameText(need))]);
  const right = (tree) => (tree === null ? [math("mi", "f"), ...fenced(listed)]
    : flagsOf(name)?.[tree] ? [math("mtext", flagsOf(name)[tree])] : piecesOf(tree));
  const cases = [];
  let rest = formula;
  for (; rest?.[0] === "where"; rest = rest[3]) cases.push([...right(rest[2]), math("mtext", "\u00a0if\u00a0"), ...piecesOf(rest[1])]);
  const zeros = [...new Set(atZero(formula).map((tree) => piecesOf(tree).map((node) => node.textContent).join("")))];
  return element("div", { class: "formula" }, ...lineOf(cases.length ? left : [...left, ...right(rest)]),
    cases.length ? element("div", { class: "cases" }, ...[...cases, [...right(rest), math("mtext", "\u00a0otherwise")]].map((nodes) => element("div", {}, ...lineOf(nodes)))) : null,
    zeros.length ? element("div", { class: "note" }, `a quotient by 0 is ${zeros.join(" or ")}`) : null);
}
