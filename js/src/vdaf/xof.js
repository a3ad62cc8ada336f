/** XofTurboShake128: long pseudorandom outputs from short seeds, each bound to a purpose (draft, section 6.2.1). */

import { Keccak } from "../vendor/noble-hashes/sha3.js";

/** @typedef {import("./field.js").Field} Field */

export const SEED_SIZE = 32;
const [RATE, DOMAIN, ROUNDS] = [168, 1, 12];

/** @param {...Uint8Array} parts @returns {Uint8Array} */
export function concat(...parts) {
  const out = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let place = 0;
  for (const part of parts) {
    out.set(part, place);
    place += part.length;
  }
  return out;
}

export class XofTurboShake128 {
  #sponge = new Keccak(RATE, DOMAIN, SEED_SIZE, true, ROUNDS);

  /**
   * @param {Uint8Array} seed at most 255 bytes
   * @param {Uint8Array} dst the domain separation tag, at most 65535 bytes
   * @param {Uint8Array} binder
   */
  constructor(seed, dst, binder) {
    const lengths = [Uint8Array.of(dst.length & 0xff, dst.length >> 8), Uint8Array.of(seed.length)];
    this.#sponge.update(concat(lengths[0], dst, lengths[1], seed, binder));
  }

  /** The next bytes of the output. @param {number} length @returns {Uint8Array} */
  next(length) {
    return this.#sponge.xof(length);
  }

  /** The next field elements: numbers of the output that are not below p are passed over. */
  nextVector(field, length) {
    const out = field.zeros(length);
    const { words } = field;
    let filled = 0;
    while (filled < length) {
      const drawn = field.wordsOf(this.next((length - filled) * field.encodedSize));
      for (let i = 0; i < drawn.length / words; i += 1) {
        if (!field.below(drawn, i)) continue;
        out.set(drawn.subarray(i * words, (i + 1) * words), filled * words);
        filled += 1;
      }
    }
    return out;
  }

  static deriveSeed(seed, dst, binder) {
    return new XofTurboShake128(seed, dst, binder).next(SEED_SIZE);
  }

  static expand(field, seed, dst, binder, length) {
    return new XofTurboShake128(seed, dst, binder).nextVector(field, length);
  }
}
