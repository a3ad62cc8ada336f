"""A study: the public, frozen parameters that everybody agrees on before anybody answers."""

from __future__ import annotations

import os
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from .data.domains import Domain, DomainLike, domain_from_json
from .errors import BadFile, InvalidInput, WrongStudy
from .formats import files
from .formats.canonical import canonical, digest, parse
from .formats.checks import choice, fields, head, integer, positive, required, unaltered
from .formats.display import Shown, number
from .privacy import PrivacyClaim
from .protocols import PROTOCOLS, FirstRound, Protocol
from .protocols.continuation import changed_term, check_promise
from .protocols.counts import Sums
from .protocols.options import (
    HistogramOptions,
    PairwiseOptions,
    ProjectionOptions,
    SitesOptions,
    TreeOptions,
    TwoServersOptions,
)
from .protocols.rounds import asked_in
from .protocols.sides import analysed, next_round, tallied
from .randomness import public_seed
from .randomness.coins import Coins, windows
from .statistics import Statistic, domains_of, option_names, statistic_from_json, whole_kernel
from .statistics import statistic as statistic_named

FORMAT, ANALYSIS = "dpairs-study", "dpairs-analysis"
VERSION = 1
MAX_SEED = 2**128 - 1
_FIELDS = ("format", "version", "id", "statistic", "domain", "protocol", "epsilon", "delta", "seed")
Which: TypeAlias = "str | Statistic"


class RoundTally(typing.Protocol):
    """What a round's tally has to offer to the next."""

    @property
    def study(self) -> Study: ...

    def counts(self, stratum: str) -> Any: ...


@dataclass(frozen=True, repr=False)
class Study(Shown):
    """What is asked of whom, under which privacy: JSON in, JSON out, named by its hash.

    >>> from dpairs import Interval
    >>> study = Study.create("auc", epsilon=1.0, domain=Interval(0, 1), bins=16, seed=1)
    >>> Study.from_json(study.to_json()) == study
    True
    """

    statistic: Statistic
    domains: tuple[Domain, ...]
    protocol: Protocol
    epsilon: float
    delta: float
    seed: int
    chooser: ClassVar[Callable[[Statistic, tuple[Domain, ...], float, int | None], FirstRound] | None] = None
    """Chooses a protocol where none is named: the planner, which is above studies and enters itself here."""
    first: Study | None = field(default=None, repr=False)
    """Of a second round, the study that it was found to follow from; in memory only, no part of the file."""

    def __post_init__(self) -> None:
        """Refuse a protocol whose promise does not hold for all its rounds."""
        check_promise(self.protocol, self.epsilon)

    @overload
    @classmethod
    def create(
        cls,
        statistic: Which,
        *,
        epsilon: float,
        protocol: Literal["histogram"] | None = None,
        **more: Unpack[HistogramOptions],
    ) -> Study: ...

    @overload
    @classmethod
    def create(
        cls, statistic: Which, *, epsilon: float, protocol: Literal["tree"], **more: Unpack[TreeOptions]
    ) -> Study: ...

    @overload
    @classmethod
    def create(
        cls,
        statistic: Which,
        *,
        epsilon: float,
        protocol: Literal["projection"],
        **more: Unpack[ProjectionOptions],
    ) -> Study: ...

    @overload
    @classmethod
    def create(
        cls,
        statistic: Which,
        *,
        epsilon: float,
        protocol: Literal["pairwise"],
        **more: Unpack[PairwiseOptions],
    ) -> Study: ...

    @overload
    @classmethod
    def create(
        cls,
        statistic: Which,
        *,
        epsilon: float,
        protocol: Literal["two_servers"],
        **more: Unpack[TwoServersOptions],
    ) -> Study: ...

    @overload
    @classmethod
    def create(
        cls, statistic: Which, *, epsilon: float, protocol: Literal["sites"], **more: Unpack[SitesOptions]
    ) -> Study: ...

    @overload
    @classmethod
    def create(
        cls,
        statistic: Which,
        *,
        epsilon: float,
        protocol: str | None = None,
        domain: DomainLike | None = None,
        seed: int | None = None,
        options: Mapping[str, Any],
    ) -> Study: ...

    @classmethod
    def create(
        cls,
        statistic: Which,
        *,
        epsilon: float,
        protocol: str | None = None,
        domain: DomainLike | None = None,
        seed: int | None = None,
        options: Mapping[str, Any] | None = None,
        **keywords: Any,
    ) -> Study:
        """A study of ``statistic`` on ``domain`` with at most ``epsilon`` of privacy loss.

        Without a ``protocol`` the planner chooses: for ``n`` people if that is given, else among protocols of
        one round. With options of a histogram (``bins``, ...) and no protocol, it is a histogram.
        ``domain=(0, 1)`` is an interval.

        ``seed`` is public: it only makes studies differ (a fresh one is drawn when none is given).
        Other keywords are the statistic's (``ties``, ``labels``, ``variant``) and the protocol's
        (``histogram``: ``bins``, ``mechanism``, ``kernel``, ``rounding``, and ``n``, the expected number
        of people, which sets missing bins; ``tree``: ``bins``, ``splitting``, ``rows``,
        ``answer``, ``delta``; ``projection``: ``pilot_fraction``, ``pilot``, ``bins``, ``n``, ``mechanism``;
        ``pairwise``: ``pairs``, ``noise``, ``bits``, ``matching``; ``two_servers``: ``release``, ``rounds``,
        ``bins``, ``split``, ``noise``, ``delta``, ``n``; ``sites``: these except ``release``, and ``sites``,
        ``unit``, ``max_records_per_person``, ``hide_sizes``). Keywords of a protocol from another package
        go into ``options``.
        """
        loss = positive("epsilon", epsilon)
        given = {**(options or {}), **keywords}
        own = option_names(statistic)
        chosen = statistic_named(statistic, **{name: given.pop(name) for name in own if name in given})
        domains = domains_of(chosen, domain)
        public = public_seed() if seed is None else integer("seed", seed, 0, MAX_SEED)
        if protocol is None and set(given) <= {"n"} and cls.chooser is not None:
            way = cls.chooser(chosen, chosen.placed(domains), loss, given.get("n"))
        else:
            name = "histogram" if protocol is None else choice("protocol", protocol, PROTOCOLS)
            fields(f"a {name!r} study of {chosen.name!r}", given, (*own, *PROTOCOLS[name].options))
            way = PROTOCOLS[name].create(chosen, chosen.placed(domains), loss, **given)
        return cls(way.statistic, domains, way, loss, way.delta, public)

    def __repr__(self) -> str:
        return (
            f"Study({self.statistic.name}, protocol={self.protocol.name!r}, epsilon={self.epsilon:g}, "
            f"id={self.id[:16]!r})"
        )

    @property
    def title(self) -> str:
        return f"study {self.id[:16]}..."

    def to_dict(self) -> dict[str, Any]:
        """The study's file as plain values."""
        return {**self._content, "id": self.id}

    def rows(self) -> list[tuple[str, str]]:
        """What the study asks of people, as a table of names and texts."""
        protocol = self.protocol
        several = f", round {protocol.round} of {protocol.rounds}" if protocol.rounds > 1 else ""
        return [
            ("id", self.id),
            ("statistic", f"{self.statistic.name} of {', '.join(self.statistic.columns)}"),
            ("domain", ", ".join(map(repr, self.domains))),
            ("strata", ", ".join(self.strata)),
            ("protocol", protocol.name + several),
            protocol.sent,
            ("epsilon", f"at most {number(self.epsilon)}; this study loses {self.privacy.epsilon:.12g}"),
            ("privacy", str(self.privacy)),
        ]

    @property
    def strata(self) -> tuple[str, ...]:
        """The classes in which reports are counted: people's public classes, or pairs."""
        return self.protocol.strata

    @cached_property
    def coins(self) -> Coins:
        """The public coins of this study's participants."""
        return Coins.of(self.id)

    def empty_counts(self, stratum: str) -> Sums:
        """Counts of one stratum with no report in them."""
        return tallied(self).empty_counts(self.coins, self.strata.index(stratum))

    def asks(self, stratum: str, index: int) -> bool:
        """Whether the participant of that stratum and index is asked in this round."""
        asked = asked_in(self.protocol, self.coins, self.strata.index(stratum), index, 1)
        return asked is None or bool(asked[0])

    def asks_all(self, stratum: str, indices: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each participant of these ascending indices is asked in this round."""
        answers, place = np.ones(indices.size, dtype=bool), self.strata.index(stratum)
        for part, first, there in windows(indices):
            asked = asked_in(self.protocol, self.coins, place, first, there.size)
            if asked is None:
                break
            answers[part] = asked[there]
        return answers

    def next(self, tally: RoundTally) -> Study:
        """The next round: a separate study that contains what this round's tally showed.

        The same tally gives the same study, so anybody who has it can check the next round. What only the
        analyst needs is kept in another file: `analysis_to_json` writes it, `with_analysis` reads it.
        """
        if tally.study != self:
            raise WrongStudy(f"this tally belongs to study {tally.study.id[:16]}..., not {self.id[:16]}...")
        counts = {stratum: tally.counts(stratum) for stratum in self.strata}
        way = next_round(self, counts)
        return Study(way.statistic, self.domains, way, self.epsilon, way.delta, self.seed).following(self)

    def following(self, first: Study) -> Study:
        """This second round with its ``first``; refused if it changes anything that people agreed to.

        Epsilon, delta, statistic, domains, strata and seed must be the same, and the first round's whole id.
        Whom both rounds ask is compared for some blocks of people; each device compares it for its person.
        """
        changed = changed_term(self, first)
        if changed is not None:
            raise WrongStudy(
                f"study {self.id[:16]}... is not a second round of {first.id[:16]}...: its {changed} is not "
                "what was agreed to"
            )
        return replace(self, first=first)

    def analysis_to_json(self) -> str | None:
        """The analyst's file of a later round, which names this study; None if the analyst needs none."""
        analysis = self.protocol.analysis_to_json()
        if analysis is None:
            return None
        return canonical({"format": ANALYSIS, "version": VERSION, "study": self.id, "analysis": analysis})

    def with_analysis(self, text: str | bytes) -> Study:
        """This study with what its analyst needs, if it is whole and its own; it is not signed."""
        spec = parse(text, "the analysis")
        names = ("format", "version", "study", "analysis")
        try:
            head("analysis", spec, (ANALYSIS, VERSION), names, self.id)
            study = replace(self, protocol=analysed(self, spec["analysis"]))
        except (BadFile, WrongStudy):
            raise
        except InvalidInput as error:
            raise BadFile(f"the analysis cannot be used: {error}") from None
        unaltered("the analysis", canonical(spec) == study.analysis_to_json())
        return study

    @property
    def privacy(self) -> PrivacyClaim:
        """What is promised to each person."""
        return self.protocol.privacy(self.epsilon)

    @cached_property
    def _content(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "statistic": self.statistic.to_json(),
            "domain": [domain.to_json() for domain in self.domains],
            "protocol": self.protocol.to_json(),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "seed": f"{self.seed:032x}",
        }

    @cached_property
    def _digest(self) -> str:
        return digest(self._content)

    @property
    def id(self) -> str:
        """SHA-256 of the canonical form: the study's name everywhere."""
        return self._digest

    @property
    def first_id(self) -> str:
        """The id of the first round: one name for all rounds of a study."""
        return self.protocol.first_study or self.id

    def to_json(self) -> str:
        """The study's file: canonical JSON with its id."""
        return canonical({**self._content, "id": self.id})

    @classmethod
    def from_json(cls, text: str | bytes, *, first: Study | None = None) -> Study:
        """Read a study; refuse one that was changed, cut short or has another version.

        Give a second round its ``first`` round: it is refused unless it follows from it, and a `Participant`
        answers only second rounds that were read this way.
        """
        spec = parse(text, "the study")
        if spec.get("format") != FORMAT:
            raise BadFile(f"this is not a study: its format is {spec.get('format')!r}, not {FORMAT!r}")
        if spec.get("version") != VERSION:
            raise BadFile(
                f"this study has version {spec.get('version')!r}; this program knows version {VERSION}"
            )
        required("the study", spec, _FIELDS)
        try:
            fields("a study", spec, _FIELDS)
            study = cls._from_spec(spec)
        except BadFile:
            raise
        except InvalidInput as error:
            raise BadFile(f"the study cannot be used: {error}") from None
        # Canonical text in, canonical text out: whatever is not understood fully is refused.
        if spec["id"] != study.id or canonical(spec) != study.to_json():
            raise BadFile(
                "the study was changed: its id does not belong to its contents, so it is not the study "
                "that was agreed on"
            )
        return study if first is None or study == first else study.following(first)

    @classmethod
    def _from_spec(cls, spec: Mapping[str, Any]) -> Study:
        if not isinstance(spec["domain"], list) or not isinstance(spec["protocol"], Mapping):
            raise BadFile("the study's domain must be a list and its protocol an object")
        if not isinstance(spec["seed"], str) or not re.fullmatch("[0-9a-f]{32}", spec["seed"]):
            raise BadFile("the study's seed must be 32 hexadecimal digits")
        loss = positive("epsilon", spec["epsilon"])
        domains = tuple(domain_from_json(each) for each in spec["domain"])
        statistic = statistic_from_json(spec["statistic"])
        if spec["protocol"].get("round", 1) == 1:
            whole_kernel(statistic)
        kind = PROTOCOLS[choice("protocol", spec["protocol"].get("name"), PROTOCOLS)]
        protocol = kind.from_json(statistic, statistic.placed(domains), spec["protocol"])
        if not protocol.epsilon <= loss:
            raise BadFile(
                f"the study promises epsilon {loss:g}, but its mechanism loses {protocol.epsilon:.6g}"
            )
        if spec["delta"] != protocol.delta:
            raise BadFile(
                f"the study's delta must be its protocol's, {protocol.delta!r}, not {spec['delta']!r}"
            )
        return cls(statistic, domains, protocol, loss, protocol.delta, int(spec["seed"], 16))

    def save(self, path: str | os.PathLike[str]) -> None:
        files.write(path, self.to_json().encode() + b"\n", "the study")

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, first: Study | None = None) -> Study:
        return cls.from_json(files.read(path, "the study"), first=first)

    def __eq__(self, other: object) -> bool:
        """Studies are equal when their ids are."""
        return isinstance(other, Study) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)
