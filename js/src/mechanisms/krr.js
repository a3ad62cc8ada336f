/** k-ary randomized response: the true bin, or with some probability a uniformly random one. */

import { MAX_BINS } from "../axes.js";
import { integer } from "../checks.js";
import { Fraction } from "../fraction.js";
import { WORDS, logAbove } from "../thresholds.js";

/** P(y | x) = (A + B [y = x]) / 2^64 with k A + B = 2^64. */
export class KaryResponse {
  static fields = ["inputs", "floor"];

  /** @param {bigint} inputs @param {bigint} floor A */
  constructor(inputs, floor) {
    this.name = "krr";
    this.inputs = Number(integer("krr inputs", inputs, 2, MAX_BINS));
    this.floor = integer("krr floor", floor, 1, (WORDS - 1n) / inputs);
    this.boost = WORDS - inputs * floor;
    this.symbols = this.inputs;
  }

  get epsilon() {
    return logAbove(this.floor + this.boost, this.floor);
  }

  /** The word falls into one of k equal stretches, or behind them all: then the truth. */
  randomize(bin, bits) {
    const stretch = bits.word() / this.floor;
    return stretch < this.inputs ? Number(stretch) : bin;
  }

  probability(bin, symbol) {
    return new Fraction(this.floor + (symbol === bin ? this.boost : 0n), WORDS);
  }

  toSpec() {
    return { name: this.name, inputs: this.inputs, floor: String(this.floor) };
  }
}
