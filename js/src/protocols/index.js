/** How it is computed: the participant's side of each protocol. */

import { choice, equals } from "../checks.js";
import { BadParameter } from "../errors.js";
import { Histogram } from "./histogram.js";
import { Projection } from "./projection.js";
import { SecondRound } from "./second_round.js";
import { Tree } from "./tree.js";

/**
 * What not every protocol has: the parts of each column that it tells apart, a person's public coins, who is asked
 * in this round, and the study that this is the second round of.
 *
 * @typedef {{ parts?: () => any[][] | null, coins?: (person: any) => any[], asks?: (person: any) => boolean, firstStudy?: string }} Optional
 */
/** @typedef {(Histogram | Tree | Projection | SecondRound) & Optional} Protocol */

/** Read a protocol from a study. @param {Map<string, any>} spec @returns {Protocol} */
export function readProtocol(statistic, domains, spec) {
  switch (choice("protocol", spec.get("name"), ["histogram", "pairwise", "projection", "tree"])) {
    case "histogram":
      return new Histogram(statistic, domains, spec);
    case "tree":
      return new Tree(statistic, domains, spec);
    case "projection":
      return equals(spec.get("round"), 2)
        ? new SecondRound(statistic, domains, spec)
        : new Projection(statistic, domains, spec);
    default:
      throw new BadParameter(
        "a 'pairwise' study needs two people who compute together, which this program cannot do",
      );
  }
}
