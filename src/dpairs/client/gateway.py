"""A gateway reports for many people whose data it holds anyway: a hospital, an app's own server.

The people's noise follows from a key that is written down first, so a gateway that was stopped sends the very
same reports again, which are counted once.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Generator, Mapping
from contextlib import ExitStack, closing
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..data.tables import tables
from ..engines.files import STUDY, ReportWriter
from ..errors import BadParameter, BadValue
from ..randomness import SecretStream
from ..simulate import randomize_asked
from ..study import Study
from .device import Device
from .link import Link
from .reporter import API, read_study
from .transport import Transport, part

ARROW = "application/vnd.apache.arrow.stream"
BATCH = 2**18
"""Reports in one request."""


class Gateway:
    """The part of many people in one study: ``people`` is what the analyst's gateway request returned."""

    def __init__(
        self,
        link: str | Link,
        people: Mapping[str, Mapping[str, Any]],
        *,
        device: Device | None = None,
        transport: Transport | None = None,
    ) -> None:
        self._where = Link.parse(link) if isinstance(link, str) else link
        self._people = people
        self._device = device or Device()
        self._line = transport or Transport(self._where.base, patience=300.0)

    def __repr__(self) -> str:
        return f"Gateway({self._where.study[:16]!r})"

    def report(self, data: Any) -> dict[str, int]:
        """Randomize everybody who is asked in the current round, and send; what came of the reports.

        ``data`` is a table of all the gateway's people, in the same order every time.
        """
        outcome = {"counted": 0, "again": 0, "different": 0}
        with closing(self._randomized(data)) as parts:
            for study, stratum, indices, symbols in parts:
                for start in range(0, len(indices), BATCH):
                    stretch = slice(start, start + BATCH)
                    answer = self.send(study, stratum, indices[stretch], symbols[stretch])
                    outcome = {name: count + answer[name] for name, count in outcome.items()}
        return outcome

    def write(self, data: Any, path: str | os.PathLike[str], *, cells: bool = False) -> dict[str, int]:
        """Write the very reports that `report` would send to a Parquet file; how many each stratum has.

        `dpairs tally` counts the file. With ``cells`` it holds the cells that the reports count in, where
        the study has them. To send the same reports later, or as well, loses nothing more.
        """
        written: dict[str, int] = {}
        with ExitStack() as stack:
            writer: ReportWriter | None = None
            for study, stratum, indices, symbols in stack.enter_context(closing(self._randomized(data))):
                writer = writer or stack.enter_context(ReportWriter(path, study, cells=cells))
                writer.write(stratum, indices, symbols)
                written[stratum] = len(indices)
        return written

    def _randomized(
        self, data: Any
    ) -> Generator[tuple[Study, str, NDArray[np.int64], NDArray[Any]], None, None]:
        """The study as it stands, and of each stratum the indices and symbols of those who are asked."""
        with self._device.study(self._where.study) as me:
            public = self._line.json("GET", f"{API}/{self._where.study}")
            study = read_study(self._where.study, part(public, "study", dict))
            (table,) = tables(data, study.statistic.columns)
            for stratum, columns in study.statistic.split(table):
                given = self._people.get(stratum)
                people, room = len(columns[0]), 0 if given is None else given["count"]
                if given is None or people > room:
                    raise BadParameter(f"this gateway has {room} indices of {stratum!r}, not {people}")
                key = hashlib.sha256(me.key(f"gateway {study.id}") + stratum.encode()).digest()
                found = randomized(study, stratum, given["first"], columns, SecretStream(key))
                yield study, stratum, *found

    def send(
        self, study: Study, stratum: str, indices: NDArray[Any], symbols: NDArray[Any]
    ) -> dict[str, int]:
        """Send one batch of reports that are randomized already."""
        body = batch(study, indices, symbols)
        token = self._people[stratum]["secret"]
        answer = self._line.bytes("POST", f"{API}/{self._where.study}/batches", body, token, ARROW)
        result: dict[str, int] = json.loads(answer)
        return result


def randomized(
    study: Study, stratum: str, first: int, columns: Any, bits: SecretStream
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The indices and symbols of consecutive people, of those who are asked in this round."""
    if study.strata != study.statistic.strata:
        raise BadValue("people compute in pairs themselves: no gateway can do it for them")
    values = tuple(map(np.asarray, columns))
    asked, symbols = randomize_asked(study, study.strata.index(stratum), first, values, bits)
    return first + (np.arange(len(values[0])) if asked is None else np.flatnonzero(asked)), symbols


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
