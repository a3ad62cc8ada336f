/**
 * From a person's values to a leaf of a binary tree over one or several columns.
 *
 * A column of 2^b bins has b bits, the highest first. Several columns take turns, so that each level's
 * nodes are boxes of about equal sides.
 */

import { Integers, Interval } from "./domains.js";

/** How many bits number `size` things. @param {bigint} size */
export function bitsOf(size) {
  return Math.max(1, size > 1n ? (size - 1n).toString(2).length : 0);
}

/** The bin of a value among 2^bits. @returns {bigint} */
export function leafCode(domain, bits, value, column) {
  if (domain instanceof Interval) {
    const { low, high } = domain;
    const position = ((domain.check(value, column) - low) / (high - low)) * 2 ** bits;
    return BigInt(Math.trunc(Math.min(position, 2 ** bits - 1)));
  }
  if (domain instanceof Integers) return domain.offset(value, column) >> BigInt(bitsOf(domain.size) - bits);
  return BigInt(domain.code(value, column));
}

/** The leaf of a person. @param {number[]} bits of each column @returns {bigint} */
export function leafOf(domains, bits, columns, names) {
  const parts = domains.map((domain, place) => leafCode(domain, bits[place], columns[place], names[place]));
  let leaf = 0n;
  for (let turn = 0; turn < Math.max(...bits); turn += 1) {
    parts.forEach((part, place) => {
      if (turn < bits[place]) leaf = (leaf << 1n) | ((part >> BigInt(bits[place] - 1 - turn)) & 1n);
    });
  }
  return leaf;
}
