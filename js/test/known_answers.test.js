// SHA-256, Philox, canonical numbers and logarithms against published or independent answers.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { hex } from "../src/bytes.js";
import { canonical } from "../src/canonical.js";
import { Coins, philox } from "../src/coins.js";
import { exactly } from "../src/composition.js";
import { parse } from "../src/json.js";
import { inSteps } from "../src/mechanisms/steps.js";
import { sha256 } from "../src/sha256.js";
import { logAbove } from "../src/thresholds.js";
import { floatText, repr, short } from "../src/wording.js";

const encode = (text) => new TextEncoder().encode(text);

test("SHA-256: FIPS 180-4's examples", () => {
  const known = {
    "": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    abc: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq:
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
  };
  for (const [text, hash] of Object.entries(known)) assert.equal(hex(sha256(encode(text))), hash);
});

test("SHA-256: every length around a block's end, as Node has it", () => {
  for (let length = 0; length < 200; length += 1) {
    const message = Uint8Array.from({ length }, (_, place) => (place * 37 + length) & 255);
    assert.equal(hex(sha256(message)), createHash("sha256").update(message).digest("hex"));
  }
});

test("Philox4x64-10: the known answers of Random123", () => {
  const all = 2n ** 64n - 1n;
  const known = [
    [[0n, 0n, 0n, 0n], [0n, 0n], ["16554d9eca36314c", "db20fe9d672d0fdc", "d7e772cee186176b", "7e68b68aec7ba23b"]],
    [[all, all, all, all], [all, all], ["87b092c3013fe90b", "438c3c67be8d0224", "9cc7d7c69cd777b6", "a09caebf594f0ba0"]],
    [
      [0x243f6a8885a308d3n, 0x13198a2e03707344n, 0xa4093822299f31d0n, 0x082efa98ec4e6c89n],
      [0x452821e638d01377n, 0xbe5466cf34e90c6cn],
      ["a528f45403e61d95", "38c72dbd566e9788", "a5a1610e72fd18b5", "57bd43b5e52b7fe6"],
    ],
  ];
  for (const [counter, key, words] of known) {
    assert.deepEqual(philox(counter, key).map((word) => word.toString(16).padStart(16, "0")), words);
  }
});

test("coins begin after their counter, as numpy's do", () => {
  // numpy.random.Philox(key=[0, 0], counter=[7, 1, 0, 0]).random_raw(4)
  const coins = new Coins("0".repeat(64));
  assert.deepEqual(coins.words(0, 1, 7n, 1), philox([8n, 1n, 0n, 0n], [0n, 0n]));
  assert.deepEqual(coins.words(0, 1, 5n, 3).slice(8), coins.words(0, 1, 7n, 1));
});

test("canonical text: keys by UTF-16 units, numbers as ECMAScript prints them", () => {
  const text = '{"\\u20ac":1,"\\r":2,"1":1E30,"\\ud83d\\ude00":4.50,"\\u0080":2e-3,"\\u00f6":-0.0,"z":-0}';
  assert.equal(
    canonical(parse(text, "it")),
    '{"\\r":2,"1":1e+30,"z":0,"\u0080":0.002,"ö":0,"€":1,"😀":4.5}',
  );
  const long = '{"a":123456789012345678901234567890}';
  assert.equal(canonical(parse(long, "it")), long);
});

test("JSON that Python refuses is refused", () => {
  const bad = [
    "", " ", "[]", "1", "null", '"a"', "{", '{"a"}', '{"a":}', '{"a":1,}', '{"a":1 "b":2}', '{"a":[1,]}', "{a:1}",
    "{'a':1}", '{"a":01}', '{"a":1.}', '{"a":.5}', '{"a":+1}', '{"a":1e}', '{"a":0x1}', '{"a":NaN}', '{"a":-Infinity}',
    '{"a":1e400}', '{"a":1,"a":1}', '{"a":"\t"}', '{"a":"\\x41"}', '{"a":"\\u12"}', '{"a":"\\u 123"}', '{"a":tru}', '{"a":1}}',
    '\ufeff{"a":1}', '\u00a0{"a":1}', `{"a":${"[".repeat(100000)}`, `{"a":${"1".repeat(4301)}}`, '{"a":"b', '{"__proto__":1,"__proto__":2}',
  ];
  for (const text of bad) assert.throws(() => parse(text, "it"), { name: "BadFile" }, text.slice(0, 40));
  for (const input of [null, undefined, 7, {}, Uint8Array.of(0xff)]) {
    assert.throws(() => parse(input, "it"), { name: "BadFile" });
  }
  assert.equal(parse('{"__proto__":1}', "it").get("__proto__"), 1n);
});

test("the logarithm is the smallest double above", () => {
  assert.equal(logAbove(2n, 1n), 0.6931471805599454); // ln 2 = 0.69314718055994530941...
  assert.equal(logAbove(3n, 2n), 0.4054651081081644);
  assert.equal(logAbove(10n ** 30n, 1n), 69.07755278982138);
  assert.equal(logAbove(1n, 1n), 1.0000000000000001e-57);
  for (let step = 1; step < 60; step += 1) {
    const [a, b] = [2n ** 64n + BigInt(step) * 12345678901234567n, 2n ** 64n];
    const near = Math.log(Number(a) / Number(b));
    assert.ok(Math.abs(logAbove(a, b) - near) <= 1e-15 * Math.max(near, 1));
  }
});

test("a double is read exactly", () => {
  for (const value of [1, 0.1, 1e-8, 5e-324, 1e300, 123456.789]) {
    const [above, below] = exactly(value);
    assert.equal(Number(above) / Number(below) || value, value);
  }
  assert.deepEqual(exactly(0.75), [3n * 2n ** 51n, 2n ** 53n]);
});

test("a number is rounded to the nearest step, and halves to the even one", () => {
  const half = 2 ** -33;
  const rounded = [0, half, 3 * half, 5 * half, 7 * half, half * (1 + 2 ** -50), 1, 1 - half].map(inSteps);
  assert.deepEqual(rounded, [0n, 0n, 2n, 2n, 4n, 1n, 2n ** 32n, 2n ** 32n]);
  for (const value of [-half, 1 + 2 ** -52, NaN]) assert.throws(() => inSteps(value), { name: "BadValue" });
});

test("numbers in messages read as Python's", () => {
  const floats = { 1: "1.0", 0.1: "0.1", 1e16: "1e+16", 1e15: "1000000000000000.0", 1e-5: "1e-05", 0.0001: "0.0001" };
  for (const [value, text] of Object.entries(floats)) assert.equal(floatText(Number(value)), text);
  assert.equal(floatText(-1.5e-7), "-1.5e-07");
  assert.equal(floatText(NaN), "nan");
  assert.deepEqual([1, 0.99, 1e-7, 123456789, 0].map((each) => short(each)), ["1", "0.99", "1e-07", "1.23457e+08", "0"]);
  assert.equal(repr(["it's", 'a "b"', true, null, 5n]), `["it's", 'a "b"', True, None, 5]`);
});
