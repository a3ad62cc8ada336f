/** The privacy claim: what is promised, to whom, and on what it rests. */

import { short } from "./wording.js";

/** What a study promises each person. `epsilon` is exact, rounded up, and never above `epsilonAsked`. */
export class PrivacyClaim {
  constructor({ epsilon, epsilonAsked, delta, columns, theorem, rounds, central = null }) {
    this.epsilon = epsilon;
    this.epsilonAsked = epsilonAsked;
    this.delta = delta;
    this.neighbours = `any change of one person's ${columns.join(" and ")}`;
    this.rounds = rounds;
    this.trust = central?.trust ?? "nobody is trusted: each person's device randomizes before anything leaves it";
    this.theorem = theorem;
    this.notPromised = Object.freeze([
      ...(central?.notPromised ?? []),
      "that several studies of the same value add up to no more than one",
      "that people answer truthfully",
      "that taking part, or a public class, stays secret",
    ]);
    this.kind = central ? "central" : "local";
    Object.freeze(this);
  }

  /** How many times likelier one answer can make a symbol than another: e^epsilon. */
  get factor() {
    return Math.exp(this.epsilon);
  }

  /** The claim for somebody who answers. */
  get plainWords() {
    if (this.kind === "central") {
      const factor = `at most ${short(this.factor, 3)} times as likely as it would be under any other answer of yours`;
      return `Your answer is split between two servers before anything leaves this device. What they release about everybody is ${factor}${this.delta ? `, except with probability ${short(this.delta, 3)}` : ""}.`;
    }
    const most = `whatever you answer, every message is at most ${short(this.factor, 3)} times as likely as it would be under any other answer`;
    const but = this.delta ? `, except with probability ${short(this.delta, 3)}` : "";
    return `Your device changes your answer at random before anything leaves it: ${most}${but}.`;
  }

  /** One sentence, as the Python package prints it. */
  toString() {
    const epsilon = short(this.epsilon);
    const loss = this.delta === 0 ? `${epsilon}-` : `(${epsilon}, ${short(this.delta, 3)})-`;
    return `${loss}${this.kind} differential privacy for ${this.neighbours}; ${this.trust}; ${this.theorem}`;
  }
}
