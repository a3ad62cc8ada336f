/** Exact probabilities. */

const lengthOf = (number) => number.toString(2).length;

/** A fraction of whole numbers of any length; never negative here. */
export class Fraction {
  /** @param {bigint} numerator @param {bigint} denominator above 0 */
  constructor(numerator, denominator = 1n) {
    this.numerator = numerator;
    this.denominator = denominator;
    Object.freeze(this);
  }

  /** @param {Fraction} other */
  plus(other) {
    if (this.denominator === other.denominator) {
      return new Fraction(this.numerator + other.numerator, this.denominator);
    }
    return new Fraction(
      this.numerator * other.denominator + other.numerator * this.denominator,
      this.denominator * other.denominator,
    );
  }

  /** @param {Fraction} other */
  times(other) {
    return new Fraction(this.numerator * other.numerator, this.denominator * other.denominator);
  }

  /** -1, 0 or 1. @param {Fraction} other */
  compare(other) {
    const difference = this.numerator * other.denominator - other.numerator * this.denominator;
    return difference < 0n ? -1 : difference > 0n ? 1 : 0;
  }

  /** The nearest double, but for its last bit: what `Number(fraction)` and `fraction / 2` use. */
  valueOf() {
    if (this.numerator === 0n) return 0;
    const shift = lengthOf(this.denominator) - lengthOf(this.numerator) + 64;
    const quotient =
      shift >= 0
        ? (this.numerator << BigInt(shift)) / this.denominator
        : this.numerator / (this.denominator << BigInt(-shift));
    return Number(quotient) * 2 ** -shift;
  }

  toString() {
    return `${this.numerator}/${this.denominator}`;
  }
}
