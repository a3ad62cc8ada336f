"""Run a whole study in one process: every participant's device, then the tally, then the estimate.

A simulation with a ``seed`` is reproducible and protects nobody: use it to try a study on data that you
have. Data streams through in small slices, so memory does not grow with the people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .data.tables import Table, tables, whole, with_columns
from .errors import BadParameter, BadValue
from .estimate import Estimate
from .formats.checks import choice
from .garbled.function import PairFunction
from .protocols.base import NUMBERS, PAIRS, PEOPLE, REPORTS, SHARES, SITE_COLUMN
from .protocols.rounds import asked_in
from .protocols.sides import alone, by_sites, in_pairs, of_symbols, shared
from .protocols.two_servers.released import Numbers
from .randomness import Randomness, SystemRandomness, source
from .release import Release
from .report import check_study
from .sites import SiteAnswer, SiteTally
from .study import Study
from .tally import Tally

Counted = TypeVar("Counted", Tally, Release, SiteTally)
SLICE = 2**16
"""People randomized at once: few enough for the processor's caches."""
CRYPTO = ("ideal", "real")


def simulate(
    study: Study,
    data: Any,
    seed: int | None = None,
    *,
    estimator: str | None = None,
    crypto: str | None = None,
    columns: Mapping[str, str] | None = None,
    positive: Any = None,
    progress: Callable[[int], None] | None = None,
) -> Estimate:
    """Run ``study`` on ``data``, every participant and every round, and estimate.

    ``data`` is a mapping of column names to arrays, a data frame of any kind, an Arrow table, a DuckDB
    relation, or an iterable of these. ``columns={"score": "p_hat", "label": "died"}`` says what its columns
    are called, ``positive="yes"`` which label is the positive class. A two-round study reads the data twice,
    so an iterator will not do. Without a ``seed``, randomness comes from the operating system, as on real
    devices. ``progress`` is called with the number of people after each slice of each round. The same seed
    gives the same estimate for the same data in the same chunks; with public classes, other chunks change
    who gets which noise.

    ``crypto`` is for studies of pairs: "ideal" (the default) draws each pair's symbol from the circuit's
    distribution without a circuit, "real" garbles and evaluates every pair. Both give the same symbols
    for the same seed.

    >>> import numpy as np
    >>> from dpairs import Levels
    >>> study = Study.create("gini_mean_difference", epsilon=2.0, domain=Levels(range(4)), seed=1)
    >>> people = {"value": np.tile([0, 1, 2, 3], 5000)}
    >>> round(simulate(study, people, seed=1).value, 1)
    1.3
    """
    check_study(study)
    people = with_columns(data, study.statistic.columns, columns, positive)
    run = _COUNTED_BY[study.protocol.sends]
    counted = run(study, people, seed, crypto=crypto, progress=progress)
    return replace(counted.estimate(estimator), study=study)


def _way(study: Study, crypto: str | None) -> str:
    """How several parties' computation is simulated, where there is one."""
    if crypto is not None and not study.protocol.has_crypto:
        raise BadParameter(
            f"crypto is for studies of pairs and of two servers; a {study.protocol.name} study has none"
        )
    return "ideal" if crypto is None else choice("crypto", crypto, CRYPTO)


def simulate_sites(
    study: Study,
    data: Any,
    seed: int | None = None,
    *,
    crypto: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> SiteTally:
    """All sites' answers in the last round; the column `site` of ``data`` names each record's site."""
    _way(study, crypto)
    bits = source(seed)
    table = whole(data, (*study.statistic.columns, *by_sites(study).record_columns))
    sites = sorted_by_site(table)

    def run(asked: Study) -> SiteTally:
        tally = SiteTally(asked)
        for site, records in sites:
            tally.add(SiteAnswer.of(asked, site, records, bits=bits))
            if progress is not None:
                progress(len(next(iter(records.values()))))
        return tally

    return _every_round(study, table, run)


def simulate_release(
    study: Study,
    data: Any,
    seed: int | None = None,
    *,
    crypto: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> Release:
    """What two servers release in the last round of a two-server study.

    ``crypto="ideal"`` (the default) adds up everybody's answers in the clear and draws both servers' noise.
    ``"real"`` splits every answer into shares with proofs, verifies them between two servers, adds up the
    valid ones and multiplies by oblivious transfer. Both release the same numbers for the same seed.
    """
    bits, way = source(seed), _way(study, crypto)
    return _every_round(study, data, lambda asked: _released(asked, data, bits, way, progress))


def _released(
    study: Study, data: Any, bits: Randomness, crypto: str, progress: Callable[[int], None] | None
) -> Release:
    protocol = shared(study)
    parts: dict[str, list[NDArray[np.int64]]] = {stratum: [] for stratum in study.strata}
    for number, table in enumerate(tables(data, (*study.statistic.columns, *protocol.record_columns))):
        try:
            for stratum, columns in study.statistic.split(table):
                parts[stratum].append(protocol.measure(stratum, columns))
        except BadValue as error:
            raise _with_row(study, table, number, error) from None
        if progress is not None:
            progress(len(next(iter(table.values()))))
    people = {name: np.concatenate(each) if each else np.empty(0, np.int64) for name, each in parts.items()}
    sizes = {name: int(each.size) for name, each in people.items()}
    noise = [protocol.noise(sizes, bits) for _ in range(2)]
    if crypto == "real":
        return _shared_release(study, data, people, noise)
    totals = protocol.totals({name: protocol.added(name, each) for name, each in people.items()})
    return Release(study, sizes, totals.plus(noise[0]).plus(noise[1]))


def _shared_release(
    study: Study, data: Any, people: Mapping[str, NDArray[np.int64]], noise: list[Numbers]
) -> Release:
    try:
        from .servers.steps import in_one_process
        from .shares import share_report, share_site
    except ImportError:
        raise BadParameter("real servers need more packages: pip install 'dpairs[servers]'") from None
    # Shares come from the operating system: they decide over no number.
    bits = SystemRandomness()
    if shared(study).of_sites:
        table = whole(data, (*study.statistic.columns, *study.protocol.record_columns))
        sites = sorted_by_site(table)
        return in_one_process(
            study, [each for site, rows in sites for each in share_site(study, site, rows, bits)], noise
        )
    reports = [
        share_report(study, stratum, index, measurement, bits)
        for stratum, measurements in people.items()
        for index, measurement in enumerate(measurements.tolist())
    ]
    return in_one_process(study, reports, noise)


def sorted_by_site(table: Table) -> list[tuple[str, Table]]:
    """The records of each site, in the order of their names."""
    names = [str(each) for each in table.pop(SITE_COLUMN).tolist()]
    sites = sorted(set(names))
    places = {site: place for place, site in enumerate(sites)}
    place_of = np.array([places[name] for name in names], dtype=np.int64)
    rows = np.split(np.argsort(place_of, kind="stable"), np.cumsum(np.bincount(place_of))[:-1])
    return [
        (site, {name: values[those] for name, values in table.items()})
        for site, those in zip(sites, rows, strict=False)
    ]


def simulate_tally(
    study: Study,
    data: Any,
    seed: int | None = None,
    *,
    crypto: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> Tally:
    """The tally of the last round, from which `simulate` computes its estimate."""
    run = _ANSWERED_BY[of_symbols(study).answered_by]
    return run(study, data, source(seed), _way(study, crypto), progress)


_COUNTED_BY: dict[str, Callable[..., Tally | Release | SiteTally]] = {
    REPORTS: simulate_tally,
    SHARES: simulate_release,
    NUMBERS: simulate_sites,
}


def _alone(
    study: Study, data: Any, bits: Randomness, crypto: str, progress: Callable[[int], None] | None
) -> Tally:
    indices = {stratum: _first_index(study, bits) for stratum in study.strata}
    return _every_round(study, data, lambda asked: _round(asked, data, bits, indices, progress))


def simulate_round(study: Study, data: Any, seed: int | None = None) -> Tally:
    """The tally of this round alone, of people whose indices begin at 0."""
    return _round(study, data, source(seed), dict.fromkeys(study.strata, 0), None)


def _every_round(study: Study, data: Any, run: Callable[[Study], Counted]) -> Counted:
    """The last round's result; each round's study is made from the result of the one before."""
    left = study.protocol.rounds - study.protocol.round
    if left > 0 and isinstance(data, Iterator):
        raise BadValue("a study of two rounds reads the data twice: give a list of chunks, not an iterator")
    result = run(study)
    for _ in range(left):
        result = run(result.study.next(result))
    return result


def _round(
    study: Study,
    data: Any,
    bits: Randomness,
    first: Mapping[str, int],
    progress: Callable[[int], None] | None,
) -> Tally:
    tally, indices = Tally(study), dict(first)
    for number, table in enumerate(tables(data, study.statistic.columns)):
        try:
            _run(study, table, tally, bits, indices, progress)
        except BadValue as error:
            raise _with_row(study, table, number, error) from None
    return tally


def _pairs(
    study: Study, data: Any, bits: Randomness, crypto: str, progress: Callable[[int], None] | None
) -> Tally:
    """The tally of all pairs: what two devices of each would compute together."""
    protocol = in_pairs(study)
    parts: dict[str, list[NDArray[np.uint64]]] = {stratum: [] for stratum in study.statistic.strata}
    for number, table in enumerate(tables(data, study.statistic.columns)):
        try:
            for stratum, columns in study.statistic.split(table):
                parts[stratum].append(protocol.encode(columns, bits))
        except BadValue as error:
            raise _with_row(study, table, number, error) from None
    people = [np.concatenate(each) if each else np.empty((0, 1), dtype=np.uint64) for each in parts.values()]
    sizes = {stratum: len(each) for stratum, each in zip(parts, people, strict=True)}
    pairs = protocol.match(study.coins, sizes, _first_index(study, bits))
    function = protocol.function
    tally = Tally(study)
    counts = tally.counts(study.strata[0])
    for start in range(0, len(pairs), SLICE):
        part = slice(start, start + SLICE)
        x, y = people[-1][pairs.garblers[part]], people[0][pairs.evaluators[part]]
        # Each party's own coins; the circuit's are their XOR.
        mine, theirs = function.tape(len(x), bits), function.tape(len(y), bits)
        if crypto == "real":
            symbols = _garbled(function, x, y, mine, theirs)
        else:
            symbols = function.ideal(x, y, mine ^ theirs)
        counts.add_at(pairs.numbers[part], pairs.numbers[part], symbols)
        if progress is not None:
            progress(len(x))
    return tally


_ANSWERED_BY = {PEOPLE: _alone, PAIRS: _pairs}


def _garbled(
    function: PairFunction,
    x: NDArray[np.uint64],
    y: NDArray[np.uint64],
    mine: NDArray[np.uint64],
    theirs: NDArray[np.uint64],
) -> NDArray[np.int64]:
    try:
        from .garbled.batch import real
    except ImportError:
        raise BadParameter("real pairs need more packages: pip install 'dpairs[pairs]'") from None
    # Labels come from the operating system: they decide over no symbol.
    return real(function, x, y, mine, theirs, SystemRandomness())


def _first_index(study: Study, bits: Randomness) -> int:
    """Where a simulated population's indices begin: anywhere, when they decide over public coins.

    So runs with different seeds differ in all that is random about a study, its coins included.
    """
    return int(bits.words(1)[0] >> np.uint64(12)) if study.protocol.uses_coins else 0


def _run(
    study: Study,
    table: Table,
    tally: Tally,
    bits: Randomness,
    indices: dict[str, int],
    progress: Callable[[int], None] | None,
) -> None:
    people = len(next(iter(table.values())))
    # Where cells depend on coins, randomizing knows them already; from symbols they would be made again.
    by_cell = study.protocol.cell_codes is not None and study.protocol.uses_coins
    for start in range(0, people, SLICE):
        part = {name: values[start : start + SLICE] for name, values in table.items()}
        for stratum, columns in study.statistic.split(part):
            first, place, count = indices[stratum], study.strata.index(stratum), len(columns[0])
            indices[stratum] += count
            asked, said = randomize_asked(study, place, first, columns, bits, by_cell)
            if by_cell:
                tally.add_cells(stratum, said)
            elif said.size:
                tally.add_symbols(stratum, said, first if asked is None else first + int(np.argmax(asked)))
        if progress is not None:
            progress(min(SLICE, people - start))


def randomize_asked(
    study: Study, stratum: int, first: int, columns: Sequence[Any], bits: Randomness, by_cell: bool = False
) -> tuple[NDArray[np.bool_] | None, NDArray[Any]]:
    """Of consecutive people, the first of whom has the index ``first``: who is asked, and what they say.

    None means everybody. They say symbols, or ``by_cell`` the cells that these count in.
    """
    asked = asked_in(study.protocol, study.coins, stratum, first, len(columns[0]))
    if asked is not None:
        if not asked.any():
            return asked, np.empty(0, dtype=np.int64)
        first += int(np.argmax(asked))
        columns = tuple(column[asked] for column in columns)
    side = alone(study)
    randomize = side.randomize_cells if by_cell else side.randomize
    return asked, randomize(study.coins, stratum, first, columns, bits)


def _with_row(study: Study, table: Table, number: int, error: BadValue) -> BadValue:
    """The error with the row in the whole table, which a slice of one stratum does not know."""
    try:
        for _ in study.statistic.split(table):
            pass
        for name, domain in zip(study.statistic.domain_columns, study.domains, strict=True):
            domain.check(table[name], name)
    except BadValue as better:
        error = better
    return BadValue(f"{error} (chunk {number})") if number else error
