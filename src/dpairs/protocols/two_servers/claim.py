"""What two servers promise a person, in words."""

from __future__ import annotations

from ...privacy import PrivacyClaim
from ...statistics import Statistic
from .budget import LAPLACE, NoiseBudget

CURIOUS = (
    "your answer is split between two servers: neither learns it unless both work together, "
    "as long as each follows the protocol between them"
)
ANY = (
    "your answer is split between two servers: neither learns it unless both work together, "
    "whatever one of them does"
)


def two_servers_claim(
    statistic: Statistic,
    budget: NoiseBudget,
    epsilon: float,
    epsilon_asked: float,
    curious: bool,
    rounds: int,
) -> PrivacyClaim:
    """The claim of a release: of values against a curious server, of sums against any one server."""
    theorem = (
        "discrete Laplace noise of each server for the whole claim: exact ratio e^epsilon"
        if budget.noise == LAPLACE
        else "discrete Gaussian noise of each server for the whole claim: "
        "Canonne, Kamath, Steinke 2020, theorem 14 and corollary 13"
    )
    several = () if rounds == 1 else ("that the first round alone loses less than its share of epsilon",)
    deviating = ("anything against a server that lies about its own sums",) if curious else ()
    return PrivacyClaim(
        epsilon=epsilon,
        epsilon_asked=epsilon_asked,
        delta=budget.delta,
        neighbours=f"any change of one person's {' and '.join(statistic.private_columns)}",
        rounds=rounds,
        trust=CURIOUS if curious else ANY,
        theorem=theorem,
        not_promised=(
            "anything if the two servers work together",
            *deviating,
            *several,
            "that several studies of the same value add up to no more than one",
            "that people answer truthfully",
            "that taking part, or a public class, stays secret",
        ),
        kind="central",
    )
