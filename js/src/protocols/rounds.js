/** Who is asked in which round: of each 64 consecutive indices, `share` are asked in the first. */

import { PURPOSE, WORDS_IN_BLOCK, ranking } from "../coins.js";

export const BLOCK = 64;
const WORDS_EACH = BLOCK / WORDS_IN_BLOCK;

/** Those of a block who are asked first: the indices with the smallest public words. */
function firstOfBlock({ coins, stratum, index }, share) {
  const start = (index / BigInt(BLOCK)) * BigInt(WORDS_EACH);
  return ranking(coins.words(PURPOSE.ROUND, stratum, start, WORDS_EACH)).slice(0, share);
}

/** Whether a person is asked in the first round. @param {number} share @returns {boolean} */
export function askedFirst(person, share) {
  return firstOfBlock(person, share).includes(Number(person.index % BigInt(BLOCK)));
}

/** How many smaller indices are asked in the first round: a number without gaps for those who are. */
export function placeInFirst(person, share) {
  const own = Number(person.index % BigInt(BLOCK));
  const before = firstOfBlock(person, share).filter((place) => place < own).length;
  return (person.index / BigInt(BLOCK)) * BigInt(share) + BigInt(before);
}
