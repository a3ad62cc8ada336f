/** Whether a second round is that of the first which somebody agreed to: a collector is never believed. */

import { canonical } from "./canonical.js";
import { BadFile, WrongStudy } from "./errors.js";
import { BLOCK } from "./protocols/rounds.js";
import { described, statisticSpec } from "./statistics.js";

/** Whether of the first block of a stratum each person is asked in one of the two rounds. */
function sharedOut(second, first, stratum) {
  return Array.from({ length: BLOCK }, (_, index) => index).every(
    (index) => second.asks(stratum, index) !== first.asks(stratum, index),
  );
}

/**
 * Refuse a second round unless nothing changed that anybody agreed to.
 *
 * The same epsilon, delta, statistic, domains, strata and seed; the first round named by its whole id; and
 * asked are exactly those whom the first round does not ask.
 *
 * @param {import("./study.js").Study} second @param {import("./study.js").Study} first
 */
export function checkFollows(second, first) {
  const same = (one, other) => canonical(one) === canonical(other);
  const domains = (study) => study.domains.map((domain) => domain.toSpec());
  /** @type {[string, () => boolean][]} */
  const terms = [
    ["round", () => second.round === first.round + 1 && second.rounds === first.rounds],
    ["first round", () => second.firstId === first.id],
    ["protocol", () => second.protocol.name === first.protocol.name],
    ["epsilon", () => second.epsilon === first.epsilon],
    ["delta", () => second.delta === first.delta],
    ["strata", () => same(second.strata, first.strata)],
    ["statistic", () => same(statisticSpec(second.statistic), described(first.statistic))],
    ["domains", () => same(domains(second), domains(first))],
    ["seed", () => second.seed === first.seed],
    ["share", () => first.strata.every((stratum) => sharedOut(second, first, stratum))],
  ];
  const changed = terms.find(([, kept]) => !kept());
  if (changed) {
    const [mine, before] = [second.id.slice(0, 16), first.id.slice(0, 16)];
    throw new WrongStudy(
      `study ${mine}... is not a second round of ${before}...: its ${changed[0]} is not what was agreed to`,
    );
  }
}

/** Refuse a study that is not the one of a link. @param {import("./study.js").Study} study @param {string} id */
export function checkNamed(study, id) {
  if (study.id !== id) {
    throw new BadFile(`this is study ${study.id.slice(0, 16)}..., not ${id.slice(0, 16)}..., which was asked for`);
  }
}
