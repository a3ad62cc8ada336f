"""The pages in a real browser: an analyst runs a study."""

import csv
import json

import pytest

import dpairs
from dpairs.client import Device, Site

from ..browser import CHROMIUM, DRIVER
from ..servers import until
from .studies import MARKUP, SCORES, projection, score, sign_in, tree

pytest.importorskip("selenium", reason="Selenium is not installed, so no browser can be driven.")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="Chromium or its driver is not installed on this machine."
)


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


# ---------------------------------------------------------------- every page


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
