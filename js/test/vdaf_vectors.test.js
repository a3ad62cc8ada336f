// The official vectors of draft-irtf-cfrg-vdaf-20: the same shares from the same measurements and randomness.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { Field64 } from "../src/vdaf/field.js";
import { polynomial } from "../src/vdaf/gadgets.js";
import { Prio3, prio3 } from "../src/vdaf/index.js";

const FOLDER = new URL("../../vectors/vdaf/", import.meta.url);
const FILES = readdirSync(FOLDER).filter((name) => /^Prio3\w+_(\d+|bad_\w+)\.json$/.test(name));

const bytes = (hex) => Uint8Array.from(Buffer.from(hex, "hex"));
const hex = (array) => Buffer.from(array).toString("hex");

/** A circuit of the vectors alone, whose gadget has degree 3: x (x - 1) (x - 2) is 0. */
const higherDegree = {
  field: Field64,
  gadget: polynomial([0n, 2n, -3n, 1n]),
  calls: 1,
  measurementLength: 1,
  jointRandLength: 0,
  encode: (measurement) => Field64.vector([BigInt(measurement)]),
  wires: (encoded) => encoded,
};

const SCHEMES = {
  Prio3Count: ({ shares }) => prio3("count", { shares }),
  Prio3Sum: ({ shares, max_measurement: largest }) => prio3("sum_up", { shares, largest }),
  Prio3SumVec: (vector) => prio3("sum_vec", sumVec(vector)),
  Prio3SumVecWithMultiproof: (vector) => prio3("sum_vec_with_multiproof", sumVec(vector)),
  Prio3Histogram: ({ shares, length: cells, chunk_length: chunk }) => prio3("histogram", { shares, cells, chunk }),
  Prio3MultihotCountVec: ({ shares, length: cells, max_weight: most, chunk_length: chunk }) =>
    prio3("multihot_count_vec", { shares, cells, most, chunk }),
  Prio3HigherDegree: ({ shares }) => new Prio3("higher_degree", 0xffffffff, higherDegree, { shares, proofs: 1 }),
};

function sumVec({ shares, length: entries, max_measurement: largest, chunk_length: chunk }) {
  return { shares, entries, largest, chunk };
}

let sharded = 0;
for (const name of FILES) {
  const vector = JSON.parse(readFileSync(new URL(name, FOLDER), "utf8"));
  const steps = vector.operations.filter(({ operation }) => operation === "shard");
  // In the `_bad_` files nothing is sharded: what they hold is for servers to refuse.
  assert.equal(steps.length === 0, name.includes("_bad_"), name);
  if (steps.length === 0) continue;
  test(name, () => {
    const scheme = SCHEMES[name.split("_")[0]](vector);
    assert.equal(steps.length, vector.reports.length);
    for (const { report_index: index, success } of steps) {
      assert.ok(success);
      const { measurement, nonce, rand, public_share: publicShare, input_shares: inputShares } = vector.reports[index];
      const made = scheme.shard(bytes(vector.ctx), measurement, { nonce: bytes(nonce), rand: bytes(rand) });
      assert.equal(hex(made.nonce), nonce);
      assert.equal(hex(made.publicShare), publicShare);
      assert.deepEqual(made.inputShares.map(hex), inputShares);
      sharded += 1;
    }
  });
}

test("there are enough vectors", () => {
  assert.equal(FILES.length, 25);
  assert.equal(FILES.filter((name) => name.includes("_bad_")).length, 8);
  assert.equal(sharded, 49);
});
