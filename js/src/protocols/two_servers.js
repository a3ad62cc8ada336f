/** The `two_servers` protocol in one round: place a person in a cell, which is then shared between two servers. */

import { Axis, Grid, MAX_BINS } from "../axes.js";
import { choice, fields, positive, real, required, small } from "../checks.js";
import { BadFile, BadParameter } from "../errors.js";
import { LABELS, cellDomains, checkDomains } from "../statistics.js";
import { repr } from "../wording.js";

const NAMES = ["release", "bins", "split", "weights", "noise", "epsilon", "delta"];
/** The weights of a study's forms add up to at most so much. */
const WHOLE = 1024;
/** A release of counts has at most so many cells. */
const MOST_COUNTED = 1024;
const THEOREMS = {
  laplace: "discrete Laplace noise of each server for the whole claim: exact ratio e^epsilon",
  gaussian: "discrete Gaussian noise of each server for the whole claim: Canonne, Kamath, Steinke 2020, theorem 14 and corollary 13",
};
const SPLIT = "your answer is split between two servers: neither learns it unless both work together";

/** A one-hot vector in two shares from everybody; nothing is randomized here, since the servers add the noise. */
export class TwoServers {
  /** @param {import("../statistics.js").Statistic} statistic @param {any[]} domains @param {Map<string, any>} spec */
  constructor(statistic, domains, spec) {
    if (spec.has("rounds")) throw new BadParameter("a 'two_servers' study of two rounds needs another program: dpairs report");
    if (spec.has("answered_by")) throw new BadParameter("sites answer this 'two_servers' study, each for all its records, not a person");
    this.name = "two_servers";
    this.round = 1;
    this.rounds = 1;
    fields("protocol 'two_servers'", spec, ["name", ...NAMES, "near"]);
    if (spec.has("near") && spec.get("near") !== false) throw new BadFile("'near' of a two_servers study is false, or left out");
    required("protocol 'two_servers'", spec, NAMES);
    const [bins, weights] = [spec.get("bins"), spec.get("weights")];
    if (!Array.isArray(bins) || bins.length !== domains.length || !Array.isArray(weights)) {
      throw new BadFile(`protocol 'two_servers' needs a list of ${domains.length} bins, and a list of weights`);
    }
    this.statistic = statistic;
    checkDomains(statistic, domains);
    /** Whether near pairs make up for those in one bin. */
    this.near = !spec.has("near");
    this.release = choice("release", spec.get("release"), ["value", "counts"]);
    this.bins = bins.map((count) => small("bins", count, 2, MAX_BINS));
    this.weights = weights.map((weight) => small("a weight", weight, 1, WHOLE));
    this.split = this.release === "counts" ? 0 : share(spec.get("split"));
    this.noise = choice("noise", spec.get("noise"), Object.keys(THEOREMS));
    this.epsilon = positive("epsilon", spec.get("epsilon"));
    this.delta = deltaOf(this.noise, spec.get("delta"));
    const axes = domains.map((domain, place) => new Axis(domain, this.bins[place]));
    this.grid = new Grid(cellDomains(statistic, domains).length > axes.length ? [...axes, new Axis(LABELS, 2)] : axes);
    this.#fits();
    this.theorem = THEOREMS[this.noise];
    const curious = this.release === "value";
    /** What is promised where servers add the noise. */
    this.central = {
      trust: `${SPLIT}, ${curious ? "as long as each follows the protocol between them" : "whatever one of them does"}`,
      notPromised: [
        "anything if the two servers work together",
        ...(curious ? ["anything against a server that lies about its own sums"] : []),
      ],
    };
  }

  /** What is released together stays within the claim; how many forms a statistic has, its servers know. */
  #fits() {
    const counts = this.release === "counts";
    if (counts && this.grid.cells > MOST_COUNTED) {
      throw new BadParameter(`a release of counts has at most ${MOST_COUNTED} cells, not ${this.grid.cells}`);
    }
    const total = this.weights.reduce((sum, weight) => sum + weight, 0);
    if (this.weights.length === 0 || (counts && this.weights.length > 1) || total > WHOLE) {
      throw new BadParameter(`the weights of a two_servers study are whole numbers that add up to ${WHOLE}`);
    }
    if (!this.near && (counts || this.statistic.name !== "kendall_tau")) {
      throw new BadParameter("near pairs make up for those in one bin in this study, or nothing does");
    }
  }

  /** How many numbers for forms are released. */
  get forms() {
    return this.release === "value" ? this.weights.length : 0;
  }

  /** The cell that is shared. */
  cell(columns) {
    return this.grid.place(columns, this.statistic.privateColumns, null);
  }

  get symbols() {
    return this.randomize();
  }

  /** @returns {never} */
  randomize() {
    throw new BadParameter("a report of a two_servers study is two shares and a proof, not a symbol: see dap/index.js");
  }

  /** @returns {never} */
  probability() {
    return this.randomize();
  }

  toSpec() {
    const { name, release, bins, split, weights, noise, epsilon, delta } = this;
    return { name, release, bins, split, weights, noise, epsilon, delta, ...(this.near ? {} : { near: false }) };
  }
}

/** The coarse counts' share of epsilon. @param {unknown} split */
function share(split) {
  const fraction = real("split", split);
  if (fraction !== 0 && !(fraction >= 0.01 && fraction <= 0.9)) {
    throw new BadParameter(`split, the coarse counts' share of epsilon, must be 0 or from 0.01 to 0.9, not ${repr(split)}`);
  }
  return fraction;
}

/** A delta where noise needs one, and none where it has none. @param {string} noise @param {unknown} delta */
function deltaOf(noise, delta) {
  const chance = real("delta", delta);
  if (noise === "laplace" && chance !== 0) {
    throw new BadParameter("noise='laplace' has no delta: leave it out, or take noise='gaussian'");
  }
  if (noise === "gaussian" && !(chance > 0 && chance < 0.5)) {
    throw new BadParameter(`noise='gaussian' needs a delta between 0 and 0.5, such as 1e-9, not ${repr(delta)}`);
  }
  return chance;
}
