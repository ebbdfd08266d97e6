"""What the store contract needs of an adapter: handles on one memory, a clock, and ways to lose it.

Write a `StoreRig` for your store, hand it to each test of `StoreContract`, and the tests do the
rest. They play the replicas by hand: a `Replica` here does nothing by itself.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any
from unittest import SkipTest

from toolcrib.core.freshness.record import Answer, Caller, Published, Ticket, View
from toolcrib.core.instant import Instant
from toolcrib.core.snapshot import Hints, Item, Kind, Snapshot
from toolcrib.ports import Clock, InvalidationBus, SnapshotStore

PID = "0" * 32
"""The catalog most tests are about."""
TTL = 60.0
"""Seconds a snapshot of these tests counts as fresh."""


def expect(actual: object, wanted: object, what: str = "") -> None:
    """Fail unless both are equal: a plain function, so that any runner can run the contract.

    Raises:
        AssertionError: They differ.
    """
    if actual != wanted:
        raise AssertionError(f"{what or 'value'}: expected {wanted!r}, got {actual!r}")


def ensure(holds: object, what: str) -> None:
    """Fail, saying `what` should have been so, unless it is.

    Raises:
        AssertionError: It is not.
    """
    if not holds:
        raise AssertionError(f"not so: {what}")


class SteppedClock:
    """Time that stands still until it is moved."""

    def __init__(self, wall: float = 1_800_000_000.0) -> None:
        self._now = Instant(0.0, wall)

    def now(self) -> Instant:
        """The moment at which the clock stands."""
        return self._now

    def lots(self) -> float:
        """Always 0.5: a store draws no lots."""
        return 0.5

    def advance(self, seconds: float) -> None:
        """Let time pass, on both clocks."""
        self._now = self._now.plus(seconds)

    def jump(self, seconds: float) -> None:
        """Move the wall clock alone, back with a negative number."""
        self._now = Instant(self._now.mono, self._now.wall + seconds)


class StoreRig(ABC):
    """One memory as two replicas reach it, 0 and 1, each with its own handle where that can be.

    What an adapter cannot do, such as losing its memory on purpose, stays as it is here: it skips
    the tests that need it.
    """

    def __init__(self) -> None:
        self.clock = SteppedClock()
        """The time of the store."""

    @property
    @abstractmethod
    def server(self) -> str:
        """The identity of the memory, as its incarnations begin with."""

    @abstractmethod
    def store(self, replica: int) -> SnapshotStore:
        """The handle of replica 0 or 1."""

    @abstractmethod
    def bus(self, replica: int) -> InvalidationBus:
        """The bus of replica 0 or 1."""

    @abstractmethod
    async def deliver(self) -> None:
        """Return when every hint given until now has reached the listeners."""

    def replica(self, number: int, pid: str = PID) -> "Replica":
        """A replica that knows nothing yet, to be played by hand."""
        return Replica(lambda: self.store(number), self.clock, pid)

    async def standby(self) -> object:
        """What a standby would hold now: a copy of the memory, to come back to."""
        raise SkipTest("this store has no standby")

    async def fail_over(self, standby: object | None) -> None:
        """Put the standby, or nothing, in the place of the memory, under another identity."""
        raise SkipTest("this store cannot lose its memory on purpose")

    async def promote(self, standby: object) -> SnapshotStore:
        """A handle on the standby as another server, while the memory lives on: a split brain."""
        raise SkipTest("this store cannot be split")


def listing(*pages: str, kind: Kind = Kind.TOOLS, ttl: float = TTL) -> Snapshot:
    """A snapshot of one walk: page n held one tool, read from the server's state `pages[n]`.

    `listing("v0", "v1")` is a torn one: its first page is older than its second.
    """
    items = tuple(
        tool(f"tool_{number}", state=state) for number, state in enumerate(pages, start=1)
    )
    return snapshot_of(*items, kind=kind, ttl=ttl, pages=len(pages))


def tool(name: str, **properties: Any) -> Item:
    """An item whose definition has these extra members."""
    return item_of({"name": name, **properties, "inputSchema": {"type": "object"}})


def item_of(definition: Mapping[str, Any]) -> Item:
    """An item with this definition; its hashes only have to differ where definitions do."""
    text = json.dumps(definition, sort_keys=True)
    mark = hashlib.sha256(text.encode()).hexdigest()
    return Item(str(definition["name"]), definition, mark, mark)


def snapshot_of(
    *items: Item, kind: Kind = Kind.TOOLS, ttl: float = TTL, pages: int = 1
) -> Snapshot:
    """A snapshot of these items."""
    ordered = tuple(sorted(items, key=lambda item: item.key))
    mark = hashlib.sha256("".join(item.fingerprint for item in ordered).encode()).hexdigest()
    return Snapshot(kind, ordered, mark, hints=Hints(ttl=ttl), pages=pages)


class Replica:
    """A replica played by hand: it keeps what it must remember and does one operation when told."""

    def __init__(
        self, find_store: Callable[[], SnapshotStore], clock: Clock, pid: str = PID
    ) -> None:
        self._find_store = find_store
        self._clock = clock
        self._pid = pid
        self.inc = ""
        self.gen = 0
        self.hi = 0
        self.held: Snapshot | None = None
        """What it would serve."""

    @property
    def store(self) -> SnapshotStore:
        """The store it speaks to."""
        return self._find_store()

    @property
    def caller(self) -> Caller:
        """How it presents itself."""
        return Caller(self.inc, self.hi, self.gen)

    def move(self, store: SnapshotStore) -> None:
        """Speak to another memory from now on."""
        self._find_store = lambda: store

    async def look(self) -> View:
        """LOOK."""
        return (await self.store.look(self._pid, self.caller)).view

    async def invalidate(self) -> View:
        """INVALIDATE."""
        return (await self.store.invalidate(self._pid, self.caller)).view

    async def begin(self, *, force: bool = False, regranted: bool = False) -> Ticket:
        """BEGIN, which must be granted."""
        answer = await self.ask(force=force, regranted=regranted)
        if answer.ticket is None:
            raise AssertionError(f"BEGIN was not granted: {answer.verdict}")
        return answer.ticket

    async def ask(self, *, force: bool = False, regranted: bool = False) -> Answer:
        """BEGIN, which may be refused."""
        return await self.store.begin(self._pid, self.caller, force=force, regranted=regranted)

    async def renew(self, ticket: Ticket) -> Answer:
        """RENEW."""
        return await self.store.renew(self._pid, self.caller, ticket)

    async def release(self, ticket: Ticket) -> Answer:
        """RELEASE."""
        return await self.store.release(self._pid, self.caller, ticket)

    async def publish(
        self, ticket: Ticket, snapshot: Snapshot, *, read_at: float | None = None
    ) -> Answer:
        """PUBLISH a snapshot read at store time `read_at`; now where nothing is said."""
        read = self._clock.now().wall if read_at is None else read_at
        candidate = Published(snapshot, read, read + snapshot.hints.ttl)
        return await self.store.publish(self._pid, self.caller, ticket, candidate)

    async def revoke(self) -> View:
        """REVOKE."""
        return (await self.store.revoke(self._pid, self.caller)).view

    async def walk(self, snapshot: Snapshot) -> View:
        """BEGIN, PUBLISH, both of which must succeed, and take in the view."""
        answer = await self.publish(await self.begin(force=True), snapshot)
        expect(answer.verdict, "done", "verdict of a walk")
        self.adopt(answer.view, snapshot)
        return answer.view

    def adopt(self, view: View, published: Snapshot | None = None) -> None:
        """Take in a view as a replica does that has nothing queued and nothing to hold back.

        A view that carries no body although another generation is current is only sound for whoever
        published that generation: `published`.
        """
        if view.has_snapshot:
            if view.body is not None:
                self.held = view.body.snapshot
            elif published is not None:
                self.held = published
            elif (self.inc, self.gen) != (view.inc, view.gen):
                raise AssertionError("the view speaks of a body that it does not carry")
            self.gen = self.hi = view.gen
        elif view.withdrawn:
            self.held = None
        self.inc = view.inc

    def hold(self, view: View) -> None:
        """Move to another incarnation and keep what is held without serving it."""
        self.inc = view.inc
        self.gen = 0


async def replicas(rig: StoreRig, snapshot: Snapshot | None = None) -> tuple[Replica, Replica]:
    """Two replicas that hold `snapshot`, fresh; `listing("v0", "v0")` where nothing is said."""
    a, b = rig.replica(0), rig.replica(1)
    await a.walk(listing("v0", "v0") if snapshot is None else snapshot)
    b.adopt(await b.look())
    return a, b


def expire(rig: StoreRig) -> None:
    """Let the ttl of everything run out."""
    rig.clock.advance(TTL + 1)
