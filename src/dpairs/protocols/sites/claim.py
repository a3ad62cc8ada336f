"""What a site promises the people whose records it holds, in words."""

from __future__ import annotations

from ...privacy import PrivacyClaim
from ...statistics import Statistic
from ..two_servers.budget import LAPLACE, NoiseBudget
from .unit import PERSON, Unit

TRUST = "the site that holds the records is trusted with them and adds the noise; nobody else is trusted"


def sites_claim(
    statistic: Statistic, unit: Unit, budget: NoiseBudget, epsilon: float, epsilon_asked: float, rounds: int
) -> PrivacyClaim:
    """The claim of one site's answers, of all rounds together."""
    theorem = (
        "discrete Laplace noise of the site on all its answers: exact ratio e^epsilon"
        if budget.noise == LAPLACE
        else "discrete Gaussian noise of the site on all its answers: "
        "Canonne, Kamath, Steinke 2020, theorem 14 and corollary 13"
    )
    known = (
        () if unit.hide_sizes else (f"that how many records a site has{_of_classes(statistic)} stays secret",)
    )
    several = () if rounds == 1 else ("that the first round alone loses less than its share of epsilon",)
    whose = "a person" if unit.kind == PERSON else "one person with several records, or"
    return PrivacyClaim(
        epsilon=epsilon,
        epsilon_asked=epsilon_asked,
        delta=budget.delta,
        neighbours=unit.neighbours(statistic),
        rounds=rounds,
        trust=TRUST,
        theorem=theorem,
        not_promised=(
            *known,
            *several,
            f"that {whose} with records at several sites loses no more than at one",
            "that several studies of the same records add up to no more than one",
            "that sites answer truthfully",
            "that a site's taking part stays secret",
        ),
        kind=f"{unit.kind}-level",
    )


def _of_classes(statistic: Statistic) -> str:
    return " of each class" if len(statistic.strata) > 1 else ""
