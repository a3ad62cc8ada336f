/** A number in [0, 1] as a whole number of steps of 2^-32. */

import { BadValue } from "../errors.js";

/** The nearest step; of two equally near, the even one. @param {number} value @returns {bigint} */
export function inSteps(value) {
  if (!(value >= 0 && value <= 1)) throw new BadValue("a number that is sent must lie in [0, 1]");
  const scaled = value * 2 ** 32;
  const below = Math.floor(scaled);
  const rest = scaled - below;
  return BigInt(rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? below + 1 : below);
}
