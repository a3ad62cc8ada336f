"""A real Chromium that looks at a collector's pages, with what a test asks of a page."""

import base64
import json
import os
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .servers import until

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
AXE = Path(__file__).parent / "axe" / "axe.min.js"
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # All pages in one process: to start one for each takes longer than to show most of them.
    "--process-per-site",
    "--renderer-process-limit=1",
    "--disable-site-isolation-trials",
)
PATIENCE = 40.0
"""Seconds until something that should be on a page is missing."""
PAUSE = 0.03
"""Between looks at a page, each of which takes a browser some milliseconds."""


class Browser:
    """Chromium, with what a test asks of a page."""

    def __init__(self, home: str, folder: Path) -> None:
        from selenium import webdriver

        options = webdriver.ChromeOptions()
        options.binary_location = str(CHROMIUM)
        for flag in (*FLAGS, f"--user-data-dir={folder / 'profile'}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        options.add_experimental_option("perfLoggingPrefs", {"enablePage": False})
        self.home = home
        self.expected: tuple[str, ...] = ()
        self.downloads = folder / "downloads"
        self.shots = Path(os.environ["DPAIRS_SCREENSHOTS"]) if "DPAIRS_SCREENSHOTS" in os.environ else None
        for each in (self.downloads, self.shots or folder):
            each.mkdir(parents=True, exist_ok=True)
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(str(DRIVER)))
        self.tell(
            "Browser.setDownloadBehavior",
            behavior="allow",
            downloadPath=str(self.downloads),
            eventsEnabled=True,
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
        address = self.home + path
        if self.driver.current_url.partition("#")[0] == address.partition("#")[0]:
            # Where only what follows the # differs, a browser loads nothing anew.
            self.driver.get("about:blank")
        self.driver.get(address)

    def forget(self) -> None:
        """Let the home's pages find nothing that they kept."""
        address = urlsplit(self.home)
        origin = f"{address.scheme}://{address.netloc}"
        self.tell("Storage.clearDataForOrigin", origin=origin, storageTypes="local_storage")

    def run(self, script: str, *given: Any) -> Any:
        return self.driver.execute_script(script, *given)

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements("css selector", selector)

    def see(self, selector: str, text: str = "") -> Any:
        """The first element like that which is shown, as soon as there is one."""
        return until(lambda: self._seen(selector, text), f"{selector} with {text!r}", PATIENCE, PAUSE)

    def _seen(self, selector: str, text: str) -> Any:
        """The page itself looks for a second, which takes less than to ask it again and again."""
        from selenium.common.exceptions import JavascriptException, TimeoutException

        script = """const [selector, text, done] = arguments, end = performance.now() + 1000;
            const look = () => {
                const seen = [...document.querySelectorAll(selector)].find((each) =>
                    each.checkVisibility() && each.textContent.includes(text));
                if (seen || performance.now() > end) done(seen ?? null);
                else setTimeout(look, 30);
            };
            look();"""
        try:
            return self.driver.execute_async_script(script, selector, text)
        except (JavascriptException, TimeoutException):  # another page has come
            return None

    def text(self, selector: str) -> str:
        return str(self.run("return document.querySelector(arguments[0]).textContent", selector))

    def click(self, selector: str, text: str = "") -> None:
        """Click in the middle of the first such element, once nothing lies before it.

        WebDriver's own click takes five times as long.
        """
        script = """const [element] = arguments;
            element.scrollIntoView({ block: "nearest", behavior: "instant" });
            const box = element.getBoundingClientRect();
            const at = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
            return element.contains(document.elementFromPoint(at.x, at.y)) ? at : null"""
        at = until(lambda: self.run(script, self.see(selector, text)), f"nothing before {selector}", PATIENCE)
        for kind in ("mousePressed", "mouseReleased"):
            self.tell("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)

    def press(self, name: str) -> None:
        """Click the button of that name."""
        self.click("button", name)

    def write(self, selector: str, text: str) -> None:
        """Write into a field, over what is there, as somebody does who pastes."""
        self.run("arguments[0].focus(); arguments[0].select()", self.see(selector))
        self.tell("Input.insertText", text=text)

    def choose(self, label: str, option: str) -> None:
        """Choose from the list with that label."""
        script = """const [list, text] = arguments;
            list.focus();
            list.selectedIndex = [...list.options].findIndex((each) => each.text.trim() === text);
            for (const event of ["input", "change"]) list.dispatchEvent(new Event(event, { bubbles: true }));
            return list.selectedIndex >= 0"""
        wanted = self.run("return arguments[0].htmlFor", self.see("label", label))
        assert self.run(script, self.see(f"#{wanted}"), option), f"{label} has no {option!r}"

    def shot(self, name: str) -> None:
        """Keep a picture of the whole page, for somebody who asked to see it."""
        if self.shots is None:
            return
        size = self.run("return [innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}
        taken = self.tell("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        (self.shots / f"{name}.png").write_bytes(base64.b64decode(taken["data"]))

    def barriers(self) -> list[str]:
        """What axe-core finds that keeps people out, or may."""
        if not self.run("return 'axe' in window"):
            self.run(AXE.read_text())
        script = """const done = arguments[0];
            axe.run(document, { resultTypes: ["violations"] }).then((found) => done(found.violations));"""
        found = self.driver.execute_async_script(script)
        return [
            f"{each['id']} ({each['impact']}): {[node['html'] for node in each['nodes']]}" for each in found
        ]

    def sideways(self) -> int:
        """By how many pixels the page is wider than the screen."""
        return int(self.run("const e = document.documentElement; return e.scrollWidth - e.clientWidth"))

    def complaints(self) -> list[str]:
        """What the console says, but for what a test provokes and expects.

        Pages name their icon; where a browser shows JSON it asks for /favicon.ico, sooner or later.
        """
        told = [each for each in self.driver.get_log("browser") if each["level"] in ("SEVERE", "WARNING")]
        expected = (*self.expected, "/favicon.ico")
        return [each["message"] for each in told if not any(part in each["message"] for part in expected)]

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
