/**
 * A participant's part in verified sharing: Prio3 of draft-irtf-cfrg-vdaf-20, and HPKE to seal each server's share.
 *
 *     const { nonce, publicShare, inputShares } = prio3("one_hot", { cells: 256 }).shard(context, 17);
 */

export { ShardingWorker } from "./client.js";
export { deriveKeys, open, seal } from "./hpke.js";
export { Prio3 } from "./prio3.js";
export { prio3 } from "./schemes.js";
