/** Taking part in a task of two servers, and opening its result: messages of DAP (draft 18) as bytes. */

import type { Study } from "../index.js";

export interface Operator {
  readonly name: string;
  readonly url: string;
}

/** What an analyst and the operators of both servers agree on, named by the hash of its file. */
export class Task {
  private constructor();
  /** Read a task; refuse one that was changed, and any other than `id`, if it is given. */
  static fromJson(given: string | Uint8Array, id?: string): Task;
  readonly id: string;
  readonly title: string;
  readonly study: Study;
  readonly leader: Operator;
  readonly helper: Operator;
  readonly minBatchSize: number;
  readonly timePrecision: number;
  /** The id as it stands in a path of DAP. */
  readonly name: string;
}

export interface ServerKey {
  readonly id: number;
  readonly key: Uint8Array;
}

/** The first key of an HpkeConfigList that this program can seal for. */
export function readConfigs(wire: Uint8Array): ServerKey;

/** A report, sealed for leader and helper: what is sent to the leader. */
export function makeReport(
  task: Task,
  configs: readonly ServerKey[],
  person: { stratum?: string; values: Record<string, unknown>; seconds: number },
): Promise<Uint8Array>;

/** The one CollectionJobReq of a task. */
export const REQUEST: Uint8Array;
/** The analyst's secret, from the 64 digits of its file. */
export function readSecret(words: string): Uint8Array;
/** What the analyst shows to the leader. */
export function analystToken(secret: Uint8Array): Promise<string>;

/** What was released. */
export class Result {
  private constructor();
  readonly study: Study;
  readonly people: Readonly<Record<string, number>>;
  readonly totals: readonly bigint[];
  readonly counts: Readonly<Record<string, readonly bigint[]>>;
  /** The AUC and the standard deviation of the servers' noise in it; null for other statistics. */
  readonly auc: { readonly value: number; readonly noise: number } | null;
  /** The release as `dpairs estimate` reads it. */
  toJson(): string;
}

/** The released numbers, from a CollectionJobResp. */
export function openResult(task: Task, secret: Uint8Array, wire: Uint8Array): Promise<Result>;
