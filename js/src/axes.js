/** A domain cut into bins, and a grid of such axes: how a person's data becomes one cell. */

import { choice } from "./checks.js";
import { Integers, Interval, Listed } from "./domains.js";
import { BadParameter } from "./errors.js";
import { Fraction } from "./fraction.js";

export const MAX_BINS = 4096;
const ROUNDINGS = ["simple", "random"];
const UNIT = 2 ** 53;
/** Differences of whole numbers up to here are doubles. */
const EXACT = 2n ** 52n;

/** @typedef {{ bin: number, share: Fraction }} Placed a bin, and how likely a value goes to it */

/** The last of ascending `starts` that is not above `value`. */
export function lastNotAbove(starts, value) {
  let [low, high] = [0, starts.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (starts[middle] <= value) low = middle;
    else high = middle;
  }
  return low;
}

/** Refuse points that values of the domain cannot be rounded to at random. */
function checkRounded(domain, points) {
  if (domain instanceof Integers && points >= domain.size) {
    throw new BadParameter(
      `rounding='random' of ${domain} needs fewer than ${domain.size} bins, not ${points}: ` +
        "with one for each value nothing is rounded",
    );
  }
  const fits = domain instanceof Integers ? domain.low >= -EXACT && domain.high <= EXACT : domain instanceof Interval;
  if (!fits) {
    throw new BadParameter(`rounding='random' needs an Interval, or Integers from -2^52 to 2^52, not ${domain}`);
  }
  const edges = edgesOf(domain);
  if (edges.length > 0 && points > edges.length + 2) {
    throw new BadParameter(
      `rounding='random' of an Interval with ${edges.length} edges has at most ${edges.length + 2} bins, ` +
        `the edges and both ends, not ${points}`,
    );
  }
}

/** The edges of an interval that has some. @returns {readonly number[]} */
function edgesOf(domain) {
  return domain instanceof Interval ? domain.edges : [];
}

/** So many of an interval's edges, as evenly among them as may be, from its low end to its high one. */
function pointsOf(domain, count) {
  const every = [domain.low, ...domain.edges, domain.high];
  return Array.from({ length: count }, (_, place) => every[Math.floor((place * (every.length - 1)) / (count - 1))]);
}

/** A domain cut into equal bins. */
export class Axis {
  /** @param {import("./domains.js").Domain} domain @param {number} bins @param {string} rounding */
  constructor(domain, bins, rounding = "simple") {
    this.domain = domain;
    this.bins = bins;
    this.rounding = choice("rounding", rounding, ROUNDINGS);
    if (bins < 2 || bins > MAX_BINS) {
      throw new BadParameter(`bins must be a whole number from 2 to ${MAX_BINS}, not ${bins}`);
    }
    if (!(domain instanceof Interval) && bins > domain.size) {
      throw new BadParameter(`bins must be at most ${domain.size}, the domain's size, not ${bins}`);
    }
    if (domain instanceof Listed && BigInt(bins) !== domain.size) {
      throw new BadParameter(`bins must be ${domain.size}, one for each of the domain's values, not ${bins}`);
    }
    /** The points to which values are rounded at random; null where they are evenly spaced. */
    this.points = null;
    if (this.rounding === "random") {
      checkRounded(domain, bins);
      if (edgesOf(domain).length > 0) this.points = Object.freeze(pointsOf(domain, bins));
    }
  }

  /** How far a value lies above the lowest, and the highest does. */
  #above(value, column) {
    const { domain } = this;
    if (domain instanceof Integers) return [Number(domain.offset(value, column)), Number(domain.size - 1n)];
    const { low, high } = /** @type {Interval} */ (domain);
    return [/** @type {Interval} */ (domain).check(value, column) - low, high - low];
  }

  /** The bin below a value, and how far above it the value lies, in bins. */
  #position(value, column) {
    if (this.points) {
      const number = /** @type {Interval} */ (this.domain).check(value, column);
      const bin = Math.min(lastNotAbove(this.points, number), this.bins - 2);
      return [bin, (number - this.points[bin]) / (this.points[bin + 1] - this.points[bin])];
    }
    const [above, extent] = this.#above(value, column);
    const steps = this.rounding === "simple" ? this.bins : this.bins - 1;
    const position = above * (steps / extent);
    const bin = Math.min(Math.trunc(position), steps - 1);
    return [bin, position - bin];
  }

  /** The bin of a value. Only random rounding draws from `bits`: one word. */
  place(value, column, bits) {
    if (this.domain instanceof Listed) return this.domain.code(value, column);
    if (this.domain instanceof Integers && this.rounding === "simple") {
      return Number((this.domain.offset(value, column) * BigInt(this.bins)) / this.domain.size);
    }
    const [bin, rest] = this.#position(value, column);
    if (this.rounding === "simple") return bin;
    const uniform = Number(bits.word() >> 11n) / UNIT;
    return uniform < rest ? bin + 1 : bin;
  }

  /** The bins that a value may go to. @returns {Placed[]} */
  placements(value, column) {
    if (this.rounding === "simple") return [{ bin: this.place(value, column), share: new Fraction(1n) }];
    const [bin, rest] = this.#position(value, column);
    // As many of the 2^53 uniform numbers lie below the rest.
    const up = BigInt(Math.min(Math.max(Math.ceil(rest * UNIT), 0), UNIT));
    const whole = BigInt(UNIT);
    return [
      { bin, share: new Fraction(whole - up, whole) },
      { bin: bin + 1, share: new Fraction(up, whole) },
    ].filter(({ share }) => share.numerator > 0n);
  }

  /** A bin's values: one of them, and its ends where there are several. */
  describe(bin) {
    const { domain } = this;
    if (domain instanceof Listed) return { value: domain.values[bin] };
    if (this.points) return { value: this.points[bin] };
    if (domain instanceof Integers && this.rounding === "random") {
      // The whole number nearest to the point.
      const [twice, steps] = [2n * (domain.size - 1n) * BigInt(bin), BigInt(this.bins - 1)];
      return { value: domain.low + (twice + steps) / (2n * steps) };
    }
    if (domain instanceof Integers) {
      const bins = BigInt(this.bins);
      const start = (place) => (BigInt(place) * domain.size + bins - 1n) / bins;
      return integerRange(domain, start(bin), start(bin + 1) - 1n);
    }
    const extent = domain.high - domain.low;
    if (this.rounding === "random") {
      return { value: domain.valueAt(domain.low + (extent * bin) / (this.bins - 1)) };
    }
    return intervalRange(domain, bin, this.bins);
  }
}

/** One of `parts` equal parts of an interval. */
export function intervalRange(domain, part, parts) {
  const at = (place) => domain.low + (domain.high - domain.low) * (place / parts);
  const inside = (number) => domain.valueAt(Math.min(Math.max(number, domain.low), domain.high));
  const high = part + 1 === parts ? domain.valueAt(domain.high) : inside(at(part + 1));
  return { value: inside(at(part + 0.5)), low: inside(at(part)), high };
}

/** Whole numbers between two offsets, both included. @param {Integers} domain @param {bigint} first @param {bigint} last */
export function integerRange(domain, first, last) {
  const [low, high] = [domain.low + first, domain.low + last];
  return low === high ? { value: low } : { value: low + (high - low) / 2n, low, high };
}

/** The cells of several axes; the last axis runs fastest. */
export class Grid {
  /** @param {Axis[]} axes */
  constructor(axes) {
    this.axes = axes;
    this.cells = axes.reduce((product, axis) => product * axis.bins, 1);
    if (this.cells > MAX_BINS) {
      const shape = axes.map((axis) => axis.bins).join(" x ");
      throw new BadParameter(`the grid of ${shape} has ${this.cells} cells; at most ${MAX_BINS} are allowed`);
    }
  }

  /** The cell of a person. */
  place(columns, names, bits) {
    return this.axes.reduce(
      (cell, axis, place) => cell * axis.bins + axis.place(columns[place], names[place], bits),
      0,
    );
  }

  /** The cells that a person may go to. @returns {Placed[]} */
  placements(columns, names) {
    let cells = [{ bin: 0, share: new Fraction(1n) }];
    this.axes.forEach((axis, place) => {
      const next = axis.placements(columns[place], names[place]);
      cells = cells.flatMap((cell) =>
        next.map(({ bin, share }) => ({ bin: cell.bin * axis.bins + bin, share: cell.share.times(share) })),
      );
    });
    return cells;
  }
}
