/** Whole numbers from 0 to `most` as zeros and ones whose weighted sum is nothing else (draft, section 7.4.2). */

/** How many zeros and ones there are. @param {bigint} most @returns {number} */
export function bitLength(most) {
  return most.toString(2).length;
}

/**
 * The zeros and ones of `value`: their weights are 1, 2, 4, ... and, for the last, what is missing to `most`.
 *
 * @param {bigint} value @param {bigint} most @returns {number[]}
 */
export function rangeBits(value, most) {
  const bits = bitLength(most);
  const rest = 2n ** BigInt(bits - 1) - 1n;
  const last = value > rest;
  const lower = last ? value - (most - rest) : value;
  const places = Array.from({ length: bits - 1 }, (_, place) => Number((lower >> BigInt(place)) & 1n));
  return [...places, Number(last)];
}
