/** The schemes by name, and what their parameters may be. */

import { choice, given } from "../checks.js";
import { BadParameter } from "../errors.js";
import { Count, Histogram, MultihotCountVec, Sum, SumVec } from "./circuits.js";
import { Field128, Field64 } from "./field.js";
import { Prio3 } from "./prio3.js";

/** Elements that an encoded measurement may have at most. */
export const LARGEST = 2 ** 20;
/** With joint randomness, a field of 64 bits needs so many proofs (draft, section 9.6). */
const FEWEST_PROOFS = 3;

/** What each parameter may be, given the field and the parameters before it. */
const RANGES = {
  shares: () => [2, 255],
  proofs: () => [FEWEST_PROOFS, 255],
  length: () => [1, LARGEST],
  maxMeasurement: (field) => [1, field.modulus - 1n],
  maxWeight: (_, { length }) => [1, length],
  chunkLength: () => [1, LARGEST],
};

const SUM_VEC = ["length", "maxMeasurement", "chunkLength"];
const HISTOGRAM = ["length", "chunkLength"];
const sumVec = (field, { length, maxMeasurement, chunkLength }) =>
  new SumVec(field, Number(length), maxMeasurement, Number(chunkLength));
const histogram = (field, { length, chunkLength }) => new Histogram(field, Number(length), Number(chunkLength));
const multihot = (field, { length, maxWeight, chunkLength }) =>
  new MultihotCountVec(field, Number(length), maxWeight, Number(chunkLength));

/** Identifiers above 0xffff0000 are for private use. */
const SCHEMES = {
  Prio3Count: { id: 1, field: Field64, needs: [], circuit: (field) => new Count(field) },
  Prio3Sum: {
    id: 2,
    field: Field64,
    needs: ["maxMeasurement"],
    circuit: (field, { maxMeasurement }) => new Sum(field, maxMeasurement),
  },
  Prio3SumVec: { id: 3, field: Field128, needs: SUM_VEC, circuit: sumVec },
  Prio3SumVecWithMultiproof: { id: 0xffffffff, field: Field64, needs: [...SUM_VEC, "proofs"], circuit: sumVec },
  Prio3Histogram: { id: 4, field: Field128, needs: HISTOGRAM, circuit: histogram },
  Prio3MultihotCountVec: {
    id: 5,
    field: Field128,
    needs: ["length", "maxWeight", "chunkLength"],
    circuit: multihot,
  },
  Prio3OneHot: { id: 0xffff0001, field: Field64, needs: [...HISTOGRAM, "proofs"], circuit: histogram },
};

/**
 * A scheme with its parameters.
 *
 *     prio3("Prio3Histogram", { shares: 2, length: 256, chunkLength: 16 }).shard(context, 17)
 *
 * @param {string} name @param {Record<string, number | bigint>} parameters @returns {Prio3}
 */
export function prio3(name, parameters) {
  choice("scheme", name, Object.keys(SCHEMES));
  const { id, field, needs, circuit } = SCHEMES[name];
  const known = ["shares", ...needs];
  const unknown = Object.keys(parameters ?? {}).find((key) => !known.includes(key));
  if (unknown !== undefined) throw new BadParameter(`${name} takes ${known.join(", ")}, not ${unknown}`);
  const read = {};
  for (const key of known) {
    const [low, high] = RANGES[key](field, read);
    read[key] = given(key, parameters?.[key], low, high);
  }
  const made = circuit(field, read);
  if (made.measurementLength > LARGEST) {
    throw new BadParameter(`an encoded measurement has at most ${LARGEST} elements, not ${made.measurementLength}`);
  }
  return new Prio3(name, id, made, { shares: Number(read.shares), proofs: Number(read.proofs ?? 1n) });
}
