/** A Web Worker that shards, so that a page stays alive meanwhile. `ShardingWorker` in client.js speaks with it. */

import { DpairsError } from "../errors.js";
import { prio3 } from "./schemes.js";

addEventListener("message", ({ data: { id, name, parameters, context, measurement, random } }) => {
  try {
    postMessage({ id, shares: prio3(name, parameters).shard(context, measurement, random) });
  } catch (error) {
    if (!(error instanceof DpairsError)) throw error;
    postMessage({ id, error: { name: error.name, message: error.message } });
  }
});
