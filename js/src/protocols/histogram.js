/** The `histogram` protocol: place a person in a cell and randomize the cell. */

import { Axis, Grid, MAX_BINS } from "../axes.js";
import { choice, fields, required, small } from "../checks.js";
import { Integers, Interval } from "../domains.js";
import { BadFile, BadParameter } from "../errors.js";
import { Fraction } from "../fraction.js";
import { readMechanism } from "../mechanisms/index.js";
import { LABELS, cellDomains, checkDomains, checkGrid } from "../statistics.js";

/** Quantization and a mechanism on the cells, in one round. */
export class Histogram {
  /** @param {import("../statistics.js").Statistic} statistic @param {Map<string, any>} spec */
  constructor(statistic, domains, spec) {
    this.name = "histogram";
    this.round = 1;
    this.rounds = 1;
    this.delta = 0;
    const names = ["bins", "rounding", "kernel", "mechanism"];
    fields("protocol 'histogram'", spec, ["name", ...names]);
    required("protocol 'histogram'", spec, names);
    const bins = spec.get("bins");
    if (!Array.isArray(bins) || bins.length !== domains.length) {
      throw new BadFile(`protocol 'histogram' needs a list of ${domains.length} bins`);
    }
    this.bins = bins.map((count) => small("bins", count, 2, MAX_BINS));
    this.mechanism = readMechanism(spec.get("mechanism"));
    this.statistic = statistic;
    this.rounding = choice("rounding", spec.get("rounding"), ["simple", "random"]);
    checkDomains(statistic, domains, this.rounding === "random");
    this.kernel = choice("kernel", spec.get("kernel"), ["average", "midpoint"]);
    this.grid = this.#grid(domains);
    checkGrid(statistic, this.grid, this.kernel);
    if (this.mechanism.inputs !== this.grid.cells) {
      throw new BadParameter(
        `the mechanism has ${this.mechanism.inputs} inputs and the study ${this.grid.cells} cells`,
      );
    }
    this.symbols = BigInt(this.mechanism.symbols);
    this.epsilon = this.mechanism.epsilon;
    this.theorem = `exact ratio of the ${this.mechanism.name} probabilities, integers out of 2^64`;
  }

  #grid(domains) {
    const distances = this.statistic.needs === "numeric";
    const rounded = (domain) => domain instanceof Interval || (distances && domain instanceof Integers);
    if (this.rounding === "random" && !domains.some(rounded)) {
      throw new BadParameter(
        "rounding='random' needs an Interval domain, or Integers whose distances count; other values are not rounded",
      );
    }
    const axes = domains.map(
      (domain, place) => new Axis(domain, this.bins[place], rounded(domain) ? this.rounding : "simple"),
    );
    return new Grid(cellDomains(this.statistic, domains).length > axes.length ? [...axes, new Axis(LABELS, 2)] : axes);
  }

  randomize(person, columns, bits) {
    return this.mechanism.randomize(this.grid.place(columns, this.statistic.privateColumns, bits), bits);
  }

  /** @returns {Fraction} the exact probability of a symbol */
  probability(person, columns, symbol) {
    return this.grid
      .placements(columns, this.statistic.privateColumns)
      .map(({ bin, share }) => share.times(this.mechanism.probability(bin, Number(symbol))))
      .reduce((sum, each) => sum.plus(each), new Fraction(0n));
  }

  /** One value of every bin of every column. */
  parts() {
    return this.grid.axes.map((axis) => Array.from({ length: axis.bins }, (_, bin) => axis.describe(bin)));
  }

  toSpec() {
    const { name, bins, rounding, kernel } = this;
    return { name, bins, rounding, kernel, mechanism: this.mechanism.toSpec() };
  }
}
