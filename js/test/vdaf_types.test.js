// The types name what there is, and the README's example runs.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import * as vdaf from "../src/vdaf/index.js";

const read = (name) => readFileSync(new URL(`../${name}`, import.meta.url), "utf8");
const TYPES = read("src/vdaf/index.d.ts");

/** The members of a class or an interface of the types. */
function members(name) {
  const [, body] = TYPES.match(new RegExp(`^export (?:class|interface) ${name}(?:<[^>]*>)? \\{\\n(.*?)^\\}`, "ms"));
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)(?:\(|:)/gm)].map(([, member]) => member);
}

test("types name what is exported, and no more", () => {
  const declared = [...TYPES.matchAll(/^export (?:class|function) (\w+)/gm)].map(([, name]) => name).sort();
  assert.deepEqual(declared, Object.keys(vdaf).sort());
});

test("types name the schemes, their parameters and the members that there are", () => {
  const parameters = {
    count: {},
    sum_up: { largest: 3 },
    sum_vec: { entries: 1, largest: 3 },
    sum_vec_with_multiproof: { entries: 1, largest: 3 },
    histogram: { cells: 3 },
    multihot_count_vec: { cells: 3, most: 1 },
    one_hot: { cells: 3 },
  };
  assert.deepEqual(members("Parameters"), Object.keys(parameters));
  assert.deepEqual(members("Measurements"), Object.keys(parameters));
  for (const [name, given] of Object.entries(parameters)) assert.equal(vdaf.prio3(name, given).name, name);
  const scheme = vdaf.prio3("count");
  for (const member of members("Prio3")) assert.ok(member === "constructor" || member in scheme, member);
  const worker = members("ShardingWorker");
  assert.deepEqual(worker, ["constructor", "shard", "close"]);
  for (const member of worker) assert.ok(member in vdaf.ShardingWorker.prototype, member);
  assert.deepEqual(members("Shares"), Object.keys(scheme.shard(new Uint8Array(0), 1)));
});

test("the README's example", async () => {
  const [, code] = read("README.md").match(/```js\n(import \{ prio3.*?)```/s);
  const source = JSON.stringify(new URL("../src/vdaf/index.js", import.meta.url).href);
  globalThis.publicKeys = [9, 10].map((byte) => new Uint8Array(32).fill(byte));
  const module = `${code.replace('"dpairs/vdaf"', source)}\nexport { inputShares, sealed };`;
  const { inputShares, sealed } = await import(`data:text/javascript,${encodeURIComponent(module)}`);
  delete globalThis.publicKeys;
  assert.deepEqual(sealed.map(({ length }) => length), inputShares.map(({ length }) => length + 48));
});

test("the package's entries exist", () => {
  for (const entry of Object.values(JSON.parse(read("package.json")).exports)) {
    for (const path of typeof entry === "string" ? [entry] : Object.values(entry)) assert.ok(read(path).length > 0);
  }
});
