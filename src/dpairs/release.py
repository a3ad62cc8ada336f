"""What two servers release: a few noisy numbers, and nothing else. An estimate needs no more."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from .errors import BadFile, BadParameter
from .estimate import Estimate, Manipulation
from .formats import files
from .formats.canonical import canonical, parse
from .formats.checks import choice, head, integer
from .protocols.counts import MAX_COUNT
from .protocols.sides import shared
from .protocols.two_servers.released import NoisyCounts, Numbers, read_numbers
from .protocols.two_servers.rounds import NO_ANSWER
from .protocols.two_servers.shared import Shared
from .study import Study

FORMAT = "dpairs-release"
VERSION = 1
_FIELDS = ("format", "version", "study", "people", "numbers")


@dataclass(frozen=True)
class _Attack:
    """What liars can do to the estimate of a release, computed when it is asked for."""

    protocol: Shared
    sizes: dict[str, int]
    numbers: Numbers

    @property
    def participants(self) -> int:
        return sum(self.sizes.values())

    def __call__(self, people: int) -> Manipulation:
        return self.protocol.moved_by(self.sizes, self.numbers, people)


@dataclass(frozen=True, eq=False)
class Release:
    """The released numbers of one round, and how many people of each stratum took part.

    >>> from dpairs import Interval, simulate_release
    >>> study = Study.create("auc", protocol="two_servers", epsilon=1.0, domain=Interval(0, 1), bins=64)
    >>> release = simulate_release(study, {"score": [0.1, 0.4, 0.5, 0.9], "label": [0, 0, 1, 1]}, seed=1)
    >>> release.sizes
    {'positive': 2, 'negative': 2}
    """

    study: Study
    sizes: dict[str, int]
    numbers: Numbers

    def __post_init__(self) -> None:
        """Refuse numbers of another kind of study."""
        totals, cells = shared(self.study).shape(self.sizes)
        if len(self.numbers.totals) != totals or set(self.numbers.counts) != set(cells):
            raise BadParameter("these numbers are not what this study releases")

    @property
    def n(self) -> int:
        """How many people took part."""
        return sum(self.sizes.values())

    def counts(self, stratum: str) -> NoisyCounts:
        """The released counts of a stratum, from which a second round is made."""
        name = choice("stratum", stratum, self.study.strata)
        return NoisyCounts(self.numbers.counts[name], self.sizes[name])

    def estimate(self, estimator: str | None = None) -> Estimate:
        """The statistic with its standard error, from the released numbers alone."""
        protocol = shared(self.study)
        chosen = choice("estimator", estimator or protocol.default_estimator, protocol.estimators)
        most = self.study.statistic.most(self.study.domains)
        answer = protocol.answer(self.sizes, self.numbers)
        if answer is None:
            raise BadParameter(NO_ANSWER)
        made = answer.at_most(most).estimate(self.study, self.sizes, chosen)
        return replace(made, attack=_Attack(protocol, self.sizes, self.numbers))

    def to_json(self) -> str:
        return canonical(
            {
                "format": FORMAT,
                "version": VERSION,
                "study": self.study.id,
                "people": self.sizes,
                "numbers": self.numbers.to_json(),
            }
        )

    @classmethod
    def from_json(cls, text: str | bytes, study: Study) -> Release:
        """Read a release of ``study``; refuse another study's, and numbers that it does not release."""
        spec = parse(text, "the release", files.MAX_BYTES)
        head("release", spec, (FORMAT, VERSION), _FIELDS, study.id)
        people = spec["people"]
        if not isinstance(people, Mapping) or set(people) != set(study.strata):
            raise BadFile(f"a release says how many people there are of {', '.join(study.strata)}")
        sizes = {name: integer("people", people[name], 0, MAX_COUNT) for name in study.strata}
        return cls(study, sizes, read_numbers(spec["numbers"], *shared(study).shape(sizes)))

    def save(self, path: str | os.PathLike[str]) -> None:
        files.write(path, self.to_json().encode() + b"\n", "the release")

    @classmethod
    def load(cls, path: str | os.PathLike[str], study: Study) -> Release:
        return cls.from_json(files.read(path, "the release"), study)
