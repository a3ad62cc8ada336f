/**
 * A participant's part in verified sharing: Prio3 of draft-irtf-cfrg-vdaf-20, and HPKE to seal each server's share.
 *
 *     const scheme = prio3("Prio3Histogram", { shares: 2, length: 256, chunkLength: 16 });
 *     const { nonce, publicShare, inputShares } = scheme.shard(context, 17);
 */

export { seal } from "./hpke.js";
export { Prio3 } from "./prio3.js";
export { prio3 } from "./schemes.js";
export { ShardingWorker } from "./client.js";
