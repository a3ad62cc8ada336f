/** How it is computed: the participant's side of each protocol. */

import { choice, equals } from "../checks.js";
import { BadParameter } from "../errors.js";
import { repr } from "../wording.js";
import { Histogram } from "./histogram.js";
import { Projection } from "./projection.js";
import { SecondRound } from "./second_round.js";
import { Tree } from "./tree.js";
import { TwoServers } from "./two_servers.js";

/**
 * What not every protocol has: the parts of each column that it tells apart, a person's public coins, who is asked
 * in this round, the study that this is the second round of, and what is promised where servers add the noise.
 *
 * @typedef {{ parts?: () => any[][] | null, coins?: (person: any) => any[], asks?: (person: any) => boolean, firstStudy?: string, central?: any }} Optional
 */
/** @typedef {(Histogram | Tree | Projection | SecondRound | TwoServers) & Optional} Protocol */

/** Every protocol by name: how its participant's side is read from a study. */
/** @type {Record<string, (statistic: any, domains: any[], spec: Map<string, any>) => Protocol>} */
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
  sites: () => {
    throw new BadParameter("a 'sites' study asks whole sites for sums over their records, not a person");
  },
  two_servers: (statistic, domains, spec) => new TwoServers(statistic, domains, spec),
};

/**
 * Add a protocol of one's own.
 *
 * @param {string} name @param {(statistic: any, domains: any[], spec: Map<string, any>) => Protocol} read
 */
export function registerProtocol(name, read) {
  if (Object.hasOwn(PROTOCOLS, name)) throw new BadParameter(`there is a protocol named ${repr(name)} already`);
  PROTOCOLS[name] = read;
}

/** Read a protocol from a study. @param {Map<string, any>} spec @returns {Protocol} */
export function readProtocol(statistic, domains, spec) {
  return PROTOCOLS[choice("protocol", spec.get("name"), Object.keys(PROTOCOLS))](statistic, domains, spec);
}
