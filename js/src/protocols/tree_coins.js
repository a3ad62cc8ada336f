/** Which level and which Hadamard rows a participant of a tree study answers about. */

import { PURPOSE, WORDS_IN_BLOCK, ranking } from "../coins.js";

const blocksFor = (words) => Math.ceil(words / WORDS_IN_BLOCK);
/** @param {bigint} word @param {bigint} limit */
const below = (word, limit) => (word * limit) >> 64n;
const highest = (number) => BigInt(number.toString(2).length - 1);

/** Every level once in each block of `depth` indices. */
function evenLevel({ coins, stratum, index }, depth) {
  const blocks = blocksFor(depth);
  const size = BigInt(depth);
  const words = coins.words(PURPOSE.LEVEL, stratum, (index / size) * BigInt(blocks), blocks).slice(0, depth);
  return ranking(words)[Number(index % size)] + 1;
}

/** A row of the level's Hadamard matrix: uniform over all, or over all but row 0. */
function row(word, level, rows) {
  const top = word >> BigInt(64 - level);
  if (rows === "all") return top;
  if (level <= 32) return below(word, (1n << BigInt(level)) - 1n) + 1n;
  // Beyond 32 levels row 0 comes up less than once in 2^32, and becomes row 1.
  return top > 0n ? top : 1n;
}

/** As many rows as words, linearly independent: each is 0 at the highest ones of those before. */
function independentRows(words, level) {
  const rows = [];
  words.forEach((word, place) => {
    let next = row(word, level - place, "others");
    const pivots = rows.map(highest).sort((a, b) => (a < b ? -1 : 1));
    for (const pivot of pivots) {
      const low = next & ((1n << pivot) - 1n);
      next = ((next ^ low) << 1n) | low;
    }
    rows.push(next);
  });
  return rows;
}

/**
 * The level and the rows of one person.
 *
 * @param {{ coins: import("../coins.js").Coins, stratum: number, index: bigint }} person
 * @param {{ depth: number, splitting: string, rows: string, parities: number, dealt?: number[] | null }} tree
 *   `dealt` are the levels that every block of as many people is dealt; without it, every level once
 * @returns {{ level: number, rows: bigint[] }}
 */
export function assigned(person, { depth, splitting, rows, parities, dealt = null }) {
  const { coins, stratum, index } = person;
  const words = coins.words(PURPOSE.ROW, stratum, index, 1);
  let level = Number(below(words[1], BigInt(depth))) + 1;
  if (splitting === "users") level = dealt ? dealt[evenLevel(person, dealt.length) - 1] : evenLevel(person, depth);
  const bits = Math.min(level, parities);
  if (bits === 1) return { level, rows: [row(words[0], level, rows)] };
  const blocks = blocksFor(parities - 1);
  const more = coins.words(PURPOSE.MORE_ROWS, stratum, index * BigInt(blocks), blocks);
  return { level, rows: independentRows([words[0], ...more].slice(0, bits), level) };
}

/** A row of every level, the first level's first. @returns {bigint[]} */
export function everyRow({ coins, stratum, index }, { depth, rows }) {
  const blocks = blocksFor(depth);
  const words = coins.words(PURPOSE.EVERY_ROW, stratum, index * BigInt(blocks), blocks).slice(0, depth);
  return words.map((word, place) => row(word, place + 1, rows));
}
