// The code on the pages runs, and the types name what is exported.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import * as dpairs from "../src/index.js";
import * as testing from "../src/testing.js";

const ROOT = new URL("../../", import.meta.url);
const read = (name) => readFileSync(new URL(name, ROOT), "utf8");
const STUDY = JSON.parse(read("vectors/histogram_auc_krr.json")).study;
const SOURCE = new URL("../src/index.js", import.meta.url).href;

/** A module whose imports of dpairs are of these files. */
function run(code) {
  const mapped = code.replace(/"(?:dpairs|\.\/dpairs\/index\.js)"/, JSON.stringify(SOURCE));
  assert.notEqual(mapped, code);
  return import(`data:text/javascript,${encodeURIComponent(mapped)}`);
}

test("the README's example", async (context) => {
  const [, code] = read("js/README.md").match(/```js\n(.*?)```/s);
  const folder = mkdtempSync(join(tmpdir(), "dpairs-"));
  const before = process.cwd();
  const printed = [];
  context.mock.method(console, "log", (line) => printed.push(line));
  try {
    writeFileSync(join(folder, "study.json"), STUDY);
    process.chdir(folder);
    await run(code);
  } finally {
    process.chdir(before);
    rmSync(folder, { recursive: true });
  }
  assert.match(printed[0], /^Your device changes your answer/);
  assert.equal(printed[1], "19 bytes leave this device");
  assert.equal(printed.length, 2 + 5);
  assert.match(printed[2], /^a score from 0 to 0\.2 gives this symbol with probability 0\.\d{3}$/);
});

test("the page of the documentation", async (context) => {
  const [, code] = read("docs/javascript.md").match(/<script type="module">\n(.*?)<\/script>/s);
  const sent = [];
  const [claim, form] = [{}, { addEventListener: (_, act) => (form.submit = act) }];
  globalThis.document = { querySelector: (name) => ({ "#claim": claim, form })[name] };
  globalThis.FormData = class {
    get = () => "0.73";
  };
  context.mock.method(globalThis, "fetch", async (url, options) => {
    if (options) sent.push([url, options.body]);
    return { text: async () => STUDY };
  });
  await run(code);
  await form.submit({ preventDefault() {}, target: form });
  assert.match(claim.textContent, /7\.39 times/);
  assert.equal(sent[0][0], "/reports");
  const report = dpairs.Report.fromBytes(sent[0][1], dpairs.Study.fromJson(STUDY));
  assert.deepEqual([report.index, report.stratum], [17, "positive"]);
});

test("types name what is exported, and no more", () => {
  const declared = (text) => [...text.matchAll(/^export (?:class|const|function) (\w+)/gm)].map(([, name]) => name).sort();
  assert.deepEqual(declared(read("js/src/index.d.ts")), Object.keys(dpairs).sort());
  assert.deepEqual(declared(read("js/src/testing.d.ts")), Object.keys(testing).sort());
});

test("types name the members that there are", () => {
  const text = read("js/src/index.d.ts");
  const study = dpairs.Study.fromJson(STUDY);
  const me = new dpairs.Participant(study, { index: 1, stratum: "positive" });
  const report = me.report({ score: 0.5 });
  const [row] = me.likelihoods(report.symbol);
  const known = { Study: study, Participant: me, Report: report, PrivacyClaim: study.privacy, Fraction: row.probability };
  for (const [name, object] of Object.entries({ ...known, Likelihood: row, Statistic: study.statistic })) {
    const [, body] = text.match(new RegExp(`^export (?:class|interface) ${name} \\{\\n(.*?)^\\}`, "ms"));
    const members = [...body.matchAll(/^ {2}(?:readonly )?(\w+)(?:\(|:)/gm)].map(([, member]) => member);
    assert.ok(members.length > 2);
    for (const member of members) if (member !== "constructor") assert.ok(member in object, `${name}.${member}`);
    for (const [, member] of body.matchAll(/^ {2}static (\w+)\(/gm)) assert.ok(member in dpairs[name]);
  }
});
