"""The store of one process: records in a dictionary, gone with the process."""

import secrets

from toolcrib.adapters.store.memory_bus import MemoryBus
from toolcrib.adapters.store.memory_entries import MemoryEntries
from toolcrib.adapters.store.memory_vectors import MemoryVectors
from toolcrib.adapters.store.records import Operation, RecordStore, check_note
from toolcrib.core.freshness.record import Answer, Record, StoreClock
from toolcrib.ports import Clock


class MemoryStore(RecordStore):
    """Keeps records in memory; each decision runs between two switches of the event loop.

    There is no await between reading a record and keeping the next one, and none before the
    answer is returned, so decisions and answers have one order without a lock.

    Args:
        clock: Its wall time is the time of the store.
        bus: Where hints go; a bus of its own where none is given.
        server: Identity of this memory; a random one where none is given.
    """

    def __init__(
        self, clock: Clock, bus: MemoryBus | None = None, *, server: str | None = None
    ) -> None:
        self.bus = MemoryBus() if bus is None else bus
        """Tells every replica of this memory to look again."""
        self.entries = MemoryEntries(clock)
        """Small values with an expiry."""
        self.vectors = MemoryVectors(clock)
        """What texts were embedded to."""
        self._clock = clock
        self._server = server or f"memory-{secrets.token_hex(8)}"
        self._records: dict[str, Record] = {}
        self._notes: dict[str, bytes] = {}

    @property
    def remote(self) -> bool:
        """False: looking costs nothing, and nobody changes the memory behind our back."""
        return False

    async def decide(self, pid: str, operation: Operation) -> Answer:
        """Run the operation on the current record, keep what it returns, and answer."""
        clock = StoreClock(self._server, self._clock.now().wall)
        decision = operation.run(self._records.get(pid), clock)
        self._records[pid] = decision.record
        if decision.hint:
            self.bus.tell(pid)
        return decision.answer

    async def read_note(self, key: str) -> bytes | None:
        """The note under this key, or None."""
        return self._notes.get(key)

    async def write_note(self, key: str, value: bytes | None) -> None:
        """Remember a note, or forget it.

        Raises:
            LimitExceeded: The note is larger than 64 KiB.
        """
        check_note(key, value)
        if value is None:
            self._notes.pop(key, None)
        else:
            self._notes[key] = value

    async def watch(self) -> None:
        """Return at once: every replica of this memory hears its bus directly."""

    def close(self) -> None:
        """Give back nothing: there is no file and no connection."""
