/** One randomized bit of a number in [0, 1]: stochastic rounding and randomized response in one draw. */

import { integer } from "../checks.js";
import { Fraction } from "../fraction.js";
import { WORDS, logAbove } from "../thresholds.js";
import { inSteps } from "./steps.js";

/** P(1 | v) = (A + round(v B)) / 2^64 with 2 A + B = 2^64. */
export class BitResponse {
  static fields = ["floor"];

  /** @param {bigint} floor A */
  constructor(floor) {
    this.name = "bit";
    this.symbols = 2;
    this.floor = integer("bit floor", floor, 1, WORDS / 2n - 1n);
    this.boost = WORDS - 2n * floor;
  }

  get epsilon() {
    return logAbove(this.floor + this.boost, this.floor);
  }

  /** The word count that answers 1. @param {number} value */
  threshold(value) {
    const steps = inSteps(value);
    return this.floor + steps * (this.boost >> 32n) + ((steps * (this.boost & 0xffffffffn)) >> 32n);
  }

  randomize(value, bits) {
    const threshold = this.threshold(value);
    return bits.word() < threshold ? 1 : 0;
  }

  probability(value, symbol) {
    const one = this.threshold(value);
    return new Fraction(symbol === 1 ? one : WORDS - one, WORDS);
  }

  toSpec() {
    return { name: this.name, floor: String(this.floor) };
  }
}
