/**
 * What a person has spent over studies: the Python package's ledger, in the same file.
 *
 * Every answer is an entry, written down before it leaves. Entries add up by a privacy filter, since whoever
 * asks may choose the next question after seeing the answers: their sum, or, with a delta, what Whitehouse,
 * Ramdas, Rogers and Wu prove ("Fully adaptive composition in differential privacy", ICML 2023, Theorem 1).
 */

import { canonical } from "./canonical.js";
import { belowOne, equals, fields, positive, required, text } from "./checks.js";
import { AlreadyAnswered, BadFile, LimitExceeded } from "./errors.js";
import { Fraction } from "./fraction.js";
import { parse } from "./json.js";
import { repr, short } from "./wording.js";

const FORMAT = "dpairs-ledger";
const VERSION = 2;
/** What is allowed over all studies unless the person says otherwise. */
const LIMIT = 5;
/** More than a few operations on doubles can be off, relatively. */
const ROUNDING = 1e-12;
const FIELDS = ["format", "version", "limit", "delta", "spent"];
const ANSWER = ["epsilon", "delta", "name"];

/** A double as the fraction that it is. @param {number} number @returns {Fraction} */
function exact(number) {
  let [numerator, power] = [number, 0n];
  while (!Number.isInteger(numerator)) {
    numerator *= 2;
    power += 1n;
  }
  return new Fraction(BigInt(numerator), 2n ** power);
}

const sum = (numbers) => numbers.map(exact).reduce((one, other) => one.plus(other), new Fraction(0n));

/** The least epsilon at which the filter lets all answers out. @returns {Fraction} */
function filtered(answers, slack) {
  const total = sum(answers.map(({ epsilon }) => epsilon));
  if (slack === 0 || !answers.length) return total;
  const squares = answers.reduce((all, { epsilon }) => all + epsilon * epsilon, 0);
  const bound = (Math.sqrt(2 * Math.log(1 / slack) * squares) + squares / 2) * (1 + ROUNDING);
  if (!Number.isFinite(bound)) return total;
  const other = exact(bound);
  return other.compare(total) < 0 ? other : total;
}

/** The answers that a person has given; all together are (limit, delta)-private. */
export class Ledger {
  /** @type {Map<string, { epsilon: number, delta: number, name: string }>} */
  #spent;

  /** Half of `delta` is for the deltas of studies, half is the filter's. */
  constructor({ limit = LIMIT, delta = 0, spent = new Map() } = {}) {
    this.limit = positive("limit", limit);
    this.delta = belowOne("delta", delta);
    this.#spent = new Map(spent);
    Object.freeze(this);
  }

  /** The epsilon of all answers together. @returns {number} */
  get total() {
    return filtered([...this.#spent.values()], this.delta / 2).valueOf();
  }

  /** How many answers there are. @returns {number} */
  get size() {
    return this.#spent.size;
  }

  /** Refuse a study that was answered before, or that would exceed the limit. */
  check(study) {
    const name = `study ${study.id.slice(0, 16)}...`;
    if (this.#spent.has(study.id)) throw new AlreadyAnswered(`this person has taken part in ${name} already`);
    const { epsilon, delta } = study.privacy;
    const answers = [...this.#spent.values(), { epsilon, delta, name: "" }];
    if (sum(answers.map((each) => each.delta)).compare(exact(this.delta / 2)) > 0) {
      throw new LimitExceeded(
        `${name} has a delta of ${short(delta)}; with the others, that is above half of the ledger's ${short(this.delta)}`,
      );
    }
    const made = filtered(answers, this.delta / 2);
    if (made.compare(exact(this.limit)) > 0) {
      throw new LimitExceeded(
        `${name} loses epsilon ${short(epsilon)}; with the ${this.size} before, that makes ${short(made.valueOf())}, ` +
          `above the limit of ${short(this.limit)}`,
      );
    }
  }

  /** Write an answer down, if it may be given; one of the same name is the same, sent again. */
  spend(study, name = "") {
    if (name && this.#spent.get(study.id)?.name === name) return;
    this.check(study);
    const { epsilon, delta } = study.privacy;
    this.#spent.set(study.id, { epsilon, delta, name: text("name", name) });
  }

  toJson() {
    const { limit, delta } = this;
    return canonical({ format: FORMAT, version: VERSION, limit, delta, spent: Object.fromEntries(this.#spent) });
  }

  /** @param {string} words @returns {Ledger} */
  static fromJson(words) {
    const spec = parse(words, "the ledger");
    if (spec.get("format") !== FORMAT || !equals(spec.get("version"), VERSION)) {
      throw new BadFile(`this is not a ledger of version ${VERSION}: its format is ${repr(spec.get("format"))}`);
    }
    required("the ledger", spec, FIELDS);
    fields("a ledger", spec, FIELDS);
    const given = spec.get("spent");
    if (!(given instanceof Map) || ![...given.values()].every((each) => each instanceof Map)) {
      throw new BadFile("a ledger's spent must be an object of studies and answers");
    }
    const spent = new Map();
    for (const [study, answer] of given) {
      required("the ledger's answer", answer, ANSWER);
      fields("a ledger's answer", answer, ANSWER);
      spent.set(study, {
        epsilon: positive("epsilon", answer.get("epsilon")),
        delta: belowOne("delta", answer.get("delta")),
        name: text("name", answer.get("name")),
      });
    }
    return new Ledger({ limit: spec.get("limit"), delta: spec.get("delta"), spent });
  }
}
