/** A fully linear proof that a measurement satisfies its circuit (draft-irtf-cfrg-vdaf-20, section 7.3). */

import { doubled } from "./ntt.js";

/** @typedef {import("./circuits.js").Circuit} Circuit */

/** Values of a wire's polynomial: one for each call of the gadget and one that hides them, up to a power of two. */
function wireLength(circuit) {
  return 2 ** (32 - Math.clz32(circuit.calls));
}

function gadgetLength(circuit) {
  return circuit.gadget.degree * (wireLength(circuit) - 1) + 1;
}

/** How many elements a proof has. @param {Circuit} circuit */
export function proofLength(circuit) {
  return circuit.gadget.arity + gadgetLength(circuit);
}

/**
 * The proof: the wires' seeds, and the gadget's polynomial as its values at roots of unity.
 *
 * @param {Circuit} circuit
 * @param {Uint32Array} measurement encoded
 * @param {Uint32Array} proveRand as many elements as the gadget has wires
 * @param {Uint32Array} jointRand `circuit.jointRandLength` elements
 * @returns {Uint32Array} `proofLength(circuit)` elements
 */
export function prove(circuit, measurement, proveRand, jointRand) {
  const { field, gadget, calls } = circuit;
  const { words } = field;
  const stride = wireLength(circuit) * words;
  const wires = new Uint32Array(gadget.arity * stride);
  const record = (row, place) => {
    for (let j = 0; j < gadget.arity; j += 1) {
      for (let r = 0; r < words; r += 1) wires[j * stride + place * words + r] = row[j * words + r];
    }
  };
  const seeds = field.toMontgomery(proveRand);
  record(seeds, 0);
  const [inputs, challenges] = [field.toMontgomery(measurement), field.toMontgomery(jointRand)];
  for (let call = 0; call < calls; call += 1) record(circuit.wires(inputs, challenges, call), call + 1);

  const points = gadgetLength(circuit);
  const longEnough = (j) => {
    /** @type {Uint32Array} */
    let values = wires.subarray(j * stride, (j + 1) * stride);
    while (values.length < points * words) values = doubled(field, values);
    return values;
  };
  const proof = field.zeros(proofLength(circuit));
  proof.set(seeds);
  proof.set(gadget.evaluate(field, longEnough, points), seeds.length);
  return field.fromMontgomery(proof);
}
