// The vectors that Python writes: the same bytes here, and the same refusals.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { DpairsError, Participant, Report, Study } from "../src/index.js";
import { TapeForTests } from "../src/testing.js";

const FOLDER = new URL("../../vectors/", import.meta.url);
const FILES = readdirSync(FOLDER).filter((name) => /^(histogram|tree|projection)_.*\.json$/.test(name));
const ours = new Set(["report", "asks", "next", "load_study", "read_report"]);
/** Counting and estimating are the analyst's. */
const analysts = new Set(["tally", "estimate", "load_tally"]);

const bytes = (hex) => Uint8Array.from(Buffer.from(hex, "hex"));
const hex = (array) => Buffer.from(array).toString("hex");

/** Whole numbers of an `integers` domain are strings in the files. */
function valuesOf(study, given) {
  const kinds = Object.fromEntries(study.columns.map(({ name, domain }) => [name, domain.kind]));
  const read = ([name, value]) => [name, kinds[name] === "integers" ? BigInt(value) : value];
  return Object.fromEntries(Object.entries(given).map(read));
}

const OPERATIONS = {
  report(study, step) {
    const bits = new TapeForTests(bytes(step.tape));
    const me = new Participant(study, { index: BigInt(step.index), stratum: step.stratum, maxDelta: study.delta, bits });
    const values = valuesOf(study, step.values);
    const report = me.report(values);
    assert.equal(BigInt(report.symbol), BigInt(step.symbol));
    assert.equal(hex(report.toBytes()), step.wire);
    const coins = me.coins.map(({ level, row }) => ({ level, row: String(row) }));
    assert.deepEqual(coins, step.coins ?? []);
    assert.ok(me.probability(values, report.symbol).numerator > 0n);
  },
  asks(study, step) {
    const asked = Array.from({ length: step.count }, (_, index) => index);
    assert.deepEqual(asked.filter((index) => study.asks(step.stratum, index)), step.asked);
  },
  next(study, step) {
    const second = Study.fromJson(step.study, { first: study });
    assert.equal(second.id, step.study_id);
    assert.equal(second.toJson(), step.study);
    assert.equal(second.firstId, study.id);
    return second;
  },
  load_study(study, step) {
    assert.equal(Study.fromJson(step.text).id, study.id);
  },
  read_report(study, step) {
    const report = Report.fromBytes(bytes(step.wire), study);
    assert.deepEqual(
      [report.stratum, String(report.index), BigInt(report.symbol)],
      [step.stratum, step.index, BigInt(step.symbol)],
    );
  },
};

for (const name of FILES) {
  test(name, () => {
    const vector = JSON.parse(readFileSync(new URL(name, FOLDER), "utf8"));
    let study = Study.fromJson(vector.study);
    assert.equal(study.id, vector.study_id);
    assert.equal(study.toJson(), vector.study);
    vector.operations.forEach((step, number) => {
      if (analysts.has(step.operation)) return;
      assert.ok(ours.has(step.operation));
      const act = () => OPERATIONS[step.operation](study, step);
      if (step.success) {
        study = act() ?? study;
        return;
      }
      assert.throws(act, (error) => {
        assert.ok(error instanceof DpairsError, `${number} ${step.comment}: ${error.stack}`);
        assert.equal(error.name, step.error, `${number} ${step.comment}: ${error.message}`);
        return true;
      });
    });
  });
}

test("there are enough files", () => {
  assert.ok(FILES.length >= 48);
  assert.ok(FILES.filter((name) => name.includes("_bad_")).length >= 10);
});
