"""What two servers promise a person, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...privacy import PrivacyClaim
from ..continuation import total_loss
from .budget import LAPLACE

if TYPE_CHECKING:
    from .shared import Shared

CURIOUS = (
    "your answer is split between two servers: neither learns it unless both work together, "
    "as long as each follows the protocol between them"
)
ANY = (
    "your answer is split between two servers: neither learns it unless both work together, "
    "whatever one of them does"
)
SITE = "the site that holds the records is trusted with them; "


def two_servers_claim(protocol: Shared, epsilon_asked: float, curious: bool) -> PrivacyClaim:
    """The claim of a release: of values against a curious server, of sums against any one server."""
    budget, values = protocol.budget, " and ".join(protocol.statistic.private_columns)
    theorem = (
        "discrete Laplace noise of each server for the whole claim: exact ratio e^epsilon"
        if budget.noise == LAPLACE
        else "discrete Gaussian noise of each server for the whole claim: "
        "Canonne, Kamath, Steinke 2020, theorem 14 and corollary 13"
    )
    several = (
        () if protocol.rounds == 1 else ("that the first round alone loses less than its share of epsilon",)
    )
    deviating = ("anything against a server that lies about its own sums",) if curious else ()
    trust, who, secret = CURIOUS if curious else ANY, "people answer", "taking part, or a public class,"
    whose, several_studies = "person", "the same value"
    if protocol.of_sites:
        trust = SITE + trust.replace("your answer is", "its answer is")
        who, secret = "sites answer", "how many records a site has, of each class,"
        whose, several_studies = "record", "the same records"
    return PrivacyClaim(
        epsilon=total_loss(protocol),
        epsilon_asked=epsilon_asked,
        delta=budget.delta,
        neighbours=f"any change of one {whose}'s {values}",
        rounds=protocol.rounds,
        trust=trust,
        theorem=theorem,
        not_promised=(
            "anything if the two servers work together",
            *deviating,
            *several,
            f"that several studies of {several_studies} add up to no more than one",
            f"that {who} truthfully",
            f"that {secret} stays secret",
        ),
        kind="central",
    )
