/**
 * Public coins: random numbers that a participant and the analyst can both recompute.
 *
 * Philox4x64-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011), the
 * counter-based generator as numpy has it, keyed by the study. They protect nobody and are no secret.
 */

const MASK = 2n ** 64n - 1n;
const MULTIPLY = [0xd2e7470ee14c6c93n, 0xca5a826395121157n];
const WEYL = [0x9e3779b97f4a7c15n, 0xbb67ae8584caa73bn];
const ROUNDS = 10;
export const WORDS_IN_BLOCK = 4;
/** What coins decide: every purpose has words of its own. */
export const PURPOSE = Object.freeze({ ROW: 0, LEVEL: 1, EVERY_ROW: 2, MORE_ROWS: 3, ROUND: 4 });

/**
 * The four words of one counter.
 *
 * @param {bigint[]} counter four words, the lowest first @param {bigint[]} key two words
 * @returns {bigint[]}
 */
export function philox(counter, key) {
  let [a, b, c, d] = counter;
  let [first, second] = key;
  for (let round = 0; round < ROUNDS; round += 1) {
    const left = a * MULTIPLY[0];
    const right = c * MULTIPLY[1];
    [a, b, c, d] = [(right >> 64n) ^ b ^ first, right & MASK, (left >> 64n) ^ d ^ second, left & MASK];
    first = (first + WEYL[0]) & MASK;
    second = (second + WEYL[1]) & MASK;
  }
  return [a, b, c, d];
}

/** The public coins of one study. */
export class Coins {
  /** Keyed by the first 128 bits of the study's id. @param {string} studyId */
  constructor(studyId) {
    this.key = [BigInt(`0x${studyId.slice(0, 16)}`), BigInt(`0x${studyId.slice(16, 32)}`)];
  }

  /**
   * The words of `count` blocks, one after the other.
   *
   * @param {number} purpose @param {number} stratum @param {bigint} first @param {number} count
   * @returns {bigint[]}
   */
  words(purpose, stratum, first, count) {
    const words = [];
    for (let block = 1n; block <= count; block += 1n) {
      // numpy's generator counts before it draws.
      words.push(...philox([first + block, BigInt(stratum), BigInt(purpose), 0n], this.key));
    }
    return words;
  }
}

/** The places of words from the smallest to the largest. @param {bigint[]} words @returns {number[]} */
export function ranking(words) {
  return words
    .map((_, place) => place)
    .sort((a, b) => (words[a] < words[b] ? -1 : words[a] > words[b] ? 1 : a - b));
}
