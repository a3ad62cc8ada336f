"""A site's answer is made once: killed at any moment and begun again, it never sends two different ones."""

import itertools
import signal
import stat
from functools import partial

import numpy as np
import pytest

import dpairs
from dpairs import Interval, Ledger, SiteTally, Study
from dpairs.client import Device, Site
from dpairs.formats import files

from ..collector.servers import until
from ..processes import Child


class Killed(BaseException):
    """The process ends here."""


def study_of(**options):
    return Study.create(
        "auc", protocol="sites", epsilon=1.0, domain=Interval(0, 1), bins=4, seed=1, **options
    )


def records(n=60, seed=1):
    rng = np.random.default_rng(seed)
    return {"score": rng.random(n), "label": rng.integers(0, 2, n)}


def rounds(home, names=("north", "south")):
    study = study_of()
    first = SiteTally(study)
    for name in names:
        first.add(Site(name, device=Device(home / name)).answer(study, records(200)))
    return study, Study.from_json(study.next(first).to_json(), first=study), first


def test_an_answer_is_made_once_and_is_the_same_bytes_ever_after(tmp_path):
    study = study_of()
    first = Site("north", device=Device(tmp_path)).answer(study, records())
    again = Site("north", device=Device(tmp_path)).answer(study, records(seed=2))
    assert bytes(first) == bytes(again)
    # Control: another folder makes another one.
    assert bytes(Site("north", device=Device(tmp_path / "other")).answer(study, records())) != bytes(first)
    with pytest.raises(dpairs.BadParameter, match="answered the study as 'north'"):
        Site("south", device=Device(tmp_path)).answer(study, records())
    for path in tmp_path.iterdir():
        if path.is_file():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_killed_at_every_write_a_site_never_sends_two_different_answers(tmp_path, monkeypatch):
    """The process ends before or after each file is written, at every place in turn; then it begins again."""
    study, write = study_of(), files.write
    places = 0
    for place, after in itertools.product(range(8), (False, True)):
        home = tmp_path / f"{place}{after}"
        sent, calls = set(), itertools.count()

        def deadly(*given, _calls=calls, _place=place, _after=after, **more):
            now = next(_calls) == _place
            if now and not _after:
                raise Killed
            write(*given, **more)
            if now:
                raise Killed

        monkeypatch.setattr(files, "write", deadly)
        killed = False
        for _ in range(3):
            try:
                sent.add(bytes(Site("north", device=Device(home)).answer(study, records())))
            except Killed:
                killed = True
        assert len(sent) == 1
        places += killed
        book = Ledger.load(home / "ledger.json")
        assert list(book.spent) == [study.id]
        assert book.total == study.privacy.epsilon
    # The control: there were such places, and there are no more.
    assert 4 <= places < 16


PROGRAM = """
import signal, sys, numpy as np
from dpairs import Study
from dpairs.client import Device, Site
study = Study.load(sys.argv[1])
rng = np.random.default_rng(1)
data = {"score": rng.random(60), "label": rng.integers(0, 2, 60)}
answer = Site("north", device=Device(sys.argv[2])).answer(study, data)
sys.stdout.buffer.write(bytes(answer) + b"\\n")
sys.stdout.flush()
signal.pause()
"""


def said(out):
    return out.exists() and out.read_bytes().endswith(b"\n")


def test_a_killed_process_that_begins_again_sends_the_same(tmp_path):
    """SIGKILL right after the answer left, which is the moment at which a second one would be another."""
    study, home = study_of(), tmp_path / "home"
    study.save(tmp_path / "study.json")
    seen = set()
    for number in range(2):
        out, err = (tmp_path / f"{name}{number}" for name in ("out", "err"))
        child = Child([str(tmp_path / "study.json"), str(home)], tmp_path, out, err, before=PROGRAM)
        until(partial(said, out), "an answer")
        child.send_signal(signal.SIGKILL)
        assert child.wait(60) == -signal.SIGKILL
        seen.add(out.read_bytes())
    assert len(seen) == 1


def test_both_rounds_are_one_entry_of_the_ledger(tmp_path):
    study, second, first = rounds(tmp_path)
    tally = SiteTally(study.next(first))
    for name in ("north", "south"):
        site = Site(name, device=Device(tmp_path / name))
        tally.add(dpairs.SiteAnswer.from_bytes(bytes(site.answer(second, records(200))), tally.study))
        book = Ledger.load(tmp_path / name / "ledger.json")
        assert list(book.spent) == [study.id]
        assert book.total == study.privacy.epsilon
    assert tally.estimate().n == 400


def test_a_site_answers_one_second_round_and_only_after_the_first(tmp_path):
    study, second, first = rounds(tmp_path)
    device = Device(tmp_path / "north")
    with pytest.raises(dpairs.NotAsked, match="did not answer the first round"):
        Site("late", device=Device(tmp_path / "late")).answer(second, records(200))
    with pytest.raises(dpairs.BadValue, match="answer both rounds for the same records"):
        Site("north", device=device).answer(second, records(201))
    Site("north", device=device).answer(second, records(200))
    # A server that makes up another second round of the same first.
    part = SiteTally(study)
    part.add(dpairs.SiteAnswer(study, "south", first.answers["south"]))
    other = Study.from_json(study.next(part).to_json(), first=study)
    with pytest.raises(dpairs.AlreadyAnswered, match="another second round"):
        Site("north", device=device).answer(other, records(200))


def test_a_site_keeps_to_its_limits(tmp_path):
    device = Device(tmp_path)
    with pytest.raises(dpairs.LimitExceeded):
        Site("north", device=device, max_epsilon=0.5).answer(study_of(), records())
    with pytest.raises(dpairs.LimitExceeded):
        Site("north", device=device, limit=0.5).answer(study_of(), records())
    assert not (tmp_path / "ledger.json").exists()
    Site("north", device=device, limit=1.5).answer(study_of(), records())
    with pytest.raises(dpairs.LimitExceeded):
        Site("north", device=device).answer(study_of(rounds=1), records())


def test_a_preview_says_what_leaves_and_makes_nothing(tmp_path):
    study, site = study_of(rounds=1), Site("north", device=Device(tmp_path))
    data = records()
    leaving = site.preview(study, data)
    assert leaving.sizes == {"positive": int(data["label"].sum()), "negative": int(60 - data["label"].sum())}
    assert (leaving.numbers, leaving.made) == (8, False)
    assert 2.7 < leaving.deviation < 2.9
    assert not (tmp_path / "ledger.json").exists()
    site.answer(study, data)
    assert site.preview(study, data).made
    hidden = site.preview(study_of(rounds=1, hide_sizes=True), data)
    assert hidden.sizes is None


def test_a_damaged_file_is_refused(tmp_path):
    study = study_of()
    Site("north", device=Device(tmp_path)).answer(study, records())
    path = tmp_path / f"{study.id}.json"
    whole = path.read_text()
    for bad in (whole[:-20], whole.replace("dpairs-site-answer", "dpairs-else")):
        path.write_text(bad)
        with pytest.raises(dpairs.InvalidInput):
            Site("north", device=Device(tmp_path)).answer(study, records())
