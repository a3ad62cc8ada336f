/** A randomized symbol of a number in [0, 1]: a window of favoured symbols that moves with the number. */

import { integer } from "../checks.js";
import { BadParameter } from "../errors.js";
import { Fraction } from "../fraction.js";
import { WORDS, logAbove } from "../thresholds.js";
import { inSteps } from "./steps.js";
import { symbolOf } from "./stretches.js";

export const MAX_SYMBOLS = 256;
const STEPS = 2n ** 32n;

/**
 * P(y | s) = (A + B [s <= y < s + w] + [y < leftover]) / 2^64 for the window s = v (m - w); with knots, s is
 * linear between those of neighbouring windows.
 */
export class WindowResponse {
  static fields = ["symbols", "width", "floor", "boost"];
  static lists = ["knots"];

  /**
   * @param {bigint} symbols @param {bigint} width @param {bigint} floor @param {bigint} boost
   * @param {bigint[]} knots in units of 2^-32, without those of 0 and 1; none if windows are even
   */
  constructor(symbols, width, floor, boost, knots = []) {
    this.name = "window";
    this.symbols = Number(integer("window symbols", symbols, 2, MAX_SYMBOLS));
    this.width = Number(integer("window width", width, 1, symbols - 1n));
    this.favoured = this.width;
    this.floor = integer("window floor", floor, 1, WORDS / symbols);
    this.boost = integer("window boost", boost, 1, WORDS);
    this.leftover = WORDS - symbols * floor - width * boost;
    if (this.leftover < 0n || this.leftover >= width) {
      throw new BadParameter("window floor and boost do not fill 64-bit words");
    }
    const last = this.symbols - this.width;
    if (knots.length > 0 && knots.length !== last - 1) {
      throw new BadParameter(`${last + 1} windows have ${last - 1} knots between 0 and 1`);
    }
    let least = 1n;
    for (const knot of knots) {
      least = integer("a window's knot, above the one before it,", knot, least, STEPS - 1n) + 1n;
    }
    this.knots = knots;
  }

  get epsilon() {
    return logAbove(this.floor + this.boost, this.floor);
  }

  /** The window's start in units of 2^-32. */
  #steps(value) {
    const steps = inSteps(value);
    if (this.knots.length === 0) return steps * BigInt(this.symbols - this.width);
    const start = this.knots.filter((knot) => knot <= steps).length;
    const [low, high] = [start > 0 ? this.knots[start - 1] : 0n, this.knots[start] ?? STEPS];
    const gap = high - low;
    return BigInt(start) * STEPS + ((steps - low) * STEPS + gap / 2n) / gap;
  }

  /** Two words: one for the window, one for the symbol. */
  randomize(value, bits) {
    const steps = this.#steps(value);
    const [first, second] = bits.words(2);
    const start = Number((steps + (first >> 32n)) >> 32n);
    return symbolOf(second, this, (member) => start + member);
  }

  #weight(start, symbol) {
    const common = this.floor + (BigInt(symbol) < this.leftover ? 1n : 0n);
    return common + (start <= symbol && symbol < start + this.width ? this.boost : 0n);
  }

  probability(value, symbol) {
    const steps = this.#steps(value);
    const start = Number(steps / STEPS);
    const rest = steps % STEPS;
    const both = (STEPS - rest) * this.#weight(start, symbol) + rest * this.#weight(start + 1, symbol);
    return new Fraction(both, WORDS * STEPS);
  }

  toSpec() {
    const { name, symbols, width } = this;
    const knots = this.knots.length > 0 ? { knots: this.knots.map(Number) } : {};
    return { name, symbols, width, floor: String(this.floor), boost: String(this.boost), ...knots };
  }
}
