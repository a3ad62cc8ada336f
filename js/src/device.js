/**
 * A person's device in a browser or a program: the study of the link, one answer, within the person's limit.
 *
 * What is sent is kept first, and only that is ever sent again. Two tabs must not answer at once, so there is no
 * answer without locks (`navigator.locks`).
 */

import { BadFile, BadParameter } from "./errors.js";
import { checkNamed } from "./following.js";
import { Ledger } from "./ledger.js";
import { Participant } from "./participant.js";
import { SystemBits } from "./randomness.js";
import { Report } from "./report.js";
import { Study } from "./study.js";

const LEDGER = "dpairs:ledger";

/** Keeps texts by name, as `localStorage` does. @typedef {Pick<Storage, "getItem" | "setItem">} Store */

export class Device {
  #store;
  #locks;

  /** @param {Store} store @param {{ request: (name: string, work: () => any) => Promise<any> }} [locks] */
  constructor(store, locks = globalThis.navigator?.locks) {
    if (!locks) throw new BadParameter("this browser cannot keep two tabs apart, so that both might answer");
    this.#store = store;
    this.#locks = locks;
  }

  /** The person's ledger; begun with the default limit. */
  get ledger() {
    const kept = this.#store.getItem(LEDGER);
    return kept === null ? new Ledger() : Ledger.fromJson(kept);
  }

  /** Change the person's limit over all studies. @param {{ limit: number, delta?: number }} wanted */
  allow({ limit, delta = 0 }) {
    return this.#locks.request(LEDGER, () => {
      const old = JSON.parse(this.ledger.toJson());
      this.#keep(LEDGER, Ledger.fromJson(JSON.stringify({ ...old, limit, delta })).toJson());
    });
  }

  #keep(name, words) {
    this.#store.setItem(name, words);
    if (this.#store.getItem(name) !== words) throw new BadFile("what this device writes down is not kept");
  }

  /**
   * The report of this person in the study of a link; the same one every time.
   *
   * `first` is the text of the first round, whose id is `id`; `now` that of the round which is open.
   *
   * @param {string} id @param {{ first: string | Uint8Array, now?: string | Uint8Array, index: number | bigint, stratum?: string,
   *   values: Record<string, any>, maxEpsilon?: number, maxDelta?: number }} given
   * @returns {Promise<Report>}
   */
  answer(id, { first, now = first, values, ...person }) {
    const agreed = Study.fromJson(first);
    checkNamed(agreed, id);
    const study = Study.fromJson(now, { first: agreed });
    if (study.round > 1 && study.first === null) throw new BadFile("a link names a first round");
    return this.#locks.request(LEDGER, () => {
      const name = `dpairs:answer:${id}`;
      const kept = this.#store.getItem(name);
      if (kept !== null) return this.#again(kept, [study, agreed]);
      const me = new Participant(study, person);
      const ledger = this.ledger;
      const token = new SystemBits().words(2).join("-");
      ledger.check(study);
      const report = me.report(values);
      this.#keep(name, JSON.stringify({ study: study.id, token, report: report.toJson() }));
      return this.#book(study, token, report);
    });
  }

  #book(study, token, report) {
    const ledger = this.ledger;
    ledger.spend(study, token);
    this.#keep(LEDGER, ledger.toJson());
    return report;
  }

  #again(kept, rounds) {
    const { study, token, report } = JSON.parse(kept);
    const asked = rounds.find((each) => each.id === study);
    if (!asked) throw new BadFile("this is not the round that this device has answered");
    return this.#book(asked, token, Report.fromJson(report, asked));
  }
}
