/**
 * Projective geometry response (Feldman, Nelson, Nguyen, Talwar, ICML 2022): bins and symbols are points of
 * a projective space over a prime field, and a bin favours the points orthogonal to it. Dimension 2 is a
 * line, on which the bins favour themselves.
 */

import { MAX_BINS } from "../axes.js";
import { integer } from "../checks.js";
import { BadParameter } from "../errors.js";
import { Fraction } from "../fraction.js";
import { WORDS, logAbove } from "../thresholds.js";
import { symbolOf } from "./stretches.js";

const MAX_SYMBOLS = 2 ** 16;
const LINE = 2;

/** 1 + q + ... + q^(terms-1): the number of points of a projective space. */
function geometric(order, terms) {
  let sum = 0n;
  for (let power = 0n; power < terms; power += 1n) sum += order ** power;
  return sum;
}

function isPrime(number) {
  if (number < 2) return false;
  for (let divisor = 2; divisor * divisor <= number; divisor += 1) if (number % divisor === 0) return false;
  return true;
}

/** P(y | x) = (A + B [y orthogonal to x] + [y < leftover]) / 2^64. */
export class ProjectiveResponse {
  static fields = ["inputs", "order", "dimension", "floor", "boost"];

  constructor(inputs, order, dimension, floor, boost) {
    this.name = "projective";
    this.inputs = Number(integer("projective inputs", inputs, 2, MAX_BINS));
    this.order = Number(integer("projective order", order, 1, MAX_SYMBOLS));
    this.dimension = Number(integer("projective dimension", dimension, LINE, 16));
    if (this.dimension === LINE && this.order !== this.inputs - 1) {
      throw new BadParameter(`projective order must be ${this.inputs - 1} in dimension 2, not ${order}`);
    }
    if (this.dimension > LINE && !isPrime(this.order)) {
      throw new BadParameter(`projective order must be prime, not ${order}`);
    }
    const symbols = integer("projective symbols", geometric(order, dimension), inputs, MAX_SYMBOLS);
    const favoured = geometric(order, dimension - 1n);
    this.symbols = Number(symbols);
    this.favoured = Number(favoured);
    this.floor = integer("projective floor", floor, 1, WORDS / symbols);
    this.boost = integer("projective boost", boost, 1, WORDS);
    this.leftover = WORDS - symbols * floor - favoured * boost;
    if (this.leftover < 0n || this.leftover >= favoured) {
      throw new BadParameter("projective floor and boost do not fill 64-bit words");
    }
  }

  get epsilon() {
    return logAbove(this.floor + this.boost, this.floor);
  }

  /** The coordinates of a point; the first that is not 0 is 1. In the order of the number they spell. */
  #point(place) {
    const { order, dimension } = this;
    let [free, rest] = [0, place];
    for (let size = 1; rest >= size; size *= order) {
      rest -= size;
      free += 1;
    }
    const point = new Array(dimension).fill(0);
    point[dimension - 1 - free] = 1;
    for (let digit = dimension - 1; digit > dimension - 1 - free; digit -= 1) {
      point[digit] = rest % order;
      rest = Math.floor(rest / order);
    }
    return point;
  }

  #favours(bin, symbol) {
    if (this.dimension === LINE) return bin === symbol;
    const [a, b] = [this.#point(bin), this.#point(symbol)];
    return a.reduce((sum, each, place) => sum + each * b[place], 0) % this.order === 0;
  }

  /** The member-th of the symbols that `bin` favours. */
  #member(bin, member) {
    let left = member;
    for (let symbol = 0; ; symbol += 1) {
      if (this.#favours(bin, symbol)) {
        if (left === 0) return symbol;
        left -= 1;
      }
    }
  }

  randomize(bin, bits) {
    return symbolOf(bits.word(), this, (member) => this.#member(bin, member));
  }

  probability(bin, symbol) {
    const common = this.floor + (BigInt(symbol) < this.leftover ? 1n : 0n);
    return new Fraction(common + (this.#favours(bin, symbol) ? this.boost : 0n), WORDS);
  }

  toSpec() {
    const { name, inputs, order, dimension } = this;
    return { name, inputs, order, dimension, floor: String(this.floor), boost: String(this.boost) };
  }
}
