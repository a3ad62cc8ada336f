"""Reading a file's pages: whoever wrote them may have lied at the file's end about what they hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import BadFile
from . import places
from .files import COLUMNS, check_number, damage
from .places import first_sentence

BATCH = 2**18
"""Rows that are read at once."""
LONGEST = 2**12
"""Bytes of a stratum's name: an engine holds thousands of rows at once, each with a copy."""


def batches(path: str, columns: Sequence[str] = COLUMNS, texts: Sequence[str] = COLUMNS[:1]) -> Iterator[Any]:
    """The rows of a Parquet file; an error if pages are damaged, too large, or other than the file says.

    Each text is held once, however often the file repeats it. A page cannot be known before it is unpacked,
    but one that is too large is held no longer than that.
    """
    rows = 0
    with places.parquet(path, texts) as parquet:
        for batch in parquet.iter_batches(batch_size=BATCH, columns=list(columns), use_threads=False):
            for name in texts:
                spelt = batch.column(name).dictionary
                longest = pc.max(pc.binary_length(spelt)).as_py() or 0
                if longest > LONGEST:
                    raise BadFile(
                        f"reports {path} have a text of {longest:,} bytes in {name!r}: "
                        f"at most {LONGEST:,} are read"
                    )
                spelt.validate(full=True)  # it is UTF-8
            rows += batch.num_rows
            yield batch
        check_number(path, rows, parquet.metadata)


def damaged(paths: Iterable[str]) -> dict[str, str]:
    """Those of the files whose pages cannot be read, each with a sentence; reads them all."""
    sentences = {}
    for path in paths:
        try:
            for _ in batches(path):
                pass
        except BadFile as error:
            sentences[path] = str(error)
        except (pa.ArrowException, OSError) as error:
            sentences[path] = damage(path, first_sentence(error))
    return sentences
