/** A person's report for two servers: shared, proven, and sealed for each of them. */

import { choice } from "../checks.js";
import { BadFile, BadParameter, BadValue } from "../errors.js";
import { labelCode } from "../labels.js";
import { seal } from "../vdaf/hpke.js";
import { prio3 } from "../vdaf/schemes.js";
import { concat } from "../vdaf/xof.js";
import { Reader, ascii, number, opaque } from "./presentation.js";

const SUITE = "32 1 1";
const ROLES = [2, 3];
const NONE = new Uint8Array(0);

/** The first key of a server's list that this program can seal for. @param {Uint8Array} wire an HpkeConfigList */
export function readConfigs(wire) {
  const outer = new Reader(wire, "a list of keys");
  const reader = new Reader(outer.opaque(2), "a list of keys");
  outer.end();
  while (reader.left) {
    const id = Number(reader.number(1));
    const suite = [reader.number(2), reader.number(2), reader.number(2)].join(" ");
    const key = reader.opaque(2);
    if (suite === SUITE && key.length === 32) return { id, key };
  }
  throw new BadFile("a server offers no key of X25519, HKDF-SHA256 and AES-128-GCM");
}

/** The person's values as they are placed in a cell. @param {import("./task.js").Task} task */
function cellOf(task, values) {
  const names = task.study.statistic.privateColumns;
  for (const name of names) if (!(name in values)) throw new BadValue(`this study asks for ${names.join(" and ")}`);
  const columns = names.map((name) => (name === "label" ? labelCode(values[name], name) : values[name]));
  return /** @type {any} */ (task.study.protocol).cell(columns);
}

/**
 * What is sent to the leader.
 *
 * @param {import("./task.js").Task} task @param {{ id: number, key: Uint8Array }[]} configs of leader and helper
 * @param {{ stratum?: string, values: Record<string, any>, seconds: number }} person `seconds`: now, told to the task's precision
 * @returns {Promise<Uint8Array>}
 */
export async function makeReport(task, configs, { stratum, values, seconds }) {
  const { strata } = task.study;
  if (stratum === undefined && strata.length > 1) throw new BadParameter(`say which class this person belongs to: ${strata.join(" or ")}`);
  const group = stratum === undefined ? strata[0] : choice("stratum", stratum, [...strata]);
  const { nonce, publicShare, inputShares } = prio3("one_hot", { cells: task.cells }).shard(task.context, cellOf(task, values));
  const time = number(Math.floor(seconds / task.timePrecision), 8);
  const metadata = concat(nonce, time, task.extensions(group));
  const shared = opaque(publicShare, 4);
  const associated = concat(task.bytes, task.configuration, metadata, shared);
  const sealed = await Promise.all(
    inputShares.map(async (share, server) => {
      const plain = concat(opaque(NONE, 2), opaque(share, 4));
      const info = concat(ascii("dap-18 input share"), Uint8Array.of(1, ROLES[server]));
      const both = await seal(configs[server].key, plain, { info, associated });
      return concat(number(configs[server].id, 1), opaque(both.slice(0, 32), 2), opaque(both.slice(32), 4));
    }),
  );
  return concat(metadata, shared, ...sealed);
}
