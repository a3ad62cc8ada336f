"""Both recipes of CONTRIBUTING: a statistic and a protocol of a user's own; no other module is touched."""

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpairs
from dpairs import BadParameter, Integers, Interval, Levels, Participant, Study, Tally, plan, simulate
from dpairs.cli.app import run
from dpairs.formats.registry import Registry
from dpairs.protocols import PROTOCOLS, FirstRound, register_protocol
from dpairs.statistics import STATISTICS, register_statistic

from .cli.typed import refused
from .plugins.mean_minimum import MeanMinimum, MinimumIn
from .plugins.moments import Moments
from .plugins.site_moments import SiteMoments

ROOT = Path(__file__).parents[1]
SIGMAS = 5.5
"""Beyond so many standard errors lies less than one of 10^7 estimates."""


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Registered as a package would at run time; forgotten after the test."""
    monkeypatch.setattr(STATISTICS, "_kinds", dict(STATISTICS._kinds))
    monkeypatch.setattr(PROTOCOLS, "_kinds", dict(PROTOCOLS._kinds))
    register_statistic(MeanMinimum)
    register_statistic(MinimumIn)
    register_protocol(Moments)
    register_protocol(SiteMoments)


def ages(n: int = 60_000) -> dict[str, Any]:
    return {"value": np.random.default_rng(1).binomial(7, 0.3, n)}


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "histogram": ("mean_minimum", {"domain": Levels(range(8))}),
    "projection, few cells": ("mean_minimum", {"domain": Levels(range(8)), "protocol": "projection"}),
    "projection, tree": (
        "mean_minimum",
        {"domain": Interval(0, 7), "protocol": "projection", "bins": 64},
    ),
    "pairs, circuit": ("mean_minimum", {"domain": Integers(0, 7), "protocol": "pairwise"}),
    "pairs, table": ("mean_minimum", {"domain": Levels(range(8)), "protocol": "pairwise"}),
    "toy protocol": ("variance", {"domain": Interval(0, 7), "protocol": "moments"}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_whole_flow_knows_it(case):
    name, options = CASES[case]
    study = Study.create(name, epsilon=2.0, seed=1, **options)
    assert Study.from_json(study.to_json()) == study
    truth = dpairs.exact(name, ages())
    found = simulate(study, ages(), seed=2)
    assert abs(found.value - truth) < SIGMAS * found.standard_error
    assert found.standard_error < 0.15 * truth
    assert found.privacy.epsilon <= 2.0
    # Negative control: other people are noticed.
    others = {"value": (7 - ages()["value"]) if name == "mean_minimum" else 2 * ages()["value"]}
    assert abs(found.value - dpairs.exact(name, others)) > SIGMAS * found.standard_error


@pytest.mark.parametrize(("name", "protocol"), [("mean_minimum", "histogram"), ("variance", "moments")])
def test_people_and_tallies_one_by_one(name, protocol):
    domain = Levels(range(8)) if protocol == "histogram" else Interval(0, 7)
    study = Study.create(name, protocol=protocol, epsilon=3.0, domain=domain, seed=1)
    tally = Tally(study)
    for index, value in enumerate(ages(400)["value"].tolist()):
        tally.add(Participant(study, index=index).report(value=value))
    assert Tally.from_json(tally.to_json(), study).estimate().value == tally.estimate().value
    assert tally.estimate().n == 400


def test_plans_compare_it():
    made = plan("mean_minimum", epsilon=1.0, n=50_000, domain=Levels(range(8)), peers=True)
    assert {option.protocol for option in made.options} >= {"histogram", "projection", "pairwise"}
    compared = plan("variance", epsilon=1.0, n=50_000, domain=Interval(0, 7), like="even")
    toy = next(option for option in compared.options if option.protocol == "moments")
    assert toy.trust == "nobody"
    values = {"value": np.random.default_rng(3).uniform(0, 7, 50_000)}
    told = simulate(toy.begin(), values, seed=1).standard_error
    assert toy.error == pytest.approx(told, rel=0.25)
    assert "moments" not in {
        option.protocol
        for option in plan("gini_mean_difference", epsilon=1.0, n=1000, domain=Interval(0, 1)).options
    }


def test_a_protocol_of_sites_that_says_nothing_of_their_number_is_rehearsed():
    values = np.random.default_rng(4).uniform(0, 7, 3000)
    asked: dict[str, Any] = {"epsilon": 1.0, "n": 3000, "domain": Interval(0, 7), "like": {"value": values}}
    (toy,) = plan("variance", protocol="site-moments", **asked).options
    assert toy.rehearsal is not None
    assert 0 < toy.error < 0.1 * values.var()
    study = toy.begin()
    assert Study.from_json(study.to_json()) == study
    told = simulate(study, {"value": values, "site": np.arange(3000) % 3}, seed=1)
    assert abs(told.value - values.var()) < SIGMAS * told.standard_error


@pytest.mark.parametrize("protocol", ["histogram", "projection"])
def test_an_option_is_part_of_the_study(protocol):
    """A file without it would be another study under the same id."""
    given: dict[str, Any] = {"protocol": protocol, "epsilon": 2.0, "domain": Levels(range(8)), "seed": 1}
    made = Study.create("minimum_in", options={"unit": 0.5}, **given)
    plain = Study.create("minimum_in", options={}, **given)
    again = Study.from_json(made.to_json())
    assert again.statistic == MinimumIn(0.5)
    assert again.id == made.id != plain.id
    found = simulate(again, ages(), seed=2)
    truth = dpairs.exact("minimum_in", ages(), unit=0.5)
    assert abs(found.value - truth) < SIGMAS * found.standard_error
    # Negative control: the other unit is noticed.
    assert abs(found.value - truth / 2) > SIGMAS * found.standard_error


def test_the_command_line_takes_options_that_it_has_no_flag_for(tmp_path, capsys):
    file = tmp_path / "study.json"
    asked = ["study", "create", "minimum_in", "-e", "2", "-d", "levels:0,1,2,3", "-o", str(file)]
    assert run([*asked, "--option", "unit=0.5"]) == 0
    assert Study.load(file).statistic == MinimumIn(0.5)
    for wrong in (["unit"], ["=3"], ["unit=1", "unit=2"]):
        flags = [part for each in wrong for part in ("--option", each)]
        refused(capsys, [*asked, *flags], "--option is NAME=VALUE")
    refused(capsys, [*asked, "--option", "other=1"], "other")


def test_what_lacks_something_is_refused_when_it_is_registered():
    class Silent(Moments):
        name = "silent"

    del Moments.uses_coins
    try:
        with pytest.raises(BadParameter, match=r"'silent' cannot be registered: .* its uses_coins"):
            register_protocol(Silent)
    finally:
        Moments.uses_coins = False

    class Half(dpairs.statistics.Statistic):
        name, columns = "half", ("value",)

    with pytest.raises(BadParameter, match="it does not say its against, exact, forms"):
        register_statistic(Half)


def test_a_broken_package_is_named_and_stops_nobody_else(monkeypatch):
    broken = EntryPoint("broken", "no_such_package:Broken", "dpairs.protocols")
    monkeypatch.setattr(PROTOCOLS, "_installed", {"broken": broken})
    with pytest.warns(UserWarning, match=r"left out: the protocol 'broken' cannot be loaded"):
        made = plan("variance", epsilon=1.0, n=5000, domain=Interval(0, 7), like="even")
    assert "broken" not in {option.protocol for option in made.options}
    with pytest.raises(BadParameter, match=r"'broken' cannot be loaded .* No module named 'no_such_package'"):
        Study.create("variance", protocol="broken", epsilon=1.0, domain=Interval(0, 7), options={})


def test_a_name_is_given_once():
    class Other(MeanMinimum):
        pass

    assert register_statistic(MeanMinimum) is MeanMinimum
    with pytest.raises(BadParameter, match="there is a statistic named 'mean_minimum' already"):
        register_statistic(Other)
    with pytest.raises(BadParameter, match="needs a name"):
        register_protocol(object)  # type: ignore[arg-type]
    assert len(Registry("thing", "dpairs.nothing")) == 0


ELSEWHERE = """
import sys, dpairs
study = dpairs.Study.load(sys.argv[1])
toy = dpairs.Study.create("variance", protocol="moments", epsilon=1.0, domain=dpairs.Interval(0, 1), seed=1)
print(study.id, type(study.statistic).__name__, toy.protocol.name)
"""


def test_an_installed_package_is_found_by_its_entry_points(tmp_path):
    """Nothing is imported but dpairs; the names in a file are enough."""
    for name in ("mean_minimum", "moments"):
        shutil.copy(ROOT / "tests" / "plugins" / f"{name}.py", tmp_path / f"plugin_{name}.py")
    info = tmp_path / "plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[dpairs.statistics]\nmean_minimum = plugin_mean_minimum:MeanMinimum\n\n"
        "[dpairs.protocols]\nmoments = plugin_moments:Moments\n"
    )
    study = Study.create("mean_minimum", epsilon=1.0, domain=Levels(range(8)), seed=1)
    study.save(tmp_path / "study.json")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    asked = [sys.executable, "-c", ELSEWHERE, str(tmp_path / "study.json")]
    said = subprocess.run(
        asked, env=environment, capture_output=True, text=True, timeout=120, check=True
    ).stdout
    assert said.split() == [study.id, "MeanMinimum", "moments"]


TWIN = """
import { registerStatistic, Study, Participant } from "%s";
import { readFileSync } from "node:fs";
const text = readFileSync(process.argv[2], "utf8");
let refused = "";
try { Study.fromJson(text); } catch (error) { refused = error.name; }
registerStatistic("mean_minimum", [], () => ({
  domainColumns: ["value"], privateColumns: ["value"], strata: ["everybody"], needs: "numeric", options: {},
}));
const study = Study.fromJson(text);
const report = new Participant(study, { index: 3 }).report({ value: 5 });
console.log(JSON.stringify([refused, study.id, report.index]));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_its_twin_in_the_browser(tmp_path):
    study = Study.create("mean_minimum", epsilon=1.0, domain=Levels(range(8)), seed=1)
    study.save(tmp_path / "study.json")
    script = tmp_path / "twin.mjs"
    script.write_text(TWIN % (ROOT / "js" / "src" / "index.js").as_uri())
    asked = ["node", str(script), str(tmp_path / "study.json")]
    said = subprocess.run(asked, capture_output=True, text=True, timeout=120, check=True).stdout
    assert json.loads(said) == ["BadFile", study.id, 3]


def test_a_protocol_that_nobody_could_answer_is_not_registered():
    wrong = type("Wrong", (Moments,), {"name": "wrong", "answered_by": "sites"})
    with pytest.raises(BadParameter, match="it asks people, and says that 'sites' answer"):
        register_protocol(wrong)
    said = dict.fromkeys(("uses_coins", "options", "estimators"), ())
    said |= dict.fromkeys(FirstRound.__abstractmethods__, ())
    nobody = type("Nobody", (FirstRound,), {**said, "name": "nobody"})
    with pytest.raises(BadParameter, match="derive it from Alone, InPairs, Shared, BySites"):
        register_protocol(nobody)


@pytest.mark.parametrize("protocol", ["two_servers", "sites"])
@pytest.mark.parametrize("rounds", [1, 2])
def test_distances_between_classes_are_refused_before_anybody_answers(protocol, rounds):
    """What cells hide of them is known for one group only; comparisons of classes are fine."""
    gap = {"name": "class_gap", "needs": "numeric"}
    register_statistic(type("ClassGap", (STATISTICS["auc"],), gap))
    given: dict[str, Any] = {"protocol": protocol, "epsilon": 1.0, "domain": Interval(0, 1), "rounds": rounds}
    assert Study.create("auc", **given).protocol.name == protocol
    with pytest.raises(BadParameter, match="distances between classes"):
        Study.create("class_gap", **given)
