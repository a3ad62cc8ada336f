"""A participant's browser that shards

Chromium, slowed down four times by its own developer tools, loads the JavaScript library as plain files under
the collector's content security policy and shards on the page's main thread. "First" is the first
measurement after loading, before anything is compiled well: the median over fresh pages. "Later" is the
median of those that follow. The last row is the longest time for which the page answered nothing while a
Web Worker sharded 4,096 cells. Before anything is timed, the browser's shares are compared with official
vectors, and its HPKE with the vector of RFC 9180. It needs chromium, chromedriver and selenium.
"""

from __future__ import annotations

import functools
import json
import shutil
import statistics
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from measure import Row

from dpairs.collector.limits import POLICY

ROOT = Path(__file__).parents[1]
VECTORS = ROOT / "vectors" / "vdaf"
SLOWER = 4
LIMIT = 0.4
"""Seconds for 256 cells."""
PATIENCE = 120
"""Seconds until a page that does not answer is given up."""
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
)
SCHEMES = (("one_hot", 256), ("histogram", 256), ("one_hot", 4096))

HEAD = """
const [given, done] = arguments;
const fail = (error) => done({ error: String(error?.stack ?? error) });
const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const hex = (array) => Array.from(array, (byte) => byte.toString(16).padStart(2, "0")).join("");
"""
SHARES = """
import("/vdaf/index.js").then(async ({ prio3, seal, ShardingWorker }) => {
  const { name, parameters, ctx, report, hpke } = given;
  const random = { nonce: bytes(report.nonce), rand: bytes(report.rand) };
  const worker = new ShardingWorker(name, parameters);
  const made = [
    prio3(name, parameters).shard(bytes(ctx), report.measurement, random),
    await worker.shard(bytes(ctx), report.measurement, random),
  ];
  worker.close();
  const options = { info: bytes(hpke.info), associated: bytes(hpke.aad), material: bytes(hpke.ikmE) };
  const sealed = await seal(bytes(hpke.pkRm), bytes(hpke.pt), options);
  done({
    shares: made.map(({ publicShare, inputShares }) => [publicShare, ...inputShares].map(hex)),
    sealed: hex(sealed),
  });
}).catch(fail);
"""
TIMES = """
const begun = performance.now();
import("/vdaf/index.js").then(({ prio3 }) => {
  const { name, cells, repeats } = given;
  const [context, times] = [bytes("00"), [performance.now() - begun]];
  for (let i = 0; i <= repeats; i += 1) {
    const start = performance.now();
    prio3(name, { cells }).shard(context, i);
    times.push(performance.now() - start);
  }
  done({ times });
}).catch(fail);
"""
PAUSES = """
import("/vdaf/index.js").then(async ({ ShardingWorker }) => {
  const worker = new ShardingWorker("one_hot", { cells: 4096 });
  await worker.shard(bytes("00"), 1);
  let [longest, last, ticks] = [0, performance.now(), 0];
  const timer = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
    ticks += 1;
  }, 4);
  for (let i = 0; i < 5; i += 1) await worker.shard(bytes("00"), i);
  clearInterval(timer);
  worker.close();
  done({ longest, ticks });
}).catch(fail);
"""
RFC_9180 = {
    "info": "4f6465206f6e2061204772656369616e2055726e",
    "ikmE": "7268600d403fce431561aef583ee1613527cff655c1343f29812e66706df3234",
    "pkEm": "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431",
    "pkRm": "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d",
    "pt": "4265617574792069732074727574682c20747275746820626561757479",
    "aad": "436f756e742d30",
    "ct": "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a",
}
"""Appendix A.1.1."""


class Files(SimpleHTTPRequestHandler):
    """The library, as the collector serves it."""

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def do_GET(self) -> None:
        if self.path == "/page":
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>dpairs</title>")
        else:
            super().do_GET()

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@contextmanager
def served() -> Iterator[str]:
    handler = functools.partial(Files, directory=str(ROOT / "js" / "src"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/page"
        finally:
            server.shutdown()


@contextmanager
def chromium() -> Iterator[Any]:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for flag in (*FLAGS, f"--user-data-dir={folder}"):
            options.add_argument(flag)
        service = webdriver.ChromeService(str(shutil.which("chromedriver")))
        driver = webdriver.Chrome(options=options, service=service)
        try:
            driver.set_page_load_timeout(PATIENCE)
            driver.set_script_timeout(PATIENCE)
            yield driver
        finally:
            driver.quit()


def ask(driver: Any, page: str, script: str, given: Any, slower: int) -> dict[str, Any]:
    """What a script says on a fresh page."""
    driver.get("about:blank")
    driver.get(page)
    driver.execute_cdp_cmd("Emulation.setCPUThrottlingRate", {"rate": slower})
    said: dict[str, Any] = driver.execute_async_script(HEAD + script, given)
    driver.execute_cdp_cmd("Emulation.setCPUThrottlingRate", {"rate": 1})
    if "error" in said:
        raise RuntimeError(f"the page says: {said['error']}")
    return said


def check(driver: Any, page: str) -> None:
    """The browser's bytes, on the page and in a worker, are those of the vectors."""
    for file, name in (
        ("Prio3Histogram_2", "histogram"),
        ("Prio3SumVecWithMultiproof_0", "sum_vec_with_multiproof"),
    ):
        vector = json.loads((VECTORS / f"{file}.json").read_text(encoding="utf-8"))
        parameters = {"shares": vector["shares"], "chunk": vector["chunk_length"]}
        if name == "histogram":
            parameters["cells"] = vector["length"]
        else:
            parameters |= {"entries": vector["length"], "largest": vector["max_measurement"]}
        for report in vector["reports"]:
            given = {
                "name": name,
                "parameters": parameters,
                "ctx": vector["ctx"],
                "report": report,
                "hpke": RFC_9180,
            }
            said = ask(driver, page, SHARES, given, 1)
            if said["shares"] != [[report["public_share"], *report["input_shares"]]] * 2:
                raise RuntimeError(f"the browser's shares are not those of {file}")
            if said["sealed"] != RFC_9180["pkEm"] + RFC_9180["ct"]:
                raise RuntimeError("the browser's HPKE is not that of RFC 9180")


def run(quick: bool) -> list[Row]:
    pages, repeats = (3, 5) if quick else (9, 20)
    rows = []
    with served() as page, chromium() as driver:
        check(driver, page)
        for name, cells in SCHEMES:
            given = {"name": name, "cells": cells, "repeats": repeats}
            times = [ask(driver, page, TIMES, given, SLOWER)["times"] for _ in range(pages)]
            loading = statistics.median(each[0] for each in times)
            first = statistics.median(each[1] for each in times) / 1000
            full = ask(driver, page, TIMES, given, 1)["times"][1]
            later = statistics.median(time for each in times for time in each[2:]) / 1000
            slowest = max(time for each in times for time in each[1:])
            limit = LIMIT if cells == 256 else None
            wanted = 1.0 if cells == 256 else None
            note = (
                f"slowest {slowest:.0f} ms, not slowed down {full:.0f} ms, loading before it {loading:.0f} ms"
            )
            rows.append(
                Row(f"`{name}`, {cells:,} cells, first", "limit", first, limit, "s", wanted, note=note)
            )
            rows.append(Row(f"`{name}`, {cells:,} cells, later", "limit", later, limit, "s", wanted))
        said = ask(driver, page, PAUSES, None, SLOWER)
        note = f"longest of {said['ticks']} pauses"
        rows.append(Row("The page while a worker shards", "", said["longest"] / 1000, None, "s", note=note))
    return rows


if __name__ == "__main__":
    for row in run("--quick" in sys.argv):
        print(f"{row.name:36} {1000 * row.ours:8.1f} ms  {row.note}")
