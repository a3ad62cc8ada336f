/**
 * Epsilon from exact ratios: no floating point decides anything here.
 *
 * Probabilities are whole numbers out of 2^64, and the logarithm of their largest ratio is rounded up to a
 * double, as the Python package does.
 */

/** How many values a random word takes. */
export const WORDS = 2n ** 64n;
const BITS = 512n;
const ONE = 1n << BITS;
/** What the Python package adds to be on the safe side of its 60 digits. */
const SLACK = ONE / 10n ** 57n + 1n;

const lengthOf = (number) => BigInt(number.toString(2).length);

/** ln(a / b) = 2 artanh((a - b) / (a + b)) in units of 2^-512, for a / b between 1/2 and 2. @param {bigint} a @param {bigint} b */
function nearOne(a, b) {
  const z = ((a - b) << BITS) / (a + b);
  const square = (z * z) >> BITS;
  let [sum, power] = [0n, z];
  for (let odd = 1n; power !== 0n && power !== -1n; odd += 2n) {
    sum += power / odd;
    power = (power * square) >> BITS;
  }
  return 2n * sum;
}

const LN_2 = nearOne(2n, 1n);

/**
 * The smallest double that is at least ln(numerator / denominator), for ratios of at least 1.
 *
 * @param {bigint} numerator @param {bigint} denominator @returns {number}
 */
export function logAbove(numerator, denominator) {
  const halvings = lengthOf(numerator) - lengthOf(denominator);
  const logarithm = halvings * LN_2 + nearOne(numerator, denominator << halvings) + SLACK;
  const shift = lengthOf(logarithm) - 53n;
  if (shift <= 0n) return Number(logarithm) * 2 ** -Number(BITS);
  const up = -(-logarithm >> shift);
  return Number(up) * 2 ** Number(shift - BITS);
}
