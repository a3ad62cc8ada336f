"""The only writer: what many requests ask for is committed in one transaction, by one thread.

A request waits until its own change is on the disk. While a commit runs, others queue up and share the next
one, so durability costs one flush for all of them (group commit). Everything that decides over a change, such
as whether a round is open, is decided here, one after another, so there is nothing to race with.

Reports on PostgreSQL go a shorter way, from the event loop; the thread and the loop take turns (`Express`).

The thread also keeps the lease. Without it nothing is written: what was loaded is dropped, every change is
refused, and the thread waits to take over again, which loads everything anew.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

import structlog
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from ..errors import DpairsError, Unavailable
from .changes import AtOnce, Handler, Statement, Work, counted, tell
from .database import Database, cause, full
from .express import Express
from .lease import RENEW, STANDBY, TAKEN, Lease, LeaseLost, Renewal, renew, renew_at_once

MOST = 4096
"""Changes in one transaction."""
MOST_ROWS = 2**16
"""Rows in one transaction, but for a single change: others wait no longer than these take."""
RETRY = 0.25
"""Seconds between attempts to reach a database, or to take over."""
FULL = 10.0
"""Seconds after which a disk that was full is tried again."""
log = structlog.get_logger()


class Writer:
    """A queue of changes and the thread that commits them."""

    def __init__(
        self,
        database: Database,
        lease: Lease,
        load: Callable[[], None],
        drop: Callable[[], None],
        at_once: Mapping[Handler, AtOnce],
        express: Statement,
    ) -> None:
        """``load`` is called after every taking over, ``drop`` when the lease is lost.

        ``at_once`` has what PostgreSQL does for a handler on one journey, in place of four; ``express``
        is the one that the loop may begin by itself.
        """
        self._database, self._lease, self._load, self._drop = database, lease, load, drop
        self._at_once = {} if database.is_sqlite else {**at_once, renew: renew_at_once}
        self._queue: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._put_off: Work | None = None
        self._pending: set[asyncio.Future[Any]] = set()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self.turn = threading.Lock()
        self.commits = 0
        self._full: dict[Handler, float] = {}
        """Since when changes of a kind find no space."""
        self._express = None if database.is_sqlite else Express(database, lease, express, self, MOST)
        self._handed: tuple[list[Work], Exception] | None = None
        self._turning = False

    def start(self) -> None:
        self._thread.start()

    def serve(self, loop: asyncio.AbstractEventLoop | None) -> None:
        """Changes come from this loop from now on, if any; called within it."""
        if self._express is not None:
            self._express.serve(loop)

    async def do(self, handler: Handler, item: Any) -> Any:
        """Apply one change durably; its result, or its error."""
        if not self._lease.valid:
            raise Unavailable(STANDBY if not self._lease.held else "the database does not answer now")
        future = asyncio.get_running_loop().create_future()
        self._pending.add(future)
        work = (handler, item, future)
        if self._express is None or not self._express.take(work):
            self.put(work)
        try:
            return await future
        finally:
            self._pending.discard(future)

    def put(self, work: Work) -> None:
        """Leave a change to the thread."""
        self._queue.put(work)

    def hand_over(self, work: list[Work], error: Exception) -> None:
        """The loop's turn ends with this error: the thread finds out what came of these changes."""
        self._handed = work, error
        # Something to wake it with, which does no harm.
        self.put((renew, Renewal(), work[0][2].get_loop().create_future()))
        self.turn.release()

    def give_up(self) -> None:
        """Answer those who wait while the database does not: what becomes of their changes is not known."""
        for future in list(self._pending):
            if not future.done():
                future.set_exception(Unavailable("this could not be stored yet; send it again"))

    @property
    def waiting(self) -> int:
        """Changes that are not begun."""
        return self._queue.qsize() + (0 if self._express is None else self._express.waiting)

    @property
    def wants(self) -> bool:
        """Whether the thread has something to do, or is about to."""
        return self._turning or self._handed is not None or not self._queue.empty()

    @property
    def full(self) -> bool:
        """Whether some kind of change did not fit on the disk just now; smaller ones may go on to fit."""
        return any(time.monotonic() - since < FULL for since in list(self._full.values()))

    def stored(self, handler: Handler) -> None:
        """Changes of this kind were committed."""
        self.commits += 1
        self._full.pop(handler, None)

    def close(self) -> None:
        """Commit what waits, let go of the lease, and stop."""
        self._ending.set()
        self._queue.put(None)
        if self._thread.is_alive():
            self._thread.join()
        try:
            self._lease.release()
        except (SQLAlchemyError, DpairsError) as error:
            log.warning("the lease was not let go, and runs out by itself", reason=cause(error))

    def _run(self) -> None:
        going = True
        while going or not self._queue.empty():
            if not self._lease.held:
                with self._in_turn():
                    taken = self._take_over()
                if not taken:
                    going = self._refuse_all() and going
                    continue
            work = self._gather()
            going = going and None not in work
            changes = [each for each in work if each is not None]
            with self._in_turn():
                try:
                    self._resolve()
                    self._commit_all(changes)
                except Exception:  # a mistake of ours must not end the only thread that writes
                    log.exception("the writer failed")
                    self._lose(LeaseLost("what is in memory cannot be trusted"))
                    tell(
                        (future, Unavailable("this could not be stored now; try again"))
                        for *_, future in changes
                    )

    @contextlib.contextmanager
    def _in_turn(self) -> Iterator[None]:
        self._turning = True  # so that a loop with much to do lets go
        with self.turn:
            try:
                yield
            finally:
                self._turning = False

    def _resolve(self) -> None:
        """Bring to an end what the loop has handed over."""
        if self._handed is None:
            return
        (work, error), self._handed = self._handed, None
        self._database.cut()
        items = [item for _, item, _ in work]
        outcomes = self._commit(work[0][0], items, lambda: self._lost(error, items))
        tell(zip([future for *_, future in work], outcomes, strict=True))

    def _gather(self) -> list[Work | None]:
        """The changes of the next transactions: what waits, or nothing after a while."""
        work: list[Work | None] = []
        since = self._lease.since
        try:
            first = self._put_off or self._queue.get(timeout=RENEW - since if since < RENEW else RENEW)
            self._put_off = None
            work.append(first)
            rows = first[1].rows if first is not None else 0
            while len(work) < MOST:
                following = self._queue.get_nowait()
                rows += following[1].rows if following is not None else 0
                if rows > MOST_ROWS and following is not None:
                    self._put_off = following
                    break
                work.append(following)
        except queue.Empty:
            pass
        return work

    def _commit_all(self, work: list[Work]) -> None:
        kinds: dict[Handler, list[tuple[Any, asyncio.Future[Any]]]] = {}
        for handler, item, future in work:
            kinds.setdefault(handler, []).append((item, future))
        # A transaction for each kind of change, so that what one kind decides by is what was committed.
        if not kinds and not self._database.is_sqlite and self._lease.since >= RENEW:
            kinds[renew] = []
        for handler, changes in kinds.items():
            outcomes = self._commit(handler, [item for item, _ in changes])
            tell(zip([future for _, future in changes], outcomes, strict=True))

    def _commit(
        self, handler: Handler, items: list[Any], transact: Callable[[], list[Any]] | None = None
    ) -> list[Any]:
        """Commit these changes, by default in a transaction of their own; what came of each."""
        retired = [transact is None and item.retired for item in items]
        if any(retired):
            current = [item for item, gone in zip(items, retired, strict=True) if not gone]
            told = iter(self._commit(handler, current) if current else [])
            return [item.refusal if gone else next(told) for item, gone in zip(items, retired, strict=True)]
        began = time.monotonic()
        try:
            outcomes = self._transact(handler, items) if transact is None else transact()
        except LeaseLost as error:
            self._lose(error)
            return [Unavailable(str(error))] * len(items)
        except Unavailable as error:
            return [error] * len(items)
        except DpairsError as error:
            return self._apart(handler, items) if len(items) > 1 else [error] * len(items)
        except Exception as error:
            # One bad change must not spoil the others; a database that is gone spoils all of them alike.
            gone = isinstance(error, SQLAlchemyError) and not isinstance(error, IntegrityError)
            if len(items) > 1 and not gone:
                return self._apart(handler, items)
            log.error("commit failed", reason=cause(error), change=handler.__name__, changes=len(items))
            if full(error):
                self._full[handler] = time.monotonic()
            return [Unavailable("this could not be stored now; try again")] * len(items)
        self._lease.committed(began)
        self.stored(handler)
        if not counted(outcomes):
            self._lose(LeaseLost("what is in memory cannot be trusted"))
        return outcomes

    def _apart(self, handler: Handler, items: list[Any]) -> list[Any]:
        return [outcome for item in items for outcome in self._commit(handler, [item])]

    def _transact(self, handler: Handler, items: list[Any]) -> list[Any]:
        """One transaction; an error means that nothing of it is in the database."""
        if handler in self._at_once:
            return self._state(self._at_once[handler], items)
        failure: Exception | None = None
        with contextlib.ExitStack() as stack:
            connection = stack.enter_context(self._database.transaction())
            self._lease.renew(connection)
            outcomes = handler(connection, items)
            try:
                connection.commit()
            except Exception as error:
                failure = error
                with contextlib.suppress(Exception):  # of a broken connection; what broke it is logged below
                    connection.invalidate()
        if failure is not None:
            self._raise_unless_committed(failure, items)
            log.warning("the commit in doubt has happened", changes=len(items))
        return outcomes

    def _state(self, at_once: AtOnce, items: list[Any]) -> list[Any]:
        """The same in one statement, of which an error leaves in doubt whether it was done."""
        failure, outcomes = None, None
        with self._database.statements() as connection:
            try:
                outcomes = at_once(connection, self._lease.renewal, items)
            except Exception as error:  # of whatever came after the statement, too
                failure = error
                with contextlib.suppress(Exception):  # likewise
                    connection.invalidate()
        if failure is not None and at_once is renew_at_once:
            self._raise_unless_committed(failure, items)
            return [None] * len(items)
        if failure is not None:
            return self._lost(failure, items)
        if outcomes is None:
            raise LeaseLost(TAKEN)
        return outcomes

    def _lost(self, failure: Exception, items: list[Any]) -> NoReturn:
        """After a statement whose answer was lost, nothing has changed, or what it has is to be read."""
        if isinstance(failure, LeaseLost):
            raise failure
        self._raise_unless_committed(failure, items)
        raise LeaseLost("a commit has happened whose answer was lost: everything is read again")

    def _raise_unless_committed(self, failure: Exception, items: list[Any]) -> None:
        """Raise what put a commit in doubt if it has not happened."""
        log.warning("a commit is in doubt", reason=cause(failure), changes=len(items))
        if not self._settled():
            raise failure

    def _settled(self) -> bool:
        """Ask until the database says whether the commit has happened."""
        while True:
            try:
                return self._lease.settle()
            except LeaseLost:
                raise
            except Unavailable as error:
                raise LeaseLost(f"a commit is in doubt: {error}") from None
            except SQLAlchemyError as error:
                log.error("a commit is still in doubt", reason=cause(error))
                if self._ending.wait(RETRY):
                    raise LeaseLost("the collector ends, and a commit is in doubt") from None

    def _lose(self, error: LeaseLost) -> None:
        log.error("lease lost", reason=str(error))
        self._lease.lose()
        self._drop()

    def _take_over(self) -> bool:
        try:
            return not self._ending.is_set() and self.take_over()
        except Exception as error:
            log.error("taking over failed", reason=cause(error))
            self._lease.lose()
            return False

    def take_over(self) -> bool:
        """Take the lease, if it is free, and load everything."""
        if not self._lease.take():
            return False
        began = time.monotonic()
        with self._kept():
            self._load()
        self._lease.held = True
        log.info("took over", epoch=self._lease.epoch, seconds=round(time.monotonic() - began, 3))
        return True

    @contextlib.contextmanager
    def _kept(self) -> Iterator[None]:
        """Renew the lease from another thread, while this one does something long."""
        ended, lost = threading.Event(), list[Exception]()

        def keep() -> None:
            while not ended.wait(RENEW):
                try:
                    began = time.monotonic()
                    with self._lease.alone:
                        self._transact(renew, [])
                        self._lease.committed(began)
                except LeaseLost as error:
                    lost.append(error)
                    return
                except Exception as error:
                    log.error("renewal failed", reason=cause(error))

        keeper = threading.Thread(target=keep, name="keeper", daemon=True)
        if not self._database.is_sqlite:
            keeper.start()
        try:
            yield
        finally:
            ended.set()
            if keeper.is_alive():
                keeper.join()
        if lost:
            raise lost[0]

    def _refuse_all(self) -> bool:
        """Refuse what waits, for a while; whether to go on."""
        deadline = time.monotonic() + RETRY
        refused = [self._put_off] if self._put_off is not None else []
        self._put_off = None
        going = True
        with contextlib.suppress(queue.Empty):
            while going:
                work = self._queue.get(timeout=max(0.001, deadline - time.monotonic()))
                going = work is not None
                refused += [work] if work is not None else []
        tell((future, Unavailable(STANDBY)) for _, _, future in refused)
        return going
