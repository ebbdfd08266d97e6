"""A small world in which the heart runs in virtual time: one store, some replicas, one server.

Everything happens in one thread and in one order, so a run is the same each time. The store is the
pure `operations`; the server is a list of pages that a test changes; replicas are `Entry` and
`step`. By default each store operation and each list request is answered on its own after its
latency. In a `manual` world nothing moves until the test says which step comes next.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from toolcrib.core.freshness import operations
from toolcrib.core.freshness.effects import (
    Begin,
    Effect,
    FetchPage,
    Invalidate,
    KeepLastGood,
    Look,
    Publish,
    Release,
    Renew,
    Report,
    Revoke,
    Served,
    StoreEffect,
    WakeAt,
    Withdrawn,
)
from toolcrib.core.freshness.entry import OPERATIONS
from toolcrib.core.freshness.events import (
    Connected,
    Event,
    Failure,
    Granted,
    Hinted,
    Invalidated,
    Needed,
    PageArrived,
    Reason,
    Refused,
    StoreFailed,
    StreamOpened,
    Viewed,
    WalkFailed,
    Woke,
)
from toolcrib.core.freshness.need import Purpose, Standing, peek, standing, wait_until
from toolcrib.core.freshness.record import Answer, Caller, Decision, Record, StoreClock
from toolcrib.core.freshness.replica import Entry, caller_of, step
from toolcrib.core.freshness.tempo import Tempo
from toolcrib.core.instant import Instant
from toolcrib.core.snapshot import Hints, Kind
from toolcrib.testing.simulated_server import Listing, Server, item

__all__ = ["Listing", "Reader", "Replica", "Server", "Store", "World", "item"]


@dataclass(slots=True)
class Store:
    """One record behind the pure operations."""

    name: str = "memory-1"
    """Identity of its memory; another one means that something may have been lost."""
    record: Record | None = None
    latency: float = 0.0
    down: bool = False
    operations: int = 0

    def carry_out(self, effect: StoreEffect, caller: Caller, wall: float) -> Decision:
        """Decide one operation and keep the record."""
        clock, record = StoreClock(self.name, wall), self.record
        match effect:
            case Look():
                decision = operations.look(record, caller, clock)
            case Invalidate():
                decision = operations.invalidate(record, caller, clock)
            case Begin(force, regranted):
                decision = operations.begin(record, caller, clock, force=force, regranted=regranted)
            case Renew(ticket):
                decision = operations.renew(record, caller, clock, ticket)
            case Release(ticket):
                decision = operations.release(record, caller, clock, ticket)
            case Publish(ticket, candidate):
                decision = operations.publish(record, caller, clock, ticket, candidate)
            case Revoke():
                decision = operations.revoke(record, caller, clock)
        self.record = decision.record
        self.operations += 1
        return decision

    def lose(self, *, back_to: Record | None = None) -> None:
        """Become another memory: empty, or a standby that remembers an earlier record."""
        self.name += "'"
        self.record = back_to


@dataclass(slots=True)
class Reader:
    """Somebody who needs the catalog and waits as long as `need` says."""

    arrived: float
    purpose: Purpose
    answer: Standing | None = None
    answered: float | None = None
    until: float = 0.0
    """Until when it waits at most, as things stand."""

    @property
    def names(self) -> list[str] | None:
        """The names it was answered; None while it waits or where nothing could be shown."""
        if self.answer is None or self.answer.snapshot is None:
            return None
        return [each.key for each in self.answer.snapshot.items]


@dataclass(slots=True, eq=False)
class Replica:
    """One replica: its entry, what it asked for and was told, and counts of both."""

    world: "World"
    name: str
    entry: Entry
    pending: StoreEffect | None = None
    """The store operation that was sent and has not run at the store."""
    answer: Answer | None = None
    """The answer that has not arrived yet."""
    fetches: list[FetchPage] = field(default_factory=list[FetchPage])
    """List requests without an answer."""
    readers: list[Reader] = field(default_factory=list[Reader])
    walks: list[float] = field(default_factory=list[float])
    """When a first page was asked for."""
    requests: int = 0
    log: list[Effect] = field(default_factory=list[Effect])
    """All effects, in order."""
    alive: bool = True
    reachable: bool = True
    """Whether the store can be reached from here."""
    _timer: float | None = None

    def tell(self, event: Event) -> None:
        """One step: the event in, the effects carried out, waiting readers looked after."""
        if not self.alive:
            return
        self.entry, effects = step(self.entry, event)
        for effect in effects:
            self.log.append(effect)
            self._carry_out(effect)
        if not isinstance(event, Needed):
            self._look_after_readers()

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case FetchPage():
                self.requests += 1
                if effect.cursor is None:
                    self.walks.append(self.world.now)
                self.fetches.append(effect)
                if not self.world.manual:
                    self.world.at(self.world.server.latency, lambda: self.page(effect))
            case WakeAt(mono):
                self._timer = mono
                self.world.at(mono - self.world.now, lambda: self._wake(mono))
            case Served() | Withdrawn() | KeepLastGood() | Report():
                pass
            case _:
                if self.pending is not None:
                    raise AssertionError(f"two store operations: {self.pending}, {effect}")
                self.pending = effect
                if not self.world.manual:
                    self.world.at(self.world.store.latency / 2, self._run_alone)

    def _sent(self) -> StoreEffect:
        if self.pending is None:
            raise AssertionError(f"{self.name} sent no operation")
        return self.pending

    def _run_alone(self) -> None:
        if self.run():
            self.world.at(self.world.store.latency / 2, self.receive)

    def run(self) -> bool:
        """Let the pending operation run at the store; False if the store cannot be reached."""
        effect, store = self._sent(), self.world.store
        if store.down or not self.reachable or not self.alive:
            self.lose_answer()
            return False
        decision = store.carry_out(effect, caller_of(self.entry), self.world.instant.wall)
        self.answer = decision.answer
        if decision.hint:
            self.world.hint(self)
        return True

    def lose_answer(self) -> None:
        """The operation has no answer, whether or not it ran."""
        effect = self._sent()
        self.pending = self.answer = None
        world = self.world
        self.tell(StoreFailed(OPERATIONS[type(effect)], world.instant, world.lots))

    def receive(self) -> None:
        """Let the answer of the store arrive."""
        effect, answer, now = self._sent(), self.answer, self.world.instant
        if answer is None:
            raise AssertionError(f"{self.name}: the operation did not run yet")
        self.pending = self.answer = None
        lots = self.world.lots
        if not isinstance(effect, Begin):
            self.tell(Viewed(OPERATIONS[type(effect)], answer, now, lots))
        elif answer.ticket is None:
            self.tell(Refused(answer, now, lots))
        else:
            self.tell(Granted(answer.ticket, answer.view, now, lots))

    def quiet(self) -> None:
        """Run and answer every store operation until none is sent, or the store is out of reach."""
        while self.pending is not None:
            if self.answer is None and not self.run():
                return
            self.receive()

    def page(self, fetch: FetchPage | None = None) -> None:
        """Let the server answer one list request, by default the newest."""
        fetch = self.fetches[-1] if fetch is None else fetch
        if fetch not in self.fetches:
            return
        self.fetches.remove(fetch)
        server, now = self.world.server, self.world.instant
        read = server.read(fetch.cursor, now)
        if server.after_page is not None:
            server.after_page(fetch.cursor)
        if isinstance(read, Failure):
            self.tell(WalkFailed(fetch.ticket, read, now, self.world.lots))
        else:
            self.tell(PageArrived(fetch.ticket, read, now, self.world.lots))

    def _wake(self, mono: float) -> None:
        if self._timer == mono:
            self._timer = None
            self.tell(Woke(self.world.instant, self.world.lots))

    def read(self, purpose: Purpose = "list", *, force: bool = False) -> Reader:
        """A reader arrives; it is answered at once or as the world runs on."""
        now = self.world.now
        reader = Reader(now, purpose)
        if force or purpose == "admit" or peek(self.entry, now) is None:
            self.tell(Needed(self.world.instant, self.world.lots, force=force))
        if self._waits(reader):
            self.readers.append(reader)
        return reader

    def _look_after_readers(self) -> None:
        self.readers = [reader for reader in self.readers if self._waits(reader)]

    def _waits(self, reader: Reader) -> bool:
        """Whether a reader goes on waiting; it is answered if it does not."""
        now = self.world.now
        until = wait_until(self.entry, now, reader.arrived, reader.purpose)
        if until <= now:
            reader.answer = standing(self.entry, now, reader.purpose)
            reader.answered = now
            return False
        if until != reader.until:
            reader.until = until
            self.world.at(until - now, self._look_after_readers)
        return True

    @property
    def names(self) -> list[str] | None:
        """The names it would answer now; None where nothing may be shown."""
        shown = standing(self.entry, self.world.now).snapshot
        return None if shown is None else [each.key for each in shown.items]

    @property
    def standing(self) -> Standing:
        """What it would answer a listing now."""
        return standing(self.entry, self.world.now)

    def told(self, kind: type[Any]) -> list[Any]:
        """All effects of one type so far."""
        return [effect for effect in self.log if isinstance(effect, kind)]

    @property
    def reports(self) -> list[str]:
        """Codes of all findings so far."""
        return [effect.code for effect in self.log if isinstance(effect, Report)]


class World:
    """Virtual time, the server, the store, and the replicas."""

    def __init__(
        self,
        replicas: int = 1,
        *,
        tempo: Tempo | None = None,
        shared: bool = False,
        remote: bool = False,
        manual: bool = False,
        kind: Kind = Kind.TOOLS,
    ) -> None:
        self.now = 1000.0
        self.wall_offset = 1_700_000_000.0
        """Wall time minus monotonic time; change it to let the wall clock jump."""
        self.manual = manual
        self.lots = 0.0
        """The lot in each event from now on."""
        self.server = Server()
        self.store = Store()
        self.hints_lost = False
        """Whether the bus loses every hint from now on."""
        self._blank = Entry(kind, tempo or Tempo(), shared, remote)
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self.replicas = [self._replica(number) for number in range(replicas)]

    @classmethod
    def at_rest(
        cls,
        listing: Listing = (("a", "b"), ("c",)),
        *,
        hints: Hints | None = None,
        tempo: Tempo | None = None,
        shared: bool = False,
        listening: bool = True,
    ) -> "World":
        """A world in which one replica holds the listing for half a minute; nothing is counted yet.

        Without `hints` the listing is fresh for an hour.
        """
        world = cls(tempo=tempo, shared=shared)
        world.server.listing, world.server.hints = listing, hints or Hints(ttl=3600.0)
        world.start(listening=listening)
        world.run(30)
        world.a.walks.clear()
        world.a.log.clear()
        world.a.requests = 0
        return world

    def _replica(self, number: int) -> Replica:
        return Replica(self, f"replica {number}", replace(self._blank))

    @property
    def a(self) -> Replica:
        """The first replica."""
        return self.replicas[0]

    @property
    def b(self) -> Replica:
        """The second replica."""
        return self.replicas[1]

    @property
    def instant(self) -> Instant:
        """Now, on both clocks."""
        return Instant(self.now, self.now + self.wall_offset)

    def at(self, delay: float, action: Callable[[], None]) -> None:
        """Do something `delay` seconds from now; things due at one time keep their order."""
        self._count += 1
        heapq.heappush(self._due, (self.now + max(delay, 0.0), self._count, action))

    def run(self, seconds: float = 0.0) -> None:
        """Let time pass, and everything happen that is due until then."""
        end = self.now + seconds
        while self._due and self._due[0][0] <= end:
            self.now, _, action = heapq.heappop(self._due)
            action()
        self.now = end

    def start(self, *, listening: bool = True, read: bool = True) -> None:
        """Bring every replica up in the usual order: reader, connection, stream of signals."""
        for replica in self.replicas:
            if read:
                replica.read()
            replica.tell(Connected(self.instant))
            if listening:
                replica.tell(StreamOpened(self.instant))

    def signal(self, *to: Replica) -> None:
        """The server says `list_changed` to these replicas, by default to all."""
        for replica in to or self.replicas:
            replica.tell(Invalidated(Reason.SIGNAL, self.instant))

    def change(self, listing: Listing, *, signal: bool = True) -> None:
        """The server lists something else from now on."""
        self.server.listing = listing
        if signal:
            self.signal()

    def hint(self, sender: Replica) -> None:
        """Tell all other replicas to look again."""
        if self.hints_lost or self.manual:
            return
        for replica in self.replicas:
            if replica is not sender:
                self.at(0.0, lambda replica=replica: replica.tell(Hinted(self.instant)))

    def restart(self, replica: Replica) -> None:
        """The process of a replica ends without a word and begins anew, remembering nothing."""
        number = self.replicas.index(replica)
        replica.alive = False
        self.replicas[number] = self._replica(number)
