"""A person's device: checks the study, randomizes the value once, and forgets it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Never

import numpy as np
from numpy.typing import NDArray

from .errors import AlreadyAnswered, BadParameter, BadValue, LimitExceeded
from .formats.checks import below_one, choice, integer, positive
from .protocols.base import PEOPLE, SHARES
from .protocols.sides import alone, shared
from .randomness import Randomness, SystemRandomness
from .report import MAX_INDEX, Report, check_asked, check_first, check_study
from .shares import SharedReport, share_report
from .statistics.labels import positives
from .study import Study


class Participant:
    """One person in one study.

    ``stratum`` is the person's public class (not needed when the study has none). A study that costs more
    than ``max_epsilon``, or has a delta above ``max_delta``, is refused; so is a second round that was not
    read together with its first (``Study.from_json(text, first=study)``), because only the first says whom
    it asks. Random bits come from the operating system; only tests and simulations give a tape.

    >>> from dpairs import Interval
    >>> study = Study.create("auc", epsilon=1.0, domain=Interval(0, 1), bins=16)
    >>> report = Participant(study, index=17, stratum="positive").report(score=0.73)
    >>> report.index, report.stratum
    (17, 'positive')
    """

    def __init__(
        self,
        study: Study,
        index: int,
        stratum: str | None = None,
        *,
        max_epsilon: float | None = None,
        max_delta: float = 0.0,
        bits: Randomness | None = None,
    ) -> None:
        """Check the study before anything is answered."""
        check_study(study)
        if stratum is None:
            if len(study.strata) > 1:
                raise BadParameter(f"say which class this person belongs to: {' or '.join(study.strata)}")
            stratum = study.strata[0]
        check_limits(study, max_epsilon, max_delta)
        check_first(study)
        self._study = study
        self._stratum = choice("stratum", stratum, study.strata)
        self._index = integer("index", index, 0, MAX_INDEX)
        check_asked(study, self._stratum, self._index)
        self._bits = SystemRandomness() if bits is None else bits
        self._answered = False

    def __repr__(self) -> str:
        return f"Participant(study={self._study.id[:16]!r}, index={self._index}, stratum={self._stratum!r})"

    def _split(self, columns: list[NDArray[Any]]) -> SharedReport:
        """A share for each server; nothing is randomized, since the servers add the noise."""
        measurement = int(shared(self._study).measure(self._stratum, columns)[0])
        return share_report(self._study, self._stratum, self._index, measurement, self._bits)

    def _randomized(self, columns: list[NDArray[Any]]) -> Report:
        study, stratum = self._study, self._study.strata.index(self._stratum)
        symbol = alone(study).randomize(study.coins, stratum, self._index, columns, self._bits)[0]
        return Report(self._study, self._stratum, self._index, int(symbol))

    def report(self, *unnamed: Never, **values: Any) -> Report:
        """The randomized report of this person's values, given by column name. Works once."""
        if unnamed:
            names = ", ".join(f"{name}=..." for name in self._study.statistic.private_columns)
            raise BadParameter(f"give values by their names: report({names})")
        if self._answered:
            raise AlreadyAnswered(
                "this participant has answered; a second answer would double the privacy loss, "
                "so send the first report again instead"
            )
        columns = private_columns(self._study, values)
        protocol = self._study.protocol
        make = _ANSWERS.get((protocol.sends, protocol.answered_by), Participant._randomized)
        report = make(self, columns)
        self._answered = True
        return report


_ANSWERS: dict[tuple[str, str], Callable[[Participant, list[NDArray[Any]]], Report]] = {
    (SHARES, PEOPLE): Participant._split,
}
"""By what is sent and by whom; all other answers are randomized, or refused there in a sentence."""


def check_limits(study: Study, max_epsilon: float | None, max_delta: float) -> None:
    """Refuse a study that asks for more epsilon or delta than a person allows."""
    if max_epsilon is not None and study.epsilon > positive("max_epsilon", max_epsilon):
        raise LimitExceeded(
            f"this study loses epsilon {study.epsilon:g}, above this participant's limit of {max_epsilon:g}"
        )
    if study.delta > below_one("max_delta", max_delta):
        raise LimitExceeded(
            f"this study may break its promise with probability delta, {study.delta:.3g}, above this "
            f"participant's limit of {max_delta:g}: a larger max_delta allows it"
        )


def private_columns(study: Study, values: Mapping[str, Any]) -> list[NDArray[Any]]:
    """One person's values, a column each, in the statistic's order."""
    names = study.statistic.private_columns
    if set(values) != set(names):
        given = ", ".join(sorted(values)) or "nothing"
        raise BadValue(f"a report of this study needs {' and '.join(names)}, but {given} was given")
    return [_one(name, values[name]) for name in names]


def _one(name: str, value: Any) -> NDArray[Any]:
    """A column of one value, as an object so that numpy changes nothing of it; a label becomes 0 or 1."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if np.iterable(value) and not isinstance(value, str):
        raise BadValue(f"{name} must be one value, not {type(value).__name__}")
    column = np.array([value], dtype=object)
    return positives(column, name).astype(np.int64) if name == "label" else column
