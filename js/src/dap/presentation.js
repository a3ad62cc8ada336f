/** The TLS presentation language (RFC 8446, section 3), as far as DAP uses it. */

import { BadFile } from "../errors.js";
import { concat } from "../vdaf/xof.js";

/** A whole number, the most significant byte first. @param {number | bigint} value @param {number} size */
export function number(value, size) {
  const bytes = new Uint8Array(size);
  let rest = BigInt(value);
  for (let place = size - 1; place >= 0; place -= 1, rest >>= 8n) bytes[place] = Number(rest & 0xffn);
  return bytes;
}

/** A vector of bytes, with its length in `size` bytes. @param {Uint8Array} content @param {number} size */
export function opaque(content, size) {
  return concat(number(content.length, size), content);
}

/** @param {string} letters */
export function ascii(letters) {
  return Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
}

/** Reads one message from its first byte; `end` refuses what follows it. */
export class Reader {
  #wire;
  #what;
  #at = 0;

  /** @param {Uint8Array} wire @param {string} what */
  constructor(wire, what) {
    this.#wire = wire;
    this.#what = what;
  }

  get left() {
    return this.#wire.length - this.#at;
  }

  take(size) {
    if (size > this.left) throw new BadFile(`${this.#what} ends too early`);
    this.#at += size;
    return this.#wire.slice(this.#at - size, this.#at);
  }

  /** @returns {bigint} */
  number(size) {
    return this.take(size).reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);
  }

  opaque(size) {
    return this.take(Number(this.number(size)));
  }

  end() {
    if (this.left) throw new BadFile(`${this.left} bytes follow the end of ${this.#what}`);
  }
}
