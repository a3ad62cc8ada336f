/** The schemes by the names that the Python package has for them, and what their parameters may be. */

import { choice, given } from "../checks.js";
import { BadParameter } from "../errors.js";
import { bestChunk } from "./chunks.js";
import { Count, Histogram, MultihotCountVec, Sum, SumVec } from "./circuits.js";
import { Field128, Field64 } from "./field.js";
import { Prio3 } from "./prio3.js";
import { bitLength } from "./range.js";

/** Elements that an encoded measurement may have at most. */
const LARGEST = 2 ** 20;
/** With joint randomness, Field64 needs so many (draft, section 9.6). */
const FEWEST_PROOFS = 3;

/** What each parameter is called in messages, and its ends, given the field and the parameters before it. */
const PARAMETERS = {
  shares: ["the number of servers", () => [2, 255]],
  proofs: ["the number of proofs", () => [FEWEST_PROOFS, 255]],
  entries: ["the number of entries", () => [1, LARGEST]],
  cells: ["the number of cells", () => [1, LARGEST]],
  largest: ["the largest measurement", (field) => [1, field.modulus - 1n]],
  most: ["the largest number of chosen cells", (_, { cells }) => [1, cells]],
  chunk: ["chunk", () => [1, LARGEST]],
};

const sumVec = {
  needs: ["entries", "largest"],
  bits: ({ entries, largest }) => Number(entries) * bitLength(largest),
  circuit: (field, { entries, largest, chunk }) => new SumVec(field, Number(entries), largest, Number(chunk)),
};
const histogram = {
  needs: ["cells"],
  bits: ({ cells }) => Number(cells),
  circuit: (field, { cells, chunk }) => new Histogram(field, Number(cells), Number(chunk)),
};
const multihot = {
  needs: ["cells", "most"],
  bits: ({ cells, most }) => Number(cells) + bitLength(most),
  circuit: (field, { cells, most, chunk }) => new MultihotCountVec(field, Number(cells), most, Number(chunk)),
};

/** `bits` says how many bits are checked in chunks. Identifiers from 0xffff0000 on are for private use. */
const SCHEMES = {
  count: { id: 1, field: Field64, needs: [], circuit: (field) => new Count(field) },
  sum_up: { id: 2, field: Field64, needs: ["largest"], circuit: (field, { largest }) => new Sum(field, largest) },
  sum_vec: { id: 3, field: Field128, ...sumVec },
  sum_vec_with_multiproof: { id: 0xffffffff, field: Field64, severalProofs: true, ...sumVec },
  histogram: { id: 4, field: Field128, ...histogram },
  multihot_count_vec: { id: 5, field: Field128, ...multihot },
  one_hot: { id: 0xffff0001, field: Field64, severalProofs: true, ...histogram },
};

function read(field, parameters, needs, defaults) {
  const values = {};
  for (const key of [...needs, ...Object.keys(defaults)]) {
    const [label, ends] = PARAMETERS[key];
    values[key] = given(label, parameters[key] ?? defaults[key], ...ends(field, values));
  }
  return values;
}

/**
 * A scheme with its parameters.
 *
 *     prio3("one_hot", { cells: 256 }).shard(context, 17)
 *
 * @param {string} name @param {Record<string, number | bigint>} [parameters] @returns {Prio3}
 */
export function prio3(name, parameters = {}) {
  choice("the scheme", name, Object.keys(SCHEMES));
  if (typeof parameters !== "object" || parameters === null) {
    throw new BadParameter(`the parameters of ${name} must be an object`);
  }
  const { id, field, needs, bits, severalProofs, circuit } = SCHEMES[name];
  const defaults = { shares: 2, ...(severalProofs && { proofs: FEWEST_PROOFS }) };
  const known = [...needs, ...Object.keys(defaults), ...(bits ? ["chunk"] : [])];
  const unknown = Object.keys(parameters).find((key) => !known.includes(key));
  if (unknown !== undefined) throw new BadParameter(`${name} takes ${known.join(", ")}, not ${unknown}`);
  const values = read(field, parameters, needs, defaults);
  if (bits) {
    const length = bits(values);
    if (length > LARGEST) {
      throw new BadParameter(`an encoded measurement has at most ${LARGEST} elements, not ${length}`);
    }
    Object.assign(values, read(field, parameters, [], { chunk: bestChunk(length) }));
  }
  return new Prio3(name, id, circuit(field, values), {
    shares: Number(values.shares),
    proofs: Number(values.proofs ?? 1n),
  });
}
