"""Open every page of the built documentation in Chromium, and name those that are wider than their window.

    python tools/page_widths.py site [--save FOLDER]

``--save`` keeps a picture of each page. Without Chromium the widths are not checked, which is said; with CI
set that is a failure.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

WIDTH, HEIGHT = 1280, 900
FINDINGS = """
const root = document.documentElement;
const article = document.querySelector("article") ?? root;
const edge = article.getBoundingClientRect().right;
const scrolls = (node) =>
  node !== article && (getComputedStyle(node).overflowX !== "visible" || scrolls(node.parentElement));
const beyond = [...article.querySelectorAll("*")].filter((node) => {
  const box = node.getBoundingClientRect();
  return box.width > 1 && box.right > edge + 6 && !scrolls(node);
});
const cut = [...article.querySelectorAll("div.arithmatex")].filter(
  (node) => node.scrollWidth > node.clientWidth + 6,
);
const named = (words, nodes) =>
  nodes.map((node) => `${words} (${node.clientWidth} pixels): ${node.textContent.trim().slice(0, 60)}`);
return [
  ...(root.scrollWidth > root.clientWidth ? ["the page is wider than its window"] : []),
  ...named("leaves its column", beyond),
  ...named("is cut", cut),
];
"""
"""What leaves the window or its column, and formulas that one must scroll to read; tables may scroll."""


def too_wide(site: Path, chromium: str, driver: str, save: Path | None) -> tuple[int, list[str]]:
    """How many pages there are, and what does not fit on them."""
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    options.binary_location = chromium
    for argument in (
        "--headless=new",
        "--no-sandbox",
        f"--window-size={WIDTH},{HEIGHT}",
        "--hide-scrollbars",
    ):
        options.add_argument(argument)
    pages = sorted(site.rglob("*.html"))
    wide: list[str] = []
    with Chrome(options=options, service=Service(driver)) as browser:
        for page in pages:
            browser.get(page.absolute().as_uri())
            name = page.relative_to(site).as_posix()
            wide += [f"{name}: {finding}" for finding in browser.execute_script(FINDINGS)]
            if save is not None:
                save.mkdir(parents=True, exist_ok=True)
                browser.save_screenshot(str(save / f"{name.replace('/', '-').removesuffix('.html')}.png"))
    return len(pages), wide


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path, help="folder that mkdocs wrote")
    parser.add_argument("--save", type=Path, help="folder for a picture of each page")
    given = parser.parse_args()
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        print("not checked: widths of pages (chromium or its driver is not installed)")
        return int(bool(os.environ.get("CI")))
    count, wide = too_wide(given.site, chromium, driver, given.save)
    print("\n".join(wide) if wide else f"{count} pages, none wider than {WIDTH} pixels")
    return int(bool(wide) or count == 0)


if __name__ == "__main__":
    sys.exit(main())
