/** The result of a task, opened with the analyst's own key: nobody else can. */

import { fromHex } from "../bytes.js";
import { canonical } from "../canonical.js";
import { BadFile, BadParameter } from "../errors.js";
import { deriveKeys, hmac, open } from "../vdaf/hpke.js";
import { concat } from "../vdaf/xof.js";
import { Reader, ascii, number, opaque } from "./presentation.js";
import { letters } from "./task.js";

const MODULUS = 2n ** 64n - 2n ** 32n + 1n;
const NONE = new Uint8Array(0);
/** A CollectionJobReq: the leader selects the batch, and there are no parameters. */
export const REQUEST = concat(number(2, 1), opaque(NONE, 2), opaque(NONE, 4), opaque(NONE, 2));

async function derived(secret, info) {
  const extracted = await hmac(ascii("dpairs analyst"), secret);
  return hmac(extracted, concat(ascii(info), Uint8Array.of(1)));
}

/** The analyst's secret, as its file has it. @param {string} words */
export function readSecret(words) {
  if (!/^[0-9a-fA-F]{64}$/.test(words.trim())) throw new BadParameter("the analyst's key is 64 hexadecimal digits");
  return fromHex(words.trim());
}

/** What the analyst shows to the leader. @param {Uint8Array} secret */
export async function analystToken(secret) {
  return letters(await derived(secret, "token"));
}

function readShare(task, wire) {
  const reader = new Reader(wire, "a server's share of the result");
  const people = task.study.strata.map(() => reader.number(8));
  const checksum = reader.take(32);
  if (reader.left % 8) throw new BadFile("a server's share of the result is made of elements of Field64");
  const numbers = [];
  while (reader.left) {
    const element = reader.take(8).reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n);
    if (element >= MODULUS) throw new BadFile("a server's share of the result is made of elements of Field64");
    numbers.push(element);
  }
  return { people, checksum, numbers };
}

/**
 * The released numbers.
 *
 * @param {import("./task.js").Task} task @param {Uint8Array} secret @param {Uint8Array} wire a CollectionJobResp
 */
export async function openResult(task, secret, wire) {
  const reader = new Reader(wire, "a collection's result");
  const reports = reader.number(8);
  reader.take(16);
  const sealed = [0, 1].map(() => {
    reader.take(1);
    return concat(reader.opaque(2), reader.opaque(4));
  });
  reader.end();
  const keys = await deriveKeys(await derived(secret, "hpke"));
  const associated = concat(task.bytes, task.configuration, REQUEST);
  const [one, two] = await Promise.all(
    sealed.map(async (each, server) => {
      const info = concat(ascii("dap-18 aggregate share"), Uint8Array.of(2 + server, 0));
      return readShare(task, await open(keys, each, { info, associated }));
    }),
  );
  const same = String(one.people) === String(two.people) && String(one.checksum) === String(two.checksum);
  const total = one.people.reduce((sum, each) => sum + each, 0n);
  if (!same || total !== reports || total < BigInt(task.minBatchSize) || one.numbers.length !== two.numbers.length) {
    throw new BadFile("the two servers' shares of the result are not of the same reports");
  }
  const numbers = one.numbers.map((each, place) => {
    const sum = (each + two.numbers[place]) % MODULUS;
    return sum > MODULUS / 2n ? sum - MODULUS : sum;
  });
  return new Result(task, one.people.map(Number), numbers);
}

/** What was released: how many people of each class, a number for each form, and noisy counts. */
export class Result {
  /** @param {import("./task.js").Task} task @param {number[]} people @param {bigint[]} numbers */
  constructor(task, people, numbers) {
    const { strata, protocol } = task.study;
    const forms = /** @type {any} */ (protocol).forms;
    const cells = (numbers.length - forms) / strata.length;
    if (!Number.isInteger(cells) || cells < 0) throw new BadFile("these numbers are not what this study releases");
    this.study = task.study;
    this.people = Object.fromEntries(strata.map((name, place) => [name, people[place]]));
    this.totals = numbers.slice(0, forms);
    this.counts = cells
      ? Object.fromEntries(strata.map((name, place) => [name, numbers.slice(forms + place * cells, forms + (place + 1) * cells)]))
      : {};
    Object.freeze(this);
  }

  /** The release as `dpairs estimate` reads it. */
  toJson() {
    const safe = (value) => (value > 2n ** 53n || value < -(2n ** 53n) ? String(value) : value);
    const numbers = { totals: this.totals.map(safe), counts: this.counts };
    return canonical({ format: "dpairs-release", version: 1, study: this.study.id, people: this.people, numbers });
  }

  /**
   * The AUC and the standard deviation of the servers' noise in it; null for other statistics, whose estimates
   * `dpairs estimate` makes. A total counts wins twice and ties once.
   *
   * @returns {{ value: number, noise: number } | null}
   */
  get auc() {
    const protocol = /** @type {any} */ (this.study.protocol);
    const people = Object.values(this.people);
    if (this.study.statistic.name !== "auc" || people.length !== 2 || this.totals.length < 1 || protocol.noise !== "laplace") return null;
    const pairs = 2 * people[0] * people[1];
    const epsilon = protocol.epsilon * (1 - protocol.split) * (protocol.weights[0] / 1024);
    const q = Math.exp(-epsilon / (2 * Math.max(...people)));
    const variance = (2 * (2 * q)) / (1 - q) ** 2;
    return { value: Number(this.totals[0]) / pairs, noise: Math.sqrt(variance) / pairs };
  }
}
