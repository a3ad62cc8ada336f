"""What a person has spent over studies: a small book that the person's own device keeps.

Losses of several studies of the same value add up (basic composition), or, at a small delta, by less
(advanced composition: Dwork, Rothblum, Vadhan, "Boosting and differential privacy", FOCS 2010, for unequal
losses). The device refuses a study that would exceed the person's limit.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import Protocol

from ..errors import AlreadyAnswered, BadFile, LimitExceeded
from ..formats import files
from ..formats.canonical import canonical, parse
from ..formats.checks import fields, positive, real, required, text
from .claim import PrivacyClaim
from .composition import check_delta


class Spending(Protocol):
    """What a ledger reads of a study."""

    @property
    def id(self) -> str: ...

    @property
    def first_id(self) -> str: ...

    @property
    def privacy(self) -> PrivacyClaim: ...


FORMAT = "dpairs-ledger"
VERSION = 1
_FIELDS = ("format", "version", "limit", "delta", "spent")


@dataclass
class Ledger:
    """The studies that a person took part in, and what each may have revealed.

    ``delta = 0`` counts by basic composition; a positive one by advanced composition where that is less.

    >>> from dpairs import Interval, Study
    >>> book = Ledger(limit=1.5)
    >>> book.spend(Study.create("auc", epsilon=1.0, domain=Interval(0, 1), bins=4, seed=1))
    >>> round(book.total, 6), round(book.left, 6)
    (1.0, 0.5)
    """

    limit: float
    delta: float = 0.0
    spent: dict[str, float] = field(default_factory=dict)
    """Each study's exact epsilon, by its id; the rounds of one study count as one."""

    def __post_init__(self) -> None:
        """Refuse a limit that is none."""
        self.limit = positive("limit", self.limit)
        self.delta = real("delta", self.delta) and check_delta(self.delta)

    @property
    def total(self) -> float:
        """What all studies together may have revealed."""
        return composed(list(self.spent.values()), self.delta)

    @property
    def left(self) -> float:
        """What is not spent of the limit."""
        return max(self.limit - self.total, 0.0)

    @property
    def room(self) -> float:
        """The largest epsilon of one more study; by advanced composition that may be more than is left."""
        losses = list(self.spent.values())
        low, high = 0.0, self.limit
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (
                (middle, high) if composed([*losses, middle], self.delta) <= self.limit else (low, middle)
            )
        return low

    def check(self, study: Spending) -> None:
        """Refuse a study that was answered before, or that would exceed the limit."""
        if study.first_id in self.spent:
            raise AlreadyAnswered(f"this person has taken part in study {study.id[:16]}... already")
        with_it = composed([*self.spent.values(), study.privacy.epsilon], self.delta)
        if with_it > self.limit:
            raise LimitExceeded(
                f"study {study.id[:16]}... loses epsilon {study.privacy.epsilon:.4g}; with the "
                f"{len(self.spent)} before it, that makes {with_it:.4g}, above the limit of {self.limit:.4g}"
            )

    def spend(self, study: Spending) -> None:
        """Write a study down, if it may be answered: do this before the report leaves."""
        self.check(study)
        self.spent[study.first_id] = study.privacy.epsilon

    @classmethod
    def record(cls, path: str | os.PathLike[str], study: Spending) -> Ledger:
        """Write a study down in a ledger's file, alone with it: do this before the report leaves.

        A process that is stopped on the way leaves the file as it was or with the study in it.
        """
        with files.locked(path, "the ledger"):
            book = cls.load(path)
            book.spend(study)
            book.save(path)
        return book

    def to_json(self) -> str:
        return canonical(
            {
                "format": FORMAT,
                "version": VERSION,
                "limit": self.limit,
                "delta": self.delta,
                "spent": self.spent,
            }
        )

    @classmethod
    def from_json(cls, words: str | bytes) -> Ledger:
        spec = parse(words, "the ledger")
        if spec.get("format") != FORMAT or spec.get("version") != VERSION:
            raise BadFile(f"this is not a ledger of version {VERSION}: its format is {spec.get('format')!r}")
        required("the ledger", spec, _FIELDS)
        fields("a ledger", spec, _FIELDS)
        if not isinstance(spec["spent"], dict):
            raise BadFile("a ledger's spent must be an object of studies and epsilons")
        spent = {text("study", name): positive("epsilon", loss) for name, loss in spec["spent"].items()}
        return cls(spec["limit"], spec["delta"], spent)

    def save(self, path: str | os.PathLike[str]) -> None:
        files.write(path, self.to_json().encode() + b"\n", "the ledger")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Ledger:
        return cls.from_json(files.read(path, "the ledger"))


def composed(losses: list[float], delta: float) -> float:
    """The loss of all together: their sum, or at ``delta`` the advanced bound where that is less.

    sum e_i (e^e_i - 1) / (e^e_i + 1) + sqrt(2 ln(1/delta) sum e_i^2).
    """
    total = math.fsum(losses)
    if delta == 0 or not losses:
        return total
    drift = math.fsum(loss * math.tanh(min(loss, 700.0) / 2) for loss in losses)
    return min(total, drift + math.sqrt(2 * math.log(1 / delta) * math.fsum(loss**2 for loss in losses)))
