"""Every page in a real browser: open to everybody, and in words that everybody knows."""

import secrets
import sqlite3
from contextlib import closing

import pytest

import dpairs

from ...collecting import Collector
from ..browser import CHROMIUM, DRIVER, Browser
from ..servers import Process, until
from .studies import BANDS, BANNED, MARKUP, counted, message, projection, score, sign_in, tree, words_on

pytest.importorskip("selenium", reason="Selenium is not installed, so no browser can be driven.")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="Chromium or its driver is not installed on this machine."
)


def test_every_page_is_open_to_everybody(browser, server):
    """No barrier that axe-core calls serious, light or dark, and no scrolling sideways on a phone."""
    answered = server.begin(tree(), "How good is the score? " + 25 * "Long", question="Words " * 40)
    server.answer(answered, server.gateway(answered, {"positive": 60, "negative": 60}), score)
    pairs = dpairs.Study.create("kendall_tau", protocol="pairwise", epsilon=1.0, domain=(BANDS,) * 2, pairs=1)
    paired = server.begin(pairs, "In pairs")
    for _ in range(6):
        key = {"key": secrets.token_hex(32)}
        server.ask("POST", f"/api/v1/studies/{paired}/people", {"request": secrets.token_hex(16), **key})
    server.ask("POST", f"/api/v1/studies/{paired}/advance", {"seen": "enrolment"})
    invited = server.begin(projection(), "Two rounds", enrolment="invited")
    browser.screen(360, 740)
    browser.open("/")
    browser.see("h1", "Sign in")
    found = look(browser, "sign-in")
    sign_in(browser, server)
    found |= look(browser, "list")
    pages = {
        "new": ("/new", ".chart canvas"),
        "study": (f"/studies/{answered}", "#interval"),
        "pairs": (f"/studies/{paired}", "progress"),
        "rounds": (f"/studies/{invited}", "#invited"),
        "person": (f"/take-part/{answered}", "select"),
        "person-invited": (f"/take-part/{invited}", "form input"),
        "person-pairs": (f"/take-part/{paired}", "pre"),
    }
    for name, (path, sign) in pages.items():
        browser.open(path)
        browser.see(sign)
        found |= look(browser, name)
    assert found == {}


def test_a_study_that_cannot_be_read_is_named_with_its_reason(browser, tmp_path, monkeypatch):
    process = Process(f"sqlite:///{tmp_path / 'pages.sqlite'}", tmp_path).start()
    try:
        here = Collector(process.base, process.token)
        broken, _ = here.begin(tree(), "Broken " + MARKUP), here.begin(projection(), "Whole")
        process.stop()
        with closing(sqlite3.connect(tmp_path / "pages.sqlite")) as connection, connection:
            connection.execute("update studies set words = '{' where id = ?", (broken,))
        process.start()
        browser.strangers()  # those of the page that was open
        monkeypatch.setattr(browser, "home", process.base)
        browser.screen(360, 740)
        sign_in(browser, here)
        browser.see("h2", "Whole")
        browser.see("[role=alert]", f"“Broken {MARKUP}” cannot be read.")
        assert look(browser, "unreadable") == {}
        assert browser.complaints() == []
        assert browser.strangers() == set()
    finally:
        process.kill()


def test_a_barrier_and_a_wide_page_would_be_noticed(browser, server):
    browser.screen(360, 740)
    browser.open("/")
    browser.see("h1", "Sign in")
    browser.run("document.querySelector('label').remove(); document.querySelector('h1').style.width = '90vh'")
    assert any(each.startswith("label") for each in browser.barriers())
    assert browser.sideways() > 0


def look(browser: Browser, name: str) -> dict[str, object]:
    """What is wrong with a page, on a phone and on a screen, light and dark."""
    found: dict[str, object] = {}
    for width, dark in ((360, True), (1280, False)):
        browser.screen(width, 800, dark)
        browser.shot(f"page-{name}-{width}")
        if barriers := browser.barriers():
            found[f"{name} at {width}"] = barriers
        if wider := browser.sideways():
            found[f"{name} at {width}, wider by"] = wider
    return found


def test_an_unknown_study_has_no_page(server):
    assert server.status(f"/take-part/{'0' * 64}") == 404
    assert server.status("/studies/nothing") == 404
    assert server.status("/static/../models.py") == 404


# On a wide screen the same pages are looked at above, with the same questions.
@pytest.mark.parametrize("width", [390, pytest.param(1280, marks=pytest.mark.long)])
def test_a_study_in_words_is_created_shown_and_answered_in_words(browser, server, width):
    browser.screen(width, 844 if width < 500 else 900)
    sign_in(browser, server)
    browser.open("/new")
    browser.see("#way-tree")
    browser.write("#title", f"Diabetes and the risk score, {width}")
    browser.write("#question", "Does the score tell who is ill?")
    browser.write("#organisation", "Institute of Public Health")
    browser.write("#purpose", "To see whether the score can be used in practices.")
    browser.write("#contact", "study@example.org")
    browser.write("#ask-score", "Which risk score did you get?")
    browser.write("#unit-score", "points")
    browser.write("#ask-group", "Did the test find diabetes?")
    browser.write("#group-positive", "It did")
    browser.write("#group-negative", "It did not")
    until(lambda: browser.run("return document.querySelector('[aria-busy]').ariaBusy") == "false", "the plan")
    browser.click("#way-tree")
    browser.shot(f"words-new-{width}")
    assert browser.barriers() == []
    assert browser.sideways() == 0
    cut = "const { scrollWidth, clientWidth } = arguments[0]; return scrollWidth - clientWidth"
    assert browser.run(cut, browser.see("[aria-label='Ways to run the study']")) == 0
    browser.press("Begin the study")
    code = browser.see("#qr")
    until(lambda: browser.run("return arguments[0].naturalWidth", code) > 0, "the picture of the QR code")
    browser.see("#local", "works on this computer only")
    browser.see("#interval", "It comes with the first reports.")
    browser.shot(f"words-study-{width}")
    assert browser.barriers() == []
    assert browser.sideways() == 0
    name = browser.driver.current_url.rpartition("/")[2]

    browser.open(f"/take-part/{name}")
    browser.see("#who", "Institute of Public Health")
    read = words_on(browser)
    for word in (
        "study@example.org",
        "which risk score did you get?",
        "did the test find diabetes?",
        "practices",
    ):
        assert word in read
    seen = [read]
    browser.shot(f"words-person-{width}")
    assert browser.barriers() == []
    browser.choose("Did the test find diabetes?", "It did")
    browser.press("Take part")
    browser.see("h2", "Your answer")
    seen.append(words_on(browser))
    assert "from 0 to 1 points" in seen[-1]
    browser.write("form input", "0.73")
    browser.shot(f"words-answer-{width}")
    browser.press("Randomize on this device")
    browser.see("#symbol")
    seen.append(words_on(browser))
    browser.shot(f"words-preview-{width}")
    assert browser.barriers() == []
    assert browser.sideways() == 0
    sent = message(browser)
    browser.press("Send this")
    browser.see("h2", "Thank you")
    seen.append(words_on(browser))
    browser.shot(f"words-receipt-{width}")
    for page in seen:
        for banned in BANNED:
            assert banned not in page, (banned, page)
    assert counted(server, name, sent)
    assert server.progress(name)["stages"][0]["reports"] == {"positive": 1, "negative": 0}
    browser.open(f"/studies/{name}")
    browser.see("#interval", "there is none yet of “It did not”")
