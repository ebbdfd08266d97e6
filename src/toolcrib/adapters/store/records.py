"""What every store of records shares: the operations of the port, each handed on as one decision.

An adapter says only how a decision is carried out in one step (`decide`); which function decides,
and on what, is written once, here.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from toolcrib.core.freshness import operations
from toolcrib.core.freshness.record import (
    Answer,
    Caller,
    Decision,
    Published,
    Record,
    StoreClock,
    Ticket,
)
from toolcrib.core.snapshot import Snapshot
from toolcrib.errors import LimitExceeded

NOTE_LIMIT = 64 * 1024
"""Bytes one note may have."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of one caller, ready to run on a record."""

    run: Callable[[Record | None, StoreClock], Decision]
    caller: Caller
    candidate: Snapshot | None = None
    """The snapshot the operation may publish, so that it can be encoded before the record is
    locked."""
    reads: bool = False
    """Whether the operation is expected to leave the record as it is."""


class RecordStore(ABC):
    """The seven operations of `SnapshotStore`, over one way to carry out a decision."""

    @abstractmethod
    async def decide(self, pid: str, operation: Operation) -> Answer:
        """Run the operation on the current record of `pid`, keep what it returns, and answer.

        Raises:
            StoreUnreachable: The memory cannot be used; nothing is changed as far as anybody can
                tell.
        """

    async def look(self, pid: str, caller: Caller) -> Answer:
        """Answer what the record says, with the body if the caller holds another one."""
        operation = Operation(
            lambda record, clock: operations.look(record, caller, clock), caller, reads=True
        )
        return await self.decide(pid, operation)

    async def invalidate(self, pid: str, caller: Caller) -> Answer:
        """Record that a change was signalled."""
        operation = Operation(
            lambda record, clock: operations.invalidate(record, caller, clock), caller
        )
        return await self.decide(pid, operation)

    async def begin(
        self, pid: str, caller: Caller, *, force: bool = False, regranted: bool = False
    ) -> Answer:
        """Ask for the right to walk; the answer carries the ticket or says why not."""
        operation = Operation(
            lambda record, clock: operations.begin(
                record, caller, clock, force=force, regranted=regranted
            ),
            caller,
        )
        return await self.decide(pid, operation)

    async def renew(self, pid: str, caller: Caller, ticket: Ticket) -> Answer:
        """Keep the lease of a running walk."""
        operation = Operation(
            lambda record, clock: operations.renew(record, caller, clock, ticket), caller
        )
        return await self.decide(pid, operation)

    async def release(self, pid: str, caller: Caller, ticket: Ticket) -> Answer:
        """Give back the lease of a failed walk, if it is still the newest."""
        operation = Operation(
            lambda record, clock: operations.release(record, caller, clock, ticket), caller
        )
        return await self.decide(pid, operation)

    async def publish(
        self, pid: str, caller: Caller, ticket: Ticket, candidate: Published
    ) -> Answer:
        """Publish the result of a walk, if it is still the newest walk and not dirty."""
        operation = Operation(
            lambda record, clock: operations.publish(record, caller, clock, ticket, candidate),
            caller,
            candidate=candidate.snapshot,
        )
        return await self.decide(pid, operation)

    async def revoke(self, pid: str, caller: Caller) -> Answer:
        """Withdraw the catalog: the right to see it is gone."""
        operation = Operation(
            lambda record, clock: operations.revoke(record, caller, clock), caller
        )
        return await self.decide(pid, operation)


def check_note(key: str, value: bytes | None) -> None:
    """Refuse a note that is too large to be a note.

    Raises:
        LimitExceeded: The value has more than `NOTE_LIMIT` bytes.
    """
    if value is not None and len(value) > NOTE_LIMIT:
        raise LimitExceeded(
            f"the note {key!r} has {len(value)} bytes, and a note may have {NOTE_LIMIT}",
            remedy="remember less under this key, or split it over several keys",
        )
