"""The sides of a round: what people do alone or in pairs, what two servers do, and what sites do.

Each function gives a study's protocol as the one that has that side, and refuses any other in a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import BadParameter, NotAsked, NotEstimable
from .base import PAIRS, PEOPLE, SHARES, SITES, Alone, InPairs, OfSymbols, Protocol, Tallied
from .sites.by_sites import BySites
from .two_servers.shared import Shared

if TYPE_CHECKING:
    from ..study import Study

_NOT_ALONE = {
    PEOPLE: "people of this study send shares of their values and randomize nothing",
    PAIRS: "nobody answers a study of pairs alone: two people compute one report together",
    SITES: "this study asks sites, each for all its records: see dpairs.client.Site",
}


def alone(study: Study) -> Alone:
    """The side of a person who answers alone."""
    if not isinstance(study.protocol, Alone):
        raise NotAsked(_NOT_ALONE[study.protocol.answered_by])
    return study.protocol


def of_symbols(study: Study) -> OfSymbols:
    """The side of a collector that counts symbols."""
    if not isinstance(study.protocol, OfSymbols):
        tallied(study)
        raise BadParameter(
            "reports of this study are shares and no symbols: each server adds up its own, see dpairs server"
        )
    return study.protocol


def estimable(study: Study) -> OfSymbols:
    """The side of an analyst whose counts are enough for an estimate."""
    if study.protocol.sends == SHARES:
        raise NotEstimable(
            "one server's tally says nothing by itself: an estimate is made from what both servers release"
        )
    return of_symbols(study)


def collected(study: Study) -> Protocol:
    """The side of a collector, which sees all answers."""
    if study.protocol.sends == SHARES:
        raise BadParameter("a collector is one server: a two_servers study needs two, see `dpairs server`")
    return study.protocol


def asks_sites(study: Study) -> Protocol:
    """The side of whoever holds many people's records: noisy numbers of them, or shares."""
    if not study.protocol.of_sites:
        raise BadParameter(f"this {study.protocol.name} study asks people, not sites")
    return study.protocol


def tallied(study: Study) -> Tallied:
    """The side of whoever adds answers up."""
    if not isinstance(study.protocol, Tallied):
        raise BadParameter("answers of sites are kept by site, and are no reports: see dpairs.SiteTally")
    return study.protocol


def in_pairs(study: Study) -> InPairs:
    """The side of two people who compute together."""
    if not isinstance(study.protocol, InPairs):
        raise BadParameter(
            f"this is a study of the {study.protocol.name} protocol, in which nobody has a partner"
        )
    return study.protocol


def shared(study: Study) -> Shared:
    """The sides of those who split answers, and of the two servers that add them up."""
    if not isinstance(study.protocol, Shared):
        raise BadParameter(f"a {study.protocol.name} study has no servers that release anything")
    return study.protocol


def by_sites(study: Study) -> BySites:
    """The side of sites that answer once for all their records."""
    if not isinstance(study.protocol, BySites):
        asks_sites(study)
        raise BadParameter(f"sites answer this {study.protocol.name} study in shares for two servers")
    return study.protocol


def next_round(study: Study, counts: Mapping[str, Any]) -> Protocol:
    """The side of an analyst who goes on: the protocol of the round that follows these counts."""
    following = study.protocol.next_round(study.id, study.coins, counts, study.epsilon)
    if following is None:
        raise BadParameter(f"a {study.protocol.name} study ends with this round: there is no next one")
    return following


def analysed(study: Study, spec: Any) -> Protocol:
    """The side of the analyst of a later round: its protocol with what the first showed."""
    protocol = study.protocol.with_analysis(spec)
    if protocol is None:
        raise BadParameter(f"this round of a {study.protocol.name} study needs no analysis of an earlier one")
    return protocol
