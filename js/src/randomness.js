/** The only source of private random bits: the browser's (or Node's) cryptographic generator. */

import { DpairsError } from "./errors.js";

/**
 * @typedef {object} Bits a source of uniform 64-bit words
 * @property {() => bigint} word the next word
 * @property {(count: number) => bigint[]} words the next words
 */

/** Words from `crypto.getRandomValues`: what a participant uses. @implements {Bits} */
export class SystemBits {
  word() {
    return this.words(1)[0];
  }

  words(count) {
    if (typeof globalThis.crypto?.getRandomValues !== "function") {
      throw new DpairsError("there is no crypto.getRandomValues here, so nothing can be randomized safely");
    }
    return Array.from(globalThis.crypto.getRandomValues(new BigUint64Array(count)));
  }
}
