// What is promised, in whole numbers: probabilities add up to 1 and no ratio exceeds e^epsilon.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Participant, Study } from "../src/index.js";
import { exactly } from "../src/composition.js";

const FOLDER = new URL("../../vectors/", import.meta.url);
const load = (name) => JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), "utf8"));
const ONES = [
  "histogram_auc_krr", "histogram_auc_projective", "histogram_auc_private_labels", "histogram_auc_integers_64_bits",
  "histogram_kendall_tau_b_projective", "histogram_gini_mean_difference_random_rounding", "histogram_collision_entropy_strings",
  "histogram_variance_whole_numbers_random_rounding",
  "histogram_custom_kernel", "tree_users", "tree_users_independent", "tree_several_bits", "tree_budget",
  "tree_integers_64_bits", "projection_tree_auc", "projection_tree_private_labels", "projection_tree_vus",
];
const TWOS = [
  "projection_histogram_auc", "projection_histogram_kendall_tau_b", "projection_histogram_entropy",
  "projection_histogram_interval", "projection_tree_window", "projection_tree_integers_64_bits", "projection_tree_kernel",
  "projection_window_words", "projection_window_words_even",
];

/** A fraction just below e^epsilon: the first terms of its series, for whose sum the rest is too small. */
function exponentialBelow(epsilon) {
  const [above, below] = exactly(epsilon);
  const unit = 1n << 300n;
  let [sum, term] = [0n, unit];
  for (let step = 1n; term > 0n; step += 1n) {
    sum += term;
    term = (term * above) / (below * step);
  }
  return [sum, unit];
}

function studies() {
  const second = (name) => load(name).operations.find((step) => step.operation === "next").study;
  return [
    ...ONES.map((name) => [name, load(name).study, null]),
    ...TWOS.map((name) => [`${name}, second`, second(name), load(name).study]),
  ];
}

function someone(study) {
  const stratum = study.strata[0];
  let index = 0;
  while (!study.asks(stratum, index)) index += 1;
  return new Participant(study, { index, stratum, maxDelta: study.delta });
}

let tight = 0;
for (const [name, text, first] of studies()) {
  test(name, () => {
    const study = Study.fromJson(text, { first: first ? Study.fromJson(first) : null });
    const me = someone(study);
    const [top, unit] = exponentialBelow(study.privacy.epsilon);
    const [less, same] = exponentialBelow(study.privacy.epsilon * 0.99);
    let totals = null;
    for (let symbol = 0n; symbol < study.symbols; symbol += 1n) {
      const rows = me.likelihoods(symbol, { limit: 12 });
      const chances = rows.map((row) => row.probability);
      totals = chances.map((chance, place) => (totals ? totals[place].plus(chance) : chance));
      const least = chances.reduce((a, b) => (a.compare(b) <= 0 ? a : b));
      const most = chances.reduce((a, b) => (a.compare(b) >= 0 ? a : b));
      // An exact product on both sides: most / least <= top / unit.
      const [left, right] = [most.numerator * least.denominator, least.numerator * most.denominator];
      assert.ok(left * unit <= top * right, `symbol ${symbol}`);
      if (left * same > less * right) tight += 1;
    }
    for (const total of totals) assert.equal(total.numerator, total.denominator);
    assert.ok(study.privacy.epsilon <= study.epsilon);
  });
}

test("some ratio comes within 1% of epsilon: the comparison would notice a larger one", () => {
  assert.ok(tight > 20);
});

test("rows of a display name every answer", () => {
  const krr = someone(Study.fromJson(load("histogram_auc_krr").study)).likelihoods(0);
  assert.equal(krr.length, 5);
  assert.deepEqual(krr[1].parts.score, { value: 0.3, low: 0.2, high: 0.4 });
  const big = someone(Study.fromJson(load("tree_integers_64_bits").study)).likelihoods(0);
  assert.equal(big.length, 64);
  assert.equal(typeof big[0].values.score, "bigint");
  assert.equal(big[0].parts.score.low, -(2n ** 63n));
  const words = someone(Study.fromJson(load("histogram_collision_entropy_strings").study)).likelihoods(0);
  assert.ok(words.some((row) => row.values.value === "straße"));
  const labels = someone(Study.fromJson(load("histogram_auc_private_labels").study)).likelihoods(0);
  assert.deepEqual(labels.map((row) => row.values.label), [0, 1, 0, 1, 0, 1, 0, 1]);
});

test("the claim", () => {
  const { privacy } = Study.fromJson(load("histogram_auc_krr").study);
  assert.ok(privacy.epsilon <= 2 && privacy.epsilon > 1.999999);
  assert.equal(
    privacy.plainWords,
    "Your device changes your answer at random before anything leaves it: whatever you answer, every message " +
      "is at most 7.39 times as likely as it would be under any other answer.",
  );
  assert.match(String(privacy), /^2-local differential privacy for any change of one person's score; nobody/);
  const mixed = Study.fromJson(load("tree_budget_advanced").study).privacy;
  assert.match(mixed.plainWords, /except with probability 1e-06\.$/);
});
