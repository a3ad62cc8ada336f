"""Studies that the pages show, and what people answer on them."""

import json

import dpairs

from ...collecting import Collector
from ..browser import Browser

SCORES = dpairs.Interval(0, 1)
BANDS = dpairs.Levels(range(6))
MARKUP = "<b>Bold</b> & <img src=x onerror=alert(1)>"
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


def words_on(browser: Browser) -> str:
    """All that a person can read on the page, with what is folded away."""
    browser.run("document.querySelectorAll('details').forEach((each) => (each.open = true))")
    return str(browser.run("return document.querySelector('main').innerText")).lower()
