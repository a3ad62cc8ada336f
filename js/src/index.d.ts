/** A person's side of a dpairs study, in the browser. */

/** Base of every error thrown on purpose; the message is one sentence. */
export class DpairsError extends Error {}
/** Something given by the caller cannot be used. */
export class InvalidInput extends DpairsError {}
/** An argument is not allowed. */
export class BadParameter extends InvalidInput {}
/** A person's value is not in its domain, or a report's bytes are none. */
export class BadValue extends InvalidInput {}
/** A study is damaged, changed, too large or of another kind. */
export class BadFile extends InvalidInput {}
/** A report belongs to another study. */
export class WrongStudy extends InvalidInput {}
/** A participant answers a study once. */
export class AlreadyAnswered extends DpairsError {}
/** A participant acts in one round of a study, and this is another. */
export class NotAsked extends DpairsError {}
/** The study asks for more epsilon than the participant allows. */
export class LimitExceeded extends DpairsError {}
/** A given tape of random bits ended before the work was done. */
export class TapeExhausted extends DpairsError {}

/** What a person may give: whole numbers beyond 2^53 as a bigint, labels also as booleans or names. */
export type Value = number | bigint | string | boolean;
/** A person's values, by column name. */
export type Values = Record<string, Value>;

/** Every real number from `low` to `high`; `edges` between them, where only the order of values counts. */
export interface Interval {
  readonly kind: "interval";
  readonly low: number;
  readonly high: number;
  readonly edges: readonly number[];
}
/** Every whole number from `low` to `high`. */
export interface Integers {
  readonly kind: "integers";
  readonly low: bigint;
  readonly high: bigint;
  readonly size: bigint;
}
/** A list of numbers or of strings; levels are ordered, lowest first. */
export interface Listed {
  readonly kind: "levels" | "categories";
  readonly values: readonly (number | string)[];
  readonly size: bigint;
}
export type Domain = Interval | Integers | Listed;

/** One thing a person is asked for. */
export interface Column {
  readonly name: string;
  readonly domain: Domain;
}

/** An exact probability. `Number(fraction)` is the nearest double, but for its last bit. */
export class Fraction {
  constructor(numerator: bigint, denominator?: bigint);
  readonly numerator: bigint;
  readonly denominator: bigint;
  plus(other: Fraction): Fraction;
  times(other: Fraction): Fraction;
  compare(other: Fraction): -1 | 0 | 1;
  valueOf(): number;
  toString(): string;
}

/** What a study promises each person. */
export class PrivacyClaim {
  private constructor();
  /** The exact loss, rounded up; never above `epsilonAsked`. */
  readonly epsilon: number;
  readonly epsilonAsked: number;
  readonly delta: number;
  readonly neighbours: string;
  readonly rounds: number;
  readonly trust: string;
  readonly theorem: string;
  readonly notPromised: readonly string[];
  readonly kind: "local";
  /** How many times likelier one answer can make a message than another: e^epsilon. */
  readonly factor: number;
  /** The claim for somebody who answers. */
  readonly plainWords: string;
  /** One sentence, as the Python package prints it. */
  toString(): string;
}

/** What is computed, as far as a person's device has to know it. */
export interface Statistic {
  readonly name: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly privateColumns: readonly string[];
  readonly strata: readonly string[];
}

/** The public, frozen parameters that everybody agrees on before anybody answers. */
export class Study {
  private constructor();
  /** Read a study; refuse one that was changed, cut short or is of another version. */
  static fromJson(text: string | Uint8Array, agreed?: { first?: Study | null }): Study;
  /** Of a second round, the study that it was found to follow from. */
  readonly first: Study | null;
  /** SHA-256 of the canonical form: the study's name everywhere. */
  readonly id: string;
  /** The id of the first round: one name for all rounds of a study. */
  readonly firstId: string;
  /** The loss that was asked for; `privacy.epsilon` is the exact one. */
  readonly epsilon: number;
  readonly delta: number;
  /** 32 hexadecimal digits; public. */
  readonly seed: string;
  readonly statistic: Statistic;
  readonly domains: readonly Domain[];
  readonly protocol: { readonly name: "histogram" | "tree" | "projection" };
  /** The public classes people belong to. */
  readonly strata: readonly string[];
  /** What a person is asked for. */
  readonly columns: Column[];
  readonly round: number;
  readonly rounds: number;
  /** How many symbols a report can hold. */
  readonly symbols: bigint;
  readonly privacy: PrivacyClaim;
  /** Whether the participant of that stratum and index is asked in this round. */
  asks(stratum: string, index: number | bigint): boolean;
  /** The study's file: canonical JSON with its id. */
  toJson(): string;
}

/** What leaves a person's device. */
export class Report {
  constructor(study: Study, stratum: string, index: number | bigint, symbol: number | bigint);
  /** Read a report of `study`; refuse another study's, a cut one, and trailing bytes. */
  static fromBytes(wire: Uint8Array, study: Study): Report;
  /** Read a report of `study` from a line of a report file. */
  static fromJson(line: string | Uint8Array, study: Study): Report;
  readonly study: Study;
  readonly stratum: string;
  readonly index: number;
  /** A number; a bigint in studies of more than 2^53 symbols. */
  readonly symbol: number | bigint;
  /** The wire form. */
  toBytes(): Uint8Array;
  /** One line of a report file: canonical JSON. */
  toJson(): string;
}

/** A source of uniform 64-bit words. */
export interface Bits {
  word(): bigint;
  words(count: number): bigint[];
}

/** Some values of one column: one of them, and the ends where there are several. */
export interface Part {
  readonly value: number | bigint | string;
  readonly low?: number | bigint;
  readonly high?: number | bigint;
}

/** How likely other values would have given a symbol. */
export interface Likelihood {
  readonly values: Record<string, number | bigint | string>;
  readonly parts: Record<string, Part>;
  readonly probability: Fraction;
}

/** The level and the row that one bit of a tree's report is about: public. */
export interface Coin {
  readonly level: number;
  readonly row: bigint;
}

/** One person in one study: checks the study, randomizes the values once, and forgets them. */
export class Participant {
  constructor(
    study: Study,
    person: {
      index: number | bigint;
      /** Not needed when the study has one stratum. */
      stratum?: string;
      /** A study that loses more is refused. */
      maxEpsilon?: number;
      /** A study with a larger delta is refused; 0 if none is given. */
      maxDelta?: number;
      /** For tests only. */
      bits?: Bits;
    },
  );
  readonly study: Study;
  readonly index: number;
  readonly stratum: string;
  /** Empty unless the study asks for signs of a tree. */
  readonly coins: Coin[];
  /** The randomized report of this person's values; only once. */
  report(values: Values): Report;
  /** How likely these values give this symbol, exactly. Nothing is drawn and nothing is sent. */
  probability(values: Values, symbol: number | bigint): Fraction;
  /** How likely other values would have given this symbol, cell by cell or on a grid of `limit` parts. */
  likelihoods(symbol: number | bigint, options?: { limit?: number }): Likelihood[];
}

/** What a person has spent over studies, in the Python package's format. */
export class Ledger {
  constructor(options?: { limit?: number; delta?: number });
  static fromJson(words: string): Ledger;
  readonly limit: number;
  readonly delta: number;
  /** The epsilon of all answers together. */
  readonly total: number;
  readonly size: number;
  /** Refuse a study that was answered before, or that would exceed the limit. */
  check(study: Study): void;
  /** Write an answer down before it leaves; one of the same name is the same, sent again. */
  spend(study: Study, name?: string): void;
  toJson(): string;
}

/** A person's device: the study of the link, one answer, within the person's limit. */
export class Device {
  constructor(
    store: { getItem(name: string): string | null; setItem(name: string, words: string): void },
    locks?: { request(name: string, work: () => unknown): Promise<unknown> },
  );
  readonly ledger: Ledger;
  /** Change the person's limit over all studies. */
  allow(wanted: { limit: number; delta?: number }): Promise<void>;
  /** The report in the study whose first round has this id; the same one every time. */
  answer(
    id: string,
    given: {
      first: string | Uint8Array;
      now?: string | Uint8Array;
      index: number | bigint;
      stratum?: string;
      values: Values;
      maxEpsilon?: number;
      maxDelta?: number;
    },
  ): Promise<Report>;
}

/** Add a statistic of one's own: the options it takes, and what a device has to know of it. */
export function registerStatistic(
  name: string,
  options: string[],
  read: (given: Map<string, unknown>) => {
    domainColumns: string[];
    privateColumns: string[];
    strata: string[];
    needs: "numeric" | "ordered" | "discrete" | "any";
    options: Record<string, unknown>;
  },
): void;

/** Add a protocol of one's own: how its participant's side is read from a study. */
export function registerProtocol(
  name: string,
  read: (statistic: unknown, domains: unknown[], spec: Map<string, unknown>) => unknown,
): void;

/** The same as the Python package's. */
export const VERSION: string;
