"""Sites take part over HTTP: enrolled by name and key; an answer counts once, and may come again."""

from __future__ import annotations

import json
import signal

import numpy as np
import pytest

import dpairs
from dpairs import Interval, SiteAnswer, Study
from dpairs.client import Device, Site
from dpairs.formats import files, signatures
from dpairs.randomness import SeededRandomness

from ..processes import program
from .servers import STUDIES, Caller, collector, contents, unchanged


def study_of(**options):
    return Study.create(
        "auc", protocol="sites", epsilon=2.0, domain=Interval(0, 1), bins=8, sites=3, seed=1, **options
    )


def records(seed, n=400):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    return {"score": rng.normal(0.4 + 0.2 * label, 0.15).clip(0, 1), "label": label}


def begin(running, study=None, **options):
    """Begin a study; the link of it."""
    study = study or study_of()
    return study, running.analyst().begin(study, "Hospitals", **options)


def site(tmp_path, name):
    return Site(name, device=Device(tmp_path / name))


class Raw:
    """A site that sends what it likes."""

    def __init__(self, base, study, name, request=1):
        self.call, self.study, self.name = Caller(base), study, name
        self.key = bytes([request]) * 32
        self.wish = {"request": f"{request:032x}", "name": name, "key": signatures.public_key(self.key).hex()}
        self.enrolled = self.call("POST", f"{STUDIES}/{study.id}/sites", self.wish)

    def answer(self, seed=1, study=None, **changed):
        asked = study or self.study
        return SiteAnswer.of(
            asked, changed.pop("name", self.name), records(seed, **changed), bits=SeededRandomness(seed)
        )

    def send(self, answer, signature=None, token=None, text=None):
        body = text if text is not None else bytes(answer).decode()
        signed = signature or signatures.sign(self.key, body.encode())
        token = token or self.enrolled.json["secret"]
        sent = {"answer": body, "signature": signed.hex()}
        return self.call("POST", f"{STUDIES}/{self.study.id}/answers", sent, token=token)


def sites_of(running, study):
    return {each["name"]: each for each in running.analyst().progress(study.id)["sites"]}


def test_both_rounds_with_a_site_that_drops_out(running, tmp_path):
    study, link = begin(running)
    data = {name: records(place) for place, name in enumerate(("north", "south", "west"))}
    for name, table in data.items():
        sent = site(tmp_path, name).send(link, table)
        assert (sent.again, sent.more) == (False, True)
    running.analyst().advance(study.id)
    for name in ("north", "south"):
        assert not site(tmp_path, name).send(link, data[name]).more
    shown = sites_of(running, study)
    assert shown["north"]["rounds"] == ["answered", "answered"]
    assert shown["west"]["rounds"] == ["answered", "waiting"]
    running.analyst().close(study.id)
    shown = sites_of(running, study)
    assert shown["west"]["rounds"] == ["answered", "dropped out"]
    labels = data["north"]["label"]
    assert shown["north"]["records"] == {"positive": int(labels.sum()), "negative": int((1 - labels).sum())}
    assert all(each["refused"] == 0 for each in shown.values())

    analyst = running.analyst()
    here, there = analyst.estimate(study.id), analyst.estimate_json(study.id)
    assert here.value == there["value"]
    assert here.n == 800
    both = {name: np.concatenate([data["north"][name], data["south"][name]]) for name in ("score", "label")}
    assert abs(here.value - dpairs.exact("auc", both)) < 5 * here.sample_standard_error
    assert analyst.answers(study.id, 1).sites == ("north", "south", "west")
    with pytest.raises(dpairs.BadParameter, match="sites answer this study"):
        analyst.tally(study.id)
    with pytest.raises(dpairs.errors.Closed):
        site(tmp_path, "west").send(link, data["west"])


def test_the_same_bytes_again_are_welcome_and_others_are_refused_and_shown(running):
    study, _ = begin(running)
    north = Raw(running.base, study, "north")
    first, other = north.answer(1), north.answer(2)
    assert north.send(first).json == {"outcome": "counted"}
    with unchanged(running.database):
        assert north.send(first).json == {"outcome": "again"}
    for _ in range(2):
        assert north.send(other).error == (409, "AlreadyAnswered")
    shown = sites_of(running, study)["north"]
    assert (shown["rounds"], shown["refused"]) == (["answered"], 2)
    assert running.analyst().answers(study.id).answers["north"].numbers["positive"].tolist() == (
        first.numbers.numbers["positive"].tolist()
    )


def test_everything_is_there_after_a_restart(database, tmp_path):
    data = records(1)
    with collector(database) as first:
        study, link = begin(first)
        for name in ("north", "south"):
            site(tmp_path, name).send(link, data)
        north = Raw(first.base, study, "west", 7)
        north.send(north.answer(1))
        north.send(north.answer(2))
        first.analyst().advance(study.id)
        before = first.analyst().progress(study.id)["sites"]
    with collector(database, first.token) as again:
        assert again.analyst().progress(study.id)["sites"] == before
        # The address is another one now: what a device sends its secret to must be the same.
        with pytest.raises(dpairs.BadParameter, match="enrolled at"):
            site(tmp_path, "north").send(link.replace(first.base, again.base), data)
        second = Study.from_json(
            json.dumps(Caller(again.base)("GET", f"{STUDIES}/{study.id}").json["study"]), first=study
        )
        west = Raw(again.base, study, "west", 7)
        assert west.enrolled.json == north.enrolled.json
        assert west.send(west.answer(1, second)).json == {"outcome": "counted"}
        again.analyst().delete(study.id)
        left = contents(database)
        assert left["sites"] == left["answers"] == []


def test_a_name_belongs_to_whoever_enrolled_it(here):
    study, _ = begin(here)
    north, false = Raw(here.base, study, "north", 1), Raw(here.base, study, "north", 2)
    assert false.enrolled.error == (409, "Conflict")
    # The same request again is the same site; with another key it is somebody else.
    assert Raw(here.base, study, "north", 1).enrolled.json == north.enrolled.json
    stolen = {**north.wish, "key": false.wish["key"]}
    assert north.call("POST", f"{STUDIES}/{study.id}/sites", stolen).error == (409, "Conflict")
    for name in ("", " north", "no\nth", "=cmd()", "x" * 101):
        answer = north.call("POST", f"{STUDIES}/{study.id}/sites", {**north.wish, "name": name})
        assert answer.status == 422


def test_a_hostile_site_is_refused_and_leaves_no_trace(here):
    study, _ = begin(here)
    north, south = Raw(here.base, study, "north", 1), Raw(here.base, study, "south", 2)
    answer = north.answer()
    text = bytes(answer).decode()
    huge = json.loads(text)
    huge["numbers"]["positive"][0] = 10**9
    bent = text.replace('"north"', '"north "')
    with unchanged(here.database):
        assert north.send(answer, token="nonsense").error == (401, "NotAllowed")
        assert north.send(answer, signature=bytes(64)).error == (403, "NotYours")
        assert north.send(answer, signature=signatures.sign(south.key, text.encode())).error == (
            403,
            "NotYours",
        )
        assert north.send(north.answer(name="south")).error == (403, "NotYours")
        assert south.send(answer).error == (403, "NotYours")
        assert north.send(None, text=dpairs.formats.canonical.canonical(huge)).error == (422, "BadValue")
        assert north.send(None, text=bent).status == 422
        assert north.send(None, text=" " + text).error == (422, "BadFile")
        assert north.send(None, text="[" * 10_000).status == 422
        assert north.send(None, text=text.replace(study.id, "0" * 64)).error == (409, "WrongStudy")
    people = f"{STUDIES}/{study.id}"
    call, ask = Caller(here.base), Caller(here.base, here.token)
    assert call("POST", f"{people}/people", {"request": "0" * 32, "stratum": "positive"}).status == 422
    assert call("POST", f"{people}/reports", {}, token=north.enrolled.json["secret"]).status == 403
    assert ask("POST", f"{people}/gateways", {"request": "0" * 32, "people": {"positive": 2}}).status == 422
    assert ask("GET", f"{people}/reports").status == 422
    assert ask("GET", f"{people}/tally?format=csv").body == b"site,records\r\n"


def test_who_answers_in_the_second_round_is_who_answered_in_the_first_with_the_same_sizes(here):
    study, _ = begin(here)
    north, south, late = (Raw(here.base, study, name, place) for place, name in enumerate(("n", "s", "l"), 1))
    assert late.send(late.answer(3, name="l")).status == 200
    for each in (north, south):
        assert each.send(each.answer()).status == 200
    missing = Raw(here.base, study, "missing", 9)
    here.analyst().advance(study.id)
    second = Study.from_json(
        json.dumps(Caller(here.base)("GET", f"{STUDIES}/{study.id}").json["study"]), first=study
    )
    with unchanged(here.database):
        assert missing.send(missing.answer(1, second)).error == (409, "NotAsked")
        assert missing.send(missing.answer(1)).error == (409, "Closed")
        assert north.send(north.answer(1, second, n=401)).error == (422, "BadValue")
        assert north.send(north.answer()).json == {"outcome": "again"}
        assert Raw(here.base, study, "new", 11).enrolled.error == (409, "Closed")
    assert north.send(north.answer(1, second)).json == {"outcome": "counted"}
    shown = sites_of(here, study)
    assert shown["missing"]["rounds"] == ["dropped out", "not asked"]
    # A second answer to the first round is refused in the second, too, and shown.
    assert north.send(north.answer(5)).error == (409, "AlreadyAnswered")
    assert sites_of(here, study)["n"]["refused"] == 1


def test_an_invited_site_needs_its_code_once(here, tmp_path):
    study, link = begin(here, enrolment="invited")
    code, other = here.analyst().invite(study.id, 2)
    with pytest.raises(dpairs.errors.NotAllowed, match="code"):
        site(tmp_path, "north").send(link, records(1))
    # Whoever could not enrol has made no answer, and lost nothing.
    assert not (tmp_path / "north" / "ledger.json").exists()
    site(tmp_path, "north").send(link, records(1), code=code)
    with pytest.raises(dpairs.errors.Conflict, match="used before"):
        site(tmp_path, "south").send(link, records(1), code=code)
    site(tmp_path, "south").send(f"{link}#code={other}", records(2))
    assert set(sites_of(here, study)) == {"north", "south"}


def test_a_site_whose_secret_is_void_asks_for_a_new_one(here, tmp_path):
    """As after a restored backup: the same request gets the same place."""
    study, link = begin(here)
    site(tmp_path, "north").send(link, records(1))
    here.analyst().advance(study.id)
    with Device(tmp_path / "north").study(study.id) as me:
        me.data["secret"] = me.data["secret"][:-4] + "0000"
        me.save()
    assert not site(tmp_path, "north").send(link, records(1)).again
    assert sites_of(here, study)["north"]["rounds"] == ["answered", "answered"]


def test_a_hidden_size_is_not_shown(here, tmp_path):
    study, link = begin(here, study_of(hide_sizes=True, rounds=1))
    site(tmp_path, "north").send(link, records(1))
    assert sites_of(here, study)["north"]["records"] is None
    said = Caller(here.base, here.token)("GET", f"{STUDIES}/{study.id}/tally?format=csv")
    assert said.body == b"site,records\r\nnorth,\r\n"


class Killed(BaseException):
    """The process ends here."""


def test_killed_at_every_write_a_site_sends_one_answer(here, tmp_path, monkeypatch):
    """Before or after each file is written, in turn; then it begins again, and its table has changed."""
    study, link = begin(here, study_of(rounds=1))
    write, places = files.write, 0
    for place in range(24):
        name = f"site{place}"
        calls = iter(range(100))

        def deadly(*given, _calls=calls, _place=place, **more):
            now = next(_calls) == _place // 2
            if now and _place % 2 == 0:
                raise Killed
            write(*given, **more)
            if now:
                raise Killed

        monkeypatch.setattr(files, "write", deadly)
        for attempt in range(3):
            try:
                site(tmp_path, name).send(link, records(attempt))
            except Killed:
                places += 1
    shown = sites_of(here, study)
    assert all(each["refused"] == 0 and each["rounds"] == ["answered"] for each in shown.values())
    assert len(shown) == 24
    # The control: there were such places, and the last ones lie beyond the end.
    assert 10 <= places < 24


PROGRAM = """
import os, signal, sys
import numpy as np
from dpairs.client import Device, Site, Transport
usual = Transport.json
def deadly(self, method, path, content=None, token=None):
    answer = usual(self, method, path, content, token)
    if path.endswith(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
    return answer
Transport.json = deadly
rng = np.random.default_rng()
data = {"score": rng.random(60), "label": np.arange(60) % 2}
Site("north", device=Device(sys.argv[2])).send(sys.argv[1], data)
"""


def test_a_process_that_is_killed_when_its_answer_was_counted_sends_the_same_again(here, tmp_path):
    """SIGKILL when the collector has it and the site does not know: after enrolment, and after the answer."""
    study, link = begin(here, study_of(rounds=1))
    for path in ("/sites", "/answers", "/answers", "nothing"):
        ended = program(PROGRAM, link, str(tmp_path / "home"), path).returncode
        assert ended == (0 if path == "nothing" else -signal.SIGKILL)
    shown = sites_of(here, study)
    assert list(shown) == ["north"]
    assert (shown["north"]["rounds"], shown["north"]["refused"]) == (["answered"], 0)
