"""A gateway reports for many people whose data it holds anyway: a hospital, an app's own server.

Its table has a column of ids that never change. Each person's answer is made once and written down before it
leaves (see `roster`). A gateway that was stopped, or whose table has grown, sends the same reports again, and
they count once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import Any
from unicodedata import category, normalize

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..data.tables import Table, tables
from ..engines.files import STUDY, ReportWriter, has_cells
from ..errors import BadValue
from ..protocols.sides import of_symbols
from ..study import Study
from .device import Device
from .link import Link
from .offer import API, get_offer
from .roster import Roster
from .transport import Transport, part

ARROW = "application/vnd.apache.arrow.stream"
BATCH = 2**18
"""Reports in one request."""
OUTCOMES = ("counted", "again", "different")
"""What may come of a report."""


class Gateway:
    """Takes part in one study for many people.

    ``people`` is what the analyst's gateway request returned; ``ids`` is the column of the table that names
    each person, always by the same name.
    """

    def __init__(
        self,
        link: str | Link,
        people: Mapping[str, Mapping[str, Any]],
        *,
        device: Device | None = None,
        transport: Transport | None = None,
        ids: str = "id",
    ) -> None:
        self._ids = ids
        self._where = Link.parse(link) if isinstance(link, str) else link
        self._people = people
        self._device = device or Device()
        self._line = transport or Transport(self._where.base, patience=300.0)

    def __repr__(self) -> str:
        return f"Gateway({self._where.study[:16]!r})"

    def report(self, data: Any) -> dict[str, int]:
        """Randomize and send the answers of everybody asked in this round; returns what became of them.

        ``data`` is a table of the gateway's people, in any order; it may grow from call to call. Somebody
        whose values changed after the answer was made is refused by name, and then nothing is sent.
        """
        outcome = dict.fromkeys(OUTCOMES, 0)
        with closing(self._randomized(data)) as parts:
            for study, stratum, indices, symbols in parts:
                for start in range(0, len(indices), BATCH):
                    stretch = slice(start, start + BATCH)
                    answer = self.send(study, stratum, indices[stretch], symbols[stretch])
                    outcome = {name: count + answer[name] for name, count in outcome.items()}
        return outcome

    def write(self, data: Any, path: str | os.PathLike[str], *, cells: bool | None = None) -> dict[str, int]:
        """Write the reports that `report` would send to a Parquet file; returns the number in each stratum.

        ``path`` may be an address (``s3://bucket/name.parquet``). `dpairs tally` counts the file. It holds
        the reports' cells where the study has them, or symbols if ``cells`` is false. Sending the same
        reports as well costs no more privacy.
        """
        written: dict[str, int] = {}
        with ExitStack() as stack:
            writer: ReportWriter | None = None
            for study, stratum, indices, symbols in stack.enter_context(closing(self._randomized(data))):
                chosen = has_cells(study) if cells is None else cells
                writer = writer or stack.enter_context(ReportWriter(path, study, cells=chosen))
                writer.write(stratum, indices, symbols)
                written[stratum] = len(indices)
        return written

    def forget(self) -> None:
        """Delete everything kept for this study: answers, digests, and the key that makes them."""
        self._device.forget(self._where.study)

    def _randomized(
        self, data: Any
    ) -> Generator[tuple[Study, str, NDArray[np.int64], NDArray[Any]], None, None]:
        """The study as it stands, and of each stratum the indices and symbols of those who are asked."""
        with self._device.study(self._where.study) as me:
            study = get_offer(self._where, self._line).study
            if study.strata != study.statistic.strata:
                raise BadValue("people compute in pairs themselves: no gateway can do it for them")
            (table,) = tables(data, (*study.statistic.columns, self._ids))
            names = _names(table.pop(self._ids), self._ids)
            for column, domain in zip(study.statistic.domain_columns, study.domains, strict=True):
                domain.check(table[column], column)
            places = _places(study, table)
            room = {stratum: (each["first"], each["count"]) for stratum, each in self._people.items()}
            path = self._device.home / f"{self._where.study}.roster"
            with Roster.open(path, me.key("gateway")) as roster:
                everybody = [(place, stratum) for stratum, those in places.items() for place in those]
                bound = roster.bind(
                    [names[place] for place, _ in everybody], [stratum for _, stratum in everybody], room
                )
                index = {place: number for (place, _), number in zip(everybody, bound, strict=True)}
                answered = [
                    (
                        stratum,
                        roster.answers(
                            study,
                            stratum,
                            [names[place] for place in places[stratum]],
                            [index[place] for place in places[stratum]],
                            [column.tolist() for column in columns],
                        ),
                    )
                    for stratum, columns in study.statistic.split(table)
                ]
            # Only now, when nobody of any stratum was refused, may the first report leave.
            kind = np.int64 if of_symbols(study).symbols <= 2**63 else np.uint64
            for stratum, symbols in answered:
                order = sorted(symbols)
                made = np.array([symbols[number] for number in order], dtype=kind)
                yield study, stratum, np.array(order, dtype=np.int64), made

    def send(
        self, study: Study, stratum: str, indices: NDArray[Any], symbols: NDArray[Any]
    ) -> dict[str, int]:
        """Send one batch of reports that are randomized already."""
        body = batch(study, indices, symbols)
        token = self._people[stratum]["secret"]
        answer = self._line.bytes("POST", f"{API}/{self._where.study}/batches", body, token, ARROW)
        try:
            said = json.loads(answer)
        except (ValueError, RecursionError):
            said = None
        return {name: part(said, name, int) for name in OUTCOMES}


def _names(column: NDArray[Any], ids: str) -> list[str]:
    """Everybody's id as a text, one for each person: an accent is one letter, however a file writes it."""
    names: list[str] = []
    for value in column.tolist():
        if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
            raise BadValue(f"column {ids!r} must name everybody by a text or a whole number, not {value!r}")
        names.append(normalize("NFC", str(value)))
        if not names[-1].isascii() and any(category(letter) == "Cs" for letter in names[-1]):
            raise BadValue(f"column {ids!r} holds an incomplete character, in {value!r}")
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise BadValue(f"column {ids!r} names {twice!r} twice")
    return names


def _places(study: Study, table: Table) -> dict[str, Sequence[int]]:
    """The rows of each stratum."""
    rows = np.arange(len(next(iter(table.values()))))
    if len(study.strata) == 1:
        return {study.strata[0]: rows.tolist()}
    # Classes are split by a public column; what stands in the others does not matter.
    marked = {**table, **dict.fromkeys(study.statistic.private_columns, rows)}
    return {stratum: columns[0].tolist() for stratum, columns in study.statistic.split(marked)}


def batch(study: Study, indices: NDArray[Any], symbols: NDArray[Any]) -> bytes:
    """Reports as an Arrow stream, with the study's id in its metadata."""
    schema = pa.schema(
        [("index", pa.int64()), ("symbol", pa.from_numpy_dtype(symbols.dtype))],
        metadata={STUDY: study.id.encode()},
    )
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, schema) as writer:
        writer.write_table(pa.table([pa.array(indices), pa.array(symbols)], schema=schema))
    return bytes(out.getvalue())
