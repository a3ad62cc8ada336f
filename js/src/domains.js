/** Where a value may lie: `interval`, `integers`, `levels` (ordered) and `categories`. */

import { bigInteger, readInteger } from "./canonical.js";
import { choice, fields, integer, real, text } from "./checks.js";
import { BadParameter, BadValue } from "./errors.js";
import { kindOf, repr } from "./wording.js";

const [MAX_LEVELS, MAX_EDGES] = [4096, 1024];
const [LEAST, MOST] = [-(2n ** 63n), 2n ** 64n - 1n];

/** @typedef {number | bigint | string | boolean | null} Value what a person may give */
/** @typedef {Interval | Integers | Listed} Domain */

/** A person's value as a number: a double, or a whole number of 64 bits given as a bigint. */
function asNumber(value, column) {
  if (value === null || value === undefined) return NaN;
  if (typeof value !== "number" && typeof value !== "bigint") {
    throw new BadValue(`column ${repr(column)} must hold numbers, not ${repr(value)}`);
  }
  if (typeof value === "bigint" && (value < LEAST || value > MOST)) {
    throw new BadValue(`column ${repr(column)} must hold numbers of at most 64 bits`);
  }
  return value;
}

function refuse(column, wanted, value) {
  throw new BadValue(`${column} must be ${wanted}, not ${repr(value)}`);
}

/** Every real number from `low` to `high`, both included; `edges` between them say how closely to look where. */
export class Interval {
  /** @param {any} low @param {any} high @param {readonly any[]} [edges] */
  constructor(low, high, edges = []) {
    this.kind = "interval";
    this.ordered = true;
    this.numeric = true;
    this.low = real("Interval low", low);
    this.high = real("Interval high", high);
    if (!(this.low < this.high)) {
      throw new BadParameter(`Interval needs low < high, not low=${repr(low)}, high=${repr(high)}`);
    }
    if (Math.max(Math.abs(this.low), Math.abs(this.high)) > 1e300 || this.high - this.low < 1e-300) {
      throw new BadParameter("Interval needs ends within 1e300 of zero and at least 1e-300 apart");
    }
    /** @type {readonly number[]} */
    this.edges = Object.freeze(between(this.low, this.high, edges));
    if (new.target === Interval) Object.freeze(this);
  }

  /** Whether edges say how closely to look where. */
  get scaled() {
    return this.edges.length > 0;
  }

  /** The value at a place of what `check` returns: of an interval, itself. @param {number} place */
  valueAt(place) {
    return place;
  }

  /** The value as a double inside the interval. @param {Value} value @param {string} column */
  check(value, column) {
    const number = Number(asNumber(value, column));
    if (!(number >= this.low && number <= this.high)) {
      refuse(column, `a number in [${this.low}, ${this.high}]`, number);
    }
    return number;
  }

  toSpec() {
    const spec = { kind: this.kind, low: this.low, high: this.high };
    return this.edges.length > 0 ? { ...spec, edges: [...this.edges] } : spec;
  }

  toString() {
    const inner =
      this.edges.length > 0 ? `, edges=(${repr(this.edges[0])}, ..., ${repr(this.edges[this.edges.length - 1])})` : "";
    return `Interval(low=${repr(this.low)}, high=${repr(this.high)}${inner})`;
  }
}

/** Numbers that ascend from one end to the other, without the ends. */
function between(low, high, edges) {
  if (edges.length > MAX_EDGES) throw new BadParameter(`Interval takes a tuple of at most ${MAX_EDGES} edges`);
  const inner = edges.map((edge) => real("each edge of an Interval", edge));
  const all = [low, ...inner, high];
  if (inner.length > 0 && all.some((edge, place) => place > 0 && !(all[place - 1] < edge))) {
    throw new BadParameter(
      `the edges of an Interval must ascend from low=${repr(low)} to high=${repr(high)}, without these`,
    );
  }
  return inner;
}

/** Every whole number from `low` to `high`, both included; never enumerated. */
export class Integers {
  /** @param {any} low @param {any} high */
  constructor(low, high) {
    this.kind = "integers";
    this.ordered = true;
    this.numeric = true;
    this.low = integer("Integers low", low, LEAST, MOST);
    this.high = integer("Integers high", high, LEAST, MOST);
    if (!(low < high) || high - low >= 2n ** 64n) {
      throw new BadParameter(`Integers needs low < high, less than 2^64 apart, not low=${low}, high=${high}`);
    }
    /** How many whole numbers there are. */
    this.size = this.high - this.low + 1n;
    Object.freeze(this);
  }

  /** How far the value lies above `low`: 0 .. size-1. @param {Value} value @param {string} column */
  offset(value, column) {
    const number = asNumber(value, column);
    const wanted = `a whole number from ${this.low} to ${this.high}`;
    if (typeof number === "number" && !Number.isInteger(number)) refuse(column, wanted, number);
    const whole = BigInt(number);
    if (whole < this.low || whole > this.high) refuse(column, wanted, number);
    return whole - this.low;
  }

  toSpec() {
    return { kind: this.kind, low: bigInteger(this.low), high: bigInteger(this.high) };
  }

  toString() {
    return `Integers(low=${this.low}, high=${this.high})`;
  }
}

/** A domain given by its list of values, all numbers or all strings. */
export class Listed {
  /** @param {"levels" | "categories"} kind @param {unknown[]} values */
  constructor(kind, values) {
    this.kind = kind;
    this.ordered = kind === "levels";
    const name = this.ordered ? "Levels" : "Categories";
    this.values = values.map((value) => item(name, value));
    integer(`the number of values of ${name}`, BigInt(this.values.length), 2, MAX_LEVELS);
    this.numeric = typeof this.values[0] !== "string";
    if (this.values.some((value) => (typeof value !== "string") !== this.numeric)) {
      throw new BadParameter(`${name} takes numbers or strings, not both`);
    }
    const seen = new Set();
    for (const value of this.values) {
      if (seen.has(value)) throw new BadParameter(`${name} has the value ${shown(value)} twice`);
      seen.add(value);
    }
    if (this.ordered && this.numeric && this.values.some((value, place) => value < this.values[place - 1])) {
      throw new BadParameter(`${name} that are numbers must be given in ascending order`);
    }
    this.size = BigInt(this.values.length);
    const [first] = this.values;
    const consecutive =
      this.numeric && this.values.every((value, place) => Number.isSafeInteger(value) && value === Number(first) + place);
    /** Consecutive whole numbers are compared exactly, others as doubles. */
    this.whole = consecutive ? new Integers(BigInt(first), BigInt(first) + this.size - 1n) : null;
    Object.freeze(this.values);
    Object.freeze(this);
  }

  /** The position of the value in the list. @param {Value} value @param {string} column @returns {number} */
  code(value, column) {
    if (this.whole) return Number(this.whole.offset(value, column));
    const wanted = this.numeric ? Number(asNumber(value, column)) : value;
    const position = this.values.indexOf(/** @type {number | string} */ (wanted));
    if (position < 0) refuse(column, `one of ${this.#list()}`, wanted);
    return position;
  }

  #list() {
    const first = this.values.slice(0, 8).map(shown).join(", ");
    return this.values.length <= 8 ? first : `${first}, ... (${this.values.length} values)`;
  }

  toSpec() {
    return { kind: this.kind, values: [...this.values] };
  }

  toString() {
    return `${this.ordered ? "Levels" : "Categories"}([${this.values.map(shown).join(", ")}])`;
  }
}

function item(name, value) {
  if (typeof value === "string") return text(`each value of ${name}`, value);
  // Zero has no sign here.
  return real(`each value of ${name}`, value) + 0;
}

function shown(value) {
  return typeof value === "number" && Number.isInteger(value) ? String(value) : repr(value);
}

/** The least and the greatest value of a numeric domain. @param {Domain} domain @returns {[number, number]} */
export function ends(domain) {
  if (!(domain instanceof Listed)) return [Number(domain.low), Number(domain.high)];
  const numbers = domain.values.map(Number);
  return [Math.min(...numbers), Math.max(...numbers)];
}

/** Whether whole numbers of a domain lie too far from 0 for doubles to keep their distances. @param {Domain} domain */
export function blurred(domain) {
  const [low, high] = ends(domain);
  const farthest = Math.max(Math.abs(low), Math.abs(high));
  return !(domain instanceof Interval) && farthest > 2 ** 53 && farthest > 2 ** 32 * (high - low);
}

/** The distance between a numeric domain's ends. @param {Domain} domain */
export function extent(domain) {
  const [low, high] = ends(domain);
  return high - low;
}

/** Read a domain from a study. @param {unknown} spec @returns {Domain} */
export function readDomain(spec) {
  if (!(spec instanceof Map)) throw new BadParameter(`a domain must be a JSON object, not ${kindOf(spec)}`);
  const kind = choice("domain kind", spec.get("kind"), ["interval", "integers", "levels", "categories"]);
  const listed = kind === "levels" || kind === "categories";
  const names = listed ? ["values"] : ["low", "high"];
  fields(`domain ${repr(kind)}`, spec, ["kind", ...names, ...(kind === "interval" ? ["edges"] : [])]);
  const missing = names.find((name) => !spec.has(name));
  if (missing) throw new BadParameter(`domain ${repr(kind)} lacks ${repr(missing)}`);
  if (spec.has("edges")) {
    const edges = spec.get("edges");
    if (!Array.isArray(edges) || edges.length === 0) {
      throw new BadParameter("the edges of an interval are a list of numbers");
    }
    return new Interval(spec.get("low"), spec.get("high"), edges);
  }
  if (kind === "interval") return new Interval(spec.get("low"), spec.get("high"));
  if (kind === "integers") return new Integers(readInteger(spec.get("low")), readInteger(spec.get("high")));
  if (!Array.isArray(spec.get("values"))) throw new BadParameter(`domain ${repr(kind)} needs a list of values`);
  return new Listed(/** @type {"levels" | "categories"} */ (kind), spec.get("values"));
}
