"""A collector in a process of its own, and a real Chromium that looks at its pages."""

import base64
import json
import os
import secrets
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dpairs

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
AXE = Path(__file__).parent / "assets" / "axe" / "axe.min.js"
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE = 20.0
"""Seconds until something that should come is missing."""
LEAST = {"serious", "critical"}


def until(found: Callable[[], Any], what: str) -> Any:
    """What is found, as soon as it is."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        answer = found()
        if answer:
            return answer
        time.sleep(0.03)
    raise AssertionError(f"this did not come within {PATIENCE:g} s: {what}")


class Collector:
    """A running collector, for its analyst and for devices."""

    def __init__(self, address: str, token: str) -> None:
        self.address, self.token = address, token

    def ask(self, method: str, path: str, content: Any = None, token: str | None = None, **headers: str) -> Any:
        body = content if isinstance(content, bytes | None) else json.dumps(content).encode()
        sent = {"content-type": "application/json", "authorization": f"Bearer {token or self.token}", **headers}
        request = urllib.request.Request(self.address + path, body, sent, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def status(self, path: str) -> int:
        try:
            with urllib.request.urlopen(self.address + path, timeout=PATIENCE) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            error.close()
            return error.code

    def begin(self, study: dpairs.Study, title: str, **more: Any) -> str:
        content = {"title": title, "study": json.loads(study.to_json()), **more}
        return str(self.ask("POST", "/api/v1/studies", content)["id"])

    def study(self, name: str) -> dpairs.Study:
        return dpairs.Study.from_json(json.dumps(self.ask("GET", f"/api/v1/studies/{name}")["study"]))

    def tally(self, name: str) -> dpairs.Tally:
        text = json.dumps(self.ask("GET", f"/api/v1/studies/{name}/tally"))
        return dpairs.Tally.from_json(text, self.study(name))

    def progress(self, name: str) -> Any:
        return self.ask("GET", f"/api/v1/studies/{name}/progress")

    def gateway(self, name: str, people: dict[str, int]) -> dict[str, Any]:
        content = {"request": secrets.token_hex(16), "people": people}
        found: dict[str, Any] = self.ask("POST", f"/api/v1/studies/{name}/gateways", content)["people"]
        return found

    def answer(self, name: str, gateway: dict[str, Any], value: Callable[[str, int], dict[str, Any]]) -> None:
        """The reports of those of a gateway's people who are asked now."""
        study = self.study(name)
        for stratum, given in gateway.items():
            people = range(given["first"], given["first"] + given["count"])
            asked = [index for index in people if study.asks(stratum, index)]
            reports = [
                dpairs.Participant(study, index=index, stratum=stratum).report(**value(stratum, index)).to_json()
                for index in asked
            ]
            body = "\n".join(each if isinstance(each, str) else json.dumps(each) for each in reports).encode()
            path = f"/api/v1/studies/{name}/batches"
            self.ask("POST", path, body, given["secret"], **{"content-type": "application/x-ndjson"})

    def enrol(self, name: str, stratum: str | None = None, code: str | None = None) -> Any:
        content = {"request": secrets.token_hex(16), "stratum": stratum, "code": code}
        return self.ask("POST", f"/api/v1/studies/{name}/people", content)

    def invite(self, name: str, count: int) -> list[str]:
        found = self.ask("POST", f"/api/v1/studies/{name}/invitations", {"count": count})
        return [str(code) for code in found["codes"]]


@contextmanager
def collector(folder: Path) -> Iterator[Collector]:
    """A collector of its own on a free port, with SQLite."""
    command = [sys.executable, "-c", "from dpairs.cli import main; main()", "serve"]
    command += ["--port", "0", "--json", "--rate", "0", "--database", f"sqlite:///{folder / 'pages.sqlite'}"]
    with (folder / "collector.log").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert process.stdout is not None
        try:
            told = json.loads(process.stdout.readline())
            found = Collector(told["address"], told["token"])
            until(lambda: _healthy(found), "the collector")
            yield found
        finally:
            process.terminate()
            process.wait(PATIENCE)
            process.stdout.close()


def _healthy(found: Collector) -> bool:
    try:
        return found.status("/healthz") == 200
    except OSError:
        return False


class Browser:
    """Chromium, with what a test asks of a page."""

    def __init__(self, home: str, folder: Path) -> None:
        from selenium import webdriver

        options = webdriver.ChromeOptions()
        options.binary_location = str(CHROMIUM)
        for flag in (*FLAGS, f"--user-data-dir={folder / 'profile'}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.home = home
        self.expected: tuple[str, ...] = ()
        self.downloads = folder / "downloads"
        self.shots = Path(os.environ.get("DPAIRS_SCREENSHOTS", folder / "screenshots"))
        for each in (self.downloads, self.shots):
            each.mkdir(parents=True, exist_ok=True)
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(str(DRIVER)))
        self.tell(
            "Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self.downloads), eventsEnabled=True
        )

    def tell(self, command: str, **parameters: Any) -> Any:
        return self.driver.execute_cdp_cmd(command, parameters)

    def screen(self, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        self.tell(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 500,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.tell("Emulation.setEmulatedMedia", features=[scheme])

    def offline(self, is_offline: bool) -> None:
        self.tell("Network.enable")
        self.tell(
            "Network.emulateNetworkConditions",
            offline=is_offline,
            latency=0,
            downloadThroughput=-1,
            uploadThroughput=-1,
        )

    def open(self, path: str) -> None:
        # Where only what follows the # differs, a browser loads nothing anew.
        self.driver.get("about:blank")
        self.driver.get(self.home + path)

    def run(self, script: str, *given: Any) -> Any:
        return self.driver.execute_script(script, *given)

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements("css selector", selector)

    def see(self, selector: str, text: str = "") -> Any:
        """The first element like that which is shown, as soon as there is one."""
        script = """return [...document.querySelectorAll(arguments[0])].find((each) =>
            each.checkVisibility() && each.textContent.includes(arguments[1]))"""
        return until(lambda: self.run(script, selector, text), f"{selector} with {text!r}")

    def text(self, selector: str) -> str:
        return str(self.run("return document.querySelector(arguments[0]).textContent", selector))

    def press(self, name: str) -> None:
        """Click the button of that name."""
        self.see("button", name).click()

    def write(self, selector: str, text: str) -> None:
        field = self.see(selector)
        field.clear()
        field.send_keys(text)

    def choose(self, label: str, option: str) -> None:
        """Choose from the list with that label."""
        from selenium.webdriver.support.select import Select

        wanted = self.see("label", label).get_attribute("for")
        Select(self.see(f"#{wanted}")).select_by_visible_text(option)

    def shot(self, name: str) -> None:
        """Keep a picture of the whole page."""
        size = self.run("return [innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}
        taken = self.tell("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        (self.shots / f"{name}.png").write_bytes(base64.b64decode(taken["data"]))

    def barriers(self) -> list[str]:
        """What axe-core finds that keeps people out."""
        self.run(AXE.read_text())
        script = "const done = arguments[0]; axe.run(document).then((found) => done(found.violations));"
        found = self.driver.execute_async_script(script)
        return [
            f"{each['id']} ({each['impact']}): {[node['html'] for node in each['nodes']]}"
            for each in found
            if each["impact"] in LEAST
        ]

    def sideways(self) -> int:
        """By how many pixels the page is wider than the screen."""
        return int(self.run("const e = document.documentElement; return e.scrollWidth - e.clientWidth"))

    def complaints(self) -> list[str]:
        """What the console says, but for what a test provokes and expects."""
        told = [each for each in self.driver.get_log("browser") if each["level"] in ("SEVERE", "WARNING")]
        return [each["message"] for each in told if not any(part in each["message"] for part in self.expected)]

    def strangers(self) -> set[str]:
        """Hosts other than the collector's that were asked for anything."""
        hosts = set()
        for line in self.driver.get_log("performance"):
            event = json.loads(line["message"])["message"]
            if event["method"] in ("Network.requestWillBeSent", "Network.webSocketCreated"):
                address = event["params"].get("request", event["params"])["url"]
                if urlsplit(address).scheme in ("http", "https", "ws", "wss"):
                    hosts.add(urlsplit(address).netloc)
        return hosts - {urlsplit(self.home).netloc}
