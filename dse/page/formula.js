/* Formulas in MathML. A formula is a row of short pieces, so that it can break at every operator. */

/** Precedence and sign of each operator; other operations are written as functions. */
const OPERATORS = {
  either: [1, "or"], both: [2, "and"], negate: [3, "not"], equal: [4, "="], less: [4, "<"], less_equal: [4, "≤"],
  add: [5, "+"], sub: [5, "−"], mul: [6, "·"], div: [6, "/"],
};
const CHAINED = ["either", "both", "add", "mul"], ATOM = 9;
const FENCES = { floor: "⌊⌋", ceil: "⌈⌉", absolute: "||" };
const FUNCTIONS = { minimum: "min", maximum: "max", log: "ln", pow: "power" };
/** Most characters above or below the bar of a fraction: a phone has less room. */
const BAR = innerWidth < 600 ? 30 : 60;

function math(tag, ...children) {
  const made = document.createElementNS("http://www.w3.org/1998/Math/MathML", tag);
  made.append(...children);
  return made;
}

function operator(sign) {
  const made = math("mo", sign), isFence = "()⌊⌋⌈⌉|".includes(sign);
  made.setAttribute(...(isFence ? ["stretchy", "false"] : ["form", "infix"])); // infix also at the start of a line
  return made;
}

const mathRow = (nodes) => math("mrow", ...nodes);
const mathWords = (text) => math("mtext", `\u00a0${text}\u00a0`);
const fenced = (nodes, [open, close] = "()") => [operator(open), ...nodes, operator(close)];
const listed = (terms) => terms.flatMap((nodes, k) => (k ? [operator(","), ...nodes] : nodes));
const textOf = (nodes) => nodes.map((node) => node.textContent).join("");
const nameText = (name) => name.replace("PLACE_OF_", "place of ");

/** A product of equal factors as a power, and a root of a root as one. */
function shortened([op, first, second]) {
  if (op === "sqrt") return first[0] === "sqrt" ? ["pow", first[1], "1/4"] : [op, first];
  const isSame = (tree) => JSON.stringify(tree) === JSON.stringify(second);
  let [rest, count] = [first, 1];
  for (; rest[0] === "mul" && isSame(rest[2]); rest = rest[1]) count++;
  return isSame(rest) ? ["pow", second, count + 1] : count > 1 ? ["mul", rest, ["pow", second, count]] : [op, first, second];
}

/** The pieces of a formula, and as ``binds`` the precedence of its outermost operator. */
function piecesOf(tree) {
  const bound = (nodes, binds = ATOM) => Object.assign(nodes, { binds });
  if (typeof tree === "string" && Number.isNaN(number(tree))) return bound([math("mi", nameText(tree))]);
  if (typeof tree === "boolean") return bound([math("mn", String(tree))]);
  if (!Array.isArray(tree)) return bound([math("mn", digits(number(tree), 12).replace("-", "−"))], number(tree) < 0 ? 5 : ATOM);
  const [op, ...rest] = tree[0] === "divide" ? ["div", tree[1], tree[2]] : ["sqrt", "mul"].includes(tree[0]) ? shortened(tree) : tree, terms = rest.map(piecesOf);
  const within = (k, around) => (terms[k].binds < around ? fenced(terms[k]) : terms[k]);
  if (op in FENCES) return bound(fenced(terms[0], FENCES[op]));
  if (op === "where") return bound(fenced([...terms[1], mathWords("if"), ...terms[0], mathWords("else"), ...terms[2]]));
  if (terms.every((nodes) => textOf(nodes).length <= BAR)) {
    if (op === "sqrt") return bound([math("msqrt", ...terms[0])]);
    if (op === "pow") return bound([math("msup", mathRow(within(0, 8)), mathRow(terms[1]))], 7);
    if (op === "div") return bound([math("mfrac", ...terms.map(mathRow))], 7);
  }
  if (op === "pow" && terms[1].length === 1) return bound([...fenced(terms[0]).slice(0, -1), math("msup", operator(")"), ...terms[1])], 7);
  if (!(op in OPERATORS)) return bound([math("mi", FUNCTIONS[op] ?? op), ...fenced(listed(terms))]);
  const [binds, sign] = OPERATORS[op];
  if (op === "negate") return bound([operator(sign), ...within(0, binds)], binds);
  if (op === "mul" && rest[0] === -1) return bound([operator("−"), ...within(1, binds)], 5);
  return bound([...within(0, binds + (binds === 4)), operator(sign), ...within(1, binds + !CHAINED.includes(op))], binds);
}

/** Elements with the pieces; a line may begin at each sign, and after each comma. */
function lineOf(nodes) {
  const lines = [[]];
  nodes.forEach((node, k) => {
    const isSign = node.textContent !== "," && (node.tagName === "mtext" || node.getAttribute("form"));
    if (k && (isSign || nodes[k - 1].textContent === ",")) lines.push([]);
    lines.at(-1).push(node);
  });
  return lines.flatMap((line) => [document.createElement("wbr"), math("math", ...line)]);
}

const atZero = (tree) => (Array.isArray(tree) ? [...tree.slice(1).flatMap(atZero), ...(tree[0] === "divide" ? [textOf(piecesOf(tree[3]))] : [])] : []);

/** The equation of a quantity, in one line or with one line for each case. */
function equationOf(name, { formula, needs }) {
  const right = (tree) => (tree === null ? [math("mi", "f"), ...fenced(listed(needs.map(piecesOf)))]
    : flagsOf(name)?.[tree] ? [math("mtext", flagsOf(name)[tree])] : piecesOf(tree));
  const cases = [], left = [math("mi", nameText(name)), operator("=")], zeros = [...new Set(atZero(formula))];
  let rest = formula;
  for (; rest?.[0] === "where"; rest = rest[3]) cases.push([...right(rest[2]), mathWords("if"), ...piecesOf(rest[1])]);
  if (cases.length) cases.push([...right(rest), mathWords("otherwise")]);
  return element("div", { class: "formula" }, ...lineOf(cases.length ? left : [...left, ...right(rest)]),
    element("div", { class: "cases" }, ...cases.map((nodes) => element("div", {}, ...lineOf(nodes)))),
    zeros.length ? element("div", { class: "note" }, `a quotient by 0 is ${zeros.join(" or ")}`) : null);
}
