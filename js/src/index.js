/**
 * dpairs in the browser: a person's side of a study over pairs of people.
 *
 *     const study = Study.fromJson(text);                       // checks everything, or throws
 *     const me = new Participant(study, { index: 17, stratum: "positive" });
 *     const report = me.report({ score: 0.73 });                // randomized here, once
 *     send(report.toBytes());                                   // all that leaves the device
 */

export {
  AlreadyAnswered,
  BadFile,
  BadParameter,
  BadValue,
  DpairsError,
  InvalidInput,
  LimitExceeded,
  NotAsked,
  TapeExhausted,
  WrongStudy,
} from "./errors.js";
export { Device } from "./device.js";
export { Fraction } from "./fraction.js";
export { Ledger } from "./ledger.js";
export { Participant } from "./participant.js";
export { PrivacyClaim } from "./privacy.js";
export { registerProtocol } from "./protocols/index.js";
export { Report } from "./report.js";
export { registerStatistic } from "./statistics.js";
export { Study } from "./study.js";

/** The same as the Python package's. */
export const VERSION = "0.1.0";
