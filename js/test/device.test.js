// What a collector can make a device answer: the study of the link, once, within the person's limit.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Device, Ledger, Participant, Study } from "../src/index.js";
import { canonical, digest } from "../src/canonical.js";
import { parse } from "../src/json.js";

const load = (name) => JSON.parse(readFileSync(new URL(`../../vectors/${name}.json`, import.meta.url), "utf8"));
const TWO = load("projection_histogram_auc");
const FIRST = TWO.study;
const SECOND = TWO.operations.find((step) => step.operation === "next").study;
const ONE = load("histogram_auc_krr").study;
const DELTA = load("tree_budget_advanced").study;

/** Locks that let one at a time in, in order. */
class Locks {
  #last = Promise.resolve();

  request(name, work) {
    const mine = this.#last.then(work);
    this.#last = mine.catch(() => {});
    return mine;
  }
}

function memory() {
  const kept = new Map();
  return { kept, getItem: (name) => kept.get(name) ?? null, setItem: (name, words) => kept.set(name, words) };
}

const device = (store = memory()) => new Device(store, new Locks());

/** A study's text with parts changed, and the id that belongs to it. */
function forged(text, change) {
  const spec = parse(text, "the study");
  spec.delete("id");
  change(spec);
  spec.set("id", digest(spec));
  return canonical(spec);
}

function indexOf(study, asked = true) {
  return Array.from({ length: 64 }, (_, index) => index).find((index) => study.asks("positive", index) === asked);
}

test("a second round that only says that it follows is not answered", async () => {
  const first = Study.fromJson(FIRST);
  const strange = [
    forged(SECOND, (spec) => spec.set("epsilon", 30)),
    forged(SECOND, (spec) => spec.get("protocol").get("first").set("share", 1n)),
    forged(SECOND, (spec) => spec.set("seed", "0".repeat(32))),
    forged(SECOND, (spec) => spec.get("protocol").get("first").set("study", "0".repeat(64))),
    ONE,
  ];
  for (const text of strange) {
    const alone = Study.fromJson(text);
    const given = { first: FIRST, now: text, index: indexOf(alone), stratum: "positive", values: { score: 0.5 } };
    await assert.rejects(async () => device().answer(first.id, given), { name: "WrongStudy" });
    // Variant: the collector also serves another first round.
    const other = { ...given, first: forged(FIRST, (spec) => spec.set("seed", "1".repeat(32))) };
    await assert.rejects(async () => device().answer(first.id, other), { name: "BadFile" });
    await assert.rejects(async () => device().answer(first.id, { ...given, first: text }), { name: "BadFile" });
  }
});

test("a weak first round promises no less than its second may lose", async () => {
  const text = forged(FIRST, (spec) => spec.set("epsilon", 30));
  const { id, protocol, privacy } = Study.fromJson(text);
  assert.ok(protocol.epsilon < 6);
  assert.equal(privacy.epsilon, 30);
  const given = { first: text, index: indexOf(Study.fromJson(text)), stratum: "positive", values: { score: 0.5 } };
  await assert.rejects(device().answer(id, given), { name: "LimitExceeded" });
});

test("nobody answers both rounds", () => {
  const first = Study.fromJson(FIRST);
  const crafted = Study.fromJson(forged(SECOND, (spec) => spec.get("protocol").get("first").set("share", 1n)));
  const twice = Array.from({ length: 500 }, (_, i) => i).filter((i) => first.asks("positive", i) && crafted.asks("positive", i));
  assert.ok(twice.length > 20);
  const person = { index: twice[0], stratum: "positive" };
  assert.throws(() => new Participant(crafted, person), { name: "BadParameter" });
  assert.throws(() => new Participant(Study.fromJson(SECOND), person), { name: "BadParameter" });
  const second = Study.fromJson(SECOND, { first });
  new Participant(second, { index: indexOf(second), stratum: "positive" });
  assert.throws(() => new Participant(second, { index: indexOf(first), stratum: "positive" }), { name: "NotAsked" });
});

test("a delta passes no limit on epsilon, and no ledger without one", () => {
  const study = Study.fromJson(DELTA);
  const person = { index: 0, stratum: "positive", maxEpsilon: 100 };
  assert.throws(() => new Participant(study, person), { name: "LimitExceeded" });
  new Participant(study, { ...person, maxDelta: study.delta });
  assert.throws(() => new Ledger({ limit: 100 }).check(study), { name: "LimitExceeded" });
  assert.throws(() => new Ledger({ limit: 100, delta: 1.9 * study.delta }).check(study), { name: "LimitExceeded" });
  new Ledger({ limit: 100, delta: 2 * study.delta }).spend(study);
});

test("many studies are many answers in one ledger", async () => {
  const mine = device();
  let sent = 0;
  for (let seed = 0; seed < 8; seed += 1) {
    const text = forged(ONE, (spec) => spec.set("seed", String(seed).padStart(32, "0")));
    const { id, privacy } = Study.fromJson(text);
    assert.ok(privacy.epsilon > 0.6);
    await mine.answer(id, { first: text, index: 0, stratum: "positive", values: { score: 0.5 } }).then(
      () => (sent += 1),
      (error) => assert.equal(error.name, "LimitExceeded"),
    );
  }
  assert.ok(sent > 0 && sent < 8);
  assert.ok(mine.ledger.total <= 5);
  assert.equal(mine.ledger.size, sent);
  await mine.allow({ limit: 100 });
  assert.equal(mine.ledger.limit, 100);
});

test("two tabs at once, a reload, and a lost ledger entry: one answer", async () => {
  const store = memory();
  const { id } = Study.fromJson(ONE);
  const given = { first: ONE, index: 0, stratum: "positive", values: { score: 0.5 } };
  const locks = new Locks();
  const tabs = Array.from({ length: 12 }, () => new Device(store, locks).answer(id, given));
  const reports = (await Promise.all(tabs)).map((report) => report.toJson());
  assert.equal(new Set(reports).size, 1);
  // Stopped between keeping the answer and writing it into the ledger: booked before it is sent again.
  store.kept.delete("dpairs:ledger");
  assert.equal((await device(store).answer(id, given)).toJson(), reports[0]);
  assert.equal(device(store).ledger.size, 1);
  // Variant: the answer is gone, the ledger is not.
  store.kept.delete(`dpairs:answer:${id}`);
  await assert.rejects(device(store).answer(id, given), { name: "AlreadyAnswered" });
});

test("without locks, or with a store that forgets, nothing is answered", async () => {
  assert.throws(() => new Device(memory(), null), { name: "BadParameter" });
  const forgetful = new Device({ getItem: () => null, setItem: () => {} }, new Locks());
  const { id } = Study.fromJson(ONE);
  const given = { first: ONE, index: 0, stratum: "positive", values: { score: 0.5 } };
  await assert.rejects(forgetful.answer(id, given), { name: "BadFile" });
});

test("a ledger is a file, and others are refused", () => {
  const book = new Ledger({ limit: 3, delta: 1e-6 });
  book.spend(Study.fromJson(ONE), "a name");
  book.spend(Study.fromJson(ONE), "a name");
  const words = book.toJson();
  assert.equal(Ledger.fromJson(words).toJson(), words);
  for (const bad of ["", "[]", "{}", words.replace('"limit":3', '"limit":-3'), words.replace('"version":2', '"version":1'), words.replace('"name":"a name"', '"other":1')]) {
    assert.throws(() => Ledger.fromJson(bad), (error) => ["BadFile", "BadParameter"].includes(error.name));
  }
});
