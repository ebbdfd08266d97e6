"""Where catalogs are kept and shared."""

from collections.abc import Callable
from typing import Protocol

from toolcrib.core.freshness.record import Answer, Caller, Published, Ticket


class SnapshotStore(Protocol):
    """Keeps the records of catalogs, one per PID.

    The operations are those of `core.freshness.operations`.
    Each operation is one step: it runs the pure function on the current record and keeps what it
    returns, or it raises `StoreUnreachable` and nothing is changed as far as anybody can tell.
    Answers never come out of the order in which the store decided.
    """

    @property
    def remote(self) -> bool:
        """Whether an operation costs a round trip.

        Then a listing should look inside the request.
        """
        ...

    async def look(self, pid: str, caller: Caller) -> Answer:
        """LOOK: what the record says, and nothing changes."""
        ...

    async def invalidate(self, pid: str, caller: Caller) -> Answer:
        """INVALIDATE: a change was signalled."""
        ...

    async def begin(
        self, pid: str, caller: Caller, *, force: bool = False, regranted: bool = False
    ) -> Answer:
        """BEGIN: ask for a walk; the answer carries the ticket, or says why there is none."""
        ...

    async def renew(self, pid: str, caller: Caller, ticket: Ticket) -> Answer:
        """RENEW: keep the lease of a walk under way."""
        ...

    async def release(self, pid: str, caller: Caller, ticket: Ticket) -> Answer:
        """RELEASE: give the lease of a failed walk back."""
        ...

    async def publish(
        self, pid: str, caller: Caller, ticket: Ticket, candidate: Published
    ) -> Answer:
        """PUBLISH: replace the snapshot, if the walk is the newest and not dirty."""
        ...

    async def revoke(self, pid: str, caller: Caller) -> Answer:
        """REVOKE: withdraw the catalog, and void every walk begun before."""
        ...

    async def read_note(self, key: str) -> bytes | None:
        """A small remembered value, such as the era of a server; None when there is none."""
        ...

    async def write_note(self, key: str, value: bytes | None) -> None:
        """Remember a small value (64 KiB at most), or forget it."""
        ...


class InvalidationBus(Protocol):
    """Says `look again` to other replicas and processes; it may lose, double and delay."""

    async def publish(self, pid: str) -> None:
        """Tell everybody else that the record of this PID may have changed."""
        ...

    def subscribe(self, listener: Callable[[str | None], None]) -> Callable[[], None]:
        """Call `listener(pid)` for each hint, `listener(None)` after a gap.

        The answer ends that, however often it is called.
        """
        ...
