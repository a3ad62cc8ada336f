// The worker and its client, in a thread of Node's that looks like a Web Worker.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Worker } from "node:worker_threads";

import { ShardingWorker, prio3 } from "../src/vdaf/index.js";

const CODE = `
  import { parentPort } from "node:worker_threads";
  globalThis.addEventListener = (_, act) => parentPort.on("message", (data) => act({ data }));
  globalThis.postMessage = (message) => parentPort.postMessage(message);
  await import(${JSON.stringify(new URL("../src/vdaf/worker.js", import.meta.url).href)});
`;
const CONTEXT = Uint8Array.of(1, 2, 3);

/** A thread with the events of a Web Worker. */
function thread() {
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(CODE)}`));
  return {
    addEventListener: (kind, act) => worker.on(kind, (data) => act({ data })),
    postMessage: (message) => worker.postMessage(message),
    terminate: () => worker.terminate(),
  };
}

test("a worker gives the same shares", { timeout: 60_000 }, async () => {
  const scheme = prio3("one_hot", { cells: 16 });
  const worker = new ShardingWorker("one_hot", { cells: 16 }, thread());
  const random = (fill) => ({ nonce: new Uint8Array(16).fill(fill), rand: new Uint8Array(scheme.randSize).fill(fill) });
  const made = await Promise.all([5, 6, 7].map((cell) => worker.shard(CONTEXT, cell, random(cell))));
  made.forEach((shares, place) => assert.deepEqual(shares, scheme.shard(CONTEXT, 5 + place, random(5 + place))));
  const [one, two] = await Promise.all([worker.shard(CONTEXT, 5), worker.shard(CONTEXT, 5)]);
  assert.notDeepEqual(one.nonce, two.nonce);
  assert.notDeepEqual(one.inputShares[1], two.inputShares[1]);
  worker.close();
});

test("a worker's refusals are the scheme's, and it goes on", { timeout: 60_000 }, async () => {
  const worker = new ShardingWorker("one_hot", { cells: 16 }, thread());
  const sentence = "the measurement must be a whole number from 0 to 15";
  await assert.rejects(worker.shard(CONTEXT, 16), { name: "BadValue", message: sentence });
  await assert.rejects(worker.shard("text", 1), { name: "BadParameter" });
  const sent = { name: "BadParameter", message: "a worker can be given numbers, truths, lists and bytes only" };
  await assert.rejects(worker.shard(CONTEXT, () => 1), sent);
  assert.equal((await worker.shard(CONTEXT, 15)).inputShares.length, 2);
  worker.close();
  const wrong = new ShardingWorker("one_hot", { cells: 0 }, thread());
  await assert.rejects(wrong.shard(CONTEXT, 1), { name: "BadParameter", message: /^the number of cells must be/ });
  wrong.close();
});

test("a closed or failed worker refuses everything", { timeout: 60_000 }, async () => {
  const worker = new ShardingWorker("count", {}, thread());
  const waiting = assert.rejects(worker.shard(CONTEXT, 1), { message: "the worker that shards was closed" });
  worker.close();
  await waiting;
  await assert.rejects(worker.shard(CONTEXT, 1), { name: "DpairsError", message: "the worker that shards was closed" });

  const events = {};
  const silent = { addEventListener: (kind, act) => (events[kind] = act), postMessage() {}, terminate() {} };
  const failing = new ShardingWorker("count", {}, silent);
  const lost = assert.rejects(failing.shard(CONTEXT, 1), { message: "the worker that shards has failed" });
  events.error({});
  await lost;
  await assert.rejects(failing.shard(CONTEXT, 1), { message: "the worker that shards has failed" });
});

test("where there are no workers, it says so", () => {
  assert.equal(globalThis.Worker, undefined);
  const refusal = { name: "DpairsError", message: /^there are no Web Workers here/ };
  assert.throws(() => new ShardingWorker("count", {}), refusal);
});
