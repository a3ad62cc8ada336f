"""A gateway answers once for each person, whatever happens to its table between two runs."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dpairs
from dpairs import Levels, Study
from dpairs.client import Device, Gateway
from dpairs.errors import BadFile, BadParameter, BadValue, Conflict, Unavailable

from .dishonest import Dishonest, link_to, serving

PEOPLE = 400
COUNT = {"counted": 0, "again": 0, "different": 0}


def krr(epsilon: float = 1.0) -> Study:
    return Study.create(
        "gini_mean_difference", epsilon=epsilon, domain=Levels(range(10)), mechanism="krr", seed=1
    )


def classes(epsilon: float = 2.0) -> Study:
    return Study.create("auc", epsilon=epsilon, domain=Levels(range(10)), mechanism="krr", seed=1)


class Collector(Dishonest):
    """Keeps every symbol that was ever sent for an index."""

    def __init__(self, now: Study, first: Study | None = None) -> None:
        self._public = serving(now, first)
        super().__init__(lambda method, path, body: self._answer(method, path, body))
        self.heard: dict[tuple[str, int], set[int]] = {}
        self.room: dict[str, dict[str, Any]] = {
            name: {"first": 0, "count": 2 * PEOPLE, "secret": name} for name in now.strata
        }
        self._secret = ""

    def _answer(self, method: str, path: str, body: bytes | None) -> Any:
        if not path.endswith("/batches") or body is None:
            return self._public(method, path, body)
        rows = pa.ipc.open_stream(body).read_all().to_pydict()
        for index, symbol in zip(rows["index"], rows["symbol"], strict=True):
            self.heard.setdefault((self._secret, index), set()).add(symbol)
        return {**COUNT, "counted": len(rows["index"])}

    def twice(self) -> int:
        """How many people have sent two different answers."""
        return sum(len(symbols) > 1 for symbols in self.heard.values())

    def bytes(self, method: str, path: str, body: Any = None, token: Any = None, kind: str = "") -> bytes:
        self._secret = token or ""
        return super().bytes(method, path, body, token, kind)


def table(people: int = PEOPLE, seed: int = 3, **more: Any) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {"id": [f"person {n}" for n in range(people)], "value": rng.integers(0, 10, people), **more}


def gateway(line: Collector, study: Study, folder: Any) -> Gateway:
    return Gateway(link_to(study.id), line.room, device=Device(folder), transport=line)


def rows_of(data: dict[str, Any], order: Any) -> dict[str, Any]:
    return {name: [column[place] for place in order] for name, column in data.items()}


@pytest.mark.parametrize("mechanism", ["krr", "projective"])
def test_an_inserted_row_a_new_order_and_more_people_change_nobody_s_answer(tmp_path, mechanism):
    """Noise belonged to a row's place: one row more, and everybody below answered anew from shifted noise."""
    study = Study.create(
        "gini_mean_difference", epsilon=1.0, domain=Levels(range(10)), mechanism=mechanism, seed=1
    )
    line = Collector(study)
    here = gateway(line, study, tmp_path)
    data = table()
    here.report(data)
    order = np.random.default_rng(1).permutation(PEOPLE)
    inserted = {"id": ["somebody new", *data["id"]], "value": [7, *data["value"].tolist()]}
    appended = {"id": [*data["id"], "last"], "value": [*data["value"].tolist(), 3]}
    for changed in (inserted, rows_of(data, order), appended, rows_of(data, range(0, PEOPLE, 3)), data):
        here.report(changed)
    assert line.twice() == 0
    assert len(line.heard) == PEOPLE + 2


def test_the_window_s_answers_stay_when_somebody_is_appended(tmp_path):
    """One person appended at epsilon 5: 2,041 of 2,624 people were randomized a second time."""
    first = Study.create(
        "variance",
        protocol="projection",
        epsilon=5.0,
        domain=dpairs.Interval(0, 1),
        pilot_fraction=0.1,
        seed=1,
    )
    rng = np.random.default_rng(2)
    second = dpairs.simulate_tally(first, {"value": rng.random(4000)}, seed=1).study
    assert getattr(second.protocol, "mechanism").name == "window"  # noqa: B009
    line = Collector(second, first)
    here = gateway(line, first, tmp_path)
    names, values = [str(each) for each in range(300)], rng.random(300).tolist()
    here.report({"id": names, "value": values})
    here.report({"id": [*names, "300"], "value": [*values, 0.5]})
    asked = sum(second.asks("everybody", index) for index in range(301))
    assert (line.twice(), len(line.heard)) == (0, asked)


def test_a_changed_value_is_refused_by_name_and_nothing_is_sent(tmp_path):
    study = krr()
    line = Collector(study)
    here = gateway(line, study, tmp_path)
    data = table()
    here.report(data)
    sent = len(line.sent)
    values = data["value"].copy()
    values[17] = (values[17] + 1) % 10
    with pytest.raises(Conflict, match="person 17"):
        here.report({**data, "value": values})
    assert len(line.sent) == sent
    assert line.twice() == 0


def test_a_corrected_label_is_refused_by_name(tmp_path):
    """It moved everybody behind that row to other noise; at epsilon 2, 2,135 of 10,000 were exposed."""
    study = classes()
    line = Collector(study)
    here = gateway(line, study, tmp_path)
    rng = np.random.default_rng(1)
    scores, labels = rng.integers(0, 10, PEOPLE), [0, 1] * (PEOPLE // 2)
    data: dict[str, Any] = {"id": list(range(PEOPLE)), "score": scores, "label": labels}
    here.report(data)
    with pytest.raises(Conflict, match="'8'"):
        here.report({**data, "label": [each if n != 8 else 1 for n, each in enumerate(data["label"])]})
    assert line.twice() == 0
    # The same values written otherwise are the same.
    here.report(
        {**data, "id": [str(n) for n in range(PEOPLE)], "score": data["score"].astype(float).tolist()}
    )
    assert line.twice() == 0


def test_somebody_who_answered_the_first_round_is_not_asked_in_a_second(tmp_path):
    """Variant: between two rounds the table's order changes, and with it nobody's index."""
    first = Study.create(
        "gini_mean_difference",
        protocol="projection",
        epsilon=1.0,
        domain=Levels(range(10)),
        pilot="histogram",
        pilot_fraction=0.5,
        seed=1,
    )
    data = table()
    second = dpairs.simulate_tally(first, {"value": data["value"]}, seed=1).study
    lines = [Collector(first), Collector(second, first)]
    gateway(lines[0], first, tmp_path).report(data)
    gateway(lines[1], first, tmp_path).report(rows_of(data, range(PEOPLE - 1, -1, -1)))
    one, other = (set(line.heard) for line in lines)
    assert not one & other
    assert len(one | other) == PEOPLE


def test_a_roster_that_was_restored_from_a_backup_makes_the_same_answers(tmp_path):
    """Variant: the answers are gone, the key is not: the same input gets the same noise, others other."""
    study = krr(0.5)
    data = table()
    lines = [Collector(study), Collector(study)]
    here = gateway(lines[0], study, tmp_path)
    here.report(data)
    with sqlite3.connect(tmp_path / f"{study.id}.roster") as database:
        database.execute("delete from answers")
    database.close()
    gateway(lines[1], study, tmp_path).report(data)
    assert lines[0].heard == lines[1].heard
    with sqlite3.connect(tmp_path / f"{study.id}.roster") as database:
        database.execute("delete from answers")
    database.close()
    other = Collector(study)
    gateway(other, study, tmp_path).report({**data, "value": (data["value"] + 1) % 10})
    # With the noise of the first answer, symbols would have kept their distance from the values' bins.
    kept = sum(lines[0].heard[key] == other.heard[key] for key in other.heard)
    assert kept < PEOPLE / 3


def test_everybody_s_noise_is_their_own(tmp_path):
    """Two people with one value do not share noise: all ten symbols of k-ary response appear."""
    study = krr(0.1)
    line = Collector(study)
    gateway(line, study, tmp_path).report({"id": list(range(PEOPLE)), "value": [4] * PEOPLE})
    assert {symbol for symbols in line.heard.values() for symbol in symbols} == set(range(10))


def test_the_files_hold_no_id_and_no_value_and_go_with_the_study(tmp_path):
    study = krr()
    line = Collector(study)
    here = gateway(line, study, tmp_path)
    here.report(table())
    path = tmp_path / f"{study.id}.roster"
    assert path.stat().st_mode & 0o077 == 0
    assert b"person" not in path.read_bytes().replace(b"person blob", b"").replace(b"person)", b"")
    assert json.loads((tmp_path / f"{study.id}.json").read_text())["keys"].keys() == {"gateway"}
    here.forget()
    assert [each.name for each in tmp_path.iterdir() if each.suffix != ".lock"] == []


def test_a_changed_value_of_the_last_class_stops_the_first_class_s_reports_too(tmp_path):
    study = classes()
    line = Collector(study)
    here = gateway(line, study, tmp_path)
    data: dict[str, Any] = {"id": list(range(40)), "score": [3] * 40, "label": [0, 1] * 20}
    here.report(data)
    sent = len(line.sent)
    for changed in (16, 17):  # one of each class
        scores = [each if n != changed else 4 for n, each in enumerate(data["score"])]
        with pytest.raises(Conflict, match=f"'{changed}'"):
            here.report({**data, "score": scores})
        assert len(line.sent) == sent


def test_a_roster_whose_key_was_lost_answers_for_nobody_again(tmp_path):
    """Variant: with a new key nobody is known, so everybody would get another index and other noise."""
    study = krr()
    line = Collector(study)
    gateway(line, study, tmp_path).report(table())
    sent = len(line.sent)
    (tmp_path / f"{study.id}.json").unlink()
    with pytest.raises(BadFile, match="another key"):
        gateway(line, study, tmp_path).report(table())
    assert len(line.sent) == sent


def test_an_accent_makes_nobody_another_person(tmp_path):
    """Variant: the same id from two systems, as one letter and as a letter and its accent."""
    study = krr()
    line = Collector(study)
    here = gateway(line, study, tmp_path)
    here.report({"id": ["Ren\u00e9e"], "value": [3]})
    here.report({"id": ["Rene\u0301e"], "value": [3]})
    assert len(line.heard) == 1
    assert line.twice() == 0


@pytest.mark.parametrize("answer", [b"", b"[]", b"{", b'{"counted": "1", "again": 0, "different": 0}'])
def test_an_answer_that_no_collector_gives_ends_in_one_sentence(tmp_path, answer):
    study = krr()
    line = Collector(study)
    line._serve = lambda method, path, body: (
        answer if path.endswith("/batches") else line._answer(method, path, body)
    )
    with pytest.raises(Unavailable):
        gateway(line, study, tmp_path).report(table())


BAD_TABLES: list[tuple[dict[str, Any], type[Exception]]] = [
    ({"value": [1, 2]}, BadValue),
    ({"id": ["a", "a"], "value": [1, 2]}, BadValue),
    ({"id": ["a", ""], "value": [1, 2]}, BadValue),
    ({"id": ["a", None], "value": [1, 2]}, BadValue),
    ({"id": [0.5, 1.5], "value": [1, 2]}, BadValue),
    ({"id": ["a", "b\ud800"], "value": [1, 2]}, BadValue),
    ({"id": ["a", "b"], "value": [1, 99]}, BadValue),
    ({"id": [str(n) for n in range(3 * PEOPLE)], "value": [1] * 3 * PEOPLE}, BadParameter),
]


@pytest.mark.parametrize(("data", "error"), BAD_TABLES, ids=range(len(BAD_TABLES)))
def test_a_table_that_cannot_be_is_refused_before_anything_is_sent(tmp_path, data, error):
    study = krr()
    line = Collector(study)
    with pytest.raises(error) as caught:
        gateway(line, study, tmp_path).report(data)
    assert "\n" not in str(caught.value)
    assert line.sent == []


def test_a_damaged_roster_is_refused_in_one_sentence(tmp_path):
    study = krr()
    line = Collector(study)
    (tmp_path / f"{study.id}.roster").write_bytes(b"no database" * 100)
    with pytest.raises(BadFile, match="cannot be used"):
        gateway(line, study, tmp_path).report(table())
    assert line.sent == []
