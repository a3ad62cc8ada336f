"""Every error dpairs raises on purpose, in one tree.

    DpairsError
    ├── InvalidInput (also a ValueError)
    │   ├── BadParameter      an argument of a study, mechanism or statistic
    │   ├── BadValue          a person's value, or a column of data
    │   ├── BadFile           a file that is missing, damaged or of another kind
    │   ├── BadMessage        a message of a pair that is cut short, damaged or of another version
    │   │   ├── WrongPartner  it belongs to another pair of the study
    │   │   ├── Replayed      it was used before, or belongs to another exchange of the pair
    │   │   ├── OutOfOrder    it comes too early, too late or from the wrong side
    │   │   ├── TrailingBytes it has bytes after its end
    │   │   ├── ForgedOutput  an output label or a decoding table that is not the garbler's
    │   │   └── NotVerified   shares whose proof does not hold
    │   └── WrongStudy        a report, tally or message that belongs to another study
    ├── NotEnoughData         too few people, or an empty class
    ├── NotEstimable          the noise leaves no answer (a logarithm of a negative number)
    ├── AlreadyAnswered       a participant asked to report twice
    ├── NotAsked              a participant whose turn is another round
    ├── LimitExceeded         a study asks for more epsilon than the participant allows
    ├── TapeExhausted         a given tape of random bits is too short
    ├── WorkerLost            a process that did part of the work was ended from outside
    └── ServiceError          a collector refuses a request, or cannot be reached
        ├── NotAllowed        no token, or one that is not known here
        ├── NotYours          a known token for something else
        ├── NotFound          there is no such study, pair or message
        ├── NotYet            a message that the partner has not sent yet
        ├── Conflict          it contradicts an earlier request: another report, a used code
        ├── Closed            the study or the round is over
        ├── TooLarge          more bytes than are allowed
        ├── TooSlow           the request took too long to arrive
        ├── TooMany           more requests than are allowed
        ├── Refused           what a server of a task refuses, with DAP's name for the reason
        └── Unavailable       it cannot be reached, or cannot answer now

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


class BadMessage(InvalidInput):
    """A message between the two of a pair, or from them to the collector, cannot be used."""


class WrongPartner(BadMessage):
    """A message belongs to another pair of the same study."""


class Replayed(BadMessage):
    """A message was used before, or belongs to another exchange of the same pair."""


class OutOfOrder(BadMessage):
    """A message comes too early, too late, or from the wrong side."""


class TrailingBytes(BadMessage):
    """A message has bytes after its end."""


class ForgedOutput(BadMessage):
    """An output label is neither of the two that the garbler made, or its decoding table is another."""


class NotVerified(BadMessage):
    """The shares of a report are not shown to belong to a valid measurement."""


class WrongStudy(InvalidInput):
    """A report, a tally or a message belongs to another study."""


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


class ServiceError(DpairsError):
    """A collector refused a request, or could not be reached."""


class NotAllowed(ServiceError):
    """The request has no token, or one that is not known here."""


class NotYours(ServiceError):
    """The token is valid, though not for this."""


class NotFound(ServiceError):
    """There is no such study, pair, message or page."""


class NotYet(ServiceError):
    """What is asked for has not arrived yet."""


class Conflict(ServiceError):
    """It contradicts what was done before."""


class Closed(ServiceError):
    """The study, or its round, is over."""


class TooLarge(ServiceError):
    """The request has more bytes than are allowed."""


class TooSlow(ServiceError):
    """The request took too long to arrive."""


class TooMany(ServiceError):
    """There were too many requests in a short time."""


class Refused(ServiceError):
    """A server of a task refuses a request; ``kind`` is the name that DAP has for the reason."""

    def __init__(self, message: str, kind: str = "invalidMessage") -> None:
        super().__init__(message)
        self.kind = kind


class WorkerLost(DpairsError):
    """A process that did part of the work was ended from outside."""


class Unavailable(ServiceError):
    """A service cannot be reached, or cannot answer now."""
