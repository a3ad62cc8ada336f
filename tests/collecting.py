"""A collector in a process of its own, as a test asks it: for its analyst, and for many devices."""

import json
import secrets
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dpairs

from .collector.servers import Process

FEWER = (
    "from dpairs.collector.routes import pages; pages.ASK_AGAIN['Cache-Control'] = 'max-age=600'; "
    "from dpairs.collector.routes import plans; plans.PEOPLE = plans.EPSILONS = (0.5, 2.0); "
    "from dpairs.protocols.histogram import predict; predict.BINS, predict.BINS_PAIR = (4, 8), (3,); "
)
"""What the collector runs first: a plan of the default study takes eight seconds, and pages ask for many; and
browsers keep scripts without asking for each of them again at every page."""
PATIENCE = 40.0
"""Seconds until an answer is missing."""


@contextmanager
def collecting(folder: Path) -> Iterator["Collector"]:
    """A collector of its own on a free port, with SQLite."""
    process = Process(f"sqlite:///{folder / 'pages.sqlite'}", folder, before=FEWER).start()
    try:
        yield Collector(process.base, process.token)
    finally:
        process.stop()


class Collector:
    """A running collector, for its analyst and for devices."""

    def __init__(self, address: str, token: str) -> None:
        self.address, self.token = address, token

    def ask(
        self, method: str, path: str, content: Any = None, token: str | None = None, **headers: str
    ) -> Any:
        body = content if isinstance(content, bytes | None) else json.dumps(content).encode()
        sent = {
            "content-type": "application/json",
            "authorization": f"Bearer {token or self.token}",
            **headers,
        }
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
        path = f"/api/v1/studies/{name}"
        first = dpairs.Study.from_json(json.dumps(self.ask("GET", f"{path}/rounds/1")))
        return dpairs.Study.from_json(json.dumps(self.ask("GET", path)["study"]), first=first)

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
            lines = [
                json.dumps(
                    dpairs.Participant(study, index=index, stratum=stratum)
                    .report(**value(stratum, index))
                    .to_json()
                )
                for index in asked
            ]
            body = "\n".join(lines).encode()
            path = f"/api/v1/studies/{name}/batches"
            self.ask("POST", path, body, given["secret"], **{"content-type": "application/x-ndjson"})

    def enrol(self, name: str, stratum: str | None = None, code: str | None = None) -> Any:
        content = {"request": secrets.token_hex(16), "stratum": stratum, "code": code}
        return self.ask("POST", f"/api/v1/studies/{name}/people", content)

    def invite(self, name: str, count: int) -> list[str]:
        found = self.ask("POST", f"/api/v1/studies/{name}/invitations", {"count": count})
        return [str(code) for code in found["codes"]]
