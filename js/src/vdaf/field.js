/**
 * The fields of Prio3: whole numbers modulo p = 2^(32 n) - c 2^(16 n) + 1, each as n words of 32 bits, lowest first.
 *
 * A vector is a `Uint32Array` of n words for each element. Factors of a product are in Montgomery form, x 2^(32 n):
 * then a product is reduced by additions alone, because p is 1 modulo 2^(16 n). BigInt, whose time depends on the
 * value, is used for public constants only; no arithmetic here branches on a value.
 */

const WORD = 2 ** 32;
/** What roots of unity are powers of, in both fields. */
const GENERATOR = 7n;

function power(base, exponent, modulus) {
  let [result, square] = [1n, base];
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % modulus;
    square = (square * square) % modulus;
  }
  return result;
}

export class Field {
  #fold;
  #columns;
  #modulusWords;
  #squaredRadix;

  /** @param {string} name @param {number} words n @param {number} fold c */
  constructor(name, words, fold) {
    this.name = name;
    this.words = words;
    this.modulus = 2n ** BigInt(32 * words) - BigInt(fold) * 2n ** BigInt(16 * words) + 1n;
    /** Bytes of an element on the wire. */
    this.encodedSize = 4 * words;
    this.#fold = fold;
    this.#columns = new Float64Array(2 * words);
    this.#modulusWords = this.vector([this.modulus]);
    this.#squaredRadix = this.vector([2n ** BigInt(64 * words) % this.modulus]);
    /** 1 in Montgomery form. */
    this.one = this.constants([1n]);
  }

  /** @param {number} length @returns {Uint32Array} */
  zeros(length) {
    return new Uint32Array(length * this.words);
  }

  /** Public whole numbers, each from 0 to p, as a vector. @param {bigint[]} values @returns {Uint32Array} */
  vector(values) {
    const words = values.flatMap((value) =>
      Array.from({ length: this.words }, (_, place) => Number((value >> BigInt(32 * place)) & 0xffffffffn)),
    );
    return Uint32Array.from(words);
  }

  /** Public whole numbers of any sign as a vector in Montgomery form. @param {bigint[]} values */
  constants(values) {
    const radix = 2n ** BigInt(32 * this.words);
    const reduced = values.map((value) => ((value % this.modulus) + this.modulus) % this.modulus);
    return this.vector(reduced.map((value) => (value * radix) % this.modulus));
  }

  /** The principal root of unity of that order, a power of two; public. @param {number} order @returns {bigint} */
  root(order) {
    return power(GENERATOR, (this.modulus - 1n) / BigInt(order), this.modulus);
  }

  /** out[k] = a[i] + b[j]; here and below, indices count elements and vectors may be the same. */
  add(out, k, a, i, b, j) {
    const { words } = this;
    const columns = this.#columns;
    for (let r = 0; r < words; r += 1) {
      columns[r] = a[i * words + r] + b[j * words + r] - this.#modulusWords[r];
    }
    this.#settle(out, k, 0);
  }

  /** out[k] = a[i] - b[j] */
  subtract(out, k, a, i, b, j) {
    const { words } = this;
    const columns = this.#columns;
    for (let r = 0; r < words; r += 1) columns[r] = a[i * words + r] - b[j * words + r];
    this.#settle(out, k, 0);
  }

  /** out[k] = a[i] b[j] 2^(-32 n): the product in Montgomery form of factors in Montgomery form. */
  multiply(out, k, a, i, b, j) {
    const { words } = this;
    const columns = this.#columns;
    const fold = this.#fold;
    const half = words >> 1;
    for (let r = 0; r < 2 * words; r += 1) columns[r] = 0;
    for (let r = 0; r < words; r += 1) {
      const left = a[i * words + r];
      for (let s = 0; s < words; s += 1) {
        const right = b[j * words + s];
        const low = Math.imul(left, right) >>> 0;
        // A double is within 2^11 of the product, so that this is exact.
        const high = Math.round((left * right - low) / WORD);
        columns[r + s] += low;
        columns[r + s + 1] += high;
      }
    }
    // Take away u p 2^(32 r), where u is the lowest word left: p = 1 - c 2^(16 n) + 2^(32 n).
    for (let r = 0; r < words; r += 1) {
      const carry = Math.floor(columns[r] / WORD);
      const lowest = columns[r] - carry * WORD;
      columns[r + 1] += carry;
      columns[r + half] += fold * lowest;
      columns[r + words] -= lowest;
    }
    this.#settle(out, k, words);
  }

  /** out[k] = the columns from `start` on, whose value is at least -p and below p. */
  #settle(out, k, start) {
    const { words } = this;
    const columns = this.#columns;
    let carry = 0;
    for (let r = 0; r < words; r += 1) {
      const value = columns[start + r] + carry;
      carry = Math.floor(value / WORD);
      columns[start + r] = value - carry * WORD;
    }
    const negative = -carry;
    carry = 0;
    for (let r = 0; r < words; r += 1) {
      const value = columns[start + r] + negative * this.#modulusWords[r] + carry;
      carry = Math.floor(value / WORD);
      out[k * words + r] = value - carry * WORD;
    }
  }

  /** a - b, element by element. @param {Uint32Array} a @param {Uint32Array} b @returns {Uint32Array} */
  difference(a, b) {
    const out = new Uint32Array(a.length);
    for (let i = 0; i < a.length / this.words; i += 1) this.subtract(out, i, a, i, b, i);
    return out;
  }

  /** @param {Uint32Array} vector @returns {Uint32Array} its elements in Montgomery form */
  toMontgomery(vector) {
    return this.#scaled(vector, this.#squaredRadix);
  }

  /** @param {Uint32Array} vector in Montgomery form @returns {Uint32Array} */
  fromMontgomery(vector) {
    return this.#scaled(vector, this.vector([1n]));
  }

  #scaled(vector, factor) {
    const out = new Uint32Array(vector.length);
    for (let i = 0; i < vector.length / this.words; i += 1) this.multiply(out, i, vector, i, factor, 0);
    return out;
  }

  /** Whether the words of element i are below p, as those of every element are. */
  below(vector, i) {
    let borrow = 0;
    for (let r = 0; r < this.words; r += 1) {
      borrow = Math.floor((vector[i * this.words + r] - this.#modulusWords[r] + borrow) / WORD);
    }
    return borrow < 0;
  }

  /** The wire form: little-endian. @param {Uint32Array} vector @returns {Uint8Array} */
  encode(vector) {
    const view = new DataView(new ArrayBuffer(4 * vector.length));
    vector.forEach((word, place) => view.setUint32(4 * place, word, true));
    return new Uint8Array(view.buffer);
  }

  /** Words from bytes, whether or not they are below p. @param {Uint8Array} bytes @returns {Uint32Array} */
  wordsOf(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return Uint32Array.from({ length: bytes.length / 4 }, (_, place) => view.getUint32(4 * place, true));
  }
}

/** Modulo 2^64 - 2^32 + 1. */
export const Field64 = new Field("Field64", 2, 1);
/** Modulo 2^128 - 28 2^64 + 1. */
export const Field128 = new Field("Field128", 4, 28);
