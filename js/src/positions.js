/** Where a value lies among an interval's edges: what protocols work on in place of the value. */

import { lastNotAbove } from "./axes.js";
import { Interval } from "./domains.js";

/**
 * The positions 0 .. k among the k + 1 edges of an interval; it is given values, and checks them.
 *
 * Comparisons, differences and a quotient, which every processor rounds alike.
 */
class Positions extends Interval {
  /** @param {Interval} interval */
  constructor(interval) {
    super(0, interval.edges.length + 1);
    this.interval = interval;
    this.all = Object.freeze([interval.low, ...interval.edges, interval.high]);
    Object.freeze(this);
  }

  get scaled() {
    return true;
  }

  /** The position of a value. @param {import("./domains.js").Value} value @param {string} column */
  check(value, column) {
    const number = this.interval.check(value, column);
    const piece = Math.min(lastNotAbove(this.all, number), this.interval.edges.length);
    return piece + (number - this.all[piece]) / (this.all[piece + 1] - this.all[piece]);
  }

  /** @param {number} place */
  valueAt(place) {
    const piece = Math.min(Math.max(Math.trunc(place), 0), this.all.length - 2);
    const [low, high] = [this.all[piece], this.all[piece + 1]];
    return Math.min(Math.max(low + (place - piece) * (high - low), low), high);
  }

  toSpec() {
    return this.interval.toSpec();
  }

  toString() {
    return this.interval.toString();
  }
}

/**
 * The domains that a protocol works on: positions where an interval has edges.
 *
 * @param {readonly import("./domains.js").Domain[]} domains
 */
export function placed(domains) {
  return domains.map((domain) => (domain instanceof Interval && domain.edges.length > 0 ? new Positions(domain) : domain));
}
