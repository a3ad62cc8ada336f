/**
 * Validity circuits: which measurements there are, how they are written as field elements, and which values go
 * into the gadget that checks them (draft-irtf-cfrg-vdaf-20, section 7.4).
 *
 * Messages about a measurement do not repeat it: it is private.
 */

import { BadValue } from "../errors.js";
import { polynomial, sumOfProducts } from "./gadgets.js";
import { bitLength, rangeBits } from "./range.js";

/** @typedef {import("./field.js").Field} Field */
/**
 * @typedef {object} Circuit
 * @property {Field} field
 * @property {import("./gadgets.js").Gadget} gadget
 * @property {number} calls of the gadget
 * @property {number} measurementLength elements of an encoded measurement
 * @property {number} jointRandLength challenges that a proof needs
 * @property {(measurement: any) => Uint32Array} encode
 * @property {(encoded: Uint32Array, jointRand: Uint32Array, call: number) => Uint32Array} wires
 *   the gadget's inputs in a call; everything in Montgomery form
 */

const ENTRY = "an entry of the measurement";

function whole(value, most, what = "the measurement") {
  const number = Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof number !== "bigint" || number < 0n || number > most) {
    throw new BadValue(`${what} must be a whole number from 0 to ${most}`);
  }
  return number;
}

function list(measurement, length) {
  const given = Array.isArray(measurement) || ArrayBuffer.isView(measurement) ? Array.from(/** @type {any} */ (measurement)) : null;
  if (given?.length !== length) throw new BadValue(`the measurement must be a list of ${length} elements`);
  return given;
}

/** Zero or one, also as a truth. */
function bit(value, what) {
  return Number(whole(typeof value === "boolean" ? Number(value) : value, 1n, what));
}

/** Zeros and ones as field elements. */
function elements(field, bits) {
  const out = field.zeros(bits.length);
  bits.forEach((one, place) => (out[place * field.words] = one));
  return out;
}

/** Zero or one: x x - x is 0. @implements {Circuit} */
export class Count {
  gadget = sumOfProducts(1);
  calls = 1;
  measurementLength = 1;
  jointRandLength = 0;

  constructor(field) {
    this.field = field;
  }

  encode(measurement) {
    return elements(this.field, [bit(measurement)]);
  }

  wires(encoded) {
    return Uint32Array.of(...encoded, ...encoded);
  }
}

/** A whole number from 0 to `most`: x x - x is 0 for each of its bits. @implements {Circuit} */
export class Sum {
  gadget = polynomial([0n, -1n, 1n]);
  jointRandLength = 0;

  constructor(field, most) {
    this.field = field;
    this.most = most;
    this.calls = bitLength(most);
    this.measurementLength = this.calls;
  }

  encode(measurement) {
    return elements(this.field, rangeBits(whole(measurement, this.most), this.most));
  }

  wires(encoded, _, call) {
    return encoded.slice(call * this.field.words, (call + 1) * this.field.words);
  }
}

/**
 * Zeros and ones, checked `chunk` at a time: the sum of r^(j + 1) x_j (x_j - 1), where r is the call's challenge.
 * What else a circuit demands of them is linear, so that it takes no wires.
 */
class Bits {
  constructor(field, length, chunk) {
    this.field = field;
    this.chunk = chunk;
    this.gadget = sumOfProducts(chunk);
    this.calls = Math.ceil(length / chunk);
    this.measurementLength = length;
    this.jointRandLength = this.calls;
  }

  wires(encoded, jointRand, call) {
    const { field, chunk } = this;
    const out = field.zeros(2 * chunk);
    const padded = field.zeros(chunk);
    padded.set(encoded.subarray(call * chunk * field.words, (call + 1) * chunk * field.words));
    const challenge = field.one.slice();
    for (let j = 0; j < chunk; j += 1) {
      field.multiply(challenge, 0, challenge, 0, jointRand, call);
      field.multiply(out, 2 * j, challenge, 0, padded, j);
      field.subtract(out, 2 * j + 1, padded, j, field.one, 0);
    }
    return out;
  }
}

/** A list of whole numbers from 0 to `most`. @implements {Circuit} */
export class SumVec extends Bits {
  constructor(field, length, most, chunk) {
    super(field, length * bitLength(most), chunk);
    this.length = length;
    this.most = most;
  }

  encode(measurement) {
    const numbers = list(measurement, this.length).map((value) => whole(value, this.most, ENTRY));
    return elements(this.field, numbers.flatMap((number) => rangeBits(number, this.most)));
  }
}

/** One of `length` cells: a one there, and zeros elsewhere. @implements {Circuit} */
export class Histogram extends Bits {
  encode(measurement) {
    const cell = Number(whole(measurement, BigInt(this.measurementLength - 1)));
    return elements(this.field, Array.from({ length: this.measurementLength }, (_, place) => Number(place === cell)));
  }
}

/** Any set of at most `most` of `length` cells: ones there, and how many they are. @implements {Circuit} */
export class MultihotCountVec extends Bits {
  constructor(field, length, most, chunk) {
    super(field, length + bitLength(most), chunk);
    this.length = length;
    this.most = most;
  }

  encode(measurement) {
    const bits = list(measurement, this.length).map((value) => bit(value, ENTRY));
    const weight = BigInt(bits.reduce((sum, one) => sum + one, 0));
    if (weight > this.most) throw new BadValue(`at most ${this.most} entries of the measurement may be 1`);
    return elements(this.field, [...bits, ...rangeBits(weight, this.most)]);
  }
}
