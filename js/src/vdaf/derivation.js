/** Seeds and vectors derived from seeds, each for one use in one scheme and one context (draft, section 6.2.3). */

import { XofTurboShake128, concat } from "./xof.js";

/** Of the draft: it separates its versions from each other. */
const VERSION = 18;
const VDAF_CLASS = 0;
const USES = { measurementShare: 1, proofShare: 2, jointRand: 3, proveRand: 4, jointRandSeed: 6, jointRandPart: 7 };
export const LONGEST_CONTEXT = 65535 - 8;

export class Derivation {
  #field;
  #id;
  #context;

  /** @param {import("./field.js").Field} field @param {number} id of the scheme @param {Uint8Array} context */
  constructor(field, id, context) {
    this.#field = field;
    this.#id = id;
    this.#context = context;
  }

  /** @param {keyof typeof USES} use @param {Uint8Array} seed @param {Uint8Array} binder @returns {Uint8Array} */
  seed(use, seed, binder) {
    return XofTurboShake128.deriveSeed(seed, this.#tag(use), binder);
  }

  /** `length` field elements. @returns {Uint32Array} */
  vector(use, seed, binder, length) {
    return XofTurboShake128.expand(this.#field, seed, this.#tag(use), Uint8Array.from(binder), length);
  }

  #tag(use) {
    const head = new DataView(new ArrayBuffer(8));
    head.setUint8(0, VERSION);
    head.setUint8(1, VDAF_CLASS);
    head.setUint32(2, this.#id);
    head.setUint16(6, USES[use]);
    return concat(new Uint8Array(head.buffer), this.#context);
  }
}
