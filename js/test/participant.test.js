// A device in use: bits of the system, one answer, and what is refused.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import * as dpairs from "../src/index.js";
import { SystemBits } from "../src/randomness.js";
import { TapeForTests } from "../src/testing.js";

const { Participant, Report, Study } = dpairs;
const FOLDER = new URL("../../vectors/", import.meta.url);
const load = (name) => Study.fromJson(JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), "utf8")).study);
const KRR = load("histogram_auc_krr");

/** Each statistical check below fails by chance less than once in 10^12 runs. */
test("symbols of the system's bits have the exact distribution", () => {
  const people = 20000;
  const counts = new Array(5).fill(0);
  for (let index = 0; index < people; index += 1) {
    counts[new Participant(KRR, { index, stratum: "positive" }).report({ score: 0.5 }).symbol] += 1;
  }
  const me = new Participant(KRR, { index: 0, stratum: "positive" });
  const distance = (chances) =>
    counts.reduce((sum, count, symbol) => sum + (count - people * chances[symbol]) ** 2 / (people * chances[symbol]), 0);
  // Chi-square with 4 degrees of freedom: P(X > x) = e^(-x/2) (1 + x/2) = 4e-13 at 64.
  assert.ok(distance(counts.map((_, symbol) => Number(me.probability({ score: 0.5 }, symbol)))) < 64);
  // The control: another person's distribution does not fit.
  assert.ok(distance(counts.map((_, symbol) => Number(me.probability({ score: 0.1 }, symbol)))) > 64);
});

test("every bit of a word is even, and words do not repeat", () => {
  const words = new SystemBits().words(8192);
  assert.equal(new Set(words).size, words.length);
  for (let bit = 0n; bit < 64n; bit += 1n) {
    const ones = words.filter((word) => (word >> bit) & 1n).length;
    // Nine standard deviations of 45.3.
    assert.ok(Math.abs(ones - 4096) < 408, `bit ${bit}`);
  }
});

test("a participant answers once, and shows nothing", () => {
  const me = new Participant(KRR, { index: 3, stratum: "negative" });
  const first = me.report({ score: 0.25 });
  assert.throws(() => me.report({ score: 0.25 }), dpairs.AlreadyAnswered);
  assert.equal(JSON.stringify(me), "{}");
  assert.deepEqual([me.index, me.stratum, me.study], [3, "negative", KRR]);
  assert.equal(Report.fromBytes(first.toBytes(), KRR).toJson(), first.toJson());
});

test("a refused value is no answer", () => {
  const me = new Participant(KRR, { index: 3, stratum: "negative", bits: new TapeForTests(new Uint8Array(8)) });
  assert.throws(() => me.report({ score: 2 }), { name: "BadValue", message: "score must be a number in [0, 1], not 2.0" });
  assert.throws(() => me.report(), dpairs.BadValue);
  assert.throws(() => me.report({ score: {} }), dpairs.BadValue);
  assert.throws(() => me.report({ score: undefined }), dpairs.BadValue);
  assert.equal(me.report({ score: 0.1 }).symbol, 0);
});

test("arguments are checked", () => {
  const make = (person) => () => new Participant(KRR, person);
  assert.throws(make({ index: 1 }), { message: "say which class this person belongs to: positive or negative" });
  assert.throws(make({ index: 1, stratum: "x" }), dpairs.BadParameter);
  for (const index of [-1, 0.5, NaN, "1", 2 ** 53, undefined]) {
    assert.throws(make({ index, stratum: "positive" }), dpairs.BadParameter);
  }
  assert.throws(make({ index: 1, stratum: "positive", maxEpsilon: 1.9 }), {
    name: "LimitExceeded",
    message: "this study loses epsilon 2, above this participant's limit of 1.9",
  });
  assert.throws(make({ index: 1, stratum: "positive", maxEpsilon: NaN }), dpairs.BadParameter);
  const me = make({ index: 1, stratum: "positive", maxEpsilon: 2 })();
  assert.throws(() => me.probability({ score: 0.5 }, 5), dpairs.BadParameter);
  assert.throws(() => new Study({}), dpairs.BadFile);
  assert.throws(() => KRR.asks("x", 1), dpairs.BadParameter);
});

test("who is asked in another round is told so", () => {
  const study = load("projection_tree_auc");
  const index = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].find((each) => !study.asks("positive", each));
  assert.throws(() => new Participant(study, { index, stratum: "positive" }), /not asked in this round/);
  assert.throws(() => new Report(study, "positive", index, 0), dpairs.NotAsked);
});

test("without a cryptographic generator nothing is randomized", () => {
  const own = Object.getOwnPropertyDescriptor(globalThis, "crypto");
  Object.defineProperty(globalThis, "crypto", { value: undefined, configurable: true });
  try {
    const me = new Participant(KRR, { index: 1, stratum: "positive" });
    assert.throws(() => me.report({ score: 0.5 }), /crypto\.getRandomValues/);
  } finally {
    Object.defineProperty(globalThis, "crypto", own);
  }
});

test("no other source of random bits is used, and the tape is not among the public names", () => {
  assert.ok(!("TapeForTests" in dpairs));
  const folder = new URL("../src/", import.meta.url);
  const files = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".js"));
  assert.ok(files.length > 30);
  for (const file of files) {
    const code = readFileSync(new URL(file, folder), "utf8");
    assert.doesNotMatch(code, /Math\.random/);
    // Nothing is installed and nothing but these files is loaded: a browser needs no build step.
    for (const [, from] of code.matchAll(/^(?:import|export) .*from "([^"]*)"/gm)) assert.match(from, /^\.{1,2}\/.*\.js$/);
    if (file.startsWith("vendor")) continue;
    // WebCrypto encrypts with keys that are given to it; of the copied code, the sponge alone is used.
    const encrypts = file.endsWith("hpke.js") ? /crypto\??\.subtle/g : /(?!)/g;
    if (file !== "randomness.js") assert.doesNotMatch(code.replaceAll(encrypts, ""), /crypto|generateKey/);
    const copied = [...code.matchAll(/import (.*) from ".*vendor.*"/g)].map(([, names]) => names);
    assert.deepEqual(copied, file.endsWith("xof.js") ? ["{ Keccak }"] : []);
    if (file !== "testing.js") assert.doesNotMatch(code, /from "\.\/testing\.js"/);
  }
});

test("errors form one tree", () => {
  for (const name of ["BadParameter", "BadValue", "BadFile", "WrongStudy"]) {
    assert.ok(new dpairs[name]("x") instanceof dpairs.InvalidInput);
    assert.equal(new dpairs[name]("x").name, name);
  }
  for (const name of ["InvalidInput", "AlreadyAnswered", "NotAsked", "LimitExceeded", "TapeExhausted"]) {
    assert.ok(new dpairs[name]("x") instanceof dpairs.DpairsError);
    assert.equal(String(new dpairs[name]("x")), `${name}: x`);
  }
});
