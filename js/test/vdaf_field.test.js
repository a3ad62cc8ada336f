// The fields and the transform against BigInt and schoolbook polynomials.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";

import { bestChunk } from "../src/vdaf/chunks.js";
import { Field128, Field64 } from "../src/vdaf/field.js";
import { doubled } from "../src/vdaf/ntt.js";
import { bitLength, rangeBits } from "../src/vdaf/range.js";

/** Words at which carries and reductions turn. */
const EDGES = [0, 1, 27, 28, 29, 0xffffffe3, 0xffffffe4, 0xffffffe5, 0xfffffffe, 0xffffffff];

const numberOf = (field, vector, i) =>
  vector.subarray(i * field.words, (i + 1) * field.words).reduceRight((sum, word) => (sum << 32n) | BigInt(word), 0n);

function* samples(field, count) {
  for (let i = 0; i < count; i += 1) {
    const bytes = randomBytes(8 * field.words);
    const words = Uint32Array.from({ length: field.words }, (_, r) =>
      i % 3 ? bytes.readUInt32LE(4 * r) : EDGES[bytes[4 * r] % EDGES.length],
    );
    yield numberOf(field, words, 0) % field.modulus;
  }
  yield* [0n, 1n, field.modulus - 1n, field.modulus - 2n, (field.modulus - 1n) / 2n];
}

const FIELDS = [
  [Field64, 2n ** 32n * 4294967295n + 1n, 32n],
  [Field128, 2n ** 66n * 4611686018427387897n + 1n, 66n],
];

for (const [field, modulus, twos] of FIELDS) {
  test(`${field.name} is the draft's field`, () => {
    assert.equal(field.modulus, modulus);
    const power = (base, exponent) => {
      if (exponent === 0n) return 1n;
      const half = power(base, exponent / 2n) ** 2n % modulus;
      return exponent % 2n ? (half * base) % modulus : half;
    };
    const generator = power(7n, (modulus - 1n) / 2n ** twos);
    for (const order of [1, 2, 4, 1024, 2 ** 31]) {
      assert.equal(field.root(order), power(generator, 2n ** twos / BigInt(order)));
    }
  });

  test(`${field.name} adds, subtracts and multiplies like BigInt`, () => {
    const radix = 2n ** BigInt(32 * field.words);
    const out = field.zeros(3);
    const others = [...samples(field, 4000)].reverse();
    [...samples(field, 4000)].forEach((x, place) => {
      const y = others[place];
      const pair = field.vector([x, y]);
      field.add(out, 0, pair, 0, pair, 1);
      field.subtract(out, 1, pair, 0, pair, 1);
      field.multiply(out, 2, pair, 0, pair, 1);
      assert.equal(numberOf(field, out, 0), (x + y) % modulus);
      assert.equal(numberOf(field, out, 1), (x - y + modulus) % modulus);
      const product = numberOf(field, out, 2);
      assert.ok(product < modulus);
      assert.equal((product * radix) % modulus, (x * y) % modulus);
      assert.deepEqual(field.fromMontgomery(field.toMontgomery(pair)), pair);
      assert.deepEqual(field.toMontgomery(pair), field.constants([x, y]));
    });
  });

  test(`${field.name} knows its elements`, () => {
    const top = 2n ** BigInt(32 * field.words) - 1n;
    const known = [0n, 1n, modulus - 1n, modulus, modulus + 1n, top];
    const vector = field.vector(known);
    assert.deepEqual(known.map((_, i) => field.below(vector, i)), [true, true, true, false, false, false]);
    assert.deepEqual(field.wordsOf(field.encode(vector)), vector);
    const written = Buffer.from(field.encode(field.vector([258n]))).toString("hex");
    assert.equal(written, "0201".padEnd(2 * field.encodedSize, "0"));
  });

  test(`${field.name} doubles the values of a polynomial`, () => {
    for (const size of [1, 2, 4, 32]) {
      const coefficients = [...samples(field, size)].slice(0, size);
      const at = (root, count) => {
        const points = [1n];
        while (points.length < count) points.push((points.at(-1) * root) % modulus);
        return field.constants(points.map((x) => coefficients.reduceRight((sum, c) => (sum * x + c) % modulus, 0n)));
      };
      assert.deepEqual(doubled(field, at(field.root(size), size)), at(field.root(2 * size), 2 * size));
    }
  });
}

test("zeros and ones add up to their number, and to no larger one", () => {
  for (const most of [1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n, 100n, 255n, 256n]) {
    const bits = bitLength(most);
    const weights = Array.from({ length: bits }, (_, place) => 2n ** BigInt(place));
    weights[bits - 1] = most - (2n ** BigInt(bits - 1) - 1n);
    assert.equal(weights.reduce((sum, weight) => sum + weight, 0n), most);
    for (let value = 0n; value <= most; value += 1n) {
      const written = rangeBits(value, most);
      assert.equal(written.length, bits);
      assert.ok(written.every((bit) => bit === 0 || bit === 1));
      assert.equal(written.reduce((sum, bit, place) => sum + BigInt(bit) * weights[place], 0n), value);
    }
  }
});

test("no chunk has a shorter proof", () => {
  const proof = (length, chunk) => {
    let wire = 1;
    while (wire < 1 + Math.ceil(length / chunk)) wire *= 2;
    return 2 * chunk + 2 * (wire - 1) + 1;
  };
  for (const length of [1, 2, 3, 7, 8, 100, 256, 257, 1000]) {
    const all = Array.from({ length }, (_, place) => proof(length, place + 1));
    assert.equal(bestChunk(length), 1 + all.indexOf(Math.min(...all)), `${length}`);
  }
  assert.deepEqual([bestChunk(256), bestChunk(4096)], [18, 66]);
});
