/** Messages of DAP in the browser; tests/dap/test_javascript.py holds them against Python's. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { BadFile, BadParameter } from "../src/errors.js";
import { REQUEST, Task, analystToken, readConfigs, readSecret } from "../src/dap/index.js";
import { Reader, number, opaque } from "../src/dap/presentation.js";
import { concat } from "../src/vdaf/xof.js";

const key = new Uint8Array(32).fill(7);
const config = (id, kem, bytes) => concat(number(id, 1), number(kem, 2), number(1, 2), number(1, 2), opaque(bytes, 2));

test("numbers are big-endian, and vectors have their lengths before them", () => {
  assert.deepEqual([...number(258, 2)], [1, 2]);
  assert.deepEqual([...number(2n ** 63n, 8)], [128, 0, 0, 0, 0, 0, 0, 0]);
  assert.deepEqual([...opaque(Uint8Array.of(5, 6), 2)], [0, 2, 5, 6]);
  const reader = new Reader(concat(number(7, 4), opaque(Uint8Array.of(9), 1)), "a message");
  assert.equal(reader.number(4), 7n);
  assert.deepEqual([...reader.opaque(1)], [9]);
  reader.end();
  assert.throws(() => reader.take(1), BadFile);
  assert.throws(() => new Reader(Uint8Array.of(1), "a message").end(), BadFile);
});

test("the first key of the known suite is taken, and none of another", () => {
  const list = opaque(concat(config(3, 0x10, key), config(4, 0x20, key.slice(1)), config(5, 0x20, key)), 2);
  assert.deepEqual(readConfigs(list), { id: 5, key });
  assert.throws(() => readConfigs(opaque(config(3, 0x10, key), 2)), BadFile);
  assert.throws(() => readConfigs(opaque(new Uint8Array(0), 2)), BadFile);
  assert.throws(() => readConfigs(list.slice(0, -1)), BadFile);
  assert.throws(() => readConfigs(concat(list, Uint8Array.of(0))), BadFile);
});

test("an analyst's key is 64 digits, and its token follows from it", async () => {
  assert.throws(() => readSecret("00"), BadParameter);
  assert.throws(() => readSecret("x".repeat(64)), BadParameter);
  const secret = readSecret(` ${"00".repeat(32)}\n`);
  assert.equal((await analystToken(secret)).length, 43);
  assert.notEqual(await analystToken(secret), await analystToken(key));
});

test("the one query of a task has no parameters", () => {
  assert.deepEqual([...REQUEST], [2, 0, 0, 0, 0, 0, 0, 0, 0]);
});

test("what is no task is refused", () => {
  for (const words of ["", "{}", "[]", '{"format":"dpairs-task","version":1}', '{"format":"dpairs-study","version":1}']) {
    assert.throws(() => Task.fromJson(words), BadFile);
  }
});
