/** A study: the public, frozen parameters that everybody agrees on before anybody answers. */

import { canonical, digest } from "./canonical.js";
import { choice, equals, fields, given, positive, required } from "./checks.js";
import { Coins } from "./coins.js";
import { readDomain } from "./domains.js";
import { BadFile, InvalidInput } from "./errors.js";
import { checkFollows } from "./following.js";
import { parse } from "./json.js";
import { PrivacyClaim } from "./privacy.js";
import { readProtocol } from "./protocols/index.js";
import { cellDomains, checkBegins, placedBy, readStatistic, statisticSpec } from "./statistics.js";
import { repr, short } from "./wording.js";

const FORMAT = "dpairs-study";
const VERSION = 1;
const FIELDS = ["format", "version", "id", "statistic", "domain", "protocol", "epsilon", "delta", "seed"];
/** The largest index: a whole number that every language holds exactly. */
export const MAX_INDEX = 2n ** 53n - 1n;

/** What is asked of whom, under which privacy. Made by `Study.fromJson`, which checks everything. */
export class Study {
  #coins;
  /** @type {Study | null} */
  #first = null;

  /** @param {Map<string, any>} spec */
  constructor(spec) {
    if (!(spec instanceof Map)) throw new BadFile("a study is made from its text, by Study.fromJson");
    const [domains, protocol, seed] = [spec.get("domain"), spec.get("protocol"), spec.get("seed")];
    if (!Array.isArray(domains) || !(protocol instanceof Map)) {
      throw new BadFile("the study's domain must be a list and its protocol an object");
    }
    if (typeof seed !== "string" || !/^[0-9a-f]{32}$/.test(seed)) {
      throw new BadFile("the study's seed must be 32 hexadecimal digits");
    }
    this.seed = seed;
    /** The privacy loss that was asked for; `privacy.epsilon` is the exact one. */
    this.epsilon = positive("epsilon", spec.get("epsilon"));
    this.domains = Object.freeze(domains.map(readDomain));
    this.statistic = readStatistic(spec.get("statistic"));
    checkBegins(this.statistic, protocol.get("round"));
    this.protocol = readProtocol(this.statistic, placedBy(this.statistic, this.domains), protocol);
    if (this.protocol.epsilon > this.epsilon) {
      const [promised, loses] = [short(this.epsilon), short(this.protocol.epsilon)];
      throw new BadFile(`the study promises epsilon ${promised}, but its mechanism loses ${loses}`);
    }
    this.delta = this.protocol.delta;
    if (!equals(spec.get("delta"), this.delta)) {
      const [wanted, said] = [repr(this.delta), repr(spec.get("delta"))];
      throw new BadFile(`the study's delta must be its protocol's, ${wanted}, not ${said}`);
    }
    /** SHA-256 of the canonical form: the study's name everywhere. */
    this.id = digest(this.#content());
    this.#coins = new Coins(this.id);
    Object.freeze(this);
  }

  /**
   * Read a study; refuse one that was changed, cut short or is of another version.
   *
   * A second round that is read with its first is refused unless it follows from it; only such a one is
   * answered by a `Participant`.
   *
   * @param {string | Uint8Array} text @param {{ first?: Study | null }} [agreed] @returns {Study}
   */
  static fromJson(text, { first = null } = {}) {
    const spec = parse(text, "the study");
    if (spec.get("format") !== FORMAT) {
      throw new BadFile(`this is not a study: its format is ${repr(spec.get("format"))}, not ${repr(FORMAT)}`);
    }
    if (!equals(spec.get("version"), VERSION)) {
      const version = repr(spec.get("version"));
      throw new BadFile(`this study has version ${version}; this program knows version ${VERSION}`);
    }
    required("the study", spec, FIELDS);
    let study;
    try {
      fields("a study", spec, FIELDS);
      study = new Study(spec);
    } catch (error) {
      if (error instanceof BadFile || !(error instanceof InvalidInput)) throw error;
      throw new BadFile(`the study cannot be used: ${error.message}`);
    }
    // Canonical text in, canonical text out: whatever is not understood fully is refused.
    if (spec.get("id") !== study.id || canonical(spec) !== study.toJson()) {
      throw new BadFile(
        "the study was changed: its id does not belong to its contents, so it is not the study that was agreed on",
      );
    }
    if (first && first.id !== study.id) {
      checkFollows(study, first);
      study.#first = first;
    }
    return study;
  }

  /** Of a second round, the study that it was found to follow from. @returns {Study | null} */
  get first() {
    return this.#first;
  }

  #content() {
    return {
      format: FORMAT,
      version: VERSION,
      statistic: statisticSpec(this.statistic),
      domain: this.domains.map((domain) => domain.toSpec()),
      protocol: this.protocol.toSpec(),
      epsilon: this.epsilon,
      delta: this.delta,
      seed: this.seed,
    };
  }

  /** The study's file: canonical JSON with its id. @returns {string} */
  toJson() {
    return canonical({ ...this.#content(), id: this.id });
  }

  /** The public classes people belong to. @returns {readonly string[]} */
  get strata() {
    return this.statistic.strata;
  }

  /** The id of the first round: one name for all rounds of a study. */
  get firstId() {
    return this.protocol.firstStudy ?? this.id;
  }

  /** Which round this is, and of how many; each person acts in one of them. */
  get round() {
    return this.protocol.round;
  }

  get rounds() {
    return this.protocol.rounds;
  }

  /** How many symbols a report can hold. @returns {bigint} */
  get symbols() {
    return this.protocol.symbols;
  }

  /** What a person is asked for: a name and a domain for each private column. */
  get columns() {
    const domains = cellDomains(this.statistic, this.domains);
    return this.statistic.privateColumns.map((name, place) => ({ name, domain: domains[place] }));
  }

  /** What is promised to each person. @returns {PrivacyClaim} */
  get privacy() {
    const { delta, theorem, rounds } = this.protocol;
    const columns = this.statistic.privateColumns;
    // Whoever agrees to a first round may be asked in the second, which may lose all that was asked for.
    const epsilon = this.round < rounds ? this.epsilon : this.protocol.epsilon;
    const { central } = this.protocol;
    return new PrivacyClaim({ epsilon, epsilonAsked: this.epsilon, delta, columns, theorem, rounds, central });
  }

  /**
   * Who somebody is to the protocol: coins, number of the stratum, index.
   *
   * @param {string} stratum @param {number | bigint} index
   */
  person(stratum, index) {
    const number = this.strata.indexOf(choice("stratum", stratum, [...this.strata]));
    return { coins: this.#coins, stratum: number, index: given("index", index, 0, MAX_INDEX) };
  }

  /** Whether the participant of that stratum and index is asked in this round. @returns {boolean} */
  asks(stratum, index) {
    const person = this.person(stratum, index);
    return this.protocol.asks ? this.protocol.asks(person) : true;
  }
}
