/** How it is computed: the participant's side of each protocol. */

import { choice, equals } from "../checks.js";
import { BadParameter } from "../errors.js";
import { Histogram } from "./histogram.js";
import { Projection } from "./projection.js";
import { SecondRound } from "./second_round.js";
import { Tree } from "./tree.js";

/** Read a protocol from a study. @param {Map<string, any>} spec */
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
