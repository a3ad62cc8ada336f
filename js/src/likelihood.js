/** Values to compare: one for each bin of a study, or a grid of them where bins are too many. */

import { intervalRange, integerRange } from "./axes.js";
import { Integers, Interval } from "./domains.js";
import { placedBy } from "./statistics.js";

/**
 * @typedef {object} Part some values of one column
 * @property {number | bigint | string} value one of them
 * @property {number | bigint} [low] the lowest, where there are several
 * @property {number | bigint} [high] the highest
 */

/** At most so many parts of a column, all of them equal; all values of a listed domain. @returns {Part[]} */
function partsOf(domain, limit) {
  const list = (length, part) => Array.from({ length }, (_, place) => part(place));
  if (domain instanceof Interval) return list(limit, (place) => intervalRange(domain, place, limit));
  if (!(domain instanceof Integers)) return domain.values.map((value) => ({ value }));
  const count = domain.size < BigInt(limit) ? Number(domain.size) : limit;
  const start = (place) => (BigInt(place) * domain.size) / BigInt(count);
  return list(count, (place) => integerRange(domain, start(place), start(place + 1) - 1n));
}

/**
 * Every combination of the columns' parts, the last column fastest.
 *
 * @param {import("./study.js").Study} study @param {number} limit of parts that a column is cut into
 * @returns {Record<string, Part>[]}
 */
export function alternatives(study, limit) {
  const { columns } = study;
  const parts =
    study.protocol.parts?.() ??
    placedBy(study.statistic, columns.map(({ domain }) => domain)).map((domain) => partsOf(domain, limit));
  let people = [{}];
  columns.forEach(({ name }, place) => {
    people = people.flatMap((person) => parts[place].map((part) => ({ ...person, [name]: part })));
  });
  return people;
}
