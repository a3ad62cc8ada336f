/** How it is computed: the participant's side of each protocol. */

import { choice, equals } from "../checks.js";
import { BadParameter } from "../errors.js";
import { repr } from "../wording.js";
import { Histogram } from "./histogram.js";
import { Projection } from "./projection.js";
import { SecondRound } from "./second_round.js";
import { Tree } from "./tree.js";

/** Every protocol by name: how its participant's side is read from a study. */
const PROTOCOLS = {
  histogram: (statistic, domains, spec) => new Histogram(statistic, domains, spec),
  tree: (statistic, domains, spec) => new Tree(statistic, domains, spec),
  projection: (statistic, domains, spec) =>
    equals(spec.get("round"), 2) ? new SecondRound(statistic, domains, spec) : new Projection(statistic, domains, spec),
  pairwise: () => {
    throw new BadParameter(
      "a 'pairwise' study needs two people who compute together, which this program cannot do",
    );
  },
};

/**
 * Add a protocol of one's own.
 *
 * @param {string} name @param {(statistic: any, domains: any[], spec: Map<string, any>) => any} read
 */
export function registerProtocol(name, read) {
  if (Object.hasOwn(PROTOCOLS, name)) throw new BadParameter(`there is a protocol named ${repr(name)} already`);
  PROTOCOLS[name] = read;
}

/** Read a protocol from a study. @param {Map<string, any>} spec */
export function readProtocol(statistic, domains, spec) {
  return PROTOCOLS[choice("protocol", spec.get("name"), Object.keys(PROTOCOLS))](statistic, domains, spec);
}
