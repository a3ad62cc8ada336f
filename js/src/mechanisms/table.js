/** A mechanism given by its table: any probabilities that are whole numbers out of 2^32. */

import { fields, integer, required, small } from "../checks.js";
import { BadFile, BadParameter } from "../errors.js";
import { Fraction } from "../fraction.js";
import { logAbove } from "../thresholds.js";

const TOTAL = 2 ** 32;
const MAX_INPUTS = 256;
const MAX_SYMBOLS = 1024;

/** P(y | x) = weights[x][y] / 2^32; the prior is of use to the analyst only. */
export class TableResponse {
  /** @param {Map<string, any>} spec */
  constructor(spec) {
    this.name = "table";
    const names = ["symbols", "weights", "prior"];
    fields("mechanism 'table'", spec, ["name", ...names]);
    required("mechanism 'table'", spec, names);
    this.symbols = small("symbols", spec.get("symbols"), 2, MAX_SYMBOLS);
    const [weights, prior] = [spec.get("weights"), spec.get("prior")];
    const isWeight = (each) => typeof each === "bigint" && each > 0 && each < TOTAL;
    const good = Array.isArray(weights) && weights.every(isWeight) && Array.isArray(prior);
    if (!good || weights.length !== this.symbols * prior.length) {
      throw new BadFile("a mechanism's table has a weight below 2^32 for each input and symbol");
    }
    const isShare = (each) => (typeof each === "bigint" || typeof each === "number") && each >= 0 && each <= 1;
    if (!prior.every(isShare)) throw new BadFile("a mechanism's prior is a list of shares");
    this.inputs = small("table inputs", BigInt(prior.length), 2, MAX_INPUTS);
    this.weights = weights.map(Number);
    this.prior = prior.map(Number);
    integer("table symbols", BigInt(this.symbols), 2, MAX_SYMBOLS);
    for (let bin = 0; bin < this.inputs; bin += 1) {
      if (this.#row(bin).reduce((sum, each) => sum + each, 0) !== TOTAL) {
        throw new BadParameter("the weights of each input must be at least 1 and add up to 2^32");
      }
    }
    if (!this.prior.some((share) => share > 0)) {
      throw new BadParameter("a mechanism's prior has a share for each input, none below 0");
    }
  }

  #row(bin) {
    return this.weights.slice(bin * this.symbols, (bin + 1) * this.symbols);
  }

  /** The logarithm of the largest ratio within a column. */
  get epsilon() {
    let [most, least] = [1n, 1n];
    for (let symbol = 0; symbol < this.symbols; symbol += 1) {
      let [high, low] = [0, TOTAL];
      for (let bin = 0; bin < this.inputs; bin += 1) {
        const weight = this.weights[bin * this.symbols + symbol];
        high = Math.max(high, weight);
        low = Math.min(low, weight);
      }
      if (BigInt(high) * least > most * BigInt(low)) [most, least] = [BigInt(high), BigInt(low)];
    }
    return logAbove(most, least);
  }

  /** The upper half of a word falls into a symbol's stretch. */
  randomize(bin, bits) {
    const place = Number(bits.word() >> 32n);
    let end = 0;
    return this.#row(bin).findIndex((weight) => place < (end += weight));
  }

  probability(bin, symbol) {
    return new Fraction(BigInt(this.weights[bin * this.symbols + symbol]), BigInt(TOTAL));
  }

  toSpec() {
    return { name: this.name, symbols: this.symbols, weights: this.weights, prior: this.prior };
  }
}
