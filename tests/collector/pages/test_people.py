"""The pages in a real browser: people take part in a study."""

import json
from typing import Any

import pytest

import dpairs

from ...collecting import Collector
from ..browser import CHROMIUM, DRIVER, Browser
from ..servers import until
from .studies import BANNED, MARKUP, SCORES, counted, message, projection, sign_in, tree, words_on

pytest.importorskip("selenium", reason="Selenium is not installed, so no browser can be driven.")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="Chromium or its driver is not installed on this machine."
)


def bands(_: str, index: int) -> dict[str, int]:
    return {"x": index % 6, "y": min(5, index % 6 + index // 6 % 2)}


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
