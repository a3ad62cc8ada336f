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
export class DpairsError extends Error {
  /** @returns {string} the class, also where a program that shortens names has renamed it */
  get name() {
    return "DpairsError";
  }
}

/** Something given by the caller cannot be used. */
export class InvalidInput extends DpairsError {
  get name() {
    return "InvalidInput";
  }
}

/** An argument of a study, a mechanism or a statistic is not allowed. */
export class BadParameter extends InvalidInput {
  get name() {
    return "BadParameter";
  }
}

/** A person's value is not in its domain, or a report's bytes are none. */
export class BadValue extends InvalidInput {
  get name() {
    return "BadValue";
  }
}

/** A study is damaged, changed, too large or of another kind. */
export class BadFile extends InvalidInput {
  get name() {
    return "BadFile";
  }
}

/** A report belongs to another study. */
export class WrongStudy extends InvalidInput {
  get name() {
    return "WrongStudy";
  }
}

/** A participant answers a study once; a second answer would leak more. */
export class AlreadyAnswered extends DpairsError {
  get name() {
    return "AlreadyAnswered";
  }
}

/** A participant acts in one round of a study, and this is another. */
export class NotAsked extends DpairsError {
  get name() {
    return "NotAsked";
  }
}

/** The study asks for more epsilon than the participant allows. */
export class LimitExceeded extends DpairsError {
  get name() {
    return "LimitExceeded";
  }
}

/** A given tape of random bits ended before the work was done. */
export class TapeExhausted extends DpairsError {
  get name() {
    return "TapeExhausted";
  }
}
