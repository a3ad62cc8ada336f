/** An axis of unequal bins, between edges: what the function of a second round is read on. */

import { MAX_BINS, lastNotAbove } from "./axes.js";
import { integer } from "./checks.js";
import { Interval } from "./domains.js";
import { BadParameter } from "./errors.js";

/** Bin i holds the values from edge i up to, not including, the next; edges of integers are offsets. */
export class CutAxis {
  /** @param {import("./domains.js").Interval | import("./domains.js").Integers} domain */
  constructor(domain, edges) {
    this.domain = domain;
    this.edges = edges;
    this.bins = Math.max(edges.length - 1, 0);
    integer("bins", BigInt(this.bins), 1, MAX_BINS);
    const [low, high] = domain instanceof Interval ? [domain.low, domain.high] : [0n, domain.size];
    const ascending = edges.every((edge, place) => place === 0 || edges[place - 1] < edge);
    if (!ascending || edges[0] !== low || edges[this.bins] !== high) {
      throw new BadParameter(`edges must ascend from one end of ${domain} to the other`);
    }
  }

  /** How many values a bin holds, as the double nearest to it. */
  #points(bin) {
    return this.domain instanceof Interval ? Infinity : Number(this.edges[bin + 1] - this.edges[bin]);
  }

  /** Whether a bin has a vertex at each end: it holds several values. @returns {boolean[]} */
  get wide() {
    return Array.from({ length: this.bins }, (_, bin) => this.#points(bin) > 1);
  }

  /** The bin of a value, and how far through its bin it lies, from 0 to 1. @returns {[number, number]} */
  locate(value, column) {
    if (this.domain instanceof Interval) {
      const number = this.domain.check(value, column);
      const bin = Math.min(lastNotAbove(this.edges, number), this.bins - 1);
      const [low, high] = [this.edges[bin], this.edges[bin + 1]];
      return [bin, Math.min((number - low) / (high - low), 1)];
    }
    const offset = this.domain.offset(value, column);
    const bin = lastNotAbove(this.edges, offset);
    const through = Number(offset - this.edges[bin]) / Math.max(this.#points(bin) - 1, 1);
    return [bin, Math.min(through, 1)];
  }
}
