/** The `tree` protocol: randomized signs of public Hadamard rows at a person's node of a binary tree. */

import { choice, fields, integer, real, required, small } from "../checks.js";
import { composedEpsilon } from "../composition.js";
import { Integers, Interval } from "../domains.js";
import { BadFile, BadParameter } from "../errors.js";
import { Fraction } from "../fraction.js";
import { bitsOf, leafCode } from "../leaves.js";
import { KaryResponse } from "../mechanisms/krr.js";
import { checkDomains } from "../statistics.js";
import { logAbove } from "../thresholds.js";
import { repr } from "../wording.js";
import { assigned, everyRow } from "./tree_coins.js";

export const MAX_DEPTH = 64;
const MAX_PARITIES = 6;
const SPLITTINGS = ["users", "users-independent", "budget", "budget-advanced", "budget-advanced-paper"];

/** The responses of one parity, two parities, and so on, from their floors. */
function readResponses(name, floors) {
  const isThreshold = (each) => typeof each === "string" && /^[0-9]{1,20}$/.test(each);
  if (!Array.isArray(floors) || !floors.every(isThreshold)) {
    throw new BadFile(`protocol ${repr(name)} needs floors that are whole numbers, not ${repr(floors)}`);
  }
  return floors.slice(0, MAX_PARITIES).map((floor, step) => new KaryResponse(2n << BigInt(step), BigInt(floor)));
}

/** Whether a number has an odd number of ones. @param {bigint} number @returns {number} */
function parity(number) {
  let folded = number;
  for (const shift of [32n, 16n, 8n, 4n, 2n, 1n]) folded ^= folded >> shift;
  return Number(folded & 1n);
}

/** What a tree's answers are, whatever its leaves are. */
export class Signs {
  /** @param {{ depth: number, splitting: any, rows: any, floors: any, delta: any, name: string, dealt?: number[] | null }} given */
  constructor({ depth, splitting, rows, floors, delta, name, dealt = null }) {
    this.depth = depth;
    this.dealt = dealt;
    this.splitting = choice("splitting", splitting, SPLITTINGS);
    this.rows = choice("rows", rows, ["others", "all"]);
    this.responses = readResponses(name, floors);
    this.parities = this.responses.length;
    this.delta = delta;
    this.everywhere = splitting.startsWith("budget");
    integer("parities", BigInt(this.parities), 1, Math.min(MAX_PARITIES, depth));
    if (this.parities > 1 && (this.everywhere || rows === "all")) {
      throw new BadParameter("several bits of one level need splitting by users and rows='others'");
    }
    if (splitting.includes("advanced")) {
      if (!(delta > 0 && delta < 1)) throw new BadParameter(`delta must lie between 0 and 1, not ${repr(delta)}`);
    } else if (delta !== 0) {
      throw new BadParameter(`splitting ${repr(splitting)} is pure: it has no delta, not ${repr(delta)}`);
    }
    this.symbols = 1n << BigInt(this.everywhere ? depth : this.parities);
  }

  get epsilon() {
    if (!this.everywhere) return Math.max(...this.responses.map((response) => response.epsilon));
    const { floor, boost } = this.responses[0];
    const power = BigInt(this.depth);
    if (this.splitting === "budget") return logAbove((floor + boost) ** power, floor ** power);
    return composedEpsilon(floor + boost, floor, this.depth, this.delta);
  }

  get theorem() {
    const exact = "exact ratio of the answer's probabilities, integers out of 2^64";
    if (!this.everywhere) return exact;
    const composed = `${exact}, composed over ${this.depth} levels`;
    return this.splitting === "budget" ? composed : `${composed} by Kairouz, Oh and Viswanath's theorem`;
  }

  /** The level and the row that each bit of a person's report is about. */
  coins(person) {
    if (this.everywhere) return everyRow(person, this).map((row, place) => ({ level: place + 1, row }));
    const { level, rows } = assigned(person, this);
    return rows.map((row) => ({ level, row }));
  }

  /** The person's true signs: 0 for +1, 1 for -1. @returns {number[]} */
  #signs(person, leaf) {
    return this.coins(person).map(({ level, row }) => parity((leaf >> BigInt(this.depth - level)) & row));
  }

  randomize(person, leaf, bits) {
    const signs = this.#signs(person, leaf);
    if (this.everywhere) {
      const sent = signs.map((sign) => this.responses[0].randomize(sign, bits));
      return sent.reduce((symbol, bit, place) => symbol | (BigInt(bit) << BigInt(place)), 0n);
    }
    const together = signs.reduce((number, sign, place) => number | (sign << place), 0);
    return BigInt(this.responses[signs.length - 1].randomize(together, bits));
  }

  probability(person, leaf, symbol) {
    const signs = this.#signs(person, leaf);
    if (this.everywhere) {
      return signs
        .map((sign, place) => this.responses[0].probability(sign, Number((symbol >> BigInt(place)) & 1n)))
        .reduce((product, each) => product.times(each), new Fraction(1n));
    }
    // A level of fewer bits than parities has fewer symbols, and never gives the others.
    if (symbol >= 1n << BigInt(signs.length)) return new Fraction(0n);
    const together = signs.reduce((number, sign, place) => number | (sign << place), 0);
    return this.responses[signs.length - 1].probability(together, Number(symbol));
  }
}

function checkDepth(depth, domain) {
  if (domain instanceof Interval) {
    if (depth > 52) {
      throw new BadParameter(`an Interval has at most 2^52 bins, not 2^${depth}; use Integers for more`);
    }
    return;
  }
  const most = bitsOf(domain.size);
  if (domain instanceof Integers && depth > most) {
    throw new BadParameter(`bins must be at most 2^${most} for ${domain}, not 2^${depth}`);
  }
  if (!(domain instanceof Integers) && depth !== most) {
    throw new BadParameter(`bins must be 2^${most} for ${domain.size} levels, not 2^${depth}`);
  }
}

/** One randomized bit of a random row of a random level; or of every level. */
export class Tree {
  /** @param {import("../statistics.js").Statistic} statistic @param {Map<string, any>} spec */
  constructor(statistic, domains, spec) {
    this.name = "tree";
    this.round = 1;
    this.rounds = 1;
    const names = ["depth", "splitting", "rows", "floors", "delta"];
    fields("protocol 'tree'", spec, ["name", ...names]);
    required("protocol 'tree'", spec, names);
    const depth = small("depth", spec.get("depth"), 1, MAX_DEPTH);
    this.delta = real("delta", spec.get("delta"));
    checkDomains(statistic, domains);
    if (statistic.name !== "auc" || statistic.options.labels !== "public") {
      throw new BadParameter("the tree protocol computes the AUC with public labels; histogram takes any statistic");
    }
    this.domain = domains[0];
    checkDepth(depth, this.domain);
    this.signs = new Signs({
      name: "tree",
      depth,
      splitting: spec.get("splitting"),
      rows: spec.get("rows"),
      floors: spec.get("floors"),
      delta: this.delta,
    });
    this.symbols = this.signs.symbols;
    this.epsilon = this.signs.epsilon;
    this.theorem = this.signs.theorem;
  }

  #leaf(columns) {
    return leafCode(this.domain, this.signs.depth, columns[0], "score");
  }

  coins(person) {
    return this.signs.coins(person);
  }

  randomize(person, columns, bits) {
    return this.signs.randomize(person, this.#leaf(columns), bits);
  }

  probability(person, columns, symbol) {
    return this.signs.probability(person, this.#leaf(columns), symbol);
  }

  toSpec() {
    const { depth, splitting, rows, responses } = this.signs;
    const floors = responses.map((response) => String(response.floor));
    return { name: this.name, depth, splitting, rows, floors, delta: this.delta };
  }
}
