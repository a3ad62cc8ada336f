/** A person's device: checks the study, randomizes the value once, and forgets it. */

import { belowOne, choice, given, positive } from "./checks.js";
import { AlreadyAnswered, BadParameter, BadValue, LimitExceeded } from "./errors.js";
import { labelCode } from "./labels.js";
import { alternatives } from "./likelihood.js";
import { SystemBits } from "./randomness.js";
import { Report, checkAsked } from "./report.js";
import { MAX_INDEX } from "./study.js";
import { kindOf, short } from "./wording.js";

/** One person in one study. */
export class Participant {
  #study;
  #person;
  #stratum;
  #bits;
  #answered = false;

  /**
   * Check the study before anything is answered.
   *
   * `stratum` is the person's public class (not needed when the study has none). A study that loses more
   * than `maxEpsilon`, or has a delta above `maxDelta`, is refused; so is a second round that was not read
   * together with its first. `bits` is for tests only.
   *
   * @param {import("./study.js").Study} study
   * @param {{ index: number | bigint, stratum?: string, maxEpsilon?: number, maxDelta?: number,
   *           bits?: import("./randomness.js").Bits }} person
   */
  constructor(study, { index, stratum, maxEpsilon, maxDelta = 0, bits }) {
    if (stratum === undefined || stratum === null) {
      if (study.strata.length > 1) {
        throw new BadParameter(`say which class this person belongs to: ${study.strata.join(" or ")}`);
      }
      [stratum] = study.strata;
    }
    if (maxEpsilon !== undefined && maxEpsilon !== null && study.epsilon > positive("max_epsilon", maxEpsilon)) {
      const [loses, limit] = [short(study.epsilon), short(Number(maxEpsilon))];
      throw new LimitExceeded(`this study loses epsilon ${loses}, above this participant's limit of ${limit}`);
    }
    if (study.delta > belowOne("max_delta", maxDelta)) {
      throw new LimitExceeded(
        `this study may break its promise with probability delta, ${short(study.delta, 3)}, above this ` +
          `participant's limit of ${short(Number(maxDelta))}: a larger maxDelta allows it`,
      );
    }
    if (study.round > 1 && study.first === null) {
      throw new BadParameter(
        "this is a second round, and its first round is missing: read it with its first, " +
          "Study.fromJson(text, { first })",
      );
    }
    this.#study = study;
    this.#stratum = choice("stratum", stratum, [...study.strata]);
    this.#person = study.person(stratum, given("index", index, 0, MAX_INDEX));
    checkAsked(study, stratum, this.#person.index);
    this.#bits = bits ?? new SystemBits();
  }

  get study() {
    return this.#study;
  }

  get index() {
    return Number(this.#person.index);
  }

  get stratum() {
    return this.#stratum;
  }

  /** The level and the row that each bit of a tree's report is about: public, and of no other protocol. */
  get coins() {
    return this.#study.protocol.coins?.(this.#person) ?? [];
  }

  /** The person's values in the order of the study's columns. */
  #columns(values) {
    const names = this.#study.statistic.privateColumns;
    const keys = Object.keys(values ?? {}).sort();
    if (keys.length !== names.length || !names.every((name) => keys.includes(name))) {
      const listed = keys.join(", ") || "nothing";
      throw new BadValue(`a report of this study needs ${names.join(" and ")}, but ${listed} was given`);
    }
    return names.map((name) => {
      const value = values[name];
      if (value !== null && (typeof value === "object" || typeof value === "function" || typeof value === "symbol")) {
        throw new BadValue(`${name} must be one value, not ${kindOf(value)}`);
      }
      return name === "label" ? labelCode(value, name) : value;
    });
  }

  /** The randomized report of this person's values, given by column name; only once. @returns {Report} */
  report(values) {
    if (this.#answered) {
      throw new AlreadyAnswered(
        "this participant has answered; a second answer would double the privacy loss, " +
          "so send the first report again instead",
      );
    }
    const symbol = this.#study.protocol.randomize(this.#person, this.#columns(values), this.#bits);
    this.#answered = true;
    return new Report(this.#study, this.#stratum, this.#person.index, symbol);
  }

  /**
   * How likely these values give this symbol, exactly. Nothing is drawn and nothing is sent.
   *
   * @returns {import("./fraction.js").Fraction}
   */
  probability(values, symbol) {
    const wanted = given("symbol", symbol, 0, this.#study.symbols - 1n);
    return this.#study.protocol.probability(this.#person, this.#columns(values), wanted);
  }

  /**
   * How likely other values would have given this symbol: what an observer can tell from it.
   *
   * One row for each cell of a histogram; elsewhere each column is cut into at most `limit` equal parts, of
   * which one value is taken.
   *
   * @param {number | bigint} symbol
   */
  likelihoods(symbol, { limit = this.#study.columns.length > 1 ? 8 : 64 } = {}) {
    const parts = Number(given("limit", limit, 1, 4096));
    return alternatives(this.#study, parts).map((person) => {
      const values = Object.fromEntries(Object.entries(person).map(([name, part]) => [name, part.value]));
      return { values, parts: person, probability: this.probability(values, symbol) };
    });
  }
}
