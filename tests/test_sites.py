"""One site's answer and all sites' together: kept by name, refused when no honest site could have sent it."""

import json
from typing import Any

import numpy as np
import pytest

import dpairs
from dpairs import (
    AlreadyAnswered,
    BadFile,
    BadParameter,
    BadValue,
    DpairsError,
    Interval,
    NotAsked,
    SiteAnswer,
    SiteTally,
    Study,
    WrongStudy,
)
from dpairs.formats.canonical import canonical
from dpairs.protocols.sides import by_sites
from dpairs.protocols.sites.by_sites import SiteNumbers
from dpairs.randomness import SeededRandomness

UNIT = Interval(0, 1)


def study_of(**options):
    return Study.create("auc", protocol="sites", epsilon=1.0, domain=UNIT, bins=4, seed=3, **options)


def data(n=40, label=None, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n) if label is None else np.full(n, label)
    return {"score": rng.random(n), "label": labels}


def answer(study, site="north", seed=1, **records):
    return SiteAnswer.of(study, site, data(**records), bits=SeededRandomness(seed))


def two_rounds(sites=("north", "south")):
    study = study_of()
    first = SiteTally(study)
    for place, site in enumerate(sites):
        first.add(answer(study, site, seed=place, n=400))
    return study, first, study.next(first)


def test_answers_tallies_and_analyses_are_read_back():
    study, first, second = two_rounds()
    for site in first.sites:
        made = SiteAnswer(study, site, first.answers[site])
        assert SiteAnswer.from_bytes(bytes(made), study) == made
    assert SiteTally.from_json(first.to_json(), study) == first
    again = Study.from_json(second.to_json(), first=study)
    assert again == second
    tally = SiteTally(again)
    for place, site in enumerate(first.sites):
        tally.add(answer(again, site, seed=10 + place, n=400))
    with pytest.raises(BadParameter, match="needs its analysis"):
        tally.estimate()
    read = SiteTally.from_json(tally.to_json(), again.with_analysis(second.analysis_to_json()))
    value = read.estimate().value
    assert 0.3 < value < 0.7
    known = SiteTally(second)
    for site, numbers in tally.answers.items():
        known.add(SiteAnswer(second, site, numbers))
    assert known.estimate().value == value


def test_a_site_that_answers_twice_is_refused_and_the_same_answer_again_is_not():
    study = study_of()
    tally, made = SiteTally(study), answer(study)
    assert tally.add(made)
    assert not tally.add(SiteAnswer.from_bytes(bytes(made), study))
    with pytest.raises(AlreadyAnswered, match="'north' has already given another answer"):
        tally.add(answer(study, seed=2))
    with pytest.raises(AlreadyAnswered):
        tally + _with(study, answer(study, seed=2))
    both = tally + _with(study, answer(study, "south", seed=2))
    assert both.sites == ("north", "south")
    assert tally + tally == tally


def _with(study, *answers):
    tally = SiteTally(study)
    for each in answers:
        tally.add(each)
    return tally


def test_a_second_round_asks_those_of_the_first_with_the_same_sizes():
    _, first, second = two_rounds()
    tally = SiteTally(second)
    with pytest.raises(NotAsked, match="'late' did not answer the first round"):
        tally.add(answer(second, "late", n=400))
    with pytest.raises(BadValue, match="other sizes than in the first round"):
        tally.add(answer(second, "north", n=399))
    tally.add(answer(second, "north", n=400))
    assert tally.estimate().n == 400
    assert sum(first.answers["south"].sizes.values()) == 400


def test_a_second_round_alone_is_not_answered():
    study, _, second = two_rounds()
    alone = Study.from_json(second.to_json())
    with pytest.raises(BadParameter, match="its first round is missing"):
        answer(alone)
    assert answer(Study.from_json(second.to_json(), first=study), n=10).site == "north"


@pytest.mark.parametrize("hide_sizes", [False, True])
@pytest.mark.parametrize("rounds", [1, 2])
def test_sites_of_any_size_and_of_one_class(rounds, hide_sizes):
    study = study_of(rounds=rounds, hide_sizes=hide_sizes)
    parts = {
        "large": data(600),
        "positive": data(50, 1),
        "negative": data(50, 0),
        "one": data(1),
        "none": data(0),
    }
    rows = [
        {"site": site, "score": score, "label": label}
        for site, each in parts.items()
        for score, label in zip(each["score"], each["label"], strict=True)
    ]
    tally = SiteTally(study)
    for place, (site, each) in enumerate(parts.items()):
        tally.add(SiteAnswer.of(study, site, each, bits=SeededRandomness(place)))
    if rounds == 2:
        following = study.next(tally)
        tally = SiteTally(following)
        for place, (site, each) in enumerate(parts.items()):
            tally.add(SiteAnswer.of(following, site, each, bits=SeededRandomness(place + 50)))
    estimate = tally.estimate()
    true = dpairs.exact("auc", {name: np.array([row[name] for row in rows]) for name in ("score", "label")})
    assert abs(estimate.value - true) < 4 * estimate.sample_standard_error
    if not hide_sizes:
        assert estimate.n == len(rows)
        assert not tally.answers["positive"].numbers["negative"].any()
    else:
        assert all(each.sizes is None for each in tally.answers.values())
        assert abs(estimate.n - len(rows)) < 400


def test_a_person_has_at_most_as_many_records_as_the_study_protects():
    study = study_of(rounds=1, unit="person", max_records_per_person=2)
    table = {
        "score": [0.1, 0.2, 0.3, 0.9, 0.8],
        "label": [0, 0, 0, 1, 1],
        "person": ["a", "a", "a", "b", "c"],
    }
    with pytest.raises(BadValue, match="person 'a' has more than 2 record"):
        SiteAnswer.of(study, "north", table)
    kept = SiteAnswer.of(study, "north", table, keep=True)
    assert kept.numbers.sizes == {"positive": 2, "negative": 2}
    with pytest.raises(BadValue, match="no column 'person'"):
        SiteAnswer.of(study, "north", data())
    assert "up to 2 records" in study.privacy.neighbours
    with pytest.raises(BadParameter, match="needs max_records_per_person"):
        study_of(unit="person")
    with pytest.raises(BadParameter, match="is for unit='person'"):
        study_of(max_records_per_person=3)
    twice = SiteAnswer.of(study, "n", table, keep=True, bits=SeededRandomness(1))
    once = SiteAnswer.of(study_of(rounds=1), "n", data(), bits=SeededRandomness(1))
    assert by_sites(twice.study).variance > 3.9 * by_sites(once.study).variance


HOSTILE = [
    ("a count beyond its size", {"numbers": {"positive": [10**6, 0, 0, 0]}}, BadValue),
    ("a count far below 0", {"numbers": {"positive": [-(10**6), 0, 0, 0]}}, BadValue),
    (
        "an empty class with numbers",
        {"sizes": {"positive": 0, "negative": 5}, "numbers": {"positive": [1, 0, 0, 0]}},
        BadValue,
    ),
    ("too few numbers", {"numbers": {"positive": [0, 0, 0]}}, BadValue),
    ("a fraction", {"numbers": {"positive": [0.5, 0, 0, 0]}}, BadFile),
    ("a number that is none", {"numbers": {"positive": [True, 0, 0, 0]}}, BadFile),
    ("a huge number", {"numbers": {"positive": [10**30, 0, 0, 0]}}, BadFile),
    ("nested lists", {"numbers": {"positive": [[0], 0, 0, 0]}}, BadFile),
    ("no list", {"numbers": {"positive": "0000"}}, BadFile),
    ("another class", {"numbers": {"positive": [0] * 4, "neutral": [0] * 4}}, BadValue),
    ("a negative size", {"sizes": {"positive": -1, "negative": 5}}, BadFile),
    ("a huge size", {"sizes": {"positive": 2**50, "negative": 5}}, BadValue),
    ("sizes of another class", {"sizes": {"everybody": 5}}, BadValue),
    ("no sizes", {"sizes": None}, BadValue),
    ("an empty name", {"site": ""}, BadFile),
    ("a name of controls", {"site": "a\x00b"}, BadFile),
    ("a long name", {"site": "x" * 101}, BadFile),
    ("a name that is none", {"site": 5}, BadFile),
    ("another study", {"study": "0" * 64}, WrongStudy),
    ("another version", {"version": 2}, BadFile),
    ("a field more", {"more": 1}, DpairsError),
]


@pytest.mark.parametrize(("_", "change", "error"), HOSTILE, ids=[each[0] for each in HOSTILE])
def test_what_no_honest_site_sends_is_refused(_, change, error):
    study = study_of(rounds=1)
    good = json.loads(bytes(answer(study)))
    bad = {**good, **change}
    if "numbers" in change:
        bad["numbers"] = {**good["numbers"], **change["numbers"]}
    with pytest.raises(error) as caught:
        SiteAnswer.from_bytes(canonical(bad), study)
    assert "\n" not in str(caught.value)
    assert SiteAnswer.from_bytes(canonical(good), study).site == "north"


def test_cut_changed_and_padded_answers_are_refused():
    study = study_of(rounds=1)
    wire = bytes(answer(study))
    for bad in (wire[:-1], wire + b" ", b" " + wire, wire + wire, wire.replace(b":", b": ", 1), b"", b"[]"):
        with pytest.raises(BadFile):
            SiteAnswer.from_bytes(bad, study)


def test_a_lying_site_weighs_what_it_declares():
    """The most that a site with one record of each class can do is to lie about it and about noise."""
    study = study_of(rounds=1)
    rng = np.random.default_rng(1)
    n = 100_000
    label = rng.integers(0, 2, n)
    records = {"score": rng.normal(0.4 + 0.2 * label, 0.1).clip(0, 1), "label": label}
    honest = SiteAnswer.of(study, "large", records, bits=SeededRandomness(1))
    protocol: Any = study.protocol
    reach = int(protocol.reach_together / 2)
    worst = {"positive": [reach + 1, -reach, 0, 0], "negative": [0, 0, -reach, reach + 1]}
    liar = SiteAnswer(
        study,
        "liar",
        SiteNumbers({name: np.array(each) for name, each in worst.items()}, {"positive": 1, "negative": 1}),
    )
    before = _with(study, honest).estimate().value
    after = _with(study, honest, liar).estimate().value
    assert abs(after - before) < 0.02
    with pytest.raises(BadValue):
        SiteAnswer(
            study,
            "liar",
            SiteNumbers(
                {name: 9 * np.array(each) for name, each in worst.items()}, {"positive": 1, "negative": 1}
            ),
        )


@pytest.mark.parametrize("options", [{}, {"noise": "gaussian", "delta": 1e-6}, {"hide_sizes": True}])
@pytest.mark.parametrize("rounds", [1, 2])
def test_counts_that_noise_cannot_have_made_together_are_refused(rounds, options):
    """Each may be off by the noise of one, not all of them by the most that one may be off."""
    study = Study.create(
        "auc", protocol="sites", epsilon=1.0, domain=UNIT, rounds=rounds, bins=40, seed=3, **options
    )
    protocol: Any = study.protocol
    shape, sizes = np.repeat([-1, 1], 20), None if "hide_sizes" in options else {"positive": 1, "negative": 1}

    def lie(most):
        return SiteAnswer(
            study, "liar", SiteNumbers({name: int(most) * shape for name in study.strata}, sizes)
        )

    with pytest.raises(BadValue, match="records and noise can make"):
        lie(protocol.reach)
    parts = 20 if sizes is None else 40  # of a hidden size, what is too much may be records
    lie((protocol.reach_together - 1) / parts)
    with pytest.raises(BadValue, match="records and noise can make"):
        lie((protocol.reach_together + 41) / parts)
    for seed in range(20):
        SiteAnswer.of(study, "n", data(), bits=SeededRandomness(seed))
    assert protocol.reach_together < 0.25 * 40 * protocol.reach


def test_a_sites_study_is_no_peoples_study():
    study = study_of()
    with pytest.raises(NotAsked, match="asks sites"):
        dpairs.Participant(study, 0, "positive").report(score=0.5)
    with pytest.raises(BadParameter, match="kept by site"):
        dpairs.Tally(study)
    with pytest.raises(BadParameter, match="asks people, not sites"):
        SiteTally(Study.create("auc", epsilon=1.0, domain=UNIT, bins=4))
    with pytest.raises(BadParameter, match="a sites study has none"):
        dpairs.simulate(study, {**data(), "site": ["a"] * 40}, crypto="real")


def test_the_claim_says_who_is_trusted_and_what_is_known():
    shown, hidden = study_of().privacy, study_of(hide_sizes=True).privacy
    assert str(shown).startswith("1-record-level differential privacy for any change of one record's score;")
    assert "how many records a site has of each class" in " ".join(shown.not_promised)
    assert "score and label, and whether it is there" in hidden.neighbours
    assert "how many records" not in " ".join(hidden.not_promised)
    assert shown.rounds == 2
