"""What a collector can make a device answer: the study of the link, once, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

import dpairs
from dpairs import Interval, Ledger, Levels, Participant, Study, Tally
from dpairs.client import Device, join
from dpairs.errors import (
    AlreadyAnswered,
    BadFile,
    BadParameter,
    DpairsError,
    LimitExceeded,
    NotAsked,
    WrongStudy,
)
from dpairs.randomness import SeededRandomness

from ..studies import signed
from .dishonest import Dishonest, link_to, serving

DOMAIN = Levels(range(4))


def first_round(epsilon: float = 0.1, fraction: float = 0.5, seed: int = 1, **more: Any) -> Study:
    options: dict[str, Any] = {"domain": DOMAIN, "pilot": "histogram", **more}
    return Study.create(
        "gini_mean_difference",
        protocol="projection",
        epsilon=epsilon,
        pilot_fraction=fraction,
        seed=seed,
        **options,
    )


def second_round(first: Study) -> Study:
    tally = Tally(first)
    for index in range(640):
        if first.asks("everybody", index):
            bits = SeededRandomness(index)
            tally.add(Participant(first, index, bits=bits).report(value=index % 4))
    return first.next(tally)


def forged(second: Study, **changes: Any) -> Study:
    """A second round's file with parts changed, and the id that belongs to it: a valid study."""
    spec = json.loads(second.to_json())
    for path, value in changes.items():
        place = spec
        *parents, last = path.split("__")
        for each in parents:
            place = place[each]
        place[last] = value
    return Study.from_json(signed(spec))


def index_of(study: Study, asked: bool = True) -> int:
    return next(index for index in range(64) if study.asks("everybody", index) is asked)


# ---------------------------------------------------------------- hole 2: the link binds the study


def test_a_study_that_only_says_that_it_follows_is_not_answered(tmp_path):
    """Agreed to epsilon 0.1, answered at epsilon 30: a second round states its first round's id itself."""
    agreed = first_round(0.1)
    strong = forged(second_round(first_round(30.0)), protocol__first__study=agreed.id)
    assert strong.first_id == agreed.id
    for claimed in (None, agreed, first_round(30.0), strong):
        line = Dishonest(serving(strong, claimed, index=index_of(strong)))
        with pytest.raises(DpairsError):
            join(link_to(agreed.id), {"value": 2}, device=Device(tmp_path), transport=line, limit=100.0)
        assert line.sent == []


CHANGES = {
    "epsilon": lambda first: first_round(2.0),
    "statistic": lambda first: Study.create(
        "variance", protocol="projection", epsilon=1.0, domain=DOMAIN, pilot="histogram", pilot_fraction=0.5
    ),
    "domains": lambda first: first_round(1.0, domain=Levels(range(5))),
    "strata": lambda first: Study.create(
        "auc", protocol="projection", epsilon=1.0, domain=DOMAIN, pilot="histogram", pilot_fraction=0.5
    ),
    "share": lambda first: first_round(1.0, 0.25),
    "seed": lambda first: first_round(1.0, seed=2),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_second_round_of_another_study_is_refused(tmp_path, what):
    """The second round of a study that differs in one thing, under this study's name."""
    agreed = first_round(1.0)
    other = CHANGES[what](agreed)
    data: dict[str, Any] = {name: [0, 1, 2, 3] * 200 for name in other.statistic.private_columns}
    if len(other.strata) > 1:
        data["label"] = [0, 1, 1, 0] * 200
    second = dpairs.simulate_tally(other, data, seed=1).study
    strange = forged(second, protocol__first__study=agreed.id)
    with pytest.raises(WrongStudy, match=f"its {what} is not"):
        strange.following(agreed)
    stratum = strange.strata[0]
    index = next(each for each in range(64) if strange.asks(stratum, each))
    line = Dishonest(serving(strange, agreed, index=index, stratum=stratum))
    values = {"score": 1} if len(other.strata) > 1 else {"value": 1}
    with pytest.raises(WrongStudy):
        join(link_to(agreed.id), values, device=Device(tmp_path), transport=line, limit=100.0)
    assert line.sent == []


def test_a_weak_first_round_promises_no_less_than_its_second_may_lose(tmp_path):
    """Variant: both rounds name epsilon 4, but the first one's mechanism loses 0.1, and that was shown."""
    weak = json.loads(first_round(0.1).to_json())["protocol"]["pilot"]
    agreed = forged(first_round(4.0), protocol__pilot=weak)
    strong = forged(second_round(first_round(4.0)), protocol__first__study=agreed.id).following(agreed)
    assert agreed.protocol.epsilon < 0.11
    assert strong.privacy.epsilon > 3.9
    assert agreed.privacy.epsilon >= strong.privacy.epsilon
    line = Dishonest(serving(agreed, index=index_of(agreed)))
    with pytest.raises(LimitExceeded):
        join(link_to(agreed.id), {"value": 2}, device=Device(tmp_path), transport=line, limit=1.0)
    assert line.sent == []


def test_a_second_round_that_follows_is_answered(tmp_path):
    agreed = first_round(1.0)
    second = second_round(agreed)
    line = Dishonest(serving(second, agreed, index=index_of(second)))
    done = join(link_to(agreed.id), {"value": 2}, device=Device(tmp_path), transport=line)
    assert done.state == "counted"
    assert len(line.reports) == 1


def test_a_device_that_waits_answers_only_what_follows(tmp_path):
    """Variant: honest until the person has come back, then another study takes its place."""
    agreed, second = first_round(1.0), second_round(first_round(1.0))
    index = index_of(second)
    device = Device(tmp_path)
    link = link_to(agreed.id)
    waiting = join(link, {"value": 2}, device=device, transport=Dishonest(serving(agreed, index=index)))
    assert waiting.state == "waiting"
    for strange in (
        forged(second, epsilon=30),
        forged(second, protocol__first__share=1),
        first_round(1.0, seed=9),
    ):
        line = Dishonest(serving(strange, agreed, index=index))
        with pytest.raises((WrongStudy, BadFile)):
            join(link, {"value": 2}, device=device, transport=line)
        assert line.sent == []


def test_a_secret_goes_to_nobody_but_the_collector_that_gave_it(tmp_path):
    """Variant: somebody else serves the very same study, and would act as this person at the first."""
    study = Study.create("gini_mean_difference", epsilon=1.0, domain=DOMAIN, seed=1)
    heard: list[str | None] = []

    class Listening(Dishonest):
        def bytes(self, method: str, path: str, *more: Any, **options: Any) -> bytes:
            heard.append(more[1] if len(more) > 1 else options.get("token"))
            return super().bytes(method, path, *more, **options)

    device, line = Device(tmp_path), Dishonest(serving(study))
    assert join(link_to(study.id), {"value": 2}, device=device, transport=line).state == "counted"
    elsewhere = Listening(serving(study))
    elsewhere.base = "http://other.example"
    link = f"{elsewhere.base}/take-part/{study.id}"
    with pytest.raises(BadParameter, match=r"enrolled at http://dishonest\.example"):
        join(link, {"value": 2}, device=device, transport=elsewhere)
    assert set(heard) == {None}
    assert elsewhere.sent == []


def test_two_links_to_one_collector_are_two_answers_in_the_ledger(tmp_path):
    """Variant: many seeds of one study are many studies; the device's own ledger adds them up."""
    device, sent = Device(tmp_path), 0
    for seed in range(8):
        study = Study.create("gini_mean_difference", epsilon=1.0, domain=DOMAIN, seed=seed)
        line = Dishonest(serving(study))
        try:
            join(link_to(study.id), {"value": 2}, device=device, transport=line)
        except LimitExceeded:
            assert line.sent == []
        sent += len(line.reports)
    assert sent == 5  # without a limit said: the default, which is on


# ---------------------------------------------------------------- hole 3: the ledger


def test_after_a_finished_study_a_forged_second_round_costs_what_it_loses(tmp_path):
    """At epsilon 40 it was answered with the ledger unmoved, since its name was in the ledger."""
    agreed = first_round(1.0)
    strong = forged(second_round(first_round(40.0)), protocol__first__study=agreed.id)
    device = Device(tmp_path)
    first = Dishonest(serving(agreed, index=index_of(agreed)))
    assert join(link_to(agreed.id), {"value": 2}, device=device, transport=first).state == "counted"
    (device.home / f"{agreed.id}.json").unlink()  # a person who began anew
    line = Dishonest(serving(strong, agreed, index=index_of(strong)))
    with pytest.raises(DpairsError):
        join(link_to(agreed.id), {"value": 2}, device=device, transport=line)
    assert line.sent == []
    book = Ledger.load(device.home / "ledger.json")
    with pytest.raises(LimitExceeded):
        book.spend(strong)


def test_a_device_that_lost_its_notes_does_not_answer_again_for_free(tmp_path):
    """Variant: the same study, the device's file gone: the ledger alone refuses."""
    study = Study.create("gini_mean_difference", epsilon=1.0, domain=DOMAIN, seed=1)
    device = Device(tmp_path)
    for attempt in range(2):
        line = Dishonest(serving(study))
        if attempt == 0:
            join(link_to(study.id), {"value": 2}, device=device, transport=line)
        else:
            with pytest.raises(AlreadyAnswered):
                join(link_to(study.id), {"value": 2}, device=device, transport=line)
        assert len(line.reports) == 1 - attempt
        (device.home / f"{study.id}.json").unlink(missing_ok=True)


# ---------------------------------------------------------------- hole 4: delta


def almost_no_promise() -> Study:
    """A tree study that is (tiny, nearly 1)-private: all of the loss is in delta."""
    return Study.create(
        "auc",
        protocol="tree",
        splitting="budget-advanced",
        epsilon=0.005,
        delta=0.999999,
        domain=Interval(0, 1),
        bins=4,
        seed=1,
    )


def test_a_study_with_a_delta_does_not_pass_a_limit_on_epsilon(tmp_path):
    study = almost_no_promise()
    assert study.epsilon < 0.01
    person: dict[str, Any] = {"index": 0, "stratum": "positive"}
    with pytest.raises(LimitExceeded, match="delta"):
        Participant(study, **person, max_epsilon=0.01)
    line = Dishonest(serving(study, stratum="positive"))
    values, device = {"score": 0.5}, Device(tmp_path)
    link = link_to(study.id)
    with pytest.raises(LimitExceeded, match="delta"):
        join(link, values, stratum="positive", device=device, transport=line, max_epsilon=0.01)
    # Variant: allowed for this study, and still too much for the person's ledger.
    with pytest.raises(LimitExceeded, match="delta"):
        join(link, values, stratum="positive", device=device, transport=line, max_delta=0.9999999)
    assert line.sent == []
    Participant(study, **person, max_epsilon=0.01, max_delta=0.9999999)


# ---------------------------------------------------------------- hole 7: both rounds


def test_nobody_answers_both_rounds_of_a_crafted_share():
    """592 of 2,000 indices were asked twice by a second round whose share is another one."""
    first = first_round(1.0, 0.5)
    crafted = forged(second_round(first), protocol__first__share=13)
    twice = [
        each for each in range(2000) if first.asks("everybody", each) and crafted.asks("everybody", each)
    ]
    assert len(twice) > 500
    for index in twice[:50]:
        Participant(first, index)
        with pytest.raises(BadParameter, match="second round"):
            Participant(crafted, index)
    with pytest.raises(WrongStudy, match="its share is not"):
        Study.from_json(crafted.to_json(), first=first)


def test_a_second_round_without_its_first_is_not_answered():
    """Variant: honest as it may be, a file alone does not show whom its first round asked."""
    first = first_round(1.0)
    second = second_round(first)
    alone = Study.from_json(second.to_json())
    index = index_of(second)
    with pytest.raises(BadParameter, match="read it with its first"):
        Participant(alone, index)
    read = Study.from_json(second.to_json(), first=first)
    assert read == second == alone
    assert read.to_json() == alone.to_json()
    assert Participant(read, index).report(value=1).study == second
    with pytest.raises(NotAsked):
        Participant(read, index_of(first))
    # A first that is another study's is none.
    with pytest.raises(WrongStudy, match="its first round is not"):
        Study.from_json(second.to_json(), first=first_round(1.0, seed=7))
    with pytest.raises(WrongStudy, match="its round is not"):
        replace(first, seed=3).following(first)
