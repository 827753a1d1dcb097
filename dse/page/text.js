"use strict";

const number = (text) => Number(text);

const escaped = (text) =>
  String(text).replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** The factor and text of the prefix for values of a unit, as in texts of the command line. */
function prefixOf(values, unit) {
  const { units, decimal, binary } = data.prefixes;
  const sizes = values.map(Math.abs).filter((size) => size >= 1e-18 && size < Infinity);
  if (!units.includes(unit) || !sizes.length) return [1, ""];
  const isBinary = unit === "B" && sizes.every((size) => size % 1024 === 0), base = isBinary ? 1024 : 1000;
  let step = Math.floor(Number((Math.log(Math.min(...sizes)) / Math.log(base)).toFixed(12)));
  while (Math.max(...sizes) / base ** step >= 9999.5) step++;
  step = Math.min(Math.max(step, unit === "B" ? 0 : -5), 4);
  return [base ** step, isBinary ? binary[step] : decimal[step + 5]];
}

/** A number to `count` significant digits, without trailing zeros. */
function digits(value, count = 6) {
  if (Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const [mantissa, exponent] = value.toExponential(count - 1).split("e");
  const plain = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  if ((exponent < -4 || exponent >= Math.max(count, 5)) && !(Number.isInteger(value) && Math.abs(value) < 1e9)) {
    return `${plain(mantissa)}e${Number(exponent)}`;
  }
  return plain(value.toFixed(Math.max(count - 1 - exponent, 0)));
}

/** A value with its unit and a prefix; a prefix leaves four digits, unless more are wanted. */
function valueText(value, unit = "", count = data.prefixes.units.includes(unit) ? 4 : 6) {
  const [factor, letters] = prefixOf([value], unit);
  const name = unit === "1" || unit === "" ? "" : ` ${letters}${unit}${unit === "cycle" && value !== 1 ? "s" : ""}`;
  return digits(value / factor, count) + name;
}

function quantityText(name, value, count) {
  const row = data.quantities[name] ?? {};
  if (row.flags && Number.isFinite(value)) return row.flags[value] ?? String(value);
  return valueText(value, row.unit, count);
}

/** The factor and base exponents of a unit such as "GB/s". */
function unitOf(text) {
  const kind = {};
  text = text.replace(/[\u00b5\u03bc]/g, "u");
  let factor = 1, power = 0, rest = text.replace(/^\s*1\s*(?=\/)/, ""), first = rest === text;
  while (rest.trim()) {
    const part = /^\s*([*/]?)\s*([A-Za-z_]\w*|%)(?:\s*(?:\^|\*\*)\s*(-?\d+))?/.exec(rest);
    const known = part && data.units[part[2] === "%" ? "percent" : part[2]];
    if (!known || (first && part[1])) return null;
    const exponent = Number(part[3] ?? 1) * (part[1] === "/" ? -1 : 1);
    factor *= known[0] ** exponent;
    power += known[1] * exponent;
    for (const [base, own] of Object.entries(known[2])) {
      kind[base] = (kind[base] ?? 0) + own * exponent;
      if (kind[base] === 0) delete kind[base];
    }
    rest = rest.slice(part[0].length);
    first = false;
  }
  return { factor, power, kind: JSON.stringify(Object.entries(kind).sort()) };
}

/** Parse a typed value of a quantity, or throw an Error. */
function parsed(name, text) {
  const row = data.quantities[name] ?? { unit: "" };
  const part = /^\s*([-+]?(?:\d+\.?\d*|\.\d+|inf(?:inity)?|∞))(?:e([-+]?\d+))?\s*(.*)$/i.exec(text.replace("−", "-"));
  if (!part) throw new Error(`“${text}”: expected a number such as ${valueText(1.5, row.unit)}`);
  const unit = part[3].replace(/^\//, "1/");
  const typed = unitOf(unit), own = unitOf(row.unit ?? "");
  if (!typed) throw new Error(`“${part[3]}”: unknown unit${row.unit ? `, expected one such as ${row.unit}` : ""}`);
  if (unit && typed.kind !== own.kind) {
    throw new Error(`“${part[3]}”: ${row.unit ? `expected a unit such as ${row.unit}` : "give it without a unit"}`);
  }
  const plain = part[1].toLowerCase().replace(/inf(inity)?|∞/, "Infinity");
  const value = plain.endsWith("Infinity")
    ? Number(plain)
    : Number(`${plain}e${Number(part[2] ?? 0) + typed.power}`) * typed.factor;
  return checked(name, value);
}

function inDomain(name, value) {
  const { domain, whole } = data.quantities[name] ?? {}, [low, high, lowOpen, highOpen] = (domain ?? []).map((end) => (typeof end === "boolean" ? end : number(end)));
  return !domain || ((lowOpen ? value > low : value >= low) && (highOpen ? value < high : value <= high) &&
    (!whole || Number.isInteger(value) || !Number.isFinite(value)));
}

function checked(name, value) {
  if (inDomain(name, value)) return value;
  throw new Error(`${valueText(value, data.quantities[name].unit)} is outside ${data.quantities[name].says}`);
}
