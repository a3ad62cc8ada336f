/** A participant's part in verified sharing: Prio3 of draft-irtf-cfrg-vdaf-20, and HPKE. */

/** What a participant sends: `inputShares` one to each server, the first server's first, and the rest to all. */
export interface Shares {
  readonly nonce: Uint8Array;
  readonly publicShare: Uint8Array;
  readonly inputShares: readonly Uint8Array[];
}

/** Drawn from `crypto.getRandomValues` unless given, which is for test vectors. */
export interface Random {
  /** 16 bytes, never used twice. */
  nonce?: Uint8Array;
  /** `randSize` private bytes. Whoever knows them and one server's share knows the measurement. */
  rand?: Uint8Array;
}

type Whole = number | bigint;
interface Servers {
  /** How many servers there are; 2 unless given. */
  shares?: Whole;
}
interface Chunks extends Servers {
  /** How many bits are checked at a time; that with the shortest proof unless given. */
  chunk?: Whole;
}
interface Proofs {
  /** How many proofs there are; 3 unless given, and never fewer. */
  proofs?: Whole;
}
interface Lists extends Chunks {
  entries: Whole;
  largest: Whole;
}
interface Cells extends Chunks {
  cells: Whole;
}

/** The parameters of each scheme. */
export interface Parameters {
  count: Servers;
  sum_up: Servers & { largest: Whole };
  sum_vec: Lists;
  sum_vec_with_multiproof: Lists & Proofs;
  histogram: Cells;
  multihot_count_vec: Cells & { most: Whole };
  one_hot: Cells & Proofs;
}

/** A measurement of each scheme. */
export interface Measurements {
  /** 0 or 1. */
  count: Whole | boolean;
  /** From 0 to `largest`. */
  sum_up: Whole;
  /** `entries` numbers from 0 to `largest`. */
  sum_vec: ArrayLike<Whole>;
  sum_vec_with_multiproof: ArrayLike<Whole>;
  /** A cell, counted from 0. */
  histogram: Whole;
  /** `cells` truths, at most `most` of them true. */
  multihot_count_vec: ArrayLike<Whole | boolean>;
  /** A cell, counted from 0. */
  one_hot: Whole;
}

/** A scheme with its parameters. */
export class Prio3<Name extends keyof Parameters> {
  private constructor();
  readonly name: Name;
  readonly shares: number;
  readonly proofs: number;
  /** How many random bytes a measurement takes. */
  readonly randSize: number;
  /** The shares of a measurement. Shares of one context, of at most 65527 bytes, are refused in another. */
  shard(context: Uint8Array, measurement: Measurements[Name], random?: Random): Shares;
}

/** A scheme by its name: `prio3("one_hot", { cells: 256 })`. */
export function prio3<Name extends keyof Parameters>(
  name: Name,
  // Only where none is needed may they be left out.
  ...parameters: {} extends Parameters[Name] ? [Parameters[Name]?] : [Parameters[Name]]
): Prio3<Name>;

/** The same in a Web Worker, so that a page stays alive meanwhile. */
export class ShardingWorker<Name extends keyof Parameters> {
  constructor(name: Name, parameters: Parameters[Name], worker?: Worker);
  shard(context: Uint8Array, measurement: Measurements[Name], random?: Random): Promise<Shares>;
  /** End the worker; what it was still asked for is refused. */
  close(): void;
}

/**
 * HPKE in base mode (RFC 9180) with X25519, HKDF-SHA256 and AES-128-GCM: the encapsulated key and the ciphertext.
 *
 * It needs HTTPS and a browser whose WebCrypto has X25519, and says so where it lacks one of them.
 */
export function seal(
  recipient: Uint8Array,
  text: Uint8Array,
  options?: {
    info?: Uint8Array;
    /** Authenticated, not encrypted. */
    associated?: Uint8Array;
    /** 32 private bytes for this message alone; drawn unless given, which is for test vectors. */
    material?: Uint8Array;
  },
): Promise<Uint8Array>;

/** The keys that follow from 32 or more private random bytes; `encapsulated` is the public one. */
export interface Keys {
  readonly secret: CryptoKey;
  readonly encapsulated: Uint8Array;
}
export function deriveKeys(material: Uint8Array): Promise<Keys>;

/** What `seal` sealed for these keys; refused if anything of it was altered. */
export function open(
  keys: Keys,
  sealed: Uint8Array,
  options?: { info?: Uint8Array; associated?: Uint8Array },
): Promise<Uint8Array>;
