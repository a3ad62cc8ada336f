/** The `projection` protocol, first round: a part of the people gives a pilot. */

import { choice, equals, fields, required, small } from "../checks.js";
import { BadFile } from "../errors.js";
import { Histogram } from "./histogram.js";
import { PilotTree } from "./pilot_tree.js";
import { BLOCK, askedFirst } from "./rounds.js";

/** The first round: `share` of every 64 people answer `pilot`. */
export class Projection {
  /** @param {import("../statistics.js").Statistic} statistic @param {Map<string, any>} spec */
  constructor(statistic, domains, spec) {
    this.name = "projection";
    this.round = 1;
    this.rounds = 2;
    this.delta = 0;
    const names = ["round", "share", "pilot"];
    fields("protocol 'projection'", spec, ["name", ...names]);
    required("protocol 'projection'", spec, names);
    const pilot = spec.get("pilot");
    if (!equals(spec.get("round"), 1) || !(pilot instanceof Map)) {
      throw new BadFile("protocol 'projection' has rounds 1 and 2, and a first round has a pilot");
    }
    this.share = small("share", spec.get("share"), 1, BLOCK - 1);
    choice("pilot", pilot.get("name"), ["histogram", "pilot-tree"]);
    /** @type {(Histogram | PilotTree) & import("./index.js").Optional} */
    this.pilot =
      pilot.get("name") === "histogram"
        ? new Histogram(statistic, domains, pilot)
        : new PilotTree(statistic, domains, pilot, this.share);
    this.symbols = this.pilot.symbols;
    this.epsilon = this.pilot.epsilon;
    this.theorem = "exact ratio of the answer's probabilities, integers out of 2^64";
  }

  asks(person) {
    return askedFirst(person, this.share);
  }

  coins(person) {
    return this.pilot.coins?.(person) ?? [];
  }

  randomize(person, columns, bits) {
    return this.pilot.randomize(person, columns, bits);
  }

  probability(person, columns, symbol) {
    return this.pilot.probability(person, columns, symbol);
  }

  parts() {
    return this.pilot.parts?.() ?? null;
  }

  toSpec() {
    return { name: this.name, round: 1, share: this.share, pilot: this.pilot.toSpec() };
  }
}
