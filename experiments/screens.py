"""Pictures of the collector's pages, taken by a real Chromium: python -m experiments.screens.

Starts a collector, lets made-up people take part, and looks at what an analyst and a person see.
"""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import dpairs
from tests.collecting import Collector, collecting
from tests.collector.browser import Browser
from tests.collector.servers import until

from .exhibits import FIGURES

PEOPLE = 4000
STEPS = 12
QUESTION = "Every clinic knows how its patients fared. We ask for the score that the model gave each of them."
ILL = "Did the test find an infection?"
WORDS = {
    "organisation": "Institute of Public Health",
    "purpose": "To see whether the score can be used in practices.",
    "contact": "study@example.org",
    "group_question": ILL,
    "groups": {"positive": "It did", "negative": "It did not"},
    "columns": {"score": {"question": "Which score did you get?"}},
}


def scores(rng: np.random.Generator) -> Callable[[str, int], dict[str, float]]:
    def score(stratum: str, _: int) -> dict[str, float]:
        return {"score": float(np.clip(rng.normal(0.62 if stratum == "positive" else 0.42, 0.16), 0, 1))}

    return score


def grown(server: Collector, name: str, before: int) -> bool:
    return len(server.progress(name)["stages"][1]["history"]) > before


def answered(server: Collector) -> str:
    """A study in its second round, with the first round's and most of the second's reports."""
    study = dpairs.Study.create(
        "auc", protocol="projection", epsilon=2.0, domain=dpairs.Interval(0, 1), n=PEOPLE, seed=7
    )
    name = server.begin(study, "How good is the triage score?", question=QUESTION, people=PEOPLE, words=WORDS)
    rng = np.random.default_rng(7)
    both = ("positive", "negative")
    gateways = [server.gateway(name, dict.fromkeys(both, PEOPLE // 2 // STEPS)) for _ in range(STEPS)]
    for each in gateways:
        server.answer(name, each, scores(rng))
    server.ask("POST", f"/api/v1/studies/{name}/advance", {"seen": "round 1"})
    for each in gateways:
        before = len(server.progress(name)["stages"][1]["history"])
        server.answer(name, each, scores(rng))
        until(partial(grown, server, name, before), "a point")
    return name


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, collecting(Path(folder)) as server:
        browser = Browser(server.address, Path(folder))
        browser.shots = FIGURES
        try:
            name = answered(server)
            browser.screen(1100, 800)
            browser.open("/")
            browser.write("#token", server.token)
            browser.press("Sign in")
            browser.see("h1", "Studies")
            browser.open("/new")
            browser.see(".chart canvas")
            browser.shot("pages_planner")
            browser.open(f"/studies/{name}")
            browser.see(".chart canvas")
            browser.shot("pages_study")
            browser.screen(390, 800)
            browser.open(f"/take-part/{name}")
            browser.choose(ILL, "It did")
            browser.press("Take part")
            browser.write("form input", "0.73")
            browser.press("Randomize on this device")
            browser.see("#symbol")
            browser.see("summary", "The whole message").click()
            browser.shot("pages_person")
        finally:
            browser.driver.quit()


if __name__ == "__main__":
    main()
