/** Prio3: a measurement in shares that servers can check together without seeing it (draft, section 7.2). */

import { BadParameter } from "../errors.js";
import { Derivation, LONGEST_CONTEXT } from "./derivation.js";
import { proofLength, prove } from "./proof.js";
import { randomBytes } from "./random_bytes.js";
import { SEED_SIZE, concat } from "./xof.js";

/** @typedef {import("./circuits.js").Circuit} Circuit */

const NONCE_SIZE = 16;
/** Elements of a report at most: its measurement and all its proofs. */
const LARGEST = 2 ** 24;

function requireBytes(name, value, least, most) {
  if (value instanceof Uint8Array && value.length >= least && value.length <= most) return;
  const size = least === most ? `${most} bytes` : `at most ${most} bytes`;
  throw new BadParameter(`${name} must be a Uint8Array of ${size}`);
}

/** What a measurement's randomness is used for: a seed for each server but the first, blinds, and the proofs' seed. */
function readSeeds(rand, blinded) {
  const seeds = [];
  for (let start = 0; start < rand.length; start += SEED_SIZE) seeds.push(rand.slice(start, start + SEED_SIZE));
  const proveSeed = seeds.pop();
  if (!blinded) return { helpers: seeds, blinds: [], proveSeed };
  const leaderBlind = seeds.pop();
  const helpers = seeds.filter((_, place) => place % 2 === 0);
  const helperBlinds = seeds.filter((_, place) => place % 2 === 1);
  return { helpers, blinds: [leaderBlind, ...helperBlinds], proveSeed };
}

export class Prio3 {
  #circuit;
  #id;

  /**
   * @param {string} name @param {number} id of the scheme @param {Circuit} circuit
   * @param {{ shares: number, proofs: number }} sizes
   */
  constructor(name, id, circuit, { shares, proofs }) {
    const elements = circuit.measurementLength + proofs * proofLength(circuit);
    if (elements > LARGEST) {
      throw new BadParameter(`a report has at most ${LARGEST} elements, its proofs included, not ${elements}`);
    }
    this.name = name;
    this.shares = shares;
    this.proofs = proofs;
    /** How many random bytes a measurement takes. */
    this.randSize = SEED_SIZE * shares * (circuit.jointRandLength ? 2 : 1);
    this.#circuit = circuit;
    this.#id = id;
    Object.freeze(this);
  }

  /**
   * The shares of a measurement, the first server's first.
   *
   * @param {Uint8Array} context what the servers work on: shares of one context are refused in another
   * @param {any} measurement
   * @param {{ nonce?: Uint8Array, rand?: Uint8Array }} [random] drawn here unless given; whoever knows `rand` and what
   *   one server got knows the measurement
   * @returns {{ nonce: Uint8Array, publicShare: Uint8Array, inputShares: Uint8Array[] }}
   */
  shard(context, measurement, random) {
    const { nonce = randomBytes(NONCE_SIZE), rand = randomBytes(this.randSize) } = random ?? {};
    requireBytes("context", context, 0, LONGEST_CONTEXT);
    requireBytes("nonce", nonce, NONCE_SIZE, NONCE_SIZE);
    requireBytes("rand", rand, this.randSize, this.randSize);
    const circuit = this.#circuit;
    const { field } = circuit;
    const encoded = circuit.encode(measurement);
    const derived = new Derivation(field, this.#id, context);
    const { helpers, blinds, proveSeed } = readSeeds(rand, circuit.jointRandLength > 0);
    const minus = (rest, share) => field.difference(rest, share);

    const shares = helpers.map((seed, i) =>
      derived.vector("measurementShare", seed, [i + 1], circuit.measurementLength),
    );
    const leader = shares.reduce(minus, encoded);
    const parts = blinds.map((blind, i) => {
      const share = i === 0 ? leader : shares[i - 1];
      return derived.seed("jointRandPart", blind, concat(Uint8Array.of(i), nonce, field.encode(share)));
    });
    const proofShares = helpers.map((seed, i) =>
      derived.vector("proofShare", seed, [this.proofs, i + 1], proofLength(circuit) * this.proofs),
    );
    const leaderProofs = proofShares.reduce(minus, this.#prove(encoded, proveSeed, parts, derived));

    const bodies = [concat(field.encode(leader), field.encode(leaderProofs)), ...helpers];
    const inputShares = bodies.map((body, i) => (blinds.length ? concat(body, blinds[i]) : body));
    return { nonce, publicShare: concat(...parts), inputShares };
  }

  /** One proof after the other, each with randomness of its own. */
  #prove(encoded, proveSeed, parts, derived) {
    const { proofs } = this;
    const circuit = this.#circuit;
    const { words } = circuit.field;
    const { arity } = circuit.gadget;
    const joint = circuit.jointRandLength;
    const proveRands = derived.vector("proveRand", proveSeed, [proofs], arity * proofs);
    let jointRands = new Uint32Array(0);
    if (joint) {
      const seed = derived.seed("jointRandSeed", new Uint8Array(SEED_SIZE), concat(...parts));
      jointRands = derived.vector("jointRand", seed, [proofs], joint * proofs);
    }
    const part = (vector, length, i) => vector.subarray(i * length * words, (i + 1) * length * words);
    const length = proofLength(circuit);
    const out = circuit.field.zeros(length * proofs);
    for (let i = 0; i < proofs; i += 1) {
      part(out, length, i).set(prove(circuit, encoded, part(proveRands, arity, i), part(jointRands, joint, i)));
    }
    return out;
  }
}
