"""Sites that hold many records: one site's answer, and all sites' answers together.

A site's answer is made once from all its records, with its noise. A tally of sites keeps every answer by its
site: the same one may come again, another one of the same site is refused.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .data.tables import Table, whole
from .errors import AlreadyAnswered, BadParameter, BadValue, NotAsked, WrongStudy
from .estimate import Estimate, Manipulation
from .formats import files
from .formats.canonical import canonical, parse
from .formats.checks import choice, head, unaltered
from .protocols import BySites
from .protocols.base import PERSON_COLUMN
from .protocols.sides import by_sites
from .protocols.sites.by_sites import OfSites, SiteNumbers
from .protocols.sites.numbers import read_answers, read_numbers, site_name, write_answers, write_numbers
from .protocols.sites.unit import PERSON
from .protocols.two_servers.rounds import NO_ANSWER
from .randomness import Randomness, SystemRandomness
from .report import check_first
from .study import Study

FORMAT, TALLY = "dpairs-site-answer", "dpairs-site-tally"
VERSION = 1
_FIELDS = ("format", "version", "study", "site", "sizes", "numbers")


@dataclass(frozen=True, eq=False)
class SiteAnswer:
    """What leaves a site: noisy numbers for all its records, and its sizes unless the study hides them.

    >>> from dpairs import Interval
    >>> study = Study.create("auc", protocol="sites", epsilon=1.0, domain=Interval(0, 1), bins=4)
    >>> answer = SiteAnswer.of(study, "north", {"score": [0.2, 0.9, 0.4], "label": [0, 1, 0]})
    >>> answer.site, answer.numbers.sizes
    ('north', {'positive': 1, 'negative': 2})
    """

    study: Study
    site: str
    numbers: SiteNumbers

    def __post_init__(self) -> None:
        """Refuse what no honest site answers."""
        site_name(self.site)
        by_sites(self.study).check(self.numbers)

    @classmethod
    def of(
        cls, study: Study, site: str, data: Any, *, bits: Randomness | None = None, keep: bool = False
    ) -> SiteAnswer:
        """A fresh answer for all records of ``data``; two such answers cost twice the privacy.

        In a study that protects persons, ``data`` has a column `person`. Somebody with more records than
        the study allows is refused by name; with ``keep`` only that many of each person's records count.
        """
        check_first(study)
        exact = exact_numbers(study, data, keep)
        source = SystemRandomness() if bits is None else bits
        return cls(study, site_name(site), by_sites(study).with_noise(exact, source))

    @property
    def sizes(self) -> dict[str, int] | None:
        """The records of each class, which everybody learns; None where they are hidden."""
        return self.numbers.sizes

    def __eq__(self, other: object) -> bool:
        """Answers are equal when their bytes are."""
        return isinstance(other, SiteAnswer) and bytes(other) == bytes(self)

    def __hash__(self) -> int:
        return hash(bytes(self))

    def __bytes__(self) -> bytes:
        """The wire form: canonical JSON."""
        head = {"format": FORMAT, "version": VERSION, "study": self.study.id, "site": self.site}
        return canonical({**head, **write_numbers(self.numbers)}).encode()

    @classmethod
    def from_bytes(cls, wire: bytes | str, study: Study) -> SiteAnswer:
        """Read an answer to ``study``; refuse another study's, and anything that is not an answer."""
        spec = parse(wire, "the site's answer")
        head("site's answer", spec, (FORMAT, VERSION), _FIELDS, study.id)
        answer = cls(study, site_name(spec["site"]), read_numbers(by_sites(study), spec))
        given = (wire.encode() if isinstance(wire, str) else wire).rstrip(b"\n")
        unaltered("the site's answer", bytes(answer) == given)
        return answer

    def save(self, path: str | os.PathLike[str]) -> None:
        files.write(path, bytes(self) + b"\n", "the site's answer", private=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str], study: Study) -> SiteAnswer:
        return cls.from_bytes(files.read(path, "the site's answer"), study)


def exact_numbers(study: Study, data: Any, keep: bool = False) -> SiteNumbers:
    """A site's numbers without noise, which never leave it."""
    protocol = by_sites(study)
    most = protocol.unit.most if protocol.unit.kind == PERSON else None
    return protocol.exact_numbers(by_class(study, data, most, keep))


def by_class(
    study: Study, data: Any, most: int | None = None, keep: bool = False
) -> dict[str, Sequence[Any]]:
    """A site's records by class, all of them in their domains; at most so many of each person."""
    person = () if most is None else (PERSON_COLUMN,)
    table = whole(data, (*study.statistic.columns, *person))
    if most is not None:
        table = bounded(table, most, keep)
    for name, domain in zip(study.statistic.domain_columns, study.domains, strict=True):
        domain.check(table[name], name)
    return dict(study.statistic.split(table))


def bounded(table: Table, most: int, keep: bool) -> Table:
    """At most so many records of each person: the first ones, or a refusal."""
    people = table.pop(PERSON_COLUMN)
    _, who = np.unique(np.asarray(people.tolist(), dtype=object).astype(str), return_inverse=True)
    order = np.argsort(who, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(who[order]) != 0]) if who.size else np.empty(0, np.int64)
    rank = np.empty(who.size, dtype=np.int64)
    rank[order] = np.arange(who.size) - np.repeat(starts, np.diff(np.r_[starts, who.size]))
    over = np.flatnonzero(rank >= most)
    if over.size and not keep:
        raise BadValue(
            f"person {str(people[over[0]])[:80]!r} has more than {most} record(s), which is what the study "
            f"protects: leave some out, or keep the first {most} of each person"
        )
    return {name: values[rank < most] for name, values in table.items()}


@dataclass(frozen=True)
class _Attack:
    """What lying sites can do to an estimate, computed when it is asked for."""

    protocol: BySites
    answers: dict[str, SiteNumbers]
    raw: float
    """The answer before it is moved into the statistic's range."""
    bounds: tuple[float, float]

    @property
    def participants(self) -> int:
        return len(self.answers)

    def __call__(self, people: int) -> Manipulation:
        attack = self.protocol.moved_by(self.answers, people)
        value, low, high = (self._inside(self.raw + move) for move in (0.0, -attack.down, attack.up))
        return replace(attack, down=value - low, up=high - value)

    def _inside(self, value: float) -> float:
        return min(max(value, self.bounds[0]), self.bounds[1])


class SiteTally:
    """All sites' answers to one round.

    >>> from dpairs import Interval
    >>> study = Study.create("auc", protocol="sites", epsilon=1.0, domain=Interval(0, 1), bins=4, rounds=1)
    >>> tally = SiteTally(study)
    >>> tally.add(SiteAnswer.of(study, "north", {"score": [0.2, 0.9, 0.4], "label": [0, 1, 0]}))
    True
    >>> tally.sites
    ('north',)
    """

    def __init__(self, study: Study) -> None:
        self._study, self._protocol = study, by_sites(study)
        self._answers: dict[str, SiteNumbers] = {}

    def __repr__(self) -> str:
        return f"SiteTally(study={self._study.id[:16]!r}, sites={len(self._answers)})"

    @property
    def study(self) -> Study:
        """The study that is answered."""
        return self._study

    @property
    def sites(self) -> tuple[str, ...]:
        """The names of the sites that answered, sorted."""
        return tuple(sorted(self._answers))

    @property
    def n(self) -> int:
        """How many sites answered, whatever they hold."""
        return len(self._answers)

    @property
    def answers(self) -> dict[str, SiteNumbers]:
        """What each site answered, in the order of their names."""
        return {site: self._answers[site] for site in self.sites}

    def add(self, answer: SiteAnswer) -> bool:
        """Keep an answer; False if it is already here. A second, different answer of a site is refused."""
        if answer.study != self._study:
            raise WrongStudy(
                f"this answer belongs to study {answer.study.id[:16]}..., not to {self._study.id[:16]}..."
            )
        before = self._answers.get(answer.site)
        if before is not None:
            if bytes(SiteAnswer(self._study, answer.site, before)) == bytes(answer):
                return False
            raise AlreadyAnswered(f"site {answer.site!r} has already given another answer")
        self.check(answer)
        self._answers[answer.site] = answer.numbers
        return True

    def check(self, answer: SiteAnswer) -> None:
        """A second round asks those who answered the first, with the sizes that they said then."""
        first = self._protocol.first_numbers
        if first is None:
            return
        if answer.site not in first:
            raise NotAsked(
                f"site {answer.site!r} did not answer the first round, so the second does not ask it"
            )
        if first[answer.site].sizes != answer.numbers.sizes:
            raise BadValue(f"site {answer.site!r} says other sizes than in the first round")

    def __add__(self, other: SiteTally) -> SiteTally:
        both = SiteTally(self._study)
        for tally in (self, other):
            for site, numbers in tally.answers.items():
                both.add(SiteAnswer(tally.study, site, numbers))
        return both

    def __eq__(self, other: object) -> bool:
        """Tallies are equal when their files are."""
        return isinstance(other, SiteTally) and other.to_json() == self.to_json()

    __hash__ = None  # type: ignore[assignment]

    def counts(self, stratum: str) -> OfSites:
        """One class's numbers by site, from which a second round is made."""
        name = choice("stratum", stratum, self._study.strata)
        answers = self.answers
        hidden = self._protocol.unit.hide_sizes
        return OfSites(
            {site: each.numbers[name] for site, each in answers.items()},
            None if hidden else {site: (each.sizes or {})[name] for site, each in answers.items()},
        )

    def estimate(self, estimator: str | None = None) -> Estimate:
        """The statistic of all records at the sites that answered, with its standard error."""
        protocol = self._protocol
        chosen = choice("estimator", estimator or protocol.default_estimator, protocol.estimators)
        answers = self.answers
        given = protocol.answer(answers)
        if given is None:
            raise BadParameter(NO_ANSWER)
        answer, sizes = given
        made = answer.estimate(self._study, sizes, chosen)
        return replace(made, attack=_Attack(protocol, answers, made.raw, made.bounds))

    def to_json(self) -> str:
        head = {"format": TALLY, "version": VERSION, "study": self._study.id}
        return canonical({**head, "answers": write_answers(self.answers)})

    @classmethod
    def from_json(cls, text: str | bytes, study: Study) -> SiteTally:
        """Read a tally of ``study``; refuse one of another study or of another form."""
        spec = parse(text, "the tally of sites", files.MAX_BYTES)
        names = ("format", "version", "study", "answers")
        head("tally of sites", spec, (TALLY, VERSION), names, study.id)
        tally = cls(study)
        for site, numbers in read_answers(tally._protocol, spec["answers"]).items():
            tally.add(SiteAnswer(study, site, numbers))
        unaltered("the tally of sites", canonical(spec) == tally.to_json())
        return tally

    def save(self, path: str | os.PathLike[str]) -> None:
        files.write(path, self.to_json().encode() + b"\n", "the tally of sites")

    @classmethod
    def load(cls, path: str | os.PathLike[str], study: Study) -> SiteTally:
        return cls.from_json(files.read(path, "the tally of sites"), study)
