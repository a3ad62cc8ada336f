/**
 * Every error dpairs throws on purpose, in one tree: the names and meanings of the Python package.
 *
 *     DpairsError
 *     ├── InvalidInput
 *     │   ├── BadParameter      an argument of a study, mechanism or statistic
 *     │   ├── BadValue          a person's value, or the bytes of a report
 *     │   ├── BadFile           a study that is damaged, changed or of another kind
 *     │   └── WrongStudy        a report that belongs to another study
 *     ├── AlreadyAnswered       a participant asked to report twice
 *     ├── NotAsked              a participant whose turn is another round
 *     ├── LimitExceeded         a study asks for more epsilon than the participant allows
 *     └── TapeExhausted         a given tape of random bits is too short
 *
 * The message is one sentence: what was wrong, where, and what is allowed.
 */

/** Base of every error thrown on purpose. */
export class DpairsError extends Error {}

/** Something given by the caller cannot be used. */
export class InvalidInput extends DpairsError {}

/** An argument of a study, a mechanism or a statistic is not allowed. */
export class BadParameter extends InvalidInput {}

/** A person's value is not in its domain, or a report's bytes are none. */
export class BadValue extends InvalidInput {}

/** A study is damaged, changed, too large or of another kind. */
export class BadFile extends InvalidInput {}

/** A report belongs to another study. */
export class WrongStudy extends InvalidInput {}

/** A participant answers a study once; a second answer would leak more. */
export class AlreadyAnswered extends DpairsError {}

/** A participant acts in one round of a study, and this is another. */
export class NotAsked extends DpairsError {}

/** The study asks for more epsilon than the participant allows. */
export class LimitExceeded extends DpairsError {}

/** A given tape of random bits ended before the work was done. */
export class TapeExhausted extends DpairsError {}

// The class, also where a program that shortens names has renamed it.
const kinds = {
  DpairsError,
  InvalidInput,
  BadParameter,
  BadValue,
  BadFile,
  WrongStudy,
  AlreadyAnswered,
  NotAsked,
  LimitExceeded,
  TapeExhausted,
};
for (const [name, kind] of Object.entries(kinds)) kind.prototype.name = name;
