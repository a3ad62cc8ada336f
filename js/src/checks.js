/** Checks of what a study says, each ending in one sentence that says what is allowed. */

import { BadFile, BadParameter } from "./errors.js";
import { repr } from "./wording.js";

/** @typedef {Map<string, any>} Spec an object of a study's JSON, as `json.js` reads it */

/** `value` as a finite double. @param {string} name @param {unknown} value @returns {number} */
export function real(name, value) {
  const number = typeof value === "bigint" || typeof value === "number" ? Number(value) : NaN;
  if (!Number.isFinite(number)) throw new BadParameter(`${name} must be a finite number, not ${repr(value)}`);
  return number;
}

/** `value` as a finite double above zero. @param {string} name @param {unknown} value */
export function positive(name, value) {
  const number = real(name, value);
  if (number <= 0) throw new BadParameter(`${name} must be above 0, not ${repr(value)}`);
  return number;
}

/** `value` as a double from 0 up to, and without, 1. @param {string} name @param {unknown} value */
export function belowOne(name, value) {
  const number = real(name, value);
  if (number < 0 || number >= 1) throw new BadParameter(`${name} must be at least 0 and below 1, not ${repr(value)}`);
  return number;
}

/**
 * `value` as a whole number in `low..high` (both allowed).
 *
 * @param {string} name @param {unknown} value @param {number | bigint} low @param {number | bigint} high
 * @returns {bigint}
 */
export function integer(name, value, low, high) {
  if (typeof value !== "bigint" || value < low || value > high) {
    throw new BadParameter(`${name} must be a whole number from ${shown(low)} to ${shown(high)}, not ${repr(value)}`);
  }
  return value;
}

/** A bound as people read it. @param {number | bigint} bound @returns {string} */
function shown(bound) {
  const number = BigInt(bound);
  if (number < 0n) return `-${shown(-number)}`;
  if (number <= 2n ** 40n) return `${number}`;
  const power = (number + 1n).toString(2).length - 1;
  if (number === 2n ** BigInt(power)) return `2^${power}`;
  return number === 2n ** BigInt(power) - 1n ? `2^${power} - 1` : `${number}`;
}

/** The same for what small numbers are enough for. @returns {number} */
export function small(name, value, low, high) {
  return Number(integer(name, value, low, high));
}

/** A whole number that a caller of JavaScript gave, as a number or a bigint. @returns {bigint} */
export function given(name, value, low, high) {
  return integer(name, Number.isSafeInteger(value) ? BigInt(value) : value, low, high);
}

/** `value` if it is a string that can be written down. @returns {string} */
export function text(name, value) {
  if (typeof value !== "string" || /[\ud800-\udfff]/u.test(value)) {
    throw new BadParameter(`${name} must be a text of valid characters, not ${repr(value)}`);
  }
  return value;
}

/** `value` if it is one of `allowed`. @param {string} name @param {unknown} value @param {string[]} allowed */
export function choice(name, value, allowed) {
  if (typeof value !== "string" || !allowed.includes(value)) {
    const names = [...allowed].sort().map(repr).join(", ");
    throw new BadParameter(`${name} must be one of ${names}, not ${repr(value)}`);
  }
  return value;
}

/** Refuse keys that `what` does not know. @param {string} what @param {Spec} spec @param {string[]} allowed */
export function fields(what, spec, allowed) {
  const unknown = [...spec.keys()].filter((key) => !allowed.includes(key)).sort();
  if (unknown.length) {
    const known = [...allowed].sort().join(", ") || "none";
    throw new BadParameter(`${what} has no option ${unknown.map(repr).join(", ")}; it takes ${known}`);
  }
}

/** Refuse an object that lacks one of `names`. @param {string} what @param {Spec} spec @param {string[]} names */
export function required(what, spec, names) {
  const missing = names.filter((name) => !spec.has(name));
  if (missing.length) throw new BadFile(`${what} lacks ${missing.map(repr).join(", ")}`);
}

/** Whether a number of a study, whole or not, has this value. @param {unknown} value @param {number} wanted */
export function equals(value, wanted) {
  return (typeof value === "bigint" || typeof value === "number") && Number(value) === wanted;
}
