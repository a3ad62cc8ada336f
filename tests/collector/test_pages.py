"""The pages, in a real browser: an analyst runs a study, and people take part in it."""

import csv
import json
import secrets
import sqlite3
from contextlib import closing
from typing import Any

import pytest

import dpairs
from dpairs.client import Device, Site

from ..collecting import Collector, collecting
from .browser import CHROMIUM, DRIVER, Browser
from .servers import Process, until

pytest.importorskip("selenium", reason="Selenium is not installed, so no browser can be driven.")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="Chromium or its driver is not installed on this machine."
)
SCORES = dpairs.Interval(0, 1)
BANDS = dpairs.Levels(range(6))
MARKUP = "<b>Bold</b> & <img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with collecting(tmp_path_factory.mktemp("collector")) as found:
        yield found


@pytest.fixture
def browser(server, chromium):
    """A browser that remembers nothing; afterwards it has complained of nothing and asked nobody else."""
    chromium.home = server.address
    chromium.screen()
    chromium.open("/healthz")  # the smallest page of this origin
    chromium.run("localStorage.clear(); sessionStorage.clear()")
    chromium.expected = ()
    chromium.complaints()
    chromium.strangers()
    yield chromium
    chromium.offline(False)
    assert chromium.complaints() == []
    assert chromium.strangers() == set()


def sign_in(browser: Browser, server: Collector) -> None:
    browser.open("/")
    browser.write("#token", server.token)
    browser.press("Sign in")
    browser.see("h1", "Studies")


def tree() -> dpairs.Study:
    return dpairs.Study.create("auc", protocol="tree", epsilon=1.0, domain=SCORES, bins=64)


def projection(n: int = 2000) -> dpairs.Study:
    return dpairs.Study.create("kendall_tau", protocol="projection", epsilon=2.0, domain=(BANDS,) * 2, n=n)


def score(stratum: str, index: int) -> dict[str, float]:
    return {"score": (index * 37 % 100) / 200 + (0.4 if stratum == "positive" else 0.1)}


def bands(_: str, index: int) -> dict[str, int]:
    return {"x": index % 6, "y": min(5, index % 6 + index // 6 % 2)}


def counted(server: Collector, name: str, message: str) -> bool:
    """Whether the collector's tally is that of this one report."""
    study = server.study(name)
    alone = dpairs.Tally(study)
    alone.add(dpairs.Report.from_json(json.loads(message), study))
    return server.tally(name).to_json() == alone.to_json()


def message(browser: Browser) -> str:
    """The report that the page shows in words, as the device keeps it."""
    script = """const id = location.pathname.split("/").at(-1);
        const code = new URLSearchParams(location.hash.slice(1)).get("code");
        return JSON.parse(localStorage.getItem(`dpairs:${code ? `${id}:${code}` : id}`)).report"""
    kept = str(browser.run(script))
    assert f"{json.loads(kept)['symbol']}" in browser.text("#message")
    return kept


# ---------------------------------------------------------------- the analyst


def test_a_wrong_token_is_refused_in_one_sentence(browser, server):
    browser.expected = ("status of 401",)
    browser.open("/")
    browser.write("#token", "not-the-token")
    browser.press("Sign in")
    browser.see("[role=alert]", "This is not the analyst's token.")
    assert browser.run("return sessionStorage.length") == 0


def test_an_analyst_plans_begins_watches_advances_and_ends_a_study(browser, server):
    sign_in(browser, server)
    browser.open("/new")
    browser.see("#way-projection")
    browser.see(".chart canvas")
    browser.shot("analyst-planner")
    table = "return document.querySelector('table.options')?.textContent"
    before = browser.run(table)
    slider = browser.see("#epsilon")
    slider.send_keys("\ue014\ue014")  # the right arrow, twice
    assert "at most 7.4 times as likely" in browser.text("#epsilon-words")
    until(lambda: browser.run(table) not in (None, before), "another plan")
    browser.choose("Which group somebody is in", "is also secret")
    browser.see("label", "People you expect")
    browser.choose("Which group somebody is in", "is known (or not secret)")
    for field in browser.all(".fields input[min='2']"):
        field.clear()
        field.send_keys("400")
    until(lambda: browser.run("return document.querySelector('[aria-busy]').ariaBusy") == "false", "the plan")
    browser.click("#way-projection")
    browser.write("#title", f"Triage {MARKUP}")
    browser.write("#question", MARKUP)
    browser.press("Begin the study")

    browser.see("h1", f"Triage {MARKUP}")
    browser.see("#estimate", "No estimate yet")
    assert browser.all("h1 b, header img, header b") == []
    name = browser.driver.current_url.rpartition("/")[2]
    assert browser.see(".beside input").get_attribute("value") == f"{server.address}/take-part/{name}"

    gateway = server.gateway(name, {"positive": 400, "negative": 400})
    server.answer(name, gateway, score)
    browser.see("#interval", "The first round gives a rough picture only")
    browser.see("#enrolled", "800 people have enrolled (400 positive, 400 negative); 800 expected.")
    browser.shot("analyst-round-1")

    browser.press("Begin round 2")
    browser.see("dialog h2", "End this round and begin the next?")
    browser.shot("analyst-dialog")
    browser.press("Cancel")
    assert server.progress(name)["study"]["round"] == 1
    browser.press("Begin round 2")
    browser.click("#dialog-yes")
    browser.see(".badge", "round 2 of 2")
    server.answer(name, gateway, score)
    progress = server.progress(name)
    assert progress["stages"][1]["reports"] == progress["stages"][1]["asked"]
    browser.see("#interval", f"from {progress['estimate']['n']} reports")
    browser.shot("analyst-round-2")

    browser.press("Close the study")
    browser.click("#dialog-yes")
    browser.see(".badge", "closed")
    browser.see("p", "The study is closed: nobody can take part any more.")
    for button in BUTTONS:
        browser.press(button)
    files = [browser.downloads / f"{name[:16]}-{end}" for end in FILES]
    until(lambda: all(each.exists() and each.stat().st_size for each in files), "the files")
    check_files(files, server.progress(name)["estimate"])

    # The page may ask for the progress once more while the study goes.
    browser.expected = (f"{name}/progress - Failed to load resource",)
    browser.press("Delete the study")
    browser.click("#dialog-yes")
    browser.see("h1", "Studies")
    assert server.status(f"/api/v1/studies/{name}") == 404


FILES = ["estimate.json", "estimate.csv", "study-1.json", "tally-1.json", "study-2.json", "tally-2.json"]
FILES += ["study-2.analysis.json"]
BUTTONS = ["Estimate (JSON)", "Estimate (CSV)"]
BUTTONS += [f"{what} of round {number} (JSON)" for number in (1, 2) for what in ("Study", "Counts")]
BUTTONS += ["Analysis of round 2 (JSON)"]


def check_files(files, estimate):
    saved = json.loads(files[0].read_text())
    assert saved == estimate
    (row,) = csv.DictReader(files[1].read_text().splitlines())
    assert float(row["value"]) == saved["value"]
    one, other = (dpairs.Study.from_json(files[place].read_text()) for place in (2, 4))
    first = dpairs.Tally.from_json(files[3].read_text(), one)
    assert one.next(first).to_json() == other.to_json()
    other = other.with_analysis(files[6].read_text())
    assert other == one.next(first)
    second = dpairs.Tally.from_json(files[5].read_text(), other)
    assert second.estimate().value == saved["value"]


def test_invitations_are_links_that_work_once(browser, server):
    name = server.begin(tree(), "By invitation", enrolment="invited")
    sign_in(browser, server)
    browser.open(f"/studies/{name}")
    browser.write("#invited", "3")
    browser.choose("Their group", "No")
    browser.press("Make invitations")
    browser.see("#links")
    links = str(browser.run("return document.querySelector('#links').value")).split("\n")
    assert len(set(links)) == 3
    browser.shot("analyst-invitations")
    browser.open(links[0].removeprefix(server.address))
    browser.press("Take part")
    browser.see("section", "You said: No")
    assert server.progress(name)["enrolled"] == {"positive": 0, "negative": 1}


# ---------------------------------------------------------------- people


def test_a_person_takes_part_in_a_tree_study(browser, server):
    name = server.begin(tree(), MARKUP, question=MARKUP)
    browser.screen(360, 740)
    browser.open(f"/take-part/{name}")
    browser.see("h1", MARKUP)
    browser.see("p", MARKUP)
    browser.shot("person-begin")
    browser.choose("Are you in the group", "Yes")
    browser.press("Take part")
    browser.see("h2", "Your answer")
    assert browser.run("return document.activeElement.textContent") == "Your answer"
    browser.write("form input", "0.73")
    browser.shot("person-answer")
    browser.press("Randomize on this device")
    shown = browser.see("#symbol").text
    browser.see("p", "at most 2.72 times as likely")
    browser.shot("person-symbol")
    sent = message(browser)
    assert shown == f"One digit, 0 or 1: {json.loads(sent)['symbol']}"
    assert server.progress(name)["stages"][0]["reports"] == {"positive": 0, "negative": 0}

    browser.driver.refresh()
    assert browser.see("#symbol").text == shown
    assert message(browser) == sent
    browser.press("Send this")
    browser.see("h2", "Thank you: your report was counted")
    browser.shot("person-receipt")
    assert message(browser) == sent
    assert counted(server, name, sent)

    browser.driver.refresh()
    browser.see("h2", "Thank you: your report was counted")
    assert message(browser) == sent
    assert "0.73" not in str(browser.run("return JSON.stringify(localStorage)"))


def enrol_until(server: Collector, name: str, codes: list[str], asked: bool) -> None:
    """Let others enrol until the next person is asked in the first round, or is not."""
    study = server.study(name)
    while study.asks("everybody", server.progress(name)["enrolled"]["everybody"]) != asked:
        server.enrol(name, code=codes.pop())


def answer_bands(browser: Browser) -> str:
    browser.choose("Your first answer", "3")
    browser.choose("Your second answer", "4")
    browser.press("Randomize on this device")
    browser.see("#symbol")
    return message(browser)


def test_people_take_part_in_both_rounds_of_a_projection_study(browser, server):
    name = server.begin(projection(), "Does salary go with happiness?", enrolment="invited")
    codes = server.invite(name, 300)
    early, late = codes.pop(), codes.pop()
    browser.screen(360, 740)

    enrol_until(server, name, codes, asked=True)
    browser.open(f"/take-part/{name}#code={early}")
    browser.press("Take part")
    sent = answer_bands(browser)
    browser.shot("person-round-1")
    browser.press("Send this")
    browser.see("h2", "Thank you")
    assert counted(server, name, sent)

    enrol_until(server, name, codes, asked=False)
    browser.open(f"/take-part/{name}#code={late}")
    browser.press("Take part")
    browser.see("h2", "You are asked in the second round")
    browser.shot("person-wait")
    browser.press("Check now")
    browser.see("p", "The first round is still running.")

    server.answer(name, server.gateway(name, {"everybody": 1500}), bands)
    server.ask("POST", f"/api/v1/studies/{name}/advance", {"seen": "round 1"})
    browser.press("Check now")
    browser.see("h2", "Your answer")
    sent = answer_bands(browser)
    browser.shot("person-round-2")
    browser.press("Send this")
    browser.see("h2", "Thank you")
    assert counted(server, name, sent)

    browser.open(f"/take-part/{name}#code={early}")
    browser.see("h2", "Thank you")


def test_a_lost_connection_sends_the_same_report_later(browser, server):
    study = dpairs.Study.create("collision_entropy", epsilon=1.0, domain=dpairs.Categories(["a", "b", "c"]))
    name = server.begin(study, "Favourite letter")
    browser.open(f"/take-part/{name}")
    browser.press("Take part")
    browser.choose("Your answer", "b")
    browser.press("Randomize on this device")
    browser.see("#symbol")
    sent = message(browser)
    browser.expected = ("ERR_INTERNET_DISCONNECTED",)
    browser.offline(True)
    browser.press("Send this")
    browser.see("[role=status]", "No connection. Trying again")
    browser.offline(False)
    browser.see("h2", "Thank you")
    assert counted(server, name, sent)


def test_a_wrong_value_is_refused_in_one_sentence(browser, server):
    name = server.begin(tree(), "Scores")
    browser.open(f"/take-part/{name}")
    browser.press("Take part")
    browser.see("[role=alert]", "Please answer this first.")
    browser.choose("Are you in the group", "No")
    browser.press("Take part")
    browser.see("h2", "Your answer")
    for typed, words in (
        ("", "Your score is missing."),
        ("7", "Your score must be a number from 0 to 1, not 7."),
        ("-0.01", "Your score must be a number from 0 to 1, not -0.01."),
    ):
        browser.write("form input", typed)
        browser.press("Randomize on this device")
        browser.see("[role=alert]", words)
        assert browser.text("[role=alert]") == words
        assert browser.run("return document.activeElement.getAttribute('aria-invalid')") == "true"
        assert "report" not in browser.run(f"return JSON.parse(localStorage.getItem('dpairs:{name}'))")


def test_the_keyboard_is_enough(browser, server):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    name = server.begin(tree(), "By keyboard")
    browser.open(f"/take-part/{name}")
    browser.see("h2", "What happens if you take part")

    def keys(*pressed: str) -> None:
        ActionChains(browser.driver).send_keys(*pressed).perform()

    def go_to(selector: str) -> None:
        script = "return document.activeElement.matches(arguments[0])"
        for _ in range(12):
            keys(Keys.TAB)
            if browser.run(script, selector):
                return
        raise AssertionError(f"{selector} is not reached with the keyboard")

    go_to("select")
    keys("n")
    go_to("button")
    keys(Keys.ENTER)
    browser.see("h2", "Your answer")
    go_to("input")
    keys("0.25", Keys.ENTER)
    browser.see("#symbol")
    go_to("#send")
    keys(Keys.SPACE)
    browser.see("h2", "Thank you: your report was counted")
    assert server.progress(name)["stages"][0]["reports"] == {"positive": 0, "negative": 1}


EVERY_KIND: dict[str, tuple[str, str, Any, dict[str, Any], list[str]]] = {
    "krr": ("collision_entropy", "histogram", dpairs.Categories(["a", "b"]), {"mechanism": "krr"}, ["a"]),
    "many letters": ("collision_entropy", "histogram", dpairs.Categories(list("abcdefghijklmn")), {}, ["k"]),
    "whole numbers": ("gini_mean_difference", "histogram", dpairs.Integers(-5, 10**6), {"bins": 16}, ["-5"]),
    "an interval": ("variance", "projection", dpairs.Interval(-1, 2.5), {"n": 500}, ["0.5"]),
    "private groups": ("auc", "histogram", SCORES, {"labels": "private", "bins": 4}, ["0.5", "Yes"]),
    "two intervals": ("kendall_tau", "histogram", (SCORES,) * 2, {"bins": 3}, ["0.5", "1"]),
}


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_every_kind_of_study_can_be_answered(browser, server, kind):
    statistic, protocol, domain, more, typed = EVERY_KIND[kind]
    study = dpairs.Study.create(statistic, protocol=protocol, epsilon=1.0, domain=domain, **more)
    name = server.begin(study, f"Every kind: {kind}")
    while not study.asks("everybody", server.progress(name)["enrolled"]["everybody"]):
        server.enrol(name)
    browser.screen(360, 740)
    browser.open(f"/take-part/{name}")
    browser.press("Take part")
    browser.see("h2", "Your answer")
    for field, text in zip(browser.all("form input, form select"), typed, strict=True):
        field.send_keys(text)  # as a keyboard does
    browser.press("Randomize on this device")
    browser.see("#symbol")
    browser.see(".chart canvas, td")
    assert browser.sideways() == 0
    browser.shot(f"person-{kind.replace(' ', '-')}")
    sent = message(browser)
    browser.press("Send this")
    browser.see("h2", "Thank you")
    assert counted(server, name, sent)


def test_pairs_are_sent_to_a_program(browser, server):
    study = dpairs.Study.create("auc", protocol="pairwise", epsilon=1.0, domain=SCORES, pairs=1)
    name = server.begin(study, "In pairs")
    browser.open(f"/take-part/{name}")
    browser.see("h2", "This study needs a program on your computer")
    browser.see("pre", f"dpairs join {server.address}/take-part/{name} --group 1|2")
    read = words_on(browser)
    assert "1: yes\n2: no" in read
    for banned in BANNED:
        assert banned not in read, (banned, read)


def test_answers_are_named_one_by_one_and_groups_as_the_analyst_calls_them(browser, server):
    sign_in(browser, server)
    browser.open("/new")
    browser.see("#way-tree")
    browser.choose("An answer is", "one of several ordered answers")
    until(lambda: browser.run("return document.querySelectorAll('[id^=answer-score]').length") == 5, "fields")
    browser.write("[id^=answer-score]", "never")
    browser.write("#group-positive", "It did")
    browser.write("#title", "Answers in words")
    until(lambda: browser.run("return document.querySelector('[aria-busy]').ariaBusy") == "false", "the plan")
    browser.click("#way-tree")
    assert browser.barriers() == []
    browser.press("Begin the study")
    browser.see("#enrolled", "(0 “It did”, 0 negative)")
    assert "positive" not in browser.text("#enrolled")
    name = browser.driver.current_url.rpartition("/")[2]
    words = server.progress(name)["study"]["words"]
    assert words["columns"]["score"]["answers"] == {"1": "never"}
    browser.open(f"/take-part/{name}")
    browser.choose("Are you in the group that this study is about?", "It did")
    browser.press("Take part")
    browser.see("h2", "Your answer")
    assert "never" in browser.run("return document.querySelector('form select').textContent")


def test_a_closed_study_says_so(browser, server):
    name = server.begin(tree(), "Over")
    server.ask("POST", f"/api/v1/studies/{name}/close")
    browser.open(f"/take-part/{name}")
    browser.see("h2", "This study is closed")


# ---------------------------------------------------------------- every page


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


BANNED: tuple[str, ...] = (
    "stratum",
    "positive",
    "negative",
    "x and y",
    "number 0",
    "symbol",
    "index",
    "bit",
    "class",
)
BANNED += ("collector", "protocol", "epsilon", "ristretto", "python", "parameter", "randomizer", "client ")


def words_on(browser: Browser) -> str:
    """All that a person can read on the page, with what is folded away."""
    browser.run("document.querySelectorAll('details').forEach((each) => (each.open = true))")
    return str(browser.run("return document.querySelector('main').innerText")).lower()


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
    browser.press("Begin the study")
    code = browser.see("#qr")
    until(lambda: browser.run("return arguments[0].naturalWidth", code) > 0, "the picture of the QR code")
    browser.see("#local", "works on this computer only")
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


def test_a_plan_for_other_inputs_is_not_shown(browser, server):
    sign_in(browser, server)
    browser.open("/new")
    browser.see("#way-projection")
    # What happens at once, before the planner can answer.
    gone = browser.run("""const slider = document.querySelector("#epsilon");
        slider.value = "8";
        slider.dispatchEvent(new Event("input", { bubbles: true }));
        return document.querySelector("table.options") === null
            && [...document.querySelectorAll(".chart")].every((each) => !each.checkVisibility())""")
    assert gone
    browser.see("#way-projection")


def test_the_next_round_is_not_the_main_thing_before_anybody_answered(browser, server):
    name = server.begin(projection(), "Two rounds")
    sign_in(browser, server)
    browser.open(f"/studies/{name}")
    assert "second" in browser.see("#advance").get_attribute("class")


def test_sites_are_shown_by_name_with_what_they_answered(browser, server, tmp_path):
    study = dpairs.Study.create("auc", protocol="sites", epsilon=2.0, domain=SCORES, bins=8, sites=2)
    name = server.begin(study, "Hospitals")
    link = f"{server.address}/take-part/{name}"
    records = {"score": [0.1, 0.4, 0.6, 0.3, 0.9, 0.7] * 50, "label": [0, 1, 0, 0, 1, 1] * 50}

    def send(site: str) -> None:
        Site(site, device=Device(tmp_path / site)).send(link, records)

    for site in ("North", "South", MARKUP[3:]):
        send(site)
    sign_in(browser, server)
    browser.open(f"/studies/{name}")
    browser.see("#enrolled", "3 sites have enrolled.")
    rows = """return [...document.querySelectorAll('#people ~ div tbody tr')].map(
        (row) => [...row.cells].map((cell) => cell.textContent).slice(0, -1))"""
    assert ["North", "Answered", "150 positive, 150 negative", "–"] in browser.run(rows)
    assert [MARKUP[3:], "Answered", "150 positive, 150 negative", "–"] in browser.run(rows)
    assert browser.barriers() == []
    browser.press("Begin round 2")
    browser.see("dialog", "A site that has not answered by now is not asked any more.")
    browser.click("#dialog-yes")
    browser.see(".badge", "round 2 of 2")
    send("North")
    # The same folder, set up anew under the same name: another answer, which is refused and shown.
    copy = Device(tmp_path / "North")
    with copy.study(study.id) as me:
        second = next(each for each in me.data["answers"] if each != study.id)
        del me.data["answers"][second]
        me.data["delivered"].remove(second)
        me.save()
    with pytest.raises(dpairs.errors.AlreadyAnswered):
        send("North")
    until(
        lambda: ["North", "Answered", "Answered", "150 positive, 150 negative", "1"] in browser.run(rows),
        "the refusal",
    )
    browser.shot("analyst-sites")
    browser.press("Close the study")
    browser.click("#dialog-yes")
    until(
        lambda: ["South", "Answered", "Dropped out", "150 positive, 150 negative", "–"] in browser.run(rows),
        "a site that dropped out",
    )
    browser.open(f"/take-part/{name}")
    browser.see("h2", "This study asks sites that hold many records")
    browser.see("pre", f"dpairs site {link}")
    assert browser.barriers() == []
