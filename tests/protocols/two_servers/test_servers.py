"""Everything for real in one process: shares, proofs, verification, sums, products, release."""

from typing import Any

import numpy as np
import pytest

import dpairs
from dpairs import (
    BadMessage,
    BadParameter,
    BadValue,
    Interval,
    Kernel,
    Levels,
    Participant,
    Release,
    Study,
    Tally,
)
from dpairs.errors import AlreadyAnswered, BadFile, NotEstimable, WrongStudy
from dpairs.protocols.two_servers.goldilocks import MODULUS
from dpairs.protocols.two_servers.released import Numbers
from dpairs.randomness import SeededRandomness

pytest.importorskip("numba")
servers = pytest.importorskip("dpairs.servers.steps")
from dpairs.shares import Share, SharedReport, context_of, share_report  # noqa: E402

UNIT = Interval(0, 1)
KEY = bytes(32)
RNG = np.random.default_rng(5)
SCORES = np.round(RNG.random(24), 3)
LABELS = np.arange(24) % 2
NEAR = Kernel(lambda a, b: np.abs(a - b) < 0.1, range=(0, 1), domain=UNIT)
CASES: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    "auc": ("auc", {"domain": UNIT, "bins": 16}, {"score": SCORES, "label": LABELS}),
    "measured": ("auc", {"domain": UNIT, "bins": 8, "n": 2000}, {"score": SCORES, "label": LABELS}),
    "kernel": (NEAR, {"bins": 8, "n": 2000}, {"value": SCORES}),
    "private labels": (
        "auc",
        {"domain": UNIT, "bins": 8, "labels": "private"},
        {"score": SCORES, "label": LABELS},
    ),
    "tau-b": (
        "kendall_tau",
        {"domain": (UNIT, Levels(range(3))), "bins": 4, "variant": "b"},
        {"x": SCORES, "y": np.arange(24) % 3},
    ),
    "gini": ("gini_coefficient", {"domain": UNIT, "bins": 8}, {"value": SCORES}),
    "gaussian": (
        "variance",
        {"domain": UNIT, "bins": 8, "noise": "gaussian", "delta": 1e-6},
        {"value": SCORES},
    ),
    "counts": ("auc", {"domain": UNIT, "bins": 8, "release": "counts"}, {"score": SCORES, "label": LABELS}),
    "two rounds": ("auc", {"domain": UNIT, "bins": 4, "rounds": 2}, {"score": SCORES, "label": LABELS}),
}


def study_of(name, epsilon=40.0):
    statistic, options, data = CASES[name]
    return Study.create(statistic, protocol="two_servers", epsilon=epsilon, **options), data


@pytest.mark.parametrize("name", CASES)
def test_real_servers_release_what_the_ideal_releases(name):
    study, data = study_of(name)
    ideal = dpairs.simulate_release(study, data, seed=3)
    real = dpairs.simulate_release(study, data, seed=3, crypto="real")
    assert real.to_json() == ideal.to_json()
    assert Release.from_json(ideal.to_json(), ideal.study).to_json() == ideal.to_json()
    assert dpairs.simulate(study, data, seed=3).value == ideal.estimate().value
    assert Study.from_json(ideal.study.to_json()) == ideal.study


class Pair:
    """Two servers and the shares that reached them."""

    def __init__(self, study):
        self.study = study
        self.leader, self.helper = (servers.Server(study, number, KEY) for number in (0, 1))
        self.inboxes: tuple[list[Share], list[Share]] = ([], [])

    def send(self, report):
        for inbox, share in zip(self.inboxes, report.shares, strict=True):
            inbox.append(share)

    def tallies(self):
        begun = self.leader.begin(self.inboxes[0])
        second, answers = self.helper.answer(self.inboxes[1], begun)
        return self.leader.finish(self.inboxes[0], answers), second

    def histogram(self, stratum):
        first, second = (servers.counts_of(tally, stratum).vector for tally in self.tallies())
        return [(a + b) % MODULUS for a, b in zip(first, second, strict=True)]


def small():
    return Study.create("auc", protocol="two_servers", epsilon=1.0, domain=UNIT, bins=4)


def honest(study, count=6):
    pair = Pair(study)
    for index in range(count):
        stratum = study.strata[index % 2]
        pair.send(Participant(study, index, stratum).report(score=0.1 + 0.15 * index))
    return pair


def test_a_participant_sends_two_shares_and_neither_alone_says_anything():
    study = small()
    person = Participant(study, 3, "positive", bits=SeededRandomness(1))
    report: Any = person.report(score=0.6)
    assert isinstance(report, SharedReport)
    first, second = report.shares
    assert (first.server, second.server, first.nonce) == (0, 1, second.nonce)
    assert Share.from_bytes(bytes(first), study) == first
    assert Share.from_json(second.to_json(), study) == second
    assert "payload" not in repr(first)
    with pytest.raises(AlreadyAnswered):
        person.report(score=0.6)
    with pytest.raises(BadParameter, match="no symbol"):
        Tally(study).add(report)
    # The second share is seeds, drawn before the value is looked at.
    other: Any = Participant(study, 3, "positive", bits=SeededRandomness(1)).report(score=0.1)
    assert other.shares[1].payload == second.payload


def test_tallies_are_shares_of_the_histogram_and_say_nothing_alone():
    pair = honest(small())
    first, second = pair.tallies()
    assert first.sizes == second.sizes == {"positive": 3, "negative": 3}
    assert pair.histogram("positive") == [1, 1, 1, 0]
    with pytest.raises(NotEstimable, match="says nothing"):
        first.estimate()
    with pytest.raises(BadParameter, match="never added up"):
        first + second
    again = Tally.from_json(first.to_json(), pair.study)
    assert again == first
    assert (again + Tally(pair.study)).sizes == first.sizes


def test_a_cheater_weighs_at_most_one_person():
    """Vectors that are not one-hot are refused; a valid one counts once, however often it is sent."""
    study = small()
    pair = honest(study)
    before = pair.histogram("positive")
    protocol: Any = study.protocol
    vdaf, context = protocol.vdaf["positive"], context_of(study, "positive")
    forged = {
        "a thousand people": [1000, 0, 0, 0],
        "a negative person": [MODULUS - 1, 1, 1, 0],
        "nobody": [0, 0, 0, 0],
        "two cells": [1, 1, 0, 0],
    }
    for index, vector in enumerate(forged.values()):
        bits = SeededRandomness(50 + index).words((16 + vdaf.rand_size) // 8).astype("<u8").tobytes()
        public, parts = vdaf.shard_encoded(context, np.array(vector, dtype=object), bits[:16], bits[16:])
        first, second = (
            Share(study, "positive", 100 + index, s, bits[:16], public, parts[s]) for s in (0, 1)
        )
        pair.send(SharedReport((first, second)))
    assert pair.histogram("positive") == before
    valid = share_report(study, "positive", 200, 3, SeededRandomness(9))
    for _ in range(5):
        pair.send(valid)
    pair.send(share_report(study, "positive", 200, 2, SeededRandomness(10)))
    after = pair.histogram("positive")
    assert sum(after) - sum(before) == 1
    assert after[3] == before[3] + 1


def test_shares_that_were_altered_lost_or_swapped_are_left_out():
    study = small()
    pair = honest(study)
    whole = sum(pair.histogram("positive"))
    extra = share_report(study, "positive", 90, 0, SeededRandomness(1))
    first, second = extra.shares
    broken = bytearray(first.payload)
    broken[0] ^= 1
    pair.inboxes[0].append(Share(study, "positive", 90, 0, first.nonce, first.public, bytes(broken)))
    pair.inboxes[1].append(second)
    lost = share_report(study, "positive", 91, 0, SeededRandomness(2))
    pair.inboxes[0].append(lost.shares[0])
    assert sum(pair.histogram("positive")) == whole
    first_tally, second_tally = pair.tallies()
    batch = {servers.part(t, [0, 0], quiet(study)).batch for t in (first_tally, second_tally)}
    assert len(batch) == 1
    with pytest.raises(BadValue, match="is for server 1"):
        pair.leader.begin([second])
    elsewhere = Study.create("auc", protocol="two_servers", epsilon=2.0, domain=UNIT, bins=4)
    foreign = share_report(elsewhere, "positive", 1, 0, SeededRandomness(3))
    with pytest.raises(WrongStudy):
        pair.leader.begin([foreign.shares[0]])


def quiet(study):
    """No noise, to look at totals."""
    sizes = {"positive": 3, "negative": 3}
    totals, cells = study.protocol.shape(sizes)
    return Numbers((0,) * totals, {name: np.zeros(size, dtype=np.int64) for name, size in cells.items()})


def test_servers_that_counted_different_reports_cannot_release():
    study = small()
    one, other = honest(study, 6), honest(study, 4)
    parts = [
        servers.part(one.tallies()[0], [0, 0], quiet(study)),
        servers.part(other.tallies()[1], [0, 0], quiet(study)),
    ]
    with pytest.raises(BadMessage, match="same reports"):
        servers.open_parts(parts)
    with pytest.raises(BadMessage, match="server 0 and that of server 1"):
        servers.open_parts(parts[:1])


def test_the_released_value_is_the_exact_one_without_noise():
    study = small()
    pair = honest(study)
    first, second = pair.tallies()
    multiplier, multiplicand = (
        servers.Multiplication(tally, SeededRandomness(n)) for n, tally in enumerate((first, second))
    )
    reply = multiplier.reply(multiplicand.offer())
    theirs, corrections = multiplicand.correct(reply)
    mine = multiplier.finish(corrections)
    with pytest.raises(BadParameter, match="server 1's"):
        multiplier.offer()
    release = servers.open_parts(
        [servers.part(first, mine, quiet(study)), servers.part(second, theirs, quiet(study))]
    )
    ideal = study.protocol.totals({name: np.array(pair.histogram(name)) for name in study.strata})
    assert release.numbers.totals == ideal.totals
    assert all((release.numbers.counts[name] == ideal.counts[name]).all() for name in study.strata)


def test_bad_shares_and_releases_are_refused():
    study = small()
    share = share_report(study, "positive", 1, 0, SeededRandomness(1)).shares[0]
    wire = bytes(share)
    for bad, why in (
        (wire[:-1], "bytes"),
        (wire + b"x", "bytes"),
        (b"\x02" + wire[1:], "version"),
        (wire[:9] + b"\x07" + wire[10:], "stratum 7"),
        (b"", "at least"),
    ):
        with pytest.raises(BadValue, match=why):
            Share.from_bytes(bad, study)
    with pytest.raises(BadValue, match="hexadecimal"):
        Share.from_json({**share.to_json(), "nonce": "zz"}, study)
    release = dpairs.simulate_release(study, {"score": SCORES, "label": LABELS}, seed=1)
    text = release.to_json()
    for old, new in (
        ('"totals":[', '"totals":[0,'),
        ('"version":1', '"version":2'),
        ('"positive":[', '"positive":[1,'),
    ):
        with pytest.raises(BadFile):
            Release.from_json(text.replace(old, new, 1), study)
    with pytest.raises(WrongStudy):
        Release.from_json(text, Study.create("auc", protocol="two_servers", epsilon=1.0, domain=UNIT, bins=4))


def test_a_tally_with_elements_beyond_the_field_is_refused():
    study = small()
    first, _ = honest(study).tallies()
    text = first.to_json()
    broken = text.replace('"server":0', '"server":2', 1)
    with pytest.raises((BadFile, BadParameter)):
        Tally.from_json(broken, study)
