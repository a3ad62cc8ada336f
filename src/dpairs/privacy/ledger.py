"""What a person has spent over all studies: a small ledger on the person's own device.

A limit is an epsilon and a delta, for all answers together. Every answer is one entry, written down before it
leaves, and costs the same whatever study it names. Entries add up by a privacy filter
(`composition.filtered_epsilon`), because an analyst may choose the next question after seeing the answers.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

from ..errors import AlreadyAnswered, BadFile, LimitExceeded
from ..formats import files
from ..formats.canonical import canonical, parse
from ..formats.checks import below_one, fields, head, positive, required, text
from ..formats.display import Shown, number
from .claim import PrivacyClaim
from .composition import Loss, filtered_epsilon, summed_delta


class Spending(Protocol):
    """What a ledger reads of a study."""

    @property
    def id(self) -> str: ...

    @property
    def privacy(self) -> PrivacyClaim: ...


@dataclass(frozen=True)
class Entry:
    """One answer: what it may have revealed, and the device's own name for it."""

    epsilon: float
    delta: float = 0.0
    name: str = ""
    """Random; the same answer that is sent again has the same name, and costs nothing more."""


FORMAT = "dpairs-ledger"
VERSION = 2
LIMIT = 5.0
"""What a device allows over all studies unless its person says otherwise. A choice, not a theorem: beyond it
an observer's odds about a value may have changed by more than e^5, about 150."""
_FIELDS = ("format", "version", "limit", "delta", "spent")
_ANSWER = ("epsilon", "delta", "name")


@dataclass(repr=False)
class Ledger(Shown):
    """The answers that a person has given; all together are (limit, delta)-private.

    With ``delta = 0``, losses add up, and a study with a positive delta is refused. With a positive one,
    half of it covers the deltas of studies, and half is the filter's slack, which makes many small losses
    count for less than their sum.

    >>> from dpairs import Interval, Study
    >>> book = Ledger(limit=1.5)
    >>> book.spend(Study.create("auc", epsilon=1.0, domain=Interval(0, 1), bins=4, seed=1))
    >>> round(book.total, 6), round(book.left, 6)
    (1.0, 0.5)
    """

    limit: float
    delta: float = 0.0
    spent: dict[str, Entry] = field(default_factory=dict)
    """Each answer by the id of the study, or of the round, that it answers."""

    def __repr__(self) -> str:
        return f"Ledger(spent={number(self.total)}, limit={number(self.limit)}, answers={len(self.spent)})"

    @property
    def title(self) -> str:
        return f"{len(self.spent)} answers"

    def rows(self) -> list[tuple[str, str]]:
        """What is spent and what is allowed, as a table."""
        return [
            ("epsilon spent", f"{number(self.total)} of {number(self.limit)}"),
            ("delta", f"at most {self.delta:.3g}"),
            *[
                (f"study {name[:16]}...", f"epsilon {number(each.epsilon)}")
                for name, each in self.spent.items()
            ],
        ]

    def to_dict(self) -> dict[str, Any]:
        """The ledger's file as plain values."""
        return parse(self.to_json(), "the ledger")

    def __post_init__(self) -> None:
        """Refuse a limit that is none."""
        self.limit = positive("limit", self.limit)
        self.delta = below_one("delta", self.delta)

    @property
    def losses(self) -> list[Loss]:
        return [(answer.epsilon, answer.delta) for answer in self.spent.values()]

    @property
    def total(self) -> float:
        """The epsilon of all answers together, at the ledger's delta."""
        return float(filtered_epsilon(self.losses, self.delta / 2))

    @property
    def total_delta(self) -> float:
        """The studies' own deltas together: at most half of the ledger's."""
        return float(summed_delta(self.losses))

    @property
    def left(self) -> float:
        """How much of the limit is left."""
        return max(self.limit - self.total, 0.0)

    @property
    def room(self) -> float:
        """The largest epsilon of one more study; with a slack that may be more than is left."""
        low, high = 0.0, self.limit
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self._allows((middle, 0.0)) else (low, middle)
        return low

    def _allows(self, more: Loss) -> bool:
        losses = [*self.losses, more]
        within = filtered_epsilon(losses, self.delta / 2) <= Fraction(self.limit)
        return within and summed_delta(losses) <= Fraction(self.delta) / 2

    def check(self, study: Spending) -> None:
        """Refuse a study that was answered before, or that would exceed the limit."""
        if study.id in self.spent:
            raise AlreadyAnswered(f"this person has taken part in study {study.id[:16]}... already")
        epsilon, delta = _loss(study)
        if self._allows((epsilon, delta)):
            return
        losses = [*self.losses, (epsilon, delta)]
        if summed_delta(losses) > Fraction(self.delta) / 2:
            raise LimitExceeded(
                f"study {study.id[:16]}... has a delta of {delta:.3g}; with the others, that makes "
                f"{float(summed_delta(losses)):.3g}, above half of the ledger's delta of {self.delta:.3g}"
            )
        made = filtered_epsilon(losses, self.delta / 2)
        above = f"{float(min(made, Fraction(sys.float_info.max))):.4g}"
        if above == f"{self.limit:.4g}":  # doubles that a few digits do not tell apart
            above += f" and {float(made - Fraction(self.limit)):.1g}"
        raise LimitExceeded(
            f"study {study.id[:16]}... loses epsilon {epsilon:.4g}; with the {len(self.spent)} before, "
            f"that makes {above}, above the limit of {self.limit:.4g}"
        )

    def spend(self, study: Spending, name: str = "") -> None:
        """Write an answer down, if it may be given: do this before the report leaves.

        An answer that is in the book under the same ``name`` is the same one, sent again.
        """
        before = self.spent.get(study.id)
        if name and before is not None and before.name == name:
            return
        self.check(study)
        self.spent[study.id] = Entry(*_loss(study), name)

    @classmethod
    def record(cls, path: str | os.PathLike[str], study: Spending) -> Ledger:
        """Write an answer into a ledger's file, under a lock: do this before the report leaves.

        A process that is stopped halfway leaves the file either unchanged or with the answer in it.
        """
        with files.locked(path, "the ledger"):
            book = cls.load(path)
            book.spend(study)
            book.save(path)
        return book

    def to_json(self) -> str:
        spent = {
            study: {"epsilon": each.epsilon, "delta": each.delta, "name": each.name}
            for study, each in self.spent.items()
        }
        content = {"format": FORMAT, "version": VERSION, "limit": self.limit, "delta": self.delta}
        return canonical({**content, "spent": spent})

    @classmethod
    def from_json(cls, words: str | bytes) -> Ledger:
        spec = parse(words, "the ledger")
        head("ledger", spec, (FORMAT, VERSION), _FIELDS)
        if not isinstance(spec["spent"], dict):
            raise BadFile("a ledger's spent must be an object of studies and answers")
        spent = {text("study", name): _entry(each) for name, each in spec["spent"].items()}
        return cls(spec["limit"], spec["delta"], spent)

    def save(self, path: str | os.PathLike[str]) -> None:
        files.write(path, self.to_json().encode() + b"\n", "the ledger", private=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Ledger:
        return cls.from_json(files.read(path, "the ledger"))


def _loss(study: Spending) -> Loss:
    """What a study claims, in numbers that add up: a loss below nothing would be credit."""
    claim = study.privacy
    return positive("the epsilon of a study", claim.epsilon), below_one("the delta of a study", claim.delta)


def _entry(spec: Any) -> Entry:
    if not isinstance(spec, Mapping):
        raise BadFile("an answer in a ledger must be an object")
    required("the ledger's answer", spec, _ANSWER)
    fields("a ledger's answer", spec, _ANSWER)
    return Entry(
        positive("epsilon", spec["epsilon"]), below_one("delta", spec["delta"]), text("name", spec["name"])
    )
