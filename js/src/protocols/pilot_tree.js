/** A first round on a tree: the leaves of one or several columns, one bit (or a few) from each person. */

import { fields, integer, required, small } from "../checks.js";
import { Integers, Interval } from "../domains.js";
import { BadFile, BadParameter } from "../errors.js";
import { bitsOf, leafOf } from "../leaves.js";
import { cellDomains, checkDomains } from "../statistics.js";
import { placeInFirst } from "./rounds.js";
import { MAX_DEPTH, Signs } from "./tree.js";

/** Up to so many bits a tree may have on several columns. */
const PLANE_BITS = 32;
/** A walk goes on over up to so many levels that nobody answered about. */
const FAR = 8;

function checkBits(domain, bits) {
  const most = domain instanceof Interval ? 52 : bitsOf(domain.size);
  const least = domain instanceof Interval || domain instanceof Integers ? 1 : most;
  integer(`the bits of a pilot tree on ${domain}`, BigInt(bits), least, most);
  if (domain instanceof Interval) {
    const width = (domain.high - domain.low) / 2 ** bits;
    if (!(domain.low + width > domain.low && domain.high - width < domain.high)) {
      throw new BadParameter(`${domain} is too narrow for 2^${bits} bins of its floats`);
    }
  }
}

/** The levels that every block of as many people is dealt. @param {unknown} levels @param {number} depth */
function readLevels(levels, depth) {
  if (!Array.isArray(levels) || levels.length === 0) {
    throw new BadFile("protocol 'pilot-tree' deals out a list of levels");
  }
  const dealt = levels.map((each) => small("a level", each, 1, MAX_DEPTH));
  if (dealt.length > MAX_DEPTH || Math.max(...dealt) > depth) {
    throw new BadParameter(`a pilot tree of ${depth} levels deals out up to ${MAX_DEPTH} of these, not ${dealt}`);
  }
  return dealt;
}

/** Refuse levels far below those that a walk from the root reaches, if these are no tree of their own. */
function checkWalk(dealt, parities) {
  const [deepest, least] = [Math.max(...dealt), Math.max(parities, 2)];
  let reached = 0;
  for (const level of [...dealt].sort((one, other) => one - other)) {
    if (level - reached <= FAR) reached = level;
  }
  if (reached < deepest && reached < least) {
    throw new BadParameter(
      `a pilot tree that deals out level ${deepest} needs others down to level ${least} or further, ` +
        `at most ${FAR} apart, not ${dealt}`,
    );
  }
}

/** A tree over all private columns, asked of the people of the first round. */
export class PilotTree {
  constructor(statistic, domains, spec, share) {
    this.name = "pilot-tree";
    fields("pilot 'pilot-tree'", spec, ["name", "bits", "floors", "levels"]);
    required("pilot 'pilot-tree'", spec, ["bits", "floors"]);
    if (!Array.isArray(spec.get("bits"))) throw new BadFile("protocol 'pilot-tree' needs a list of bits");
    this.bits = spec.get("bits").map((each) => small("bits", each, 1, MAX_DEPTH));
    const depth = this.bits.reduce((sum, each) => sum + each, 0);
    checkDomains(statistic, domains);
    this.share = share;
    this.columns = statistic.privateColumns;
    this.domains = cellDomains(statistic, domains);
    if (this.bits.length !== this.domains.length) {
      throw new BadParameter("a pilot tree needs a number of bits for each private column");
    }
    if (this.bits.length > 1) {
      integer("the bits of a pilot tree over several columns", BigInt(depth), 2, PLANE_BITS);
    }
    this.domains.forEach((domain, place) => checkBits(domain, this.bits[place]));
    this.dealt = spec.has("levels") ? readLevels(spec.get("levels"), depth) : null;
    const [floors, dealt] = [spec.get("floors"), this.dealt];
    this.signs = new Signs({ name: this.name, depth, splitting: "users", rows: "others", floors, delta: 0, dealt });
    if (dealt) checkWalk(dealt, this.signs.parities);
    this.symbols = this.signs.symbols;
    this.epsilon = this.signs.epsilon;
  }

  /** Levels are dealt out evenly among those who are asked, so they need numbers without gaps. */
  #numbered(person) {
    return { ...person, index: placeInFirst(person, this.share) };
  }

  #leaf(columns) {
    return leafOf(this.domains, this.bits, columns, this.columns);
  }

  coins(person) {
    return this.signs.coins(this.#numbered(person));
  }

  randomize(person, columns, bits) {
    return this.signs.randomize(this.#numbered(person), this.#leaf(columns), bits);
  }

  probability(person, columns, symbol) {
    return this.signs.probability(this.#numbered(person), this.#leaf(columns), symbol);
  }

  toSpec() {
    const floors = this.signs.responses.map((response) => String(response.floor));
    const spec = { name: this.name, bits: this.bits, floors };
    return this.dealt ? { ...spec, levels: this.dealt } : spec;
  }
}
