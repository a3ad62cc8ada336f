/** Private random bytes, from the one source that there is. */

import { SystemBits } from "../randomness.js";

/** @param {number} count @returns {Uint8Array} */
export function randomBytes(count) {
  const words = BigUint64Array.from(new SystemBits().words(Math.ceil(count / 8)));
  return new Uint8Array(words.buffer).slice(0, count);
}
