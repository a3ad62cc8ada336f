"""The recipe for two rounds: an honest toy, and toys whose promise does not hold for both rounds."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

import dpairs
from dpairs import BadFile, BadParameter, Interval, Participant, Study, Tally, WrongStudy, plan, simulate
from dpairs.mechanisms import BitResponse
from dpairs.privacy.concentrated import rho_for
from dpairs.protocols import PROTOCOLS, Prediction, Protocol, register_protocol
from dpairs.protocols.continuation import total_loss
from dpairs.simulate import simulate_round

from .plugins.around_mean import AroundMean, Distances
from .test_plugins import SIGMAS


@dataclass(frozen=True)
class Everybody(AroundMean):
    """The dishonest toy: both rounds ask everybody at the whole epsilon, so its errors look small."""

    name: ClassVar[str] = "everybody-twice"

    def asked(self, *place: Any) -> None:
        return None

    def predict(self, shape: Any, sizes: Any) -> Prediction:
        return Prediction(1e-9, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Again(Everybody):
    """It even says so, and still has the whole epsilon for each round."""

    name: ClassVar[str] = "again"
    asks_again: ClassVar[bool] = True


@dataclass(frozen=True)
class Stated(Again):
    """It states what both rounds lose together, and half of what they do."""

    name: ClassVar[str] = "stated"

    @property
    def loss(self) -> float:
        return self.epsilon


@dataclass(frozen=True)
class Split(Again):
    """It says that each round takes half of epsilon, and draws its bits at the whole."""

    name: ClassVar[str] = "split"

    @property
    def losses(self) -> tuple[float, ...]:
        return 0.5, 0.5


@dataclass(frozen=True)
class Unsaid(Again):
    """It says nothing of its second round."""

    name: ClassVar[str] = "unsaid"

    @property
    def losses(self) -> tuple[float, ...]:
        return (self.epsilon,)


@dataclass(frozen=True)
class Nothing(Again):
    """Its second round is said to lose nothing."""

    name: ClassVar[str] = "nothing"

    @property
    def losses(self) -> tuple[float, ...]:
        return self.epsilon, 0.0


@dataclass(frozen=True)
class Approximate(Again):
    """It has a delta, at which concentrated losses of both rounds add up to more than epsilon allows."""

    name: ClassVar[str] = "approximate"
    delta: float = 1e-6

    @property
    def losses(self) -> tuple[float, ...]:
        return (float(rho_for(self.epsilon, self.delta)),) * 2


@dataclass(frozen=True)
class Late(AroundMean):
    """Its first round is honest; the second asks those of the first again."""

    name: ClassVar[str] = "late"

    def next_round(self, *given: Any) -> Distances:
        second = super().next_round(*given)
        return Second(**vars(second))


@dataclass(frozen=True)
class Second(Distances):
    name: ClassVar[str] = "late"

    def asked(self, *place: Any) -> Any:
        return ~np.asarray(super().asked(*place))


@dataclass(frozen=True)
class Later(AroundMean):
    """Both rounds are honest about their first people, and ask all others twice."""

    name: ClassVar[str] = "later"

    def asked(self, coins: Any, stratum: int, first: int, count: int) -> Any:
        return np.asarray(super().asked(coins, stratum, first, count)) | (first + np.arange(count) >= 64)

    def next_round(self, *given: Any) -> Distances:
        return SecondLater(**vars(super().next_round(*given)))


@dataclass(frozen=True)
class SecondLater(Distances):
    name: ClassVar[str] = "later"

    def asked(self, coins: Any, stratum: int, first: int, count: int) -> Any:
        return np.asarray(super().asked(coins, stratum, first, count)) | (first + np.arange(count) >= 64)


@dataclass(frozen=True)
class Unnumbered(AroundMean):
    """It says that it has one round, so that nobody compares the two."""

    name: ClassVar[str] = "unnumbered"
    rounds: ClassVar[int] = 1

    def asked(self, *place: Any) -> None:
        return None

    def next_round(self, *given: Any) -> Distances:
        return SecondUnnumbered(**vars(super().next_round(*given)))


@dataclass(frozen=True)
class SecondUnnumbered(Distances):
    name: ClassVar[str] = "unnumbered"
    rounds: ClassVar[int] = 1

    def asked(self, *place: Any) -> None:
        return None


@dataclass(frozen=True)
class Understated(AroundMean):
    """It loses what it should, and claims less."""

    name: ClassVar[str] = "understated"

    def privacy(self, epsilon_asked: float) -> Any:
        return replace(super().privacy(epsilon_asked), epsilon=epsilon_asked / 2)


@dataclass(frozen=True)
class Half(Again):
    """Asks everybody twice, each time at half of epsilon: that is a promise kept."""

    name: ClassVar[str] = "half"

    @classmethod
    def create(cls, statistic: Any, domains: Any, epsilon: float, share: int = 16) -> Any:
        return super().create(statistic, domains, epsilon / 2, share)


@dataclass(frozen=True)
class Quarter(Everybody):
    """Asks everybody twice, first at a quarter of epsilon, then at the remainder."""

    name: ClassVar[str] = "quarter"
    asks_again: ClassVar[bool] = True

    @classmethod
    def create(cls, statistic: Any, domains: Any, epsilon: float, share: int = 16) -> Any:
        return super().create(statistic, domains, epsilon / 4, share)

    @property
    def losses(self) -> tuple[float, ...]:
        return self.epsilon, 1.0 - self.epsilon

    def next_round(self, study_id: str, coins: Any, counts: Any, epsilon: float) -> Any:
        remainder = super().next_round(study_id, coins, counts, epsilon * 3 / 4)
        return Remainder(**vars(remainder), losses=self.losses)


@dataclass(frozen=True)
class Remainder(Distances):
    """The second round of the toy above."""

    losses: tuple[float, ...] = ()
    name: ClassVar[str] = "quarter"
    asks_again: ClassVar[bool] = True

    def asked(self, *place: Any) -> None:
        return None

    def continues(self, first: Protocol) -> bool:
        return True

    def privacy(self, epsilon_asked: float) -> Any:
        return replace(super().privacy(epsilon_asked), epsilon=total_loss(self))


DISHONEST = {
    Everybody: "round 1 of this everybody-twice study asks everybody, .*each person may act in one round",
    Again: "loses epsilon 2 in all rounds of this again study, which promises 1",
    Stated: "loses epsilon 2 in all rounds of this stated study, which promises 1",
    Split: r"round 1 of this split study loses epsilon 1, and says that it loses 0\.5",
    Unsaid: "has to say what each round loses",
    Nothing: "what each round of this nothing study loses must be above 0",
    Approximate: "loses epsilon inf in all rounds",
    Understated: r"loses epsilon 1 .*claims 0\.5",
}
ASKED: dict[str, Any] = {"epsilon": 1.0, "domain": Interval(0, 7)}


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PROTOCOLS, "_kinds", dict(PROTOCOLS._kinds))
    for kind in (AroundMean, Half, Quarter, Late, Later, Unnumbered, *DISHONEST):
        register_protocol(kind)


def people(n: int) -> dict[str, Any]:
    return {"value": 7 * np.random.default_rng(1).beta(2, 3, n)}


def test_the_whole_flow_knows_two_rounds():
    study = Study.create("variance", protocol="around-mean", options={}, seed=1, **ASKED)
    assert Study.from_json(study.to_json()) == study
    truth, told = dpairs.exact("variance", people(60_000)), simulate(study, people(60_000), seed=2)
    assert abs(told.value - truth) < SIGMAS * told.standard_error
    assert told.standard_error < 0.15 * truth
    assert told.privacy.epsilon == pytest.approx(1.0)
    assert told.privacy.rounds == 2
    (option,) = plan("variance", n=60_000, protocol="around-mean", like=people(60_000), **ASKED).options
    assert option.error == pytest.approx(told.standard_error, rel=0.25)


def test_each_person_acts_in_one_of_both_rounds():
    study = Study.create("variance", protocol="around-mean", options={}, seed=1, **ASKED)
    second = study.next(simulate_round(study, people(512), seed=1))
    again = Study.from_json(second.to_json(), first=study)
    assert again.with_analysis(second.analysis_to_json() or "") == second
    tallies = {1: Tally(study), 2: Tally(second)}
    for index, value in enumerate(people(512)["value"].tolist()):
        asked = study if study.asks("everybody", index) else again
        assert asked.asks("everybody", index)
        tallies[asked.protocol.round].add(Participant(asked, index=index).report(value=value))
        other = again if asked is study else study
        with pytest.raises(dpairs.NotAsked):
            Participant(other, index=index)
    assert [tally.n for tally in tallies.values()] == [128, 384]
    assert tallies[2].estimate().n == 384


@pytest.mark.parametrize("kind", DISHONEST)
def test_a_promise_that_does_not_hold_for_both_rounds_is_refused(kind):
    wanted = DISHONEST[kind]
    with pytest.raises(BadParameter, match=wanted):
        Study.create("variance", protocol=kind.name, options={}, **ASKED)
    with pytest.raises(BadParameter, match=wanted):
        plan("variance", n=5000, protocol=kind.name, like="even", **ASKED)
    made = plan("variance", n=5000, like="even", **ASKED)
    offered = [option.protocol for option in made.options]
    assert kind.name not in offered
    assert kind.name in made.left_out
    # Control: the same protocol with an honest promise is offered.
    assert "around-mean" in offered


def test_a_dishonest_file_is_refused():
    honest = Study.create("variance", protocol="around-mean", options={}, seed=1, **ASKED)
    file = honest.to_json().replace('"around-mean"', '"again"')
    with pytest.raises(BadFile, match="loses epsilon 2 in all rounds"):
        Study.from_json(file)


@pytest.mark.parametrize("name", ["late", "later"])
def test_a_second_round_that_asks_the_same_people_is_refused_when_it_is_made(name):
    study = Study.create("variance", protocol=name, options={}, seed=1, **ASKED)
    with pytest.raises(WrongStudy, match="its share is not what was agreed to"):
        simulate(study, people(512), seed=1)


def test_a_second_round_of_a_study_of_one_is_refused():
    study = Study.create("variance", protocol="unnumbered", options={}, seed=1, **ASKED)
    counted = simulate_round(study, people(512), seed=1)
    with pytest.raises(BadParameter, match=r"has 1 round\(s\), and none of number 2"):
        study.next(counted)


def test_rounds_that_share_epsilon_may_ask_everybody():
    study = Study.create("variance", protocol="half", options={}, seed=1, **ASKED)
    assert study.protocol.epsilon == pytest.approx(0.5)
    assert total_loss(study.protocol) == pytest.approx(1.0)


def test_a_second_round_keeps_to_what_the_first_said_of_both():
    study = Study.create("variance", protocol="quarter", options={}, seed=1, **ASKED)
    second = study.next(simulate_round(study, people(512), seed=1))
    protocol: Any = second.protocol
    assert protocol.epsilon == pytest.approx(0.75)
    assert total_loss(protocol) == 1.0

    def other(epsilon: float, *losses: float) -> Study:
        response = BitResponse.for_epsilon(epsilon)
        return replace(second, protocol=replace(protocol, response=response, losses=losses))

    assert other(0.75, *study.protocol.losses).following(study).first == study
    with pytest.raises(BadParameter, match="round 2 of this quarter study loses epsilon 1"):
        other(1.0, *study.protocol.losses)
    with pytest.raises(WrongStudy, match="its share is not what was agreed to"):
        other(0.9, 0.1, 0.9).following(study)


def test_registration_refuses_what_a_class_alone_shows():
    three = type("Three", (AroundMean,), {"name": "three", "rounds": 3})
    with pytest.raises(BadParameter, match="a study has one round or two, not 3"):
        register_protocol(three)
    # What `create` gives need not be of the class that was registered.
    sly = {"name": "sly", "create": lambda *given: three(**vars(AroundMean.create(*given)))}
    register_protocol(type("Sly", (AroundMean,), sly))
    with pytest.raises(BadParameter, match="must be a whole number from 1 to 2, not 3"):
        Study.create("variance", protocol="sly", options={}, **ASKED)
    silent = type("Silent", (AroundMean,), {"name": "silent", "asked": Protocol.asked})
    with pytest.raises(BadParameter, match="of two rounds it has to say whom the first asks"):
        register_protocol(silent)
