/** Sharding in a Web Worker: the page's side. */

import * as errors from "../errors.js";

function newWorker() {
  if (globalThis.Worker === undefined) {
    throw new errors.DpairsError("there are no Web Workers here: call shard of prio3(...) instead");
  }
  return new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
}

/**
 * `shard` of a scheme as a promise, done by a worker.
 *
 *     const worker = new ShardingWorker("one_hot", { cells: 256 });
 *     const { nonce, publicShare, inputShares } = await worker.shard(context, 17);
 *     worker.close();
 */
export class ShardingWorker {
  #worker;
  #scheme;
  #waiting = new Map();
  #asked = 0;
  #ended = null;

  /** @param {string} name @param {Record<string, number | bigint>} parameters as `prio3` takes them */
  constructor(name, parameters, worker = newWorker()) {
    this.#scheme = { name, parameters };
    this.#worker = worker;
    worker.addEventListener("message", ({ data }) => this.#answered(data));
    worker.addEventListener("error", () => this.#end("the worker that shards has failed"));
    worker.addEventListener("messageerror", () => this.#end("the worker that shards gave an answer that is none"));
  }

  /**
   * @param {Uint8Array} context @param {any} measurement @param {{ nonce?: Uint8Array, rand?: Uint8Array }} [random]
   * @returns {Promise<{ nonce: Uint8Array, publicShare: Uint8Array, inputShares: Uint8Array[] }>}
   */
  shard(context, measurement, random = {}) {
    return new Promise((resolve, reject) => {
      if (this.#ended) throw new errors.DpairsError(this.#ended);
      const id = (this.#asked += 1);
      try {
        this.#worker.postMessage({ id, ...this.#scheme, context, measurement, random });
      } catch {
        throw new errors.BadParameter("a worker can be given numbers, truths, lists and bytes only");
      }
      this.#waiting.set(id, { resolve, reject });
    });
  }

  /** End the worker; what it was still asked for is refused. */
  close() {
    this.#end("the worker that shards was closed");
  }

  #answered({ id, shares, error }) {
    const asked = this.#waiting.get(id);
    // A closed worker may still have answered.
    if (asked === undefined) return;
    this.#waiting.delete(id);
    if (error) asked.reject(new errors[error.name](error.message));
    else asked.resolve(shares);
  }

  #end(why) {
    this.#ended ??= why;
    this.#worker.terminate();
    for (const { reject } of this.#waiting.values()) reject(new errors.DpairsError(this.#ended));
    this.#waiting.clear();
  }
}
