/** Bytes as hexadecimal and as base64. */

import { BadFile } from "./errors.js";

/** @param {Uint8Array} bytes @returns {string} */
export function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** @param {string} text two digits for each byte @returns {Uint8Array} */
export function fromHex(text) {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

/** Read base64, in the one form that its bytes have. @param {unknown} text @param {string} why */
export function fromBase64(text, why) {
  if (typeof text !== "string" || !/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4) {
    throw new BadFile(why);
  }
  let binary;
  try {
    binary = atob(text);
  } catch {
    throw new BadFile(why);
  }
  if (btoa(binary) !== text) throw new BadFile(why);
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
