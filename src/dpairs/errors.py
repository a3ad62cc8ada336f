"""Every error dpairs raises on purpose, in one tree.

    DpairsError
    ├── InvalidInput (also a ValueError)
    │   ├── BadParameter      an argument of a study, mechanism or statistic
    │   ├── BadValue          a person's value, or a column of data
    │   ├── BadFile           a file that is missing, damaged or of another kind
    │   └── WrongStudy        a report or tally that belongs to another study
    ├── NotEnoughData         too few people, or an empty class
    ├── NotEstimable          the noise leaves no answer (a logarithm of a negative number)
    ├── AlreadyAnswered       a participant asked to report twice
    ├── NotAsked              a participant whose turn is another round
    ├── LimitExceeded         a study asks for more epsilon than the participant allows
    └── TapeExhausted         a given tape of random bits is too short

The message is one sentence: what was wrong, where, and what is allowed.

>>> issubclass(BadValue, ValueError)
True
"""


class DpairsError(Exception):
    """Base of every error raised on purpose."""


class InvalidInput(DpairsError, ValueError):
    """Something given by the caller cannot be used."""


class BadParameter(InvalidInput):
    """An argument of a study, a mechanism or a statistic is not allowed."""


class BadValue(InvalidInput):
    """A person's value or a column of data is not in its domain."""


class BadFile(InvalidInput):
    """A file is missing, damaged, too large or of another kind."""


class WrongStudy(InvalidInput):
    """A report or a tally belongs to another study."""


class NotEnoughData(DpairsError):
    """Too few people took part for the statistic to exist."""


class NotEstimable(DpairsError):
    """The noisy counts leave the statistic undefined."""


class AlreadyAnswered(DpairsError):
    """A participant answers a study once; a second answer would leak more."""


class NotAsked(DpairsError):
    """A participant acts in one round of a study, and this is another."""


class LimitExceeded(DpairsError):
    """The study asks for more epsilon than the participant allows."""


class TapeExhausted(DpairsError):
    """A given tape of random bits ended before the work was done."""
