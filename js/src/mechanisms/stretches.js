/** How a word is spent when some symbols are favoured: floors first, then boosts, then leftover words. */

/**
 * The symbol of a word: `symbols` stretches of `floor` words, then one of `boost` words for each favoured
 * symbol, then single words for the first symbols.
 *
 * @param {bigint} word
 * @param {{ symbols: number, floor: bigint, boost: bigint, favoured: number }} shape
 * @param {(member: number) => number} member the symbol of a favoured place
 */
export function symbolOf(word, { symbols, floor, boost, favoured }, member) {
  const rest = word - BigInt(symbols) * floor;
  if (rest < 0n) return Number(word / floor);
  const place = rest / boost;
  if (place < favoured) return member(Number(place));
  return Number(rest - BigInt(favoured) * boost);
}
