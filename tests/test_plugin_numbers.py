"""What a protocol says of its losses are numbers, and nothing that only compares like one."""

import math
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpairs import BadParameter, Interval, Ledger, Study, WrongStudy
from dpairs.protocols import Protocol
from dpairs.protocols.continuation import check_promise, total_loss

from .every import every
from .plugins.around_mean import AroundMean, Distances
from .plugins.moments import Moments

STATISTIC = Study.create("variance", epsilon=1.0, domain=Interval(0, 7), bins=4, seed=1).statistic
NUMBERS = (-5.0, 0, 0.0, -math.inf, math.inf, math.nan, np.float64("nan"), 10**400)
OTHERS = (True, np.True_, "0.5", b"1", None, 1j, [0.5], (), iter([0.5]), np.array([0.5]), np.array(0.5))
AGAIN: dict[str, Any] = {"asks_again": True, "asked": Protocol.asked}


def toy(base: type[Any] = Moments, **said: Any) -> Protocol:
    """A protocol that is honest but for what it ``said``."""
    made = base.create(STATISTIC, (Interval(0, 7),), 1.0)
    protocol: Protocol = type("Toy", (base,), {"name": "toy", **said})(**vars(made))
    return protocol


def claiming(**claim: Any) -> Protocol:
    return toy(privacy=lambda self, asked: replace(Moments.privacy(self, asked), **claim))


def refused(protocol: Protocol, epsilon: float = 1.0) -> None:
    with pytest.raises(BadParameter):
        check_promise(protocol, epsilon)


@every("epsilon", (*NUMBERS, *OTHERS))
def test_an_epsilon_is_a_number_above_0(epsilon):
    refused(toy(epsilon=epsilon))
    refused(claiming(epsilon=epsilon))
    refused(toy(), epsilon)
    refused(toy(AroundMean, **AGAIN, epsilon=0.5, losses=(0.5, epsilon)))
    with pytest.raises(BadParameter):
        total_loss(toy(epsilon=epsilon))


@every("delta", (-5.0, -math.inf, math.inf, math.nan, 1.0, 5.0, 1, 10**400, *OTHERS))
def test_a_delta_is_a_number_from_0_to_below_1(delta):
    """A claim of the same delta does not make it one."""

    def claim(self: Any, asked: float) -> Any:
        return replace(Moments.privacy(self, asked), delta=delta)

    refused(toy(delta=delta, privacy=claim))
    refused(claiming(delta=delta))


@every("number", (0.5, np.float16(0.5), np.float32(0.5), np.float64(0.5), np.longdouble(0.5)))
def test_numbers_of_numpy_are_taken(number):
    """Control: what is refused above is no number."""
    check_promise(toy(epsilon=number), 1.0)
    check_promise(claiming(epsilon=2 * number, delta=number), 1.0)
    check_promise(toy(AroundMean, **AGAIN, epsilon=number, losses=(number, number)), 1.0)
    check_promise(claiming(epsilon=np.int64(1), delta=np.int64(0)), 1)


def test_a_short_float_is_compared_as_what_it_is():
    """Of half the digits, 1 is not above 0.9998."""
    assert np.float16(1.0) <= 0.9998
    refused(toy(epsilon=np.float16(1.0)), 0.9998)
    refused(toy(AroundMean, **AGAIN, epsilon=0.5, losses=np.array([0.5, 0.5], np.float16)), 0.9998)


@every("losses", (None, 0.5, "01", iter([0.5, 0.5]), {0.5: 1, 0.25: 1}, [0.5], np.array(1.0), np.eye(2) / 2))
def test_losses_are_listed(losses):
    refused(toy(AroundMean, **AGAIN, epsilon=0.5, losses=losses))


@every("listed", (list, np.array, lambda losses: tuple(map(np.float32, losses))))
def test_losses_are_the_same_however_they_are_listed(listed):
    """An array that was compared as a whole ended in a ValueError, a list was no tuple."""
    losses, given = (0.25, 0.75), {"epsilon": 0.25, **AGAIN, "continues": lambda self, first: True}
    first = Study(STATISTIC, (Interval(0, 7),), toy(AroundMean, **given, losses=losses), 1.0, 0.0, 1)

    def later(losses: Any) -> Study:
        said = {**given, "losses": losses, "privacy": lambda self, asked: first.privacy}
        start: Any = first.protocol
        made = Distances(start.statistic, start.domains, start.response, start.share, first.id)
        protocol = type("Later", (Distances,), {"name": "toy", **said})(**vars(made))
        return replace(first, protocol=protocol)

    assert later(listed(losses)).following(first).first == first
    with pytest.raises(WrongStudy, match="its share is not what was agreed to"):
        later(listed((0.375, 0.625))).following(first)


def test_a_split_as_contributors_are_told_adds_up_exactly():
    rng, above = np.random.default_rng(1), 0
    for epsilon, part in zip(rng.uniform(0, 4, 1000).tolist(), rng.random(1000).tolist(), strict=True):
        later = epsilon - part * epsilon
        assert Fraction(epsilon - later) + Fraction(later) == Fraction(epsilon)
        above += math.fsum((part * epsilon, (1 - part) * epsilon)) > epsilon
    assert above > 10, "control: the product is rounded upwards"


@every("number", (*NUMBERS, *OTHERS, 1.0, 3, "1"))
def test_rounds_are_counted_in_whole_numbers(number):
    refused(toy(AroundMean, rounds=number) if number != 1.0 else toy(rounds=number))
    refused(toy(AroundMean, round=number))


@every("claim", (None, 1.0, SimpleNamespace(epsilon=1.0, delta=0.0)))
def test_a_claim_is_one(claim):
    with pytest.raises(BadParameter, match="the privacy of this toy study must be a PrivacyClaim"):
        check_promise(toy(privacy=lambda self, asked: claim), 1.0)


@every("claimed", ({"epsilon": -5.0}, {"epsilon": 0.0}, {"epsilon": "1"}, {"delta": -0.5}, {"delta": 1.0}))
def test_a_ledger_gives_no_credit(claimed):
    study: Any = SimpleNamespace(id="0" * 64, privacy=replace(toy().privacy(1.0), **claimed))
    book = Ledger(limit=1.0, delta=0.5)
    with pytest.raises(BadParameter, match="of a study must be"):
        book.spend(study)
    assert not book.spent


def test_a_ledger_keeps_plain_numbers():
    claimed: dict[str, Any] = {"epsilon": np.float32(0.5), "delta": np.float32(0.0)}
    study: Any = SimpleNamespace(id="0" * 64, privacy=replace(toy().privacy(1.0), **claimed))
    book = Ledger(limit=1.0)
    book.spend(study)
    assert Ledger.from_json(book.to_json()) == book
