/** For tests and test vectors only: whoever knows the tape can undo the noise. */

import { TapeExhausted } from "./errors.js";

/** Words read from given bytes, little-endian. Never for a real person. */
export class TapeForTests {
  #view;
  #read = 0;

  /** @param {Uint8Array} tape */
  constructor(tape) {
    const copy = Uint8Array.from(tape);
    this.#view = new DataView(copy.buffer);
  }

  word() {
    return this.words(1)[0];
  }

  words(count) {
    const left = this.#view.byteLength - this.#read;
    if (8 * count > left) {
      throw new TapeExhausted(`the tape has ${left} bytes left and ${8 * count} are needed`);
    }
    return Array.from({ length: count }, () => {
      this.#read += 8;
      return this.#view.getBigUint64(this.#read - 8, true);
    });
  }
}
