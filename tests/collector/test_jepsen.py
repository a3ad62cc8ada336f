"""Jepsen in small: clients, two collectors, a bad network, a bad database; nothing is lost or doubled.

The default run injects faults for 7 seconds and in haste, `DPAIRS_VALIDATE=1` for 30 minutes;
`DPAIRS_SEED` is its seed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import urllib3

from dpairs.tally import Tally

from .people import histogram, report_json, tally_of
from .postgres import Cluster
from .proxy import Proxy
from .servers import HASTE, IN_HASTE, STUDIES, VALIDATE, Answer, Process, begin, stored_symbols, until

SECONDS = 30 * 60.0 if VALIDATE else 7.0
CLIENTS = 6
CROWD = 300
"""People of a gateway's batch."""
SEED = int(os.environ.get("DPAIRS_SEED", "18"))
STUDY = histogram()


class World:
    """Two collectors, each with its own network to one server of PostgreSQL."""

    def __init__(self, server: Cluster, folder: Path) -> None:
        self.server = server
        self.address = server.new_database()
        self.networks = [Proxy(self.server.socket) for _ in range(2)]
        self.collectors: list[Process] = []
        for number, network in enumerate(self.networks):
            home = folder / f"collector{number}"
            home.mkdir()
            made = Process(network.address(), home, "--standby", "--log-level", "warning", before=IN_HASTE)
            self.collectors.append(made)
            made.start()
            if number == 0:
                until(lambda: self.ready() == 0, "the first collector")
        self.token = self.collectors[0].token
        self.faults: Counter[str] = Counter()
        self.ended = threading.Event()
        self._bases = [each.base for each in self.collectors]

    def ready(self) -> int | None:
        """Which collector serves, if any."""
        for number, each in enumerate(self.collectors):
            answer = once(each.base, "GET", "/readyz")
            if answer is not None and answer.status == 200:
                return number
        return None

    def ask(self, method: str, path: str, content: Any = None, token: str | None = None) -> Answer:
        """Ask whichever collector answers, until one does; refusals of a standby are no answers."""
        start = random.randrange(2)
        for attempt in range(100_000):
            answer = once(self._bases[(start + attempt) % 2], method, path, content, token)
            if answer is not None and answer.status < 500:
                return answer
            time.sleep(0.02)
        raise AssertionError("no collector answers")

    def close(self) -> None:
        for collector in self.collectors:
            collector.kill()
        for network in self.networks:
            network.close()


def once(base: str, method: str, path: str, content: Any = None, token: str | None = None) -> Answer | None:
    pool = _pools.__dict__.setdefault("pool", urllib3.PoolManager(retries=False, maxsize=2))
    lines = isinstance(content, bytes)
    headers = {"Content-Type": "application/x-ndjson" if lines else "application/json"}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    body = content if lines or content is None else json.dumps(content).encode()
    try:
        answer = pool.request(method, base + path, body=body, headers=headers, timeout=8.0)
    except urllib3.exceptions.HTTPError:
        return None
    return Answer(answer.status, answer.data, dict(answer.headers.items()))


_pools = threading.local()


class Ledger:
    """What clients did: which reports were tried, and which acknowledged."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.requests: dict[int, str] = {}
        self.tried: dict[int, int] = {}
        self.acknowledged: dict[int, int] = {}
        self.looks = 0

    def counts(self, of: dict[int, int]) -> Counter[int]:
        with self.lock:
            return Counter(of.values())


def client(world: World, ledger: Ledger, rng: random.Random) -> None:
    """Enrol somebody, report, now and then again, until the end; no report is left without an answer."""
    while not world.ended.is_set():
        request = f"{rng.getrandbits(128):032x}"
        given = world.ask("POST", f"{STUDIES}/{STUDY.id}/people", {"request": request})
        assert given.status == 201, given
        index, symbol = given.json["index"], rng.randrange(4)
        with ledger.lock:
            assert ledger.requests.setdefault(index, request) == request, "one index for two people"
            ledger.tried[index] = symbol
        for _ in range(1 + (rng.random() < 0.2)):
            body = report_json(STUDY, given.json, symbol)
            sent = world.ask("POST", f"{STUDIES}/{STUDY.id}/reports", body, given.json["secret"])
            assert sent.status == 200, sent
            with ledger.lock:
                ledger.acknowledged[index] = symbol
        time.sleep(0.005)  # the clients are to leave the machine to others


def gateway(world: World, ledger: Ledger, rng: random.Random) -> None:
    """The same for many at once."""
    path, stratum = f"{STUDIES}/{STUDY.id}", STUDY.strata[0]
    while not world.ended.is_set():
        request = f"{rng.getrandbits(128):032x}"
        given = world.ask(
            "POST", f"{path}/gateways", {"request": request, "people": {stratum: CROWD}}, world.token
        )
        assert given.status == 201, given
        mine = given.json["people"][stratum]
        symbols = {mine["first"] + place: rng.randrange(4) for place in range(CROWD)}
        rows = [
            report_json(STUDY, {"stratum": stratum, "index": index}, symbol)
            for index, symbol in symbols.items()
        ]
        body = "\n".join(json.dumps(row) for row in rows).encode()
        with ledger.lock:
            assert not symbols.keys() & ledger.tried.keys(), "one index for two people"
            ledger.tried |= symbols
        sent = world.ask("POST", f"{path}/batches?stratum={stratum}", body, mine["secret"])
        assert sent.status == 200, sent
        assert sent.json["counted"] + sent.json["again"] == CROWD, sent
        with ledger.lock:
            ledger.acknowledged |= symbols
        world.ended.wait(0.2)


def watch(world: World, ledger: Ledger, rng: random.Random) -> None:
    """Look at the tally and at the estimate: all acknowledged before is in it, nothing that nobody sent."""
    path = f"{STUDIES}/{STUDY.id}"
    while not world.ended.wait(0.1):
        known = ledger.counts(ledger.acknowledged)
        base = rng.choice([each.base for each in world.collectors])
        answers = [
            once(base, "GET", f"{path}/{each}", token=world.token) for each in ("tally", "estimate", "tally")
        ]
        possible = ledger.counts(ledger.tried)
        if any(each is None or each.status != 200 for each in answers):
            continue
        first, estimate, second = (each.body for each in answers if each is not None)
        tally = Tally.from_json(first, STUDY)
        counted = tally.counts(STUDY.strata[0]).array  # type: ignore[attr-defined]
        for symbol in range(4):
            assert known[symbol] <= counted[symbol] <= possible[symbol], (known, counted, possible)
        if first == second:
            assert json.loads(estimate) == json.loads(json.dumps(tally.estimate().to_json()))
        ledger.looks += 1


def faults(world: World, rng: random.Random) -> Iterator[tuple[str, Callable[[], None]]]:
    """A fault at a time, each healed before the next."""

    def pause(low: float, high: float) -> None:
        world.ended.wait(HASTE * rng.uniform(low, high))

    def frozen_server() -> None:
        world.server.signal(signal.SIGSTOP)
        pause(0.5, 7.0)
        world.server.signal(signal.SIGCONT)

    def crashed_server() -> None:
        world.server.halt("immediate")
        pause(0.0, 2.0)
        world.server.start()

    def restarted_server() -> None:
        world.server.halt("fast")
        world.server.start()

    def bad_network(mode: str) -> Callable[[], None]:
        def happen() -> None:
            network = rng.choice(world.networks)
            network.mode = mode
            pause(0.5, 6.0)
            network.mode = "pass"
            if mode == "swallow":
                network.sever()

        return happen

    def severed() -> None:
        for network in world.networks:
            network.sever()

    def lost_commits() -> None:
        for network in world.networks:
            network.cut_commits = 3
        pause(0.5, 2.0)
        for network in world.networks:
            network.cut_commits = 0

    def killed() -> None:
        number = world.ready() or 0
        world.collectors[number].kill()
        pause(0.0, 6.0)
        world.collectors[number].start()

    def frozen_collector() -> None:
        child = world.collectors[world.ready() or 0]._child
        assert child is not None
        child.send_signal(signal.SIGSTOP)
        pause(1.0, 9.0)
        child.send_signal(signal.SIGCONT)

    kinds: list[tuple[str, Callable[[], None]]] = [
        ("commits lost", lost_commits),
        ("collector killed", killed),
        ("server crashed", crashed_server),
        ("network swallows", bad_network("swallow")),
        ("collector frozen", frozen_collector),
        ("server frozen", frozen_server),
        ("network cut", severed),
        ("network refuses", bad_network("refuse")),
        ("server restarted", restarted_server),
        ("network delays", bad_network("delay")),
    ]
    yield from kinds
    while True:
        yield rng.choice(kinds)


def test_nothing_is_lost_or_counted_twice_whatever_fails(server, tmp_path):
    rng = random.Random(SEED)
    world, ledger, failed = World(server, tmp_path), Ledger(), []
    try:
        analyst = world.collectors[0].analyst()
        begin(analyst, STUDY)

        def guarded(work: Callable[..., None], seed: int) -> None:
            try:
                work(world, ledger, random.Random(seed))
            except BaseException as error:
                failed.append(error)
                world.ended.set()

        threads = [threading.Thread(target=guarded, args=(client, SEED + n)) for n in range(CLIENTS)]
        for number, work in enumerate((watch, gateway), 1):
            threads.append(threading.Thread(target=guarded, args=(work, SEED - number)))
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + SECONDS
        for name, happen in faults(world, rng):
            # On a busy machine little happens in few seconds: it goes on until there is something to judge.
            enough = len(world.faults) >= 3 and ledger.looks > 5
            if failed or (enough and time.monotonic() > deadline):
                break
            happen()
            world.faults[name] += 1
            # Some work between faults, so that there is something to lose.
            before = len(ledger.acknowledged)
            until(lambda: failed or len(ledger.acknowledged) > before + CROWD + 5, f"work after {name}", 90)  # noqa: B023
        world.ended.set()
        for thread in threads:
            thread.join(120)
            assert not thread.is_alive()
        if failed:
            raise failed[0]
        number = until(lambda: (world.ready() is not None) and [world.ready()], "a collector that is ready")[
            0
        ]
        serving = world.collectors[number or 0]
        serving.token = world.token
        # Every client had its answer, so all that was tried is acknowledged, stored, and counted: once.
        assert ledger.acknowledged == ledger.tried
        stored = stored_symbols(world.address)
        assert {index: symbol for (_, _, index), symbol in stored.items()} == ledger.tried
        reports = [_report(index, symbol) for index, symbol in ledger.tried.items()]
        assert serving.analyst().tally(STUDY.id) == tally_of(STUDY, reports)
        logs = "".join(path.read_text() for path in tmp_path.rglob("*.log"))
        cut = sum(network.cut for network in world.networks)
        print(f"{SECONDS:g} s, seed {SEED}: {sum(world.faults.values())} faults {dict(world.faults)}")
        print(f"{cut} commits cut off, {logs.count('lease lost')} leases lost")
        print(f"{len(stored)} reports, {ledger.looks} looks")
        assert "Traceback" not in logs
    finally:
        world.ended.set()
        world.close()


def _report(index: int, symbol: int) -> Any:
    import dpairs

    return dpairs.Report(STUDY, STUDY.strata[0], index, symbol)
