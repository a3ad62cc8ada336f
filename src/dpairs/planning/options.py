"""What could be done: for each protocol that fits, its best parameters and the error to expect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..domains import Domain, Integers, Interval
from ..errors import BadParameter, NotEstimable
from ..statistics import AUC, Statistic
from ..study import Study
from .predict import Prediction, predict
from .shapes import Shape

BINS, BINS_PAIR = (4, 8, 16, 32, 64), (3, 4, 6, 8, 12)
SHARES = (0.08, 0.12, 0.2, 0.3)
PARTNERS = (1, 2, 4, 8, 16)
TREE_BINS = 2**10
TRUST = {
    "histogram": "nobody",
    "tree": "nobody",
    "projection": "nobody",
    "pairwise": "a partner who follows the protocol",
}


@dataclass(frozen=True)
class Option:
    """One way to run the study, its error in parts, and what it asks of people."""

    protocol: str
    parameters: dict[str, Any]
    prediction: Prediction
    study: Study
    sizes: dict[str, int]

    @property
    def error(self) -> float:
        """The predicted standard error."""
        return self.prediction.total

    @property
    def bits(self) -> int:
        """What a person sends."""
        return max(1, (self.study.protocol.symbols - 1).bit_length())

    @property
    def rounds(self) -> int:
        """How often the collector asks; each person answers once."""
        return self.study.protocol.rounds

    @property
    def trust(self) -> str:
        """Whom a person has to trust."""
        return TRUST[self.protocol]

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "protocol": self.protocol,
            "parameters": self.parameters,
            **self.prediction.to_json(),
            "people": self.sizes,
            "epsilon": self.study.epsilon,
            "bits": self.bits,
            "rounds": self.rounds,
            "trust": self.trust,
        }


def options(
    statistic: Statistic,
    domains: tuple[Domain, ...],
    shapes: list[Shape],
    epsilon: float,
    sizes: Mapping[str, int],
    rounds: int,
    peers: bool,
    only: str | None = None,
) -> list[Option]:
    """The best of each protocol, the smallest error first; of several shapes the worst counts."""
    found: dict[str, Option] = {}
    for protocol, parameters in _candidates(statistic, domains, epsilon, sizes, rounds, peers):
        if only is not None and protocol != only:
            continue
        try:
            study = Study.create(
                statistic, protocol=protocol, epsilon=epsilon, domain=domains, seed=0, **parameters
            )
            worst = max(
                (predict(study.protocol, shape, sizes) for shape in shapes), key=lambda each: each.total
            )
        except (BadParameter, NotEstimable):
            continue
        made = Option(protocol, parameters, worst, study, dict(sizes))
        if protocol not in found or made.error < found[protocol].error:
            found[protocol] = made
    return sorted(found.values(), key=lambda each: each.error)


def _candidates(
    statistic: Statistic,
    domains: tuple[Domain, ...],
    epsilon: float,
    sizes: Mapping[str, int],
    rounds: int,
    peers: bool,
) -> Iterator[tuple[str, dict[str, Any]]]:
    n = sum(sizes.values())
    if statistic.name != "vus":
        if any(isinstance(domain, (Interval, Integers)) for domain in domains):
            for bins in BINS if len(domains) == 1 else BINS_PAIR:
                yield "histogram", {"bins": bins}
        else:
            yield "histogram", {}
            yield "histogram", {"mechanism": "krr"}
    if isinstance(statistic, AUC) and statistic.name == "auc" and statistic.labels == "public":
        yield "tree", {"bins": TREE_BINS} if isinstance(domains[0], Interval) else {}
        if epsilon > 1:
            yield (
                "tree",
                {"answer": "several-bits"}
                | ({"bins": TREE_BINS} if isinstance(domains[0], Interval) else {}),
            )
    if rounds > 1:
        for share in SHARES:
            yield "projection", {"pilot_fraction": share, "n": n}
    if peers:
        for partners in PARTNERS:
            yield "pairwise", {"pairs": partners}
