// The XOF against its official vector, and the copied files against what was copied.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Field128, Field64 } from "../src/vdaf/field.js";
import { XofTurboShake128 } from "../src/vdaf/xof.js";

const bytes = (hex) => Uint8Array.from(Buffer.from(hex, "hex"));
const hex = (array) => Buffer.from(array).toString("hex");
const vector = JSON.parse(readFileSync(new URL("../../vectors/vdaf/XofTurboShake128.json", import.meta.url), "utf8"));
const [seed, dst, binder] = [vector.seed, vector.dst, vector.binder].map(bytes);

test("the official vector", () => {
  assert.equal(hex(XofTurboShake128.deriveSeed(seed, dst, binder)), vector.derived_seed);
  const expanded = XofTurboShake128.expand(Field128, seed, dst, binder, vector.length);
  assert.equal(hex(Field128.encode(expanded)), vector.expanded_vec_field128);
});

test("the output is one stream, however it is read", () => {
  const whole = new XofTurboShake128(seed, dst, binder).next(1000);
  const parts = new XofTurboShake128(seed, dst, binder);
  const read = [1, 7, 160, 1, 167, 168, 169, 327].map((length) => hex(parts.next(length)));
  assert.equal(read.join(""), hex(whole));
  const [few, many] = [3, 50].map((length) => XofTurboShake128.expand(Field64, seed, dst, binder, length));
  assert.deepEqual(many.subarray(0, few.length), few);
});

/** An XOF whose output is known. */
class Known extends XofTurboShake128 {
  constructor(output) {
    super(new Uint8Array(32), new Uint8Array(0), new Uint8Array(0));
    this.left = output;
  }

  next(length) {
    const taken = this.left.slice(0, length);
    assert.equal(taken.length, length);
    this.left = this.left.slice(length);
    return taken;
  }
}

test("numbers that are not below the modulus are passed over", () => {
  for (const field of [Field64, Field128]) {
    const { modulus } = field;
    const output = field.encode(field.vector([5n, modulus, modulus - 1n, modulus + 1n, modulus, 6n, 7n, 8n]));
    const xof = new Known(output);
    assert.deepEqual(xof.nextVector(field, 4), field.vector([5n, modulus - 1n, 6n, 7n]));
    assert.equal(hex(xof.left), hex(field.encode(field.vector([8n]))));
  }
});

test("the copied files are those of @noble/hashes 2.4.0", () => {
  const known = {
    "_u64.js": "b09da8c07fe8187c07649494cdb7cd0bcf13df90b506a9473d19e4d5f8c2e102",
    "sha3.js": "9a81e1edb24eae27b335533220167609cfb58008c5690e140ce478acdc669f32",
    "utils.js": "037ad49adb78168b6b699598fd33f85f7877456b1d28b4d032e2a1a16807947c",
    LICENSE: "4f221aee6e072336700c408c68ab3b96a3fc09f6aebe6f48f1bd99e5ef13faec",
  };
  for (const [name, hash] of Object.entries(known)) {
    const file = readFileSync(new URL(`../src/vendor/noble-hashes/${name}`, import.meta.url));
    assert.equal(createHash("sha256").update(file).digest("hex"), hash, name);
  }
});
