"""Simulation of a fleet: a day of reports through front ends, a queue, consumers and tallies, by the minute.

It is a model in numbers, not a measurement: nothing is sent. Reports of a minute are counted together, so ten
billion of them cost no more than ten. What a stage can do in a second is given by the caller.

    devices      people report by a daily curve in their time zones; without an answer a device tries again
    front ends   stateless; what is above their capacity is refused, and refusing costs work as well
    queue        partitions by index, each in order; it is never lost (an assumption)
    consumers    one for each partition; read a window, sort it and write a file, then mark it as done
    tally        at every full hour, of all files so far; counts a person once

Front ends and consumers die and are replaced, and a whole site can go away. A report whose answer is lost is
sent again, and a window whose consumer dies between the file and the mark is written again: delivery is at
least once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
HOUR, DAY = 60, 1440
"""Minutes."""
DRAIN = DAY // 2
"""Minutes after the day, in which nobody begins to report and what is on its way arrives."""
ZONES = {-8: 4, -5: 10, -3: 5, 0: 7, 1: 10, 3: 10, 5.5: 22, 7: 9, 8: 21, 9: 2}
"""Hours from UTC, and percent of the people there: round numbers that we assume."""
FIRST, COPY = 0, 1
"""The first row of a report, and rows beyond it."""


@dataclass(frozen=True)
class Fleet:
    """What there is, what it can do, and what goes wrong."""

    people: float
    front_ends: int
    serves: float
    """Reports a second of one front end."""
    refusing: float
    """Work of refusing a report, as a part of the work of taking one."""
    consumes: float
    """Reports a second of one consumer."""
    counts: float
    """Reports a second that one core of the cluster tallies."""
    cores: int = 16
    studies: int = 10
    """Reports of each person."""
    swing: float = 0.8
    """How far the daily curve goes above and below its mean; its top is at 19 o'clock, local time."""
    partitions: int = 24
    window: int = 10
    """Minutes that a consumer gathers in one file of each study."""
    sites: int = 3
    outage: tuple[int, int] = (0, 0)
    """The minute at which one of the sites goes away, and for how many minutes."""
    doublings: int = 6
    """A device waits 1, 2, 4, ... minutes on average before it tries again, and doubles that so often."""
    lost: float = 0.001
    """Part of the answers that never arrive."""
    front_end_lives: float = DAY
    consumer_lives: float = DAY / 4
    """Minutes that one lives on average."""
    replaced: int = 5
    """Minutes until a dead one is replaced."""
    deduplicates: bool = True
    """False for a tally that counts rows: it must be seen to be wrong."""


@dataclass
class Outcome:
    """What happened, in reports unless it is said otherwise; arrays have one entry for each minute."""

    born: Counts
    offered: Counts
    accepted: Counts
    queued: Counts
    trying: Counts
    """Never accepted so far: their devices will try again."""
    alive: Counts
    """Front ends."""
    to_queue: Counts
    """How many reports took so many minutes from the first attempt into the queue."""
    to_tally: Counts
    """How many took so many minutes from the first attempt until a finished tally had them."""
    appended: int = 0
    """Rows that front ends put into the queue."""
    redone: int = 0
    """Rows that consumers wrote once more."""
    filed: int = 0
    """Rows in files."""
    repeated: int = 0
    """Rows in files beyond the first of their report."""
    elsewhere: int = 0
    """Repeated rows whose first is in a file of another hour."""
    counted: int = 0
    files: int = 0
    recounted: int = 0
    """Rows that all tallies together read."""


@dataclass(frozen=True)
class Batch:
    """Rows that came into a partition in one minute: FIRST ones by birth, COPIES by when the first came."""

    minute: int
    kinds: Counts
    keys: Counts
    numbers: Counts

    @property
    def rows(self) -> int:
        return int(self.numbers.sum())

    def again(self) -> Batch:
        """The same rows, when they are in a file already."""
        first = np.where(self.kinds == FIRST, self.minute, self.keys)
        return Batch(self.minute, np.full_like(self.kinds, COPY), first, self.numbers)


class Partition:
    """A queue in order: a consumer does so many rows a minute, and has a batch when all of it is done."""

    def __init__(self) -> None:
        self._batches: deque[Batch] = deque()
        self._head = self.rows = 0

    def put(self, batch: Batch) -> None:
        self._batches.append(batch)
        self.rows += batch.rows
        if len(self._batches) == 1:
            self._head = batch.rows

    def give_back(self, batches: Iterable[Batch]) -> None:
        """Put what a consumer had, but did not mark as done, to the front again."""
        self.rows += sum(each.rows for each in batches) + (
            self._batches[0].rows - self._head if self._batches else 0
        )
        self._batches.extendleft(reversed(list(batches)))
        self._head = self._batches[0].rows if self._batches else 0

    def work(self, capacity: int) -> list[Batch]:
        done = []
        while self._batches and self._head <= capacity:
            capacity -= self._head
            self.rows -= self._head
            done.append(self._batches.popleft())
            self._head = self._batches[0].rows if self._batches else 0
        if self._batches:
            self._head -= capacity
            self.rows -= capacity
        return done


def wanted(fleet: Fleet) -> NDArray[np.float64]:
    """Reports that people begin in each minute of the day, UTC, on average."""
    hours = np.arange(DAY) / HOUR
    curve = sum(
        share / 100 * (1 + fleet.swing * np.cos(2 * np.pi * (hours + east - 19) / 24))
        for east, share in ZONES.items()
    )
    return np.asarray(fleet.people * fleet.studies / DAY * curve)


def taken(offered: int, capacity: float, refusing: float) -> float:
    """How many of the offered reports fit: what is refused costs work too."""
    if offered <= capacity:
        return float(offered)
    return max(0.0, (capacity - refusing * offered) / (1 - refusing))


def simulate(fleet: Fleet, seed: int) -> Outcome:
    """One day and the half day after it."""
    rng = np.random.default_rng(seed)
    minutes = DAY + DRAIN
    born = np.zeros(minutes, dtype=np.int64)
    born[:DAY] = rng.poisson(wanted(fleet))
    seen = Outcome(
        born, *(np.zeros(minutes, dtype=np.int64) for _ in range(5)), *np.zeros((2, 2 * minutes), np.int64)
    )
    waiting = np.zeros((fleet.doublings + 1, 2, minutes), dtype=np.int64)
    site = np.arange(fleet.front_ends) % fleet.sites
    back = np.zeros(fleet.front_ends, dtype=np.int64)  # the minute from which a front end works
    consumers = [Consumer(fleet, number) for number in range(fleet.partitions)]
    tallies = Tallies(fleet, seen)
    for now in range(minutes):
        start, length = fleet.outage
        if length and now == start:
            gone = (back <= now) & (site == 0)
            back[site == 0] = start + length
            for each in consumers[:: fleet.sites]:
                each.die(now)
        else:
            gone = (back <= now) & (rng.random(fleet.front_ends) < 1 / fleet.front_end_lives)
            back[gone] = now + fleet.replaced
        alive = int(np.count_nonzero(back <= now))
        seen.alive[now] = alive
        again = np.nonzero(waiting)
        numbers = rng.binomial(waiting[again], 0.5 ** again[0])
        waiting[again] -= numbers
        attempts, kinds, keys = (
            np.append(old, new) for old, new in zip(again, (-1, FIRST, now), strict=True)
        )
        numbers = np.append(numbers, born[now])
        offered = int(numbers.sum())
        fits = taken(offered, alive * fleet.serves * 60, fleet.refusing)
        accepted = rng.binomial(numbers, fits / max(1, offered))
        later = np.minimum(attempts + 1, fleet.doublings)
        np.add.at(waiting, (later, kinds, keys), numbers - accepted)
        # Of those that die, the last second's answers are lost, and all of them are in the queue.
        silent = rng.binomial(accepted, min(1.0, fleet.lost + gone.sum() / (60 * max(1, alive + gone.sum()))))
        np.add.at(waiting, (0, COPY, np.where(kinds == FIRST, now, keys)), silent)
        seen.offered[now], seen.accepted[now] = offered, accepted.sum()
        seen.appended += int(accepted.sum())
        first = kinds == FIRST
        np.add.at(seen.to_queue, now - keys[first], accepted[first])
        came = np.zeros((2, minutes), dtype=np.int64)
        np.add.at(came, (kinds, keys), accepted)
        there = np.nonzero(came)
        parts = rng.multinomial(came[there], np.full(fleet.partitions, 1 / fleet.partitions))
        for each, part in zip(consumers, parts.T, strict=True):
            each.queue.put(Batch(now, *there, part))
            each.minute(now, bool(rng.random() < 1 / fleet.consumer_lives), seen, tallies)
        seen.queued[now] = sum(each.queue.rows for each in consumers)
        seen.trying[now] = waiting[:, FIRST].sum()
        tallies.minute(now)
    for each in consumers:
        each.finish(minutes, seen, tallies)
    tallies.finish(minutes)
    return seen


class Consumer:
    """Reads one partition, and writes a file for each study and window."""

    def __init__(self, fleet: Fleet, number: int) -> None:
        self.queue = Partition()
        self._fleet, self._number = fleet, number
        self._window: list[Batch] = []
        self._back = 0
        self._filed = np.full(DAY + DRAIN, -1)
        """The hour in which the rows of a minute went into a file."""

    def die(self, now: int) -> None:
        """What was read and is not in a file is read again by the next one."""
        self._back = now + self._fleet.replaced
        self.queue.give_back(self._window)
        self._window = []

    def minute(self, now: int, dies: bool, seen: Outcome, tallies: Tallies) -> None:
        if now < self._back:
            return
        self._window += self.queue.work(int(self._fleet.consumes * 60))
        if (now + self._number) % self._fleet.window == 0:
            self._write_window(now, seen, tallies)
            if dies:  # after the file, before the mark: all of the window comes once more
                seen.redone += sum(batch.rows for batch in self._window)
                self._window = [batch.again() for batch in self._window]
            else:
                self._window = []
        if dies:
            self.die(now)

    def finish(self, now: int, seen: Outcome, tallies: Tallies) -> None:
        """Write what is left at the end, so that every accepted report is in a file."""
        self._window += self.queue.work(self.queue.rows)
        self._write_window(now, seen, tallies)

    def _write_window(self, now: int, seen: Outcome, tallies: Tallies) -> None:
        for batch in self._window:
            self._write(batch, now, seen, tallies)
        seen.files += self._fleet.studies if self._window else 0

    def _write(self, batch: Batch, now: int, seen: Outcome, tallies: Tallies) -> None:
        hour = now // HOUR
        if self._filed[batch.minute] < 0:
            self._filed[batch.minute] = hour
        copies = batch.kinds == COPY
        repeated = batch.numbers[copies]
        seen.filed += batch.rows
        seen.repeated += int(repeated.sum())
        # A copy goes to the partition of its index, and that is in order: the first was filed before.
        seen.elsewhere += int(repeated[self._filed[batch.keys[copies]] != hour].sum())
        np.add.at(tallies.fresh, batch.keys[~copies], batch.numbers[~copies])


class Tallies:
    """At every full hour all files so far are tallied, unless the last tally is still being made."""

    def __init__(self, fleet: Fleet, seen: Outcome) -> None:
        self._fleet, self._seen = fleet, seen
        self.fresh = np.zeros(DAY + DRAIN, dtype=np.int64)
        """First rows by the minute of birth, in files that no tally has yet."""
        self._running: tuple[int, Counts] | None = None

    def minute(self, now: int) -> None:
        if self._running is not None and now >= self._running[0]:
            self._add(*self._running)
            self._running = None
        if now % HOUR == 0 and self._running is None:
            self._running = now + self._takes(), self.fresh
            self.fresh = np.zeros_like(self.fresh)

    def finish(self, now: int) -> None:
        """The last tally, which says how many were counted."""
        if self._running is not None:
            self._add(*self._running)
        self._add(now + self._takes(), self.fresh)
        seen = self._seen
        seen.counted = seen.filed - (seen.repeated if self._fleet.deduplicates else 0)

    def _takes(self) -> int:
        self._seen.recounted += self._seen.filed
        return int(np.ceil(self._seen.filed / (self._fleet.cores * self._fleet.counts) / 60))

    def _add(self, done: int, births: Counts) -> None:
        there = np.flatnonzero(births)
        np.add.at(self._seen.to_tally, np.minimum(done - there, self._seen.to_tally.size - 1), births[there])


def percentile(minutes: Counts, reports: int, share: float) -> float:
    """The fewest minutes within which that share of all ``reports`` is done; infinite if it never is."""
    done = np.cumsum(minutes)
    return float(np.searchsorted(done, share * reports)) if done[-1] >= share * reports else np.inf
