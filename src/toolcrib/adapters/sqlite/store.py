"""The embedded store: SQLite on a local disk, shared by any number of processes.

The event loop never waits for the disk: operations run one after the other in a thread of their
own, which is the only user of the connection while it runs. Writes are durable against the death
of any process; a loss of power may cost the last of them, but takes every replica that saw them
along.
"""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread

from toolcrib.adapters.sqlite.bus import SqliteBus
from toolcrib.adapters.sqlite.decision import Decided
from toolcrib.adapters.sqlite.entries import SqliteEntries
from toolcrib.adapters.sqlite.faults import SPOILT, Trouble, UnusableFile, trouble_of
from toolcrib.adapters.sqlite.file import RecordFile
from toolcrib.adapters.sqlite.vectors import SqliteVectors
from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.adapters.store.memory_bus import MemoryBus
from toolcrib.adapters.store.memory_entries import MemoryEntries
from toolcrib.adapters.store.memory_vectors import MemoryVectors
from toolcrib.adapters.store.records import Operation, RecordStore, check_note
from toolcrib.adapters.store.snapshot_codec import SnapshotCodecError
from toolcrib.core.freshness.record import Answer
from toolcrib.errors import StoreUnreachable
from toolcrib.facts import StoreDegraded
from toolcrib.ports import Clock, Observer

_T = TypeVar("_T")


def open_store(
    path: Path | str,
    clock: Clock,
    observer: Observer,
    *,
    busy_timeout: float = 2.0,
    keep_days: float = 30.0,
    poll_interval: float = 0.5,
) -> "SqliteStore | MemoryStore":
    """The store in the file at `path`, or memory where that file cannot be used.

    Blocks for a few milliseconds; for `busy_timeout` at most where another process holds the
    file. Whatever is wrong with the file, nothing in it is deleted or overwritten, and the
    observer is told in one sentence. A file that cannot be written is not read either: a
    withdrawal may be recorded in a part of it that only a writer can see.

    Args:
        path: The file; made with its directory, for this user alone, if there is none.
        clock: Its wall time is the time of the store.
        observer: Hears of a store that cannot be used, now and later.
        busy_timeout: Seconds an operation waits for other processes.
        keep_days: Catalogs and notes that nobody wrote for so long are dropped; withdrawals stay
            a year.
        poll_interval: Seconds between two looks for what other processes changed.
    """
    path = Path(path)
    file = RecordFile(path, busy_timeout=busy_timeout, keep_days=keep_days)
    try:
        file.open(clock.now().wall)
    except Exception as error:  # noqa: BLE001 - whatever it is, catalogs can be kept in memory
        observer.note(StoreDegraded(trouble_of(error).alone(path)))
        return MemoryStore(clock)
    return SqliteStore(file, clock, observer, poll_interval=poll_interval)


class SqliteStore(RecordStore):
    """Records in one file, decided on in the order in which operations were asked for.

    An operation that cannot be carried out (disk full, file locked for longer than the busy
    timeout) raises `StoreUnreachable`; the next one tries anew. A file that turns out to be
    damaged, or was taken over by a newer toolcrib, is left alone for good: this process goes on
    in memory, which to its replicas is a store that lost its memory. A cancelled operation ends
    first, within the busy timeout.
    """

    def __init__(
        self, file: RecordFile, clock: Clock, observer: Observer, *, poll_interval: float = 0.5
    ) -> None:
        self._file = file
        self._clock = clock
        self._observer = observer
        self._local = MemoryBus()
        self._spare: MemoryStore | None = None
        self._failing = False
        self._spoilt: set[str] = set()
        self._turn = anyio.Lock()
        # Of its own, so that a slow disk takes no thread from anybody else.
        self._threads = anyio.CapacityLimiter(1)
        self.bus = SqliteBus(self._local, self._leave_hint, self._collect_hints, poll_interval)
        """Tells the replicas of this process, and those of others on the same file, to look
        again."""
        self.entries = SqliteEntries(file, self._ask_of_entries)
        """Small values with an expiry, in the same file, with the same fate."""
        self.vectors = SqliteVectors(file, self._ask_of_vectors)
        """What texts were embedded to, likewise."""

    @property
    def remote(self) -> bool:
        """True: other processes change the file, so a listing looks inside the request."""
        return True

    async def decide(self, pid: str, operation: Operation) -> Answer:
        """Run the operation inside a transaction, keep what it returns, and answer.

        Raises:
            StoreUnreachable: The file cannot be used now, or the candidate cannot be encoded.
        """

        async def in_memory(spare: MemoryStore) -> Decided:
            return Decided(await spare.decide(pid, operation), hint=False)

        decided = await self._ask(lambda now: self._file.decide(pid, operation, now), in_memory)
        if decided.spoilt and pid not in self._spoilt:
            self._spoilt.add(pid)
            self._observer.note(StoreDegraded(SPOILT.anew(self._file.path)))
        if decided.hint:
            self._local.tell(pid)
        return decided.answer

    async def read_note(self, key: str) -> bytes | None:
        """The note under this key, or None.

        Raises:
            StoreUnreachable: The file cannot be used now.
        """
        return await self._ask(
            lambda now: self._file.read_note(key, now), lambda spare: spare.read_note(key)
        )

    async def write_note(self, key: str, value: bytes | None) -> None:
        """Remember a note, or forget it.

        Raises:
            LimitExceeded: The note is larger than 64 KiB.
            StoreUnreachable: The file cannot be used now.
        """
        check_note(key, value)
        await self._ask(
            lambda now: self._file.write_note(key, value, now),
            lambda spare: spare.write_note(key, value),
        )

    async def watch(self) -> None:
        """Listen for what other processes change, until cancelled."""
        await self.bus.watch()

    def close(self) -> None:
        """Let go of the file; no operation may be running."""
        self._file.close()

    async def _ask(
        self,
        of_file: Callable[[float], _T],
        of_memory: Callable[[MemoryStore], Awaitable[_T]],
    ) -> _T:
        """Put a question to the file in its turn, or to memory once the file is given up."""
        async with self._turn:
            if self._spare is None:
                # Read on the event loop, where every clock may be read, and after the wait for
                # the turn.
                now = self._clock.now().wall
                try:
                    answer = await anyio.to_thread.run_sync(of_file, now, limiter=self._threads)
                except UnusableFile as error:
                    self._observer.note(StoreDegraded(error.trouble.alone(self._file.path)))
                    self._spare = MemoryStore(self._clock, self._local)
                except SnapshotCodecError as error:
                    raise StoreUnreachable(
                        f"this catalog cannot be stored: {error}",
                        remedy="find the definition with the deepest schema or the longest number",
                    ) from error
                except Exception as error:
                    # Not only sqlite3.Error and OSError: what nobody foresaw about a file must
                    # not end what works without it.
                    raise self._unreachable(trouble_of(error)) from error
                else:
                    self._failing = False
                    return answer
            return await of_memory(self._spare)

    async def _ask_of_entries(
        self,
        of_file: Callable[[float], _T],
        of_memory: Callable[[MemoryEntries], Awaitable[_T]],
    ) -> _T:
        return await self._ask(of_file, lambda spare: of_memory(spare.entries))

    async def _ask_of_vectors(
        self,
        of_file: Callable[[float], _T],
        of_memory: Callable[[MemoryVectors], Awaitable[_T]],
    ) -> _T:
        return await self._ask(of_file, lambda spare: of_memory(spare.vectors))

    def _unreachable(self, trouble: Trouble) -> StoreUnreachable:
        if not self._failing:
            self._failing = True
            self._observer.note(StoreDegraded(trouble.waiting(self._file.path)))
        return StoreUnreachable(
            f"the store {trouble.what}",
            remedy=trouble.remedy,
            operator_note=str(self._file.path),
        )

    async def _leave_hint(self, pid: str) -> None:
        await self._ask(lambda now: self._file.leave_hint(pid, now), _nobody_else)

    async def _collect_hints(self) -> Sequence[str | None]:
        return await self._ask(self._file.hints, _no_hints)


async def _nobody_else(_spare: MemoryStore) -> None:
    """A memory has no other processes to tell."""


async def _no_hints(_spare: MemoryStore) -> list[str | None]:
    return []
