/** The `projection` protocol, second round: everybody else sends a randomized symbol of a function. */

import { Axis, Grid } from "../axes.js";
import { bigInteger, readInteger } from "../canonical.js";
import { fields, integer, real, required, small, text } from "../checks.js";
import { Coins } from "../coins.js";
import { CutAxis } from "../cut_axis.js";
import { Interval, Listed } from "../domains.js";
import { BadFile } from "../errors.js";
import { readScalar } from "../mechanisms/index.js";
import { cellDomains, checkDomains, checkForms } from "../statistics.js";
import { Influence } from "../influence.js";
import { short } from "../wording.js";
import { BLOCK, askedFirst } from "./rounds.js";

const FIELDS = ["round", "first", "mechanism", "edges", "functions", "forms", "value", "means", "spreads", "rest", "doubt"];
const LARGEST = 1e100;
const MAX_COUNT = 2n ** 53n - 1n;
const MAX_EDGES = 4097;

function readNumber(name, value) {
  const number = real(name, value);
  if (Math.abs(number) > LARGEST) {
    throw new BadFile(`a ${name} of ${short(number)} is beyond all values of a statistic`);
  }
  return number;
}

function readVariance(name, value) {
  const number = readNumber(name, value);
  if (number < 0) throw new BadFile(`a ${name} cannot be negative, as ${short(number)} is`);
  return number;
}

/** What is given for every stratum, read one by one. @returns {Record<string, any>} */
function byStratum(strata, what, given, read) {
  const good = given instanceof Map && given.size === strata.length && strata.every((name) => given.has(name));
  if (!good) throw new BadFile(`a second round needs ${what} for ${strata.join(", ")}`);
  return Object.fromEntries(strata.map((name) => [name, read(given.get(name))]));
}

/** What a second round says of its first. */
function readFirst(strata, spec) {
  if (!(spec instanceof Map)) throw new BadFile("a second round needs what its first round was");
  const names = ["study", "share", "people", "alone"];
  fields("a first round", spec, names);
  required("a first round", spec, names);
  const study = text("first study", spec.get("study"));
  if (!/^[0-9a-f]{64}$/.test(study)) {
    throw new BadFile("a first round is named by the 64 hexadecimal digits of its study's id");
  }
  const people = byStratum(strata, "people", spec.get("people"), (each) =>
    integer("people of the first round", each, 1, MAX_COUNT),
  );
  let alone = spec.get("alone");
  if (alone !== null) {
    if (!Array.isArray(alone) || alone.length !== 2) {
      throw new BadFile("a first round's own estimate is a value and a variance");
    }
    alone = [readNumber("estimate", alone[0]), readVariance("estimate's variance", alone[1])];
  }
  return { study, share: small("share", spec.get("share"), 1, BLOCK - 1), people, alone };
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
    this.first = readFirst(strata, spec.get("first"));
    this.mechanism = readScalar(spec.get("mechanism"));
    this.functions = byStratum(strata, "functions", spec.get("functions"), (each) => new Influence(this.grid, each));
    const forms = spec.get("forms");
    if (!Array.isArray(forms) || !forms.length) throw new BadFile("a second round needs the forms at the pilot");
    const rest = spec.get("rest");
    if (!Array.isArray(rest) || rest.length !== 2) {
      throw new BadFile("a second round needs the mean and the variance of the rest");
    }
    /** What only the analyst uses; read all the same, so that nothing unchecked is agreed to. */
    this.analysis = {
      forms: forms.map((each) => readNumber("form", each)),
      value: readNumber("value", spec.get("value")),
      means: byStratum(strata, "means", spec.get("means"), (each) => readNumber("mean", each)),
      spreads: byStratum(strata, "spreads", spec.get("spreads"), (each) => readVariance("spread", each)),
      rest: [readNumber("rest", rest[0]), readVariance("rest's variance", rest[1])],
      doubt: readVariance("doubt", spec.get("doubt")),
    };
    checkDomains(statistic, domains);
    checkForms(statistic, this.analysis.forms);
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
      ...this.analysis,
    };
  }
}
