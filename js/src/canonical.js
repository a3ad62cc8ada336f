/**
 * Canonical JSON (RFC 8785): one text for one meaning, so that a hash names a study in every language.
 *
 * Whole numbers beyond 2^53 are written as decimal strings by `bigInteger` and read by `readInteger`.
 */

import { hex } from "./bytes.js";
import { sha256 } from "./sha256.js";

const SAFE = 2n ** 53n;

/**
 * The canonical text of maps, plain objects, lists, strings, numbers, bigints, booleans and null.
 *
 * @param {any} value @returns {string}
 */
export function canonical(value) {
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const pairs = value instanceof Map ? [...value] : Object.entries(value);
    // Strings compare by UTF-16 units, which is the order of RFC 8785.
    pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    return `{${pairs.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(",")}}`;
  }
  return JSON.stringify(value);
}

/** SHA-256 of the canonical text, in hexadecimal. @param {any} value @returns {string} */
export function digest(value) {
  return hex(sha256(new TextEncoder().encode(canonical(value))));
}

/** A whole number as JSON can carry it everywhere. @param {bigint} value @returns {bigint | string} */
export function bigInteger(value) {
  return value > SAFE || value < -SAFE ? String(value) : value;
}

/** Undo `bigInteger`; anything else is left for the caller's check to refuse. @param {any} value */
export function readInteger(value) {
  if (typeof value !== "string" || !/^-?[0-9]{1,20}$/.test(value)) return value;
  const number = BigInt(value);
  return number > SAFE || number < -SAFE ? number : value;
}
