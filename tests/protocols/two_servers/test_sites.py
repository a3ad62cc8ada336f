"""Sites that answer through two servers: each weighs what it declared, and noise is added once for all."""

import json
from typing import Any

import numpy as np
import pytest

import dpairs
from dpairs import BadParameter, BadValue, Interval, Levels, NotAsked, Participant, Study
from dpairs.cli.app import run
from dpairs.client import Device, Site
from dpairs.dap.task import Task
from dpairs.protocols.two_servers.goldilocks import MODULUS
from dpairs.randomness import SeededRandomness
from dpairs.shares import Share, SharedReport, SiteShares, context_of, share_report, site_index

pytest.importorskip("numba")
servers = pytest.importorskip("dpairs.servers.steps")

UNIT = Interval(0, 1)
KEY = bytes(32)
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "value": ("auc", {"domain": UNIT, "bins": 16}),
    "counts": ("auc", {"domain": UNIT, "bins": 4, "release": "counts"}),
    "two rounds": ("auc", {"domain": UNIT, "bins": 4, "rounds": 2}),
    "tau-b": ("kendall_tau", {"domain": (UNIT, Levels(range(3))), "bins": 4, "variant": "b"}),
}


def study_of(name="value", epsilon=40.0):
    statistic, options = CASES[name]
    return Study.create(
        statistic, protocol="two_servers", answered_by="sites", epsilon=epsilon, seed=1, **options
    )


def records(n=60, seed=1):
    rng = np.random.default_rng(seed)
    label = np.arange(n) % 3 == 0
    return {"score": np.round(rng.random(n) / 2 + 0.4 * label, 3), "label": label.astype(int)}


def everybody():
    data = records()
    return {**data, "x": data["score"], "y": np.arange(60) % 3, "site": np.arange(60) // 9}


@pytest.mark.parametrize("name", CASES)
def test_real_servers_release_what_the_ideal_releases(name):
    """Sites of 9 records and one of 6; a site's last class may be small."""
    study, data = study_of(name), everybody()
    ideal = dpairs.simulate_release(study, data, seed=3)
    real = dpairs.simulate_release(study, data, seed=3, crypto="real")
    assert real.to_json() == ideal.to_json()
    assert Study.from_json(ideal.study.to_json()) == ideal.study
    assert sum(ideal.sizes.values()) == 60
    # Who answers changes who is asked, not what is added up.
    statistic, options = CASES[name]
    people = Study.create(statistic, protocol="two_servers", epsilon=40.0, seed=1, **options)
    assert people.id != study.id
    assert dpairs.simulate_release(people, data, seed=3).sizes == ideal.sizes


class Pair:
    """Two servers and the shares that reached them."""

    def __init__(self, study):
        self.study = study
        self.inboxes: tuple[list[Any], list[Any]] = ([], [])
        self.servers = [servers.Server(study, number, KEY) for number in (0, 1)]

    def send(self, shares):
        for inbox, those in zip(self.inboxes, shares, strict=True):
            inbox.extend(those)

    def histogram(self, stratum):
        leader, helper = self.servers
        second, answers = helper.answer(self.inboxes[1], leader.begin(self.inboxes[0]))
        first = leader.finish(self.inboxes[0], answers)
        assert servers.batch_of(first) == servers.batch_of(second)
        parts = (servers.counts_of(tally, stratum) for tally in (first, second))
        one, other = ((each.vector, each.people) for each in parts)
        assert one[1] == other[1]
        return [(a + b) % MODULUS for a, b in zip(one[0], other[0], strict=True)], one[1]


def split(report: SharedReport):
    return tuple([share] for share in report.shares)


def forged(study, vector, index, declared):
    """A site that shares any vector as that of so many records, with the best proof that it can make."""
    protocol: Any = study.protocol
    vdaf = protocol.vdaf_of("positive", declared)
    weights, bits = vdaf.circuit.weights, len(vdaf.circuit.weights)
    encoded = [0] * vdaf.circuit.length
    for cell, number in enumerate(vector):
        # All of a number into the lowest of its bits, where an honest site has 0 or 1.
        encoded[cell * bits] = number % MODULUS
    assert weights[0] == 1
    drawn = SeededRandomness(index).words((16 + vdaf.rand_size) // 8).astype("<u8").tobytes()
    context = context_of(study, "positive", declared)
    public, parts = vdaf.shard_encoded(context, np.array(encoded, dtype=object), drawn[:16], drawn[16:])
    return tuple(
        [Share(study, "positive", index, server, drawn[:16], public, parts[server], declared)]
        for server in (0, 1)
    )


def test_a_lying_site_weighs_what_it_declared():
    study = study_of("counts")
    pair = Pair(study)
    pair.send(SiteShares.of(study, "north", records()).shares)
    before = pair.histogram("positive")
    assert (sum(before[0]), before[1]) == (20, 20)
    for index, (vector, declared) in enumerate(
        [
            ([1000, 0, 0, 0], 5),  # more than it declared
            ([1, 1, 0, 0], 5),  # less
            ([MODULUS - 3, 8, 0, 0], 5),  # a negative count
            ([5, 0, 0, 0], 5),  # the right sum, but of no bits
        ]
    ):
        pair.send(forged(study, vector, 100 + index, declared))
    assert pair.histogram("positive") == before
    # A lie that is allowed: all records in one cell. It weighs what was declared.
    lie = share_report(study, "positive", 7, [0, 0, 0, 30], SeededRandomness(1), 30)
    pair.send(split(lie))
    assert pair.histogram("positive") == ([*before[0][:3], before[0][3] + 30], 50)
    with pytest.raises(BadValue, match="must add up to as many"):
        share_report(study, "positive", 8, [0, 0, 1, 30], SeededRandomness(1), 30)


def test_a_site_that_declares_another_size_to_each_server_is_left_out_alone():
    study = study_of("counts")
    pair = Pair(study)
    pair.send(SiteShares.of(study, "north", records()).shares)
    before = pair.histogram("positive")
    protocol: Any = study.protocol
    # Sizes with as many bits, so that the shares have the same length for either.
    report = share_report(study, "positive", 5, [5, 0, 0, 0], SeededRandomness(1), 5)
    first, second = report.shares
    assert protocol.vdaf_of("positive", 5).circuit.length == protocol.vdaf_of("positive", 7).circuit.length
    other = Share(study, "positive", 5, 1, second.nonce, second.public, second.payload, 7)
    pair.send(([first], [other]))
    assert pair.histogram("positive") == before


def test_a_site_counts_once_under_its_name():
    study = study_of("counts")
    pair = Pair(study)
    for seed in (1, 2):
        pair.send(SiteShares.of(study, "north", records(seed=seed)).shares)
    assert pair.histogram("positive")[1] == 20
    assert site_index("north") != site_index("south")


def test_a_sites_shares_are_kept_and_read_back(tmp_path):
    study = study_of("two rounds")
    site = Site("north", device=Device(tmp_path), limit=50)
    leaving = site.preview(study, records())
    assert (leaving.sizes, leaving.deviation, leaving.made) == ({"positive": 20, "negative": 40}, 0.0, False)
    first = site.shares(study, records())
    assert bytes(site.shares(study, records(seed=2))) == bytes(first)
    assert SiteShares.from_bytes(bytes(first), study).shares == first.shares
    assert dpairs.Ledger.load(tmp_path / "ledger.json").total == study.privacy.epsilon
    release = dpairs.simulate_release(study, everybody(), seed=1)
    second = Study.from_json(release.study.to_json(), first=study)
    with pytest.raises(BadValue, match="answer both rounds for the same records"):
        site.shares(second, records(61))
    again = site.shares(second, records())
    assert again.sizes == first.sizes
    assert dpairs.Ledger.load(tmp_path / "ledger.json").total == study.privacy.epsilon
    # A second round that asks people instead, or takes another share, is none of this study.
    for bad in ({"split": 0.2}, {"answered_by": "people"}):
        spec = json.loads(second.to_json())
        spec["protocol"] |= bad
        with pytest.raises(dpairs.InvalidInput):
            Study.from_json(json.dumps(spec), first=study)


def test_who_is_not_asked_is_told():
    study = study_of()
    with pytest.raises(NotAsked, match="asks sites"):
        Participant(study, 1, "positive").report(score=0.5)
    with pytest.raises(BadParameter, match="asks people, not sites"):
        SiteShares.of(Study.create("auc", protocol="two_servers", epsilon=1.0, domain=UNIT), "a", records())
    with pytest.raises(BadParameter, match="run on files"):
        Task(study, "title", *(None,) * 3, 10)  # type: ignore[arg-type]
    with pytest.raises(BadParameter):
        Study.create("auc", protocol="two_servers", epsilon=1.0, domain=UNIT, answered_by="robots")  # type: ignore[call-overload]
    assert "one record's score" in study.privacy.neighbours
    assert any("how many records a site has" in each for each in study.privacy.not_promised)


def test_bad_shares_of_sites_are_refused():
    study = study_of("counts")
    good = SiteShares.of(study, "north", records()).shares[0][0].to_json()
    assert Share.from_json(good, study).records == 20
    for changed in (
        {"records": 0},
        {"records": 2**60},
        {"records": 21 * 16},
        {"records": "20"},
        {"records": None},
    ):
        with pytest.raises(dpairs.InvalidInput):
            Share.from_json({**good, **changed}, study)
    without = {name: value for name, value in good.items() if name != "records"}
    with pytest.raises(dpairs.InvalidInput):
        Share.from_json(without, study)


def test_sites_through_two_servers_by_hand(tmp_path, monkeypatch, capsys):
    """Every step on files, with sites of different sizes, of which one sends its file twice."""
    monkeypatch.chdir(tmp_path)
    create = "study create auc --protocol two_servers --answered-by sites -e 50 -d interval:0,1 --bins 16 "

    def steps(*lines):
        for line in lines:
            assert run(line.split()) == 0, line

    steps(create + "--release counts --out study.json", "server key key")
    for name, n in (("north", 60), ("south", 30), ("west", 6)):
        data = records(n, seed=n)
        rows = [f"{score},{label}" for score, label in zip(data["score"], data["label"], strict=True)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["score,label", *rows]) + "\n")
        asked = f"site study.json {name}.csv --name {name} --home home-{name} --limit 60"
        steps(asked, f"{asked} --shares in --yes")
        sent = (tmp_path / "in" / f"{name}-0.jsonl").read_bytes()
        steps(f"{asked} --shares in --yes")
        assert (tmp_path / "in" / f"{name}-0.jsonl").read_bytes() == sent
    assert run(f"{asked} --out answer.json --yes".split()) == 2
    shares = [
        " ".join(f"--shares in/{name}-{server}.jsonl" for name in ("north", "south", "west", "west"))
        for server in (0, 1)
    ]
    steps(
        f"server verify study.json --server 0 --key key {shares[0]} --out begun",
        f"server verify study.json --server 1 --key key {shares[1]} --inbound begun --out answered "
        "--tally helper.json",
        f"server verify study.json --server 0 --key key {shares[0]} --inbound answered --tally leader.json",
        "server release study.json --tally helper.json --book one.book --out helper.part",
        "server release study.json --tally leader.json --book zero.book --out leader.part",
        "server open study.json leader.part helper.part --out release.json",
    )
    assert "96 records of sites are valid" in capsys.readouterr().out
    steps("estimate study.json release.json --json")
    estimate = json.loads(capsys.readouterr().out)
    assert estimate["strata"] == {"positive": 32, "negative": 64}
    parts = [records(n, seed=n) for n in (60, 30, 6)]
    together = {name: np.concatenate([each[name] for each in parts]) for name in ("score", "label")}
    assert abs(estimate["value"] - dpairs.exact("auc", together)) < 0.05
