/** What many small privacy losses add up to. */

import { logAbove } from "./thresholds.js";

const view = new DataView(new ArrayBuffer(8));

/** A double above 0 as an exact fraction. @param {number} value @returns {[bigint, bigint]} */
export function exactly(value) {
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const exponent = Number(bits >> 52n);
  const fraction = bits & (2n ** 52n - 1n);
  const [mantissa, power] = exponent ? [fraction + 2n ** 52n, exponent - 1075] : [fraction, -1074];
  return power >= 0 ? [mantissa << BigInt(power), 1n] : [mantissa, 1n << BigInt(-power)];
}

/**
 * The least epsilon at which `times` answers, each with probabilities `most` or `least`, lose at most `delta`.
 *
 * Kairouz, Oh, Viswanath, "The composition theorem for differential privacy" (ICML 2015), Theorem 3.3, in
 * whole numbers: with p = most and a = least, delta (p + a)^k is the largest of the sums over the first
 * terms of C(k, i) (p^(k-i) a^i - e^epsilon p^i a^(k-i)), so each of them bounds e^epsilon from below.
 *
 * @param {bigint} most @param {bigint} least @param {number} times @param {number} delta
 */
export function composedEpsilon(most, least, times, delta) {
  const count = BigInt(times);
  const [above, below] = exactly(delta);
  const allowed = above * (most + least) ** count;
  let [high, low] = [1n, 1n];
  let [gained, lost, ways] = [0n, 0n, 1n];
  for (let flips = 0n; 2n * flips < count; flips += 1n) {
    gained += ways * most ** (count - flips) * least ** flips;
    lost += ways * most ** flips * least ** (count - flips);
    const [numerator, denominator] = [gained * below - allowed, lost * below];
    if (numerator * low > high * denominator) [high, low] = [numerator, denominator];
    ways = (ways * (count - flips)) / (flips + 1n);
  }
  return logAbove(high, low);
}
