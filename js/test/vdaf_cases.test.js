// 200 reports of our own for each scheme, which Python wrote down, and a few as large as they come.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { prio3 } from "../src/vdaf/index.js";

const FOLDER = new URL("../../vectors/vdaf/", import.meta.url);
const SCHEMES = [
  ...["count", "sum_up", "sum_vec", "sum_vec_with_multiproof"],
  ...["histogram", "multihot_count_vec", "one_hot"],
];

function digest(...parts) {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex");
}

/** Bytes that follow from a label, as vectors/vdaf/README.md says. */
function tape(label, size) {
  const blocks = Array.from({ length: Math.ceil(size / 32) }, (_, i) => Buffer.from(digest(`${label}/${i}`), "hex"));
  return Uint8Array.from(Buffer.concat(blocks)).slice(0, size);
}

function sharesOf(scheme, context, measurement, label) {
  const drawn = tape(label, 16 + scheme.randSize);
  const random = { nonce: drawn.slice(0, 16), rand: drawn.slice(16) };
  const { publicShare, inputShares } = scheme.shard(context, measurement, random);
  assert.equal(inputShares.length, scheme.shares);
  return digest(publicShare, ...inputShares);
}

for (const name of SCHEMES) {
  test(`${name}: the bytes of Python`, () => {
    const file = JSON.parse(readFileSync(new URL(`cases_${name}.json`, FOLDER), "utf8"));
    assert.equal(file.scheme, name);
    let reports = 0;
    for (const { label, parameters, reports: given } of file.groups) {
      const scheme = prio3(name, parameters);
      const context = new TextEncoder().encode(`${label}/context`);
      given.forEach(({ measurement, shares }, i) => {
        assert.equal(sharesOf(scheme, context, measurement, `${label}/${i}`), shares, `${label}/${i}`);
        reports += 1;
      });
    }
    assert.equal(reports, 200);
  });
}

const THIRDS = Array.from({ length: 1000 }, (_, cell) => cell % 3 !== 0);
/** Scheme, parameters, measurement, and the hash that `dpairs.vdaf.instances` gives. */
const LARGE = [
  ["sum_up", { largest: 2n ** 64n - 2n ** 32n }, 2n ** 64n - 2n ** 32n - 1n, "4a185dd4ce2612077c3de9b1023de1d6"],
  ["sum_up", { largest: 2n ** 63n + 1n }, 2n ** 62n + 5n, "97fe274ddf42c7a00fc7c3aa02ae7173"],
  [
    "sum_vec",
    { entries: 2, largest: 2n ** 127n + 3n },
    [2n ** 127n + 3n, 2n ** 126n + 1n],
    "ef4db259b95a4fd1bd8a36ffbabea952",
  ],
  ["one_hot", { cells: 256 }, 200, "52cb5b9439fcdc3ac22d1540d3a55368"],
  ["histogram", { cells: 4096 }, 4095, "65ba48e247f9f25e09137c96ceb24141"],
  ["one_hot", { cells: 4096, shares: 3 }, 0, "71675259ca935e47c7b2341261d1c376"],
  ["multihot_count_vec", { cells: 1000, most: 700 }, THIRDS, "972e37651dca4bbd67fcbcaceaf00232"],
  ["count", { shares: 255 }, 1, "b50887c5148b185e0b2c29421d457907"],
];

test("the bytes of Python for the largest numbers, cells, servers and context", () => {
  const context = new Uint8Array(65527).fill("x".charCodeAt(0));
  for (const [name, parameters, measurement, start] of LARGE) {
    const made = sharesOf(prio3(name, parameters), context, measurement, `large/${name}`);
    assert.equal(made.slice(0, 32), start, name);
  }
});
