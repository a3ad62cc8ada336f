/** The `projection` protocol, second round: everybody else sends a randomized symbol of a function. */

import { Axis, Grid } from "../axes.js";
import { bigInteger, readInteger } from "../canonical.js";
import { fields, required, small, text } from "../checks.js";
import { Coins } from "../coins.js";
import { CutAxis } from "../cut_axis.js";
import { Interval, Listed } from "../domains.js";
import { BadFile } from "../errors.js";
import { readScalar } from "../mechanisms/index.js";
import { cellDomains, checkDomains } from "../statistics.js";
import { Influence } from "../influence.js";
import { BLOCK, askedFirst } from "./rounds.js";

const FIELDS = ["round", "first", "mechanism", "edges", "functions"];
const MAX_EDGES = 4097;

/** What is given for every stratum, read one by one. @returns {Record<string, any>} */
function byStratum(strata, what, given, read) {
  const good = given instanceof Map && given.size === strata.length && strata.every((name) => given.has(name));
  if (!good) throw new BadFile(`a second round needs ${what} for ${strata.join(", ")}`);
  return Object.fromEntries(strata.map((name) => [name, read(given.get(name))]));
}

/** What a second round says of its first. */
function readFirst(spec) {
  if (!(spec instanceof Map)) throw new BadFile("a second round needs what its first round was");
  const names = ["study", "share"];
  fields("a first round", spec, names);
  required("a first round", spec, names);
  const study = text("first study", spec.get("study"));
  if (!/^[0-9a-f]{64}$/.test(study)) {
    throw new BadFile("a first round is named by the 64 hexadecimal digits of its study's id");
  }
  return { study, share: small("share", spec.get("share"), 1, BLOCK - 1) };
}

/** The cells that functions are given on. */
function readGrid(domains, spec) {
  if (!Array.isArray(spec) || spec.length !== domains.length) {
    throw new BadFile(`a second round needs edges for ${domains.length} column(s)`);
  }
  const axes = domains.map((domain, place) => {
    const edges = spec[place];
    if (domain instanceof Listed) {
      if (edges !== null) throw new BadFile(`${domain} has no edges`);
      return new Axis(domain, domain.values.length);
    }
    if (!Array.isArray(edges) || edges.length > MAX_EDGES) {
      throw new BadFile(`a second round needs a list of edges on ${domain}`);
    }
    const wanted = domain instanceof Interval ? "number" : "bigint";
    // A whole number is written alike whether it is a double or not.
    const numbers = edges.map((edge) =>
      wanted === "number" && typeof edge === "bigint" ? Number(edge) : readInteger(edge),
    );
    if (!numbers.every((edge) => typeof edge === wanted)) throw new BadFile(`edges on ${domain} must be numbers`);
    return new CutAxis(domain, numbers);
  });
  return new Grid(axes);
}

/** The second round of a study. */
export class SecondRound {
  /** @param {import("../statistics.js").Statistic} statistic @param {Map<string, any>} spec */
  constructor(statistic, domains, spec) {
    this.name = "projection";
    this.round = 2;
    this.rounds = 2;
    this.delta = 0;
    this.statistic = statistic;
    const { strata } = statistic;
    fields("a second round", spec, ["name", ...FIELDS]);
    required("a second round", spec, FIELDS);
    this.grid = readGrid(cellDomains(statistic, domains), spec.get("edges"));
    this.first = readFirst(spec.get("first"));
    this.mechanism = readScalar(spec.get("mechanism"));
    this.functions = byStratum(strata, "functions", spec.get("functions"), (each) => new Influence(this.grid, each));
    checkDomains(statistic, domains);
    this.firstCoins = new Coins(this.first.study);
    this.firstStudy = this.first.study;
    this.symbols = BigInt(this.mechanism.symbols);
    this.epsilon = this.mechanism.epsilon;
    this.theorem = `exact ratio of the ${this.mechanism.name} probabilities, integers out of 2^64`;
  }

  asks(person) {
    return !askedFirst({ ...person, coins: this.firstCoins }, this.first.share);
  }

  /** The function at a person's values, a number in [0, 1]. */
  #height({ stratum }, columns) {
    return this.functions[this.statistic.strata[stratum]].at(columns, this.statistic.privateColumns);
  }

  randomize(person, columns, bits) {
    return this.mechanism.randomize(this.#height(person, columns), bits);
  }

  probability(person, columns, symbol) {
    return this.mechanism.probability(this.#height(person, columns), Number(symbol));
  }

  toSpec() {
    const edges = this.grid.axes.map((axis) =>
      axis instanceof CutAxis
        ? axis.edges.map((edge) => (typeof edge === "bigint" ? bigInteger(edge) : edge))
        : null,
    );
    const functions = Object.entries(this.functions).map(([name, influence]) => [name, influence.toSpec()]);
    return {
      name: this.name,
      round: 2,
      first: this.first,
      mechanism: this.mechanism.toSpec(),
      edges,
      functions: Object.fromEntries(functions),
    };
  }
}
