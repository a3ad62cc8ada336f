"""Promises of a user's own protocol that no check saw once: each toy breaks one of them."""

import math
from dataclasses import dataclass, fields, replace
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from dpairs import BadParameter, Interval, NotAsked, Participant, Study, WrongStudy, plan
from dpairs.collector.views import _asked
from dpairs.protocols import PROTOCOLS, FirstRound, Pairwise, register_protocol
from dpairs.protocols.continuation import ANY_COINS, total_loss
from dpairs.protocols.rounds import asked_first
from dpairs.protocols.two_servers.pilot_round import PilotRound
from dpairs.randomness.coins import Coins
from dpairs.simulate import simulate_round

from .plugins.around_mean import AroundMean, Distances
from .plugins.site_moments import SiteMoments

ASKED: dict[str, Any] = {"epsilon": 1.0, "domain": Interval(0, 7)}


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PROTOCOLS, "_kinds", dict(PROTOCOLS._kinds))


def begun(kind: type[FirstRound]) -> Study:
    register_protocol(kind)
    return Study.create("variance", protocol=kind.name, options={}, seed=1, **ASKED)


def people(count: int = 512) -> dict[str, Any]:
    return {"value": np.linspace(0, 7, count)}


class Shared:
    """Says that it asks a part of the people in each of two rounds."""

    rounds: ClassVar[int] = 2
    asks_again: ClassVar[bool] = False

    def asked(self, coins: Coins, stratum: int, first: int, count: int) -> Any:
        return asked_first(coins, stratum, first, count, 16)


def sharing(base: type[Any]) -> type[Any]:
    """A protocol that says so, of those who answer ``base``."""
    return dataclass(frozen=True, eq=False)(type("Sharing", (Shared, base), {"name": "sharing"}))


@pytest.mark.parametrize("base", [SiteMoments, Pairwise])
def test_only_people_who_answer_alone_act_in_one_of_two_rounds(base):
    kind = sharing(base)
    with pytest.raises(BadParameter, match="'sharing' cannot be registered: only people who answer alone"):
        register_protocol(kind)
    PROTOCOLS._kinds["sharing"] = kind
    with pytest.raises(BadParameter, match="only people who answer alone"):
        Study.create("variance", protocol="sharing", options={}, **ASKED)


def test_shares_for_two_servers_are_sent_in_both_rounds():
    asked: dict[str, Any] = {"protocol": "two_servers", "rounds": 2, **ASKED}
    honest = Study.create("gini_mean_difference", **asked)
    assert isinstance(honest.protocol, PilotRound)
    given = {one.name: getattr(honest.protocol, one.name) for one in fields(PilotRound)}
    protocol = sharing(PilotRound)(**given)
    with pytest.raises(BadParameter, match="only people who answer alone"):
        replace(honest, protocol=protocol)


@dataclass(frozen=True)
class Hole(AroundMean):
    """Both rounds ask everybody of a few blocks that no comparison of some blocks sees."""

    name: ClassVar[str] = "hole"

    def asked(self, coins: Any, stratum: int, first: int, count: int) -> Any:
        return np.asarray(super().asked(coins, stratum, first, count)) | hidden(first, count)

    def next_round(self, *given: Any) -> Distances:
        return SecondHole(**vars(super().next_round(*given)))


@dataclass(frozen=True)
class SecondHole(Distances):
    name: ClassVar[str] = "hole"

    def asked(self, coins: Any, stratum: int, first: int, count: int) -> Any:
        return np.asarray(super().asked(coins, stratum, first, count)) | hidden(first, count)


def hidden(first: int, count: int) -> Any:
    index = first + np.arange(count)
    return (index >= 3 * 64) & (index < 7 * 64)


def test_a_device_that_the_first_round_asks_refuses_the_second():
    study = begun(Hole)
    second = study.next(simulate_round(study, people(), seed=1))
    for index in range(512):
        Participant(study if study.asks("everybody", index) else second, index=index)
        if 192 <= index < 448:
            with pytest.raises(WrongStudy, match=f"participant {index} .* is asked in the first round, too"):
                Participant(second, index=index)
        elif study.asks("everybody", index):
            with pytest.raises(NotAsked):
                Participant(second, index=index)


@dataclass(frozen=True)
class Coy(AroundMean):
    """Asks a part of the people by the coins that checks take, and everybody by a study's own."""

    name: ClassVar[str] = "coy"

    def asked(self, coins: Any, *place: Any) -> Any:
        return super().asked(coins, *place) if coins == ANY_COINS else None

    def next_round(self, *given: Any) -> Distances:
        return SecondCoy(**vars(super().next_round(*given)))


@dataclass(frozen=True)
class SecondCoy(Distances):
    name: ClassVar[str] = "coy"

    def asked(self, coins: Any, *place: Any) -> Any:
        return super().asked(coins, *place) if coins == ANY_COINS else None

    def continues(self, first: Any) -> bool:
        return True


@dataclass(frozen=True)
class Lonely(AroundMean):
    """Its first round says that losses add up, and the second does not, so nobody adds them."""

    name: ClassVar[str] = "lonely"
    asks_again: ClassVar[bool] = True

    @classmethod
    def create(cls, statistic: Any, domains: Any, epsilon: float, share: int = 16) -> Any:
        return super().create(statistic, domains, epsilon / 2, share)

    def asked(self, *place: Any) -> None:
        return None

    def next_round(self, *given: Any) -> Distances:
        return SecondLonely(**vars(super().next_round(*given)), losses=self.losses)


@dataclass(frozen=True)
class SecondLonely(SecondCoy):
    losses: tuple[float, ...] = ()
    name: ClassVar[str] = "lonely"


@dataclass(frozen=True)
class Sometimes(Lonely):
    """Says that losses add up, and asks nobody of the second block in the second round."""

    name: ClassVar[str] = "sometimes"

    def next_round(self, study_id: str, coins: Any, counts: Any, epsilon: float) -> Any:
        second = AroundMean.next_round(self, study_id, coins, counts, epsilon / 2)
        return SecondSometimes(**vars(second), losses=self.losses)


@dataclass(frozen=True)
class SecondSometimes(SecondLonely):
    name: ClassVar[str] = "sometimes"
    asks_again: ClassVar[bool] = True

    def asked(self, coins: Any, stratum: int, first: int, count: int) -> Any:
        return np.zeros(count, dtype=bool) if first == 64 else None

    def privacy(self, epsilon_asked: float) -> Any:
        return replace(super().privacy(epsilon_asked), epsilon=total_loss(self))


@pytest.mark.parametrize("kind", [Coy, Lonely, Sometimes])
def test_both_rounds_say_that_losses_add_up_and_ask_everybody_or_neither_does(kind):
    study = begun(kind)
    counted = simulate_round(study, people(), seed=1)
    with pytest.raises(WrongStudy, match="its share is not what was agreed to"):
        study.next(counted)


def test_a_collector_shows_that_both_rounds_ask_everybody():
    """Of a protocol whose losses add up, its page failed."""
    enrolled: Any = SimpleNamespace(of_sites=False, of_pairs=False, strata=("everybody",), next_index=[100])
    assert _asked(enrolled, begun(Lonely)) == {"everybody": 100}
    # Control: a share of every 64 otherwise.
    assert _asked(enrolled, begun(AroundMean))["everybody"] in range(16, 33)


@dataclass(frozen=True)
class Numbers(AroundMean):
    """Says 0 and 1, which an index of a column takes for places."""

    name: ClassVar[str] = "numbers"

    def asked(self, *place: Any) -> Any:
        return np.asarray(super().asked(*place)).astype(int)


@dataclass(frozen=True)
class Short(AroundMean):
    """Says nothing of the last."""

    name: ClassVar[str] = "short"

    def asked(self, *place: Any) -> Any:
        return np.asarray(super().asked(*place))[:-1]


@dataclass(frozen=True)
class Listed(AroundMean):
    """Says it in a list, which differs from an array as a whole."""

    name: ClassVar[str] = "listed"

    def asked(self, *place: Any) -> Any:
        return np.asarray(super().asked(*place)).tolist()


WRONG = "has to say of each of 64 people whether they are asked"


@pytest.mark.parametrize("kind", [Numbers, Short, Listed])
def test_whom_a_round_asks_is_said_in_truth_values_of_everybody(kind):
    with pytest.raises(BadParameter, match=f"round 1 of this {kind.name} study {WRONG}"):
        begun(kind)


def test_whom_a_second_round_asks_is_said_in_truth_values_too():
    """With 2 for some of those whom the first asks, no number of one round is the other's."""

    @dataclass(frozen=True)
    class Second(Distances):
        name: ClassVar[str] = "twice"

        def asked(self, coins: Any, stratum: int, first: int, count: int) -> Any:
            odd = np.arange(first, first + count) % 2
            return np.where(np.asarray(super().asked(coins, stratum, first, count)), 1, 2 * odd)

    @dataclass(frozen=True)
    class Twice(AroundMean):
        name: ClassVar[str] = "twice"

        def next_round(self, *given: Any) -> Distances:
            return Second(**vars(super().next_round(*given)))

    study = begun(Twice)
    counted = simulate_round(study, people(), seed=1)
    with pytest.raises(BadParameter, match=f"round 2 of this twice study {WRONG}"):
        study.next(counted)


@dataclass(frozen=True)
class Delta(AroundMean):
    """Has a delta, and claims none."""

    name: ClassVar[str] = "delta"
    delta: float = 0.01


@dataclass(frozen=True)
class NoDelta(AroundMean):
    name: ClassVar[str] = "no-delta"
    delta: float = math.nan


@dataclass(frozen=True)
class Nan(AroundMean):
    """Has no number for its loss."""

    name: ClassVar[str] = "nan"
    asks_again: ClassVar[bool] = True
    epsilon: ClassVar[float] = math.nan
    losses: ClassVar[tuple[float, ...]] = (0.5, 0.5)

    def asked(self, *place: Any) -> None:
        return None


@dataclass(frozen=True)
class Unclaimed(AroundMean):
    """Has no number for its claim."""

    name: ClassVar[str] = "unclaimed"

    def privacy(self, epsilon_asked: float) -> Any:
        return replace(super().privacy(epsilon_asked), epsilon=math.nan)


@dataclass(frozen=True)
class Low(AroundMean):
    """Loses a tenth in the first round and claims that; the second may lose all."""

    name: ClassVar[str] = "low"

    @classmethod
    def create(cls, statistic: Any, domains: Any, epsilon: float, share: int = 16) -> Any:
        return super().create(statistic, domains, epsilon / 10, share)

    def privacy(self, epsilon_asked: float) -> Any:
        return replace(super().privacy(epsilon_asked), epsilon=self.epsilon)


PROMISED = {
    Low: "the first round of this low study claims 0.1, and the second, .* may lose all of epsilon 1",
    Delta: "may break its promise with probability 0.01, and claims 0",
    NoDelta: "the delta of this no-delta study must be a finite number, not nan",
    Nan: "the epsilon of this nan study must be a finite number, not nan",
    Unclaimed: "the epsilon that this unclaimed study claims must be a finite number, not nan",
}


@pytest.mark.parametrize("kind", PROMISED)
def test_what_is_claimed_is_a_number_and_not_below_what_is_lost(kind):
    with pytest.raises(BadParameter, match=PROMISED[kind]):
        begun(kind)


def test_a_claim_of_the_same_delta_is_taken():
    """Control: what is refused above is the claim, not the delta."""

    @dataclass(frozen=True)
    class Claimed(Delta):
        name: ClassVar[str] = "claimed"

        def privacy(self, epsilon_asked: float) -> Any:
            return replace(super().privacy(epsilon_asked), delta=self.delta)

    assert begun(Claimed).privacy.delta == 0.01


@dataclass(frozen=True)
class Breaking(AroundMean):
    """Its second round loses twice what was agreed to."""

    name: ClassVar[str] = "breaking"

    def next_round(self, study_id: str, coins: Any, counts: Any, epsilon: float) -> Distances:
        return super().next_round(study_id, coins, counts, 2 * epsilon)


@pytest.mark.parametrize(
    ("kind", "why"),
    [(Coy, "its share is not what was agreed to"), (Breaking, "a person loses epsilon 2 in all rounds")],
)
def test_a_plan_leaves_out_a_protocol_whose_second_round_is_refused(kind, why):
    register_protocol(AroundMean)
    register_protocol(kind)
    asked: dict[str, Any] = {"like": people(), **ASKED}
    made = plan("variance", n=1000, **asked)
    assert why in made.left_out[kind.name]
    assert {"around-mean", "histogram"} <= {option.protocol for option in made.options}
    for goal in ({"n": 1000}, {"error": 2 * made.options[0].error}):
        with pytest.raises(BadParameter, match=why):
            plan("variance", protocol=kind.name, **goal, **asked)
