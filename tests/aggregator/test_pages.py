"""The page of a task in a real Chromium: people, operators and analyst; also where somebody else hosts it."""

from __future__ import annotations

import functools
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from dpairs.aggregator.routes.pages import export

from ..collector.browser import CHROMIUM, DRIVER, Browser
from ..collector.servers import VALIDATE, until
from .pair import ANALYST, People, auc, crowd, in_threads, new_task, state, upload

pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="chromium and chromedriver are not installed"
)
pytest.importorskip("selenium")
IN_BROWSER = 20 if VALIDATE else 2
"""One at a page that neither server serves, one at the leader's."""


@pytest.fixture
def browser(chromium: Browser) -> Browser:
    """One that has complained of nothing yet."""
    chromium.complaints()
    return chromium


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_) -> None:
        """Say nothing."""


@pytest.fixture
def host(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Somebody who hosts plain files, and nothing else."""
    place = tmp_path / "hosted"
    place.mkdir()
    handler = functools.partial(Quiet, directory=str(place))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", place
    server.shutdown()
    thread.join()
    server.server_close()


def take_part(browser: Browser, where: str, group: str, score: float, shots: bool) -> None:
    """One person with a browser that remembers nobody else."""
    browser.home = where
    browser.forget()
    browser.open("")
    browser.see("#servers td", "takes reports")
    if shots:
        assert browser.barriers() == []
        browser.see("#servers li", "as long as each follows the protocol between them")
        browser.shot("two-servers-person")
    browser.choose("Are you in the group", group)
    browser.write("input[type=number]", str(score))
    browser.press("Split and seal my answer")
    browser.see("#sealed", "This is all that leaves your device")
    if shots:
        browser.shot("two-servers-sealed")
    browser.press("Send")
    browser.see("#receipt", "Your report was received")
    if shots:
        browser.shot("two-servers-receipt")


def test_people_operators_and_analyst_in_a_browser(tmp_path, browser, host):
    task = new_task(auc(bins=32), least=10)
    path = f"/two-servers/{task.id.hex()}"
    elsewhere, place = host
    export(task, place)
    scores = [round(0.1 + 0.8 * number / IN_BROWSER, 3) for number in range(IN_BROWSER)]
    with in_threads(task, tmp_path) as (leader, helper):
        browser.screen()
        for number, score in enumerate(scores):
            group = "Yes" if number % 2 else "No"
            # Every other person takes a page that neither of the two servers serves.
            where = leader.base + path if number % 2 else f"{elsewhere}{path}/"
            take_part(browser, where, group, score, shots=number == 0)
        browser.see("#honest", "only against a curious server")
        assert state(leader.line, task)["received"] == IN_BROWSER
        others = crowd(task, 60)
        assert upload(leader.line, task, others.reports((leader.line, helper.line))) == {}
        labels = [number % 2 for number in range(IN_BROWSER)]
        everybody = People(
            task,
            {
                "score": np.array([*others.data["score"], *scores]),
                "label": np.array([*others.data["label"], *labels]),
            },
        )
        # Who came already is remembered, and the analyst asks for the result.
        browser.home = leader.base
        browser.open(path)
        browser.see("#receipt")
        browser.screen(400, 800, dark=True)
        assert browser.sideways() == 0
        browser.shot("two-servers-phone")
        browser.screen()
        browser.click("summary", "For the analyst")
        browser.write("#analyst input", "0" * 64)
        browser.press("Open the result")
        browser.see("#analyst [role=alert]", "token of the task's analyst")
        browser.write("#analyst input", ANALYST.hex())
        browser.press("Open the result")
        browser.see("#result", "The result")
        browser.see("#servers td", "has released the result")
        ideal = everybody.ideal()
        value = ideal.numbers.totals[0] / (2 * ideal.sizes["positive"] * ideal.sizes["negative"])
        assert float(browser.text("#value").removeprefix("AUC ")) == pytest.approx(value, abs=0.01)
        browser.press("Save the release")
        saved = browser.downloads / "release.json"
        until(lambda: saved.exists() and saved.stat().st_size, "the saved release")
        assert json.loads(saved.read_text()) == json.loads(ideal.to_json())
        assert browser.barriers() == []
        browser.shot("two-servers-analyst")
        browser.home = helper.base
        browser.open(path)
        browser.see("#servers td", "has released the result")
        browser.see("#over", "takes no more reports")
        browser.shot("two-servers-helper")
        assert [each for each in browser.complaints() if "401" not in each] == []


def test_two_tabs_send_one_report(tmp_path, browser):
    """Two reports of one person would count twice, and spend twice of what is promised."""
    task = new_task(auc(bins=8), least=10)
    with in_threads(task, tmp_path) as (leader, _):
        browser.home = f"{leader.base}/two-servers/{task.id.hex()}"
        browser.forget()
        browser.open("")
        browser.choose("Are you in the group", "Yes")
        browser.write("input[type=number]", "0.5")
        # Meanwhile, in another tab:
        name, other = f"dpairs:task:{task.id.hex()}", json.dumps({"report": "ab" * 64, "sent": True})
        browser.run("localStorage.setItem(...arguments)", name, other)
        browser.press("Split and seal my answer")
        browser.see("#receipt", "abababab")
        assert browser.run("return localStorage.getItem(arguments[0])", name) == other
        assert state(leader.line, task)["received"] == 0
