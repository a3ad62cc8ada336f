// Where the randomness comes from, and what is refused: in one sentence that does not repeat the measurement.

import assert from "node:assert/strict";
import { test } from "node:test";

import { prio3 } from "../src/vdaf/index.js";

const CONTEXT = new TextEncoder().encode("a survey");
const hex = (array) => Buffer.from(array).toString("hex");

function refuses(act, name, message) {
  assert.throws(act, (error) => {
    assert.deepEqual([error.name, error.message], [name, message]);
    return true;
  });
}

const SECRET = 987654321;
const MEASUREMENTS = [
  ["count", {}, [SECRET, -1, 0.5, "1", null, [1]], "the measurement must be a whole number from 0 to 1"],
  ["sum_up", { largest: 9 }, [10, -1, 0.5, NaN, true, "3", -1n], "the measurement must be a whole number from 0 to 9"],
  ["histogram", { cells: 4 }, [4, -1, 4n, false, {}], "the measurement must be a whole number from 0 to 3"],
  ["one_hot", { cells: 4 }, [4, -1, undefined], "the measurement must be a whole number from 0 to 3"],
  [
    "sum_vec",
    { entries: 2, largest: 5 },
    [[6, 1], [1, -1], [1, "1"], [1, true], [1, SECRET]],
    "an entry of the measurement must be a whole number from 0 to 5",
  ],
  [
    "sum_vec_with_multiproof",
    { entries: 2, largest: 5 },
    [[1], [1, 2, 3], 1, "12", { length: 2 }, null],
    "the measurement must be a list of 2 elements",
  ],
  [
    "multihot_count_vec",
    { cells: 3, most: 2 },
    [[0, 2, 0], [0, "1", 0], [SECRET, 0, 0]],
    "an entry of the measurement must be a whole number from 0 to 1",
  ],
  ["multihot_count_vec", { cells: 3, most: 2 }, [[1, true, 1n]], "at most 2 entries of the measurement may be 1"],
];

for (const [name, parameters, wrong, message] of MEASUREMENTS) {
  test(`${name} refuses: ${message}`, () => {
    const scheme = prio3(name, parameters);
    for (const measurement of wrong) refuses(() => scheme.shard(CONTEXT, measurement), "BadValue", message);
  });
}

test("wrong parameters are refused", () => {
  const refuse = (name, parameters, message) => refuses(() => prio3(name, parameters), "BadParameter", message);
  const names = "'count', 'histogram', 'multihot_count_vec', 'one_hot', 'sum_up', 'sum_vec', 'sum_vec_with_multiproof'";
  refuse("toString", {}, `the scheme must be one of ${names}, not 'toString'`);
  refuse("count", { cells: 2 }, "count takes shares, not cells");
  refuse("one_hot", { cells: 2, length: 2 }, "one_hot takes cells, shares, proofs, chunk, not length");
  refuse("count", { shares: 1 }, "the number of servers must be a whole number from 2 to 255, not 1");
  refuse("count", { shares: 256 }, "the number of servers must be a whole number from 2 to 255, not 256");
  refuse("one_hot", { cells: 2, proofs: 2 }, "the number of proofs must be a whole number from 3 to 255, not 2");
  refuse("one_hot", {}, "the number of cells must be a whole number from 1 to 1048576, not None");
  const cells = "the number of cells must be a whole number from 1 to 1048576, not 1048577";
  refuse("histogram", { cells: 2 ** 20 + 1 }, cells);
  refuse("histogram", { cells: 4, chunk: 0 }, "chunk must be a whole number from 1 to 1048576, not 0");
  const largest = "the largest measurement must be a whole number from 1 to 18446744069414584320, not 0";
  refuse("sum_up", { largest: 0 }, largest);
  const elements = "an encoded measurement has at most 1048576 elements, not 2097152";
  refuse("sum_vec", { entries: 2 ** 20, largest: 2 }, elements);
  const chosen = "the largest number of chosen cells must be a whole number from 1 to 4, not 5";
  refuse("multihot_count_vec", { cells: 4, most: 5 }, chosen);
});

test("wrong bytes are refused", () => {
  const scheme = prio3("one_hot", { cells: 2 });
  const refuse = (message, ...given) => refuses(() => scheme.shard(...given), "BadParameter", message);
  refuse("context must be a Uint8Array of at most 65527 bytes", "a survey", 1);
  refuse("context must be a Uint8Array of at most 65527 bytes", new Uint8Array(65528), 1);
  refuse("nonce must be a Uint8Array of 16 bytes", CONTEXT, 1, { nonce: new Uint8Array(15) });
  refuse("rand must be a Uint8Array of 128 bytes", CONTEXT, 1, { rand: new Uint8Array(127) });
  refuse("rand must be a Uint8Array of 128 bytes", CONTEXT, 1, { rand: new Uint8Array(129) });
  assert.equal(prio3("count", { shares: 3 }).randSize, 96);
  assert.equal(prio3("histogram", { cells: 2, shares: 3 }).randSize, 192);
});

test("measurements are numbers, bigints, truths, arrays and typed arrays", () => {
  const random = (scheme) => ({ nonce: new Uint8Array(16), rand: new Uint8Array(scheme.randSize).fill(5) });
  const same = (name, parameters, ...measurements) => {
    const scheme = prio3(name, parameters);
    const made = measurements.map((each) => hex(scheme.shard(CONTEXT, each, random(scheme)).inputShares[0]));
    assert.equal(new Set(made).size, 1);
  };
  same("count", {}, 1, 1n, true);
  same("sum_up", { largest: 2n ** 63n }, 77, 77n);
  same("sum_vec", { entries: 2, largest: 300 }, [1, 255], [1n, 255], Uint8Array.of(1, 255));
  same("multihot_count_vec", { cells: 3, most: 3 }, [true, false, true], [1, 0, 1n], Uint8Array.of(1, 0, 1));
});

test("without given randomness it comes from crypto.getRandomValues, anew each time", (context) => {
  const drawn = context.mock.method(globalThis.crypto, "getRandomValues");
  const scheme = prio3("one_hot", { cells: 8 });
  const made = Array.from({ length: 20 }, () => scheme.shard(CONTEXT, 3));
  assert.equal(drawn.mock.callCount(), 40);
  for (const part of [({ nonce }) => nonce, ({ publicShare }) => publicShare, ({ inputShares }) => inputShares[1]]) {
    assert.equal(new Set(made.map((shares) => hex(part(shares)))).size, 20);
  }
  const nonce = new Uint8Array(16);
  assert.equal(scheme.shard(CONTEXT, 3, { nonce }).nonce, nonce);
});

test("shares depend on the context, the nonce and the scheme", () => {
  const rand = new Uint8Array(128);
  const nonce = new Uint8Array(16);
  const made = [
    prio3("histogram", { cells: 8 }).shard(CONTEXT, 3, { nonce, rand }),
    prio3("histogram", { cells: 8 }).shard(CONTEXT.subarray(1), 3, { nonce, rand }),
    prio3("histogram", { cells: 8 }).shard(CONTEXT, 3, { nonce: nonce.slice().fill(1), rand }),
    prio3("one_hot", { cells: 8 }).shard(CONTEXT, 3, { nonce, rand }),
    prio3("one_hot", { cells: 8, proofs: 4 }).shard(CONTEXT, 3, { nonce, rand }),
  ];
  assert.equal(new Set(made.map(({ inputShares }) => hex(inputShares[0]))).size, made.length);
});

test("a report has the bytes that Python counts", () => {
  const size = ({ publicShare, inputShares }) =>
    inputShares.reduce((sum, { length }) => sum + length, publicShare.length);
  assert.equal(size(prio3("one_hot", { cells: 256 }).shard(CONTEXT, 3)), 3816);
  assert.equal(size(prio3("histogram", { cells: 256 }).shard(CONTEXT, 3)), 5328);
});

test("reports of gigabytes are refused before they are made", () => {
  const message = (elements) => `a report has at most 16777216 elements, its proofs included, not ${elements}`;
  const million = 2 ** 20;
  const proof = 2 * million + 3;
  refuses(() => prio3("one_hot", { cells: 1, chunk: million, proofs: 9 }), "BadParameter", message(1 + 9 * proof));
  const long = { cells: million, chunk: million, proofs: 255 };
  refuses(() => prio3("one_hot", long), "BadParameter", message(million + 255 * proof));
  prio3("histogram", { cells: million });
});

test("null is no object of parameters, and no randomness", () => {
  for (const parameters of [null, 5, "cells"]) {
    const make = () => prio3("count", /** @type {any} */ (parameters));
    refuses(make, "BadParameter", "the parameters of count must be an object");
  }
  const { nonce } = prio3("count").shard(CONTEXT, 1, /** @type {any} */ (null));
  assert.equal(nonce.length, 16);
});
