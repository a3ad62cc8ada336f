/** How many bits a call of the gadget checks. */

import { bitLength } from "./range.js";

function proofLength(length, chunk) {
  const calls = Math.ceil(length / chunk);
  return 2 * chunk + 2 * (2 ** bitLength(BigInt(calls)) - 1) + 1;
}

/**
 * The chunk with the shortest proof for so many bits; the shorter one if two are equal.
 *
 * Proofs are as long for all numbers of calls below the same power of two, so that few chunks come into question.
 *
 * @param {number} length @returns {number}
 */
export function bestChunk(length) {
  const powers = Array.from({ length: bitLength(BigInt(length)) + 1 }, (_, place) => 2 ** (place + 1));
  const candidates = powers.map((power) => Math.ceil(length / (power - 1)));
  return candidates.reduce((best, chunk) => (proofLength(length, chunk) <= proofLength(length, best) ? chunk : best));
}
