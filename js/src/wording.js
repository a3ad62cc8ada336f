/**
 * Values inside error messages, written as the Python package writes them.
 *
 * Whole numbers of a study are bigints here and numbers are doubles, so that `1` and `1.0` stay apart.
 */

const ESCAPES = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** The shortest text of a double with Python's rules for the exponent. @param {number} value */
export function floatText(value) {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  const [mantissa, power] = Math.abs(value).toExponential().split("e");
  const digits = mantissa.replace(".", "");
  const point = Number(power) + 1;
  if (point > 16 || point < -3) {
    const tail = digits.length > 1 ? `.${digits.slice(1)}` : "";
    const exponent = point - 1;
    const two = String(Math.abs(exponent)).padStart(2, "0");
    return `${sign}${digits[0]}${tail}e${exponent < 0 ? "-" : "+"}${two}`;
  }
  if (point <= 0) return `${sign}0.${"0".repeat(-point)}${digits}`;
  if (digits.length <= point) return `${sign}${digits}${"0".repeat(point - digits.length)}.0`;
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
}

function stringText(text) {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  let out = "";
  for (const character of text) {
    const code = character.codePointAt(0);
    if (character === quote) out += `\\${quote}`;
    else if (ESCAPES[character]) out += ESCAPES[character];
    else if (code < 32 || code === 127) out += `\\x${code.toString(16).padStart(2, "0")}`;
    else if (code === 0x2028 || code === 0x2029 || (code >= 0xd800 && code <= 0xdfff)) out += `\\u${code.toString(16)}`;
    else out += character;
  }
  return quote + out + quote;
}

/** A value as it is shown in a message. @param {unknown} value @returns {string} */
export function repr(value) {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number") return floatText(value);
  if (typeof value === "string") return stringText(value);
  if (Array.isArray(value)) return `[${value.map(repr).join(", ")}]`;
  if (value instanceof Map) {
    return `{${[...value].map(([key, item]) => `${repr(key)}: ${repr(item)}`).join(", ")}}`;
  }
  return kindOf(value);
}

/** What kind of thing a value is. @param {unknown} value @returns {string} */
export function kindOf(value) {
  if (value === null || value === undefined) return "NoneType";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "bigint") return "int";
  if (typeof value === "number") return "float";
  if (typeof value === "string") return "str";
  if (Array.isArray(value)) return "list";
  if (value instanceof Map) return "dict";
  return typeof value === "object" ? (value.constructor?.name ?? "object") : typeof value;
}

/** A number to so many digits, without zeros at its end. @param {number} value */
export function short(value, digits = 6) {
  if (!Number.isFinite(value)) return floatText(value);
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const [mantissa, power] = value.toExponential(digits - 1).split("e");
  const exponent = Number(power);
  if (exponent >= -4 && exponent < digits) {
    const text = value.toFixed(digits - 1 - exponent);
    return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  }
  const head = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
  return `${head}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}
