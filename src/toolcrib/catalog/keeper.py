"""One keeper for each catalog: it holds the heart's entry and carries out its effects.

Every event goes through `_feed`, which runs one step and starts the work its effects name; nothing
here decides. Work runs in the crib's own task group, so a reader that goes away cancels nothing.
Store operations are one at a time, because the heart asks for the next only when the last was
answered.
"""

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import assert_never

import anyio
from anyio.abc import TaskGroup

from toolcrib import facts
from toolcrib.catalog.errands import Errands
from toolcrib.catalog.reading import Reading
from toolcrib.catalog.store_work import operate
from toolcrib.catalog.tempo import tempo_of
from toolcrib.catalog.walk import FetchPage as Fetch
from toolcrib.catalog.walk_log import WalkLog
from toolcrib.core.freshness import effects as do
from toolcrib.core.freshness import events as happened
from toolcrib.core.freshness import need
from toolcrib.core.freshness.entry import Entry, caller_of
from toolcrib.core.freshness.events import Event, Failure, FailureKind, Reason
from toolcrib.core.freshness.replica import step
from toolcrib.core.instant import Instant
from toolcrib.core.snapshot import Item, Kind, Snapshot
from toolcrib.ports import Clock, Observer, SnapshotStore
from toolcrib.settings import Limits, ServerSettings
from toolcrib.upstreams.listeners import StreamState

_log = logging.getLogger(__name__)

ASK_AGAIN = 60.0
"""Seconds between two attempts to list what the server refused to show."""

ANNOUNCED = frozenset({Reason.SIGNAL, Reason.VERSION_HINT})
"""Reasons that are word from the server itself that something changed."""

Tell = Callable[[Kind, Snapshot | None, Snapshot | None, int], None]
"""(kind, before, after, generation): called once for each change of content."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What every keeper of a crib works with."""

    tasks: TaskGroup
    clock: Clock
    observer: Observer
    store: SnapshotStore
    limits: Limits


class Keeper:
    """Keeps one catalog true.

    Args:
        around: The crib's task group and ports.
        server: The settings of the server.
        kind: Which of its lists.
        pid: The key of the catalog in the store.
        fetch: Sends one list request.
        tell: Hears of every change of content.
        want: Asks for the connection, where it is not up.
        shared: Whether several principals are served from it.
    """

    def __init__(
        self,
        around: Surroundings,
        server: ServerSettings,
        kind: Kind,
        pid: str,
        *,
        fetch: Fetch,
        tell: Tell,
        want: Callable[[], None],
        shared: bool = False,
    ) -> None:
        self.pid = pid
        self._around = around
        self._server = server
        self._kind = kind
        self._fetch = fetch
        self._tell = tell
        self._want = want
        self._entry = Entry(
            kind=kind,
            tempo=tempo_of(server, around.limits),
            shared=shared,
            remote=around.store.remote,
        )
        self._asked_again = float("-inf")
        self._signals = 0
        self._moved_on = float("-inf")
        self._moves_on = False
        self._events: deque[Event] = deque()
        self._feeding = False
        self._changed = anyio.Event()
        self._errands = Errands(around.tasks)
        self._request: anyio.CancelScope | None = None
        self._alarm: anyio.CancelScope | None = None
        self._log = WalkLog(server.id, kind, around.clock, around.observer)

    def start(self, begun: float = float("inf")) -> None:
        """Looks for a last good snapshot in the store; the first event of every entry.

        `begun` is when the attempt to connect that is under way was begun; infinite: none is.
        """
        self._entry = replace(self._entry, cold=begun)
        self.invalidate(Reason.STARTED)

    def close(self) -> None:
        """Ends the keeper's work; what it holds stays readable."""
        self._errands.close()

    async def leave(self) -> None:
        """Ends the keeper's work, and gives back the right to walk.

        Else whoever lists this catalog next, in this process or another, waits for it to lapse.
        """
        self.close()
        walk, around = self._entry.walk, self._around
        if walk is not None:
            back = do.Release(walk.ticket)
            await operate(around.store, self.pid, caller_of(self._entry), back, around.clock)

    @property
    def closed(self) -> bool:
        """Whether its work was ended."""
        return self._errands.closed

    def retune(self, server: ServerSettings) -> None:
        """Takes over waits, intervals and the strategy."""
        self._server = server
        self._entry = replace(self._entry, tempo=tempo_of(server, self._around.limits))
        self._feed(happened.Woke(self._now(), self._lots()))

    # ---- readers ----

    async def read(self, purpose: need.Purpose = "list") -> Reading:
        """The catalog within the reader's wait: fresh if it can be, last good if not.

        With strategy `always`, each read for a call is answered by a walk of its own time.
        """
        arrived = self._now()
        force = purpose == "admit" and self._server.strategy == "always"
        if purpose == "list" and need.peek(self._entry, arrived.mono) is not None:
            return self.peek(purpose)
        if purpose == "admit" and need.is_satisfied(
            self._entry, arrived.mono, arrived.mono, purpose
        ):
            return self.peek(purpose)
        if not self._entry.link.up and not self._server.on_demand:
            # One on demand is wanted by those who need it (`discovery.servers`), not by readers.
            self._want()
        if self._entry.withdrawn:
            self._ask_again(arrived)
        self._feed(happened.Needed(arrived, self._lots(), force=force))
        while True:
            now = self._now().mono
            until = need.wait_until(self._entry, now, arrived.mono, purpose)
            if until <= now:
                break
            changed = self._changed
            with anyio.move_on_after(until - now):
                await changed.wait()
        reading = self.peek(purpose)
        if not reading.fresh and reading.age is not None:
            self._note(facts.ServedStale(self._server.id, self._kind.label, reading.age))
        return reading

    def _ask_again(self, now: Instant) -> None:
        """Lets a withdrawn catalog be walked once more, a minute after the last time.

        The credentials are those of the configuration, so nobody tells when the server lets them in
        again; only the server can.
        """
        if now.mono >= self._asked_again + ASK_AGAIN:
            self._asked_again = now.mono
            self._feed(happened.Regranted(now))

    def peek(self, purpose: need.Purpose = "list") -> Reading:
        """What can be answered right now."""
        now = self._now().mono
        standing = need.standing(self._entry, now, purpose)
        return Reading(
            server=self._server.id,
            kind=self._kind,
            snapshot=standing.snapshot,
            generation=standing.generation,
            fresh=standing.fresh,
            age=standing.age,
            ttl_left=standing.ttl_left,
            scope=standing.scope,
            current=need.is_satisfied(self._entry, now, now, "list"),
            invalidated=standing.invalidated,
            withdrawn=self._entry.withdrawn,
            signals=self._signals,
            trouble=standing.trouble,
        )

    def is_fresh(self, now: float) -> bool:
        """Whether what is held may be listed, and counts as fresh; as `Reading.fresh` tells."""
        return need.is_fresh(self._entry, now)

    def callable_item(self, key: str) -> Item | None:
        """The definition a call is checked against, in either listing of disagreeing replicas."""
        return need.callable_item(self._entry, self._now().mono, key)

    def held_back(self) -> Snapshot | None:
        """The other listing of replicas that disagree, while one of the two is held back."""
        return self._entry.alternation.other

    def need(self) -> None:
        """Asks for a fresh catalog without waiting for it."""
        self._feed(happened.Needed(self._now(), self._lots()))

    def watch(self) -> Callable[[], None]:
        """Counts a subscriber, for whom polling goes on; the answer takes it back."""
        self._count_watcher(1)
        once = [1]

        def unwatch() -> None:
            if once:
                self._count_watcher(-once.pop())

        return unwatch

    def _count_watcher(self, by: int) -> None:
        self._feed(happened.Watched(self._entry.watchers + by, self._now()))

    # ---- what happens ----

    def invalidate(self, reason: Reason) -> None:
        """What is held may be out of date."""
        if reason in ANNOUNCED:
            self._signals += 1
        self._note(facts.Invalidated(self._server.id, self._kind.label, reason.value))
        self._feed(happened.Invalidated(reason, self._now()))

    def moved_on(self) -> None:
        """An answer of the server says that its content is another one by now.

        Counts at most once per `min_interval`: what comes sooner counts when that is over.
        """
        now = self._now().mono
        due = self._moved_on + self._server.waits.min_interval
        if now >= due:
            self._moved_on = now
            self.invalidate(Reason.VERSION_HINT)
        elif not self._moves_on:
            self._moves_on = True
            self._errands.send(partial(self._move_on_at, due))

    async def _move_on_at(self, mono: float) -> None:
        await anyio.sleep(max(0.0, mono - self._now().mono))
        self._moves_on = False
        self._moved_on = self._now().mono
        self.invalidate(Reason.VERSION_HINT)

    def hinted(self) -> None:
        """The bus said that the record may have changed."""
        self._feed(happened.Hinted(self._now()))

    def revoked(self) -> None:
        """The right to see this catalog is gone: we were told, so the server is not asked again."""
        self._asked_again = float("inf")
        self._feed(happened.Revoked(self._now()))

    def connected(self) -> None:
        """The connection is up, for the first time or again."""
        self._feed(happened.Connected(self._now()))

    def disconnected(self) -> None:
        """The connection is down, or could not be made."""
        self._feed(happened.Disconnected(self._now()))

    def stream_changed(self, state: StreamState) -> None:
        """Signals flow, broke off, or are not offered."""
        now = self._now()
        match state:
            case "open":
                self._feed(happened.StreamOpened(now))
            case "lost":
                self._feed(happened.StreamLost(now))
            case "refused":
                self._feed(happened.StreamRefused(now))
            case "unknown":
                return
            case _:
                assert_never(state)

    def _feed(self, event: Event) -> None:
        """Runs steps until no event is left.

        Listeners of an effect may cause the next event before the effects of this one are all
        carried out; it then waits its turn, so effects never interleave.
        """
        self._events.append(event)
        if self._feeding:
            return
        self._feeding = True
        try:
            while self._events:
                self._entry, effects = step(self._entry, self._events.popleft())
                for effect in effects:
                    self._carry_out(effect)
        finally:
            self._feeding = False
        self._abandon_walk()
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    # ---- effects ----

    def _carry_out(self, effect: do.Effect) -> None:
        match effect:
            case do.FetchPage():
                self._request = self._errands.send(partial(self._fetch_page, effect))
            case do.WakeAt(mono):
                self._set_alarm(mono)
            case do.Served() | do.Withdrawn() | do.KeepLastGood() | do.Report():
                self._announce(effect)
            case _:
                self._errands.send(partial(self._operate, effect))

    def _announce(self, effect: do.Served | do.Withdrawn | do.KeepLastGood | do.Report) -> None:
        server, kind = self._server.id, self._kind
        match effect:
            case do.Served(snapshot, before, generation):
                self._log.served(snapshot, before, generation)
                if before is None or before.digest != snapshot.digest:
                    self._tell(kind, before, snapshot, generation)
            case do.Withdrawn(before):
                self._asked_again = max(self._asked_again, self._now().mono)
                self._log.withdrawn()
                self._note(facts.Withdrawn(server, kind.label))
                self._tell(kind, before, None, self._entry.hi)
            case do.KeepLastGood(failure, retry_at):
                self._log.failed()
                wait = max(0.0, retry_at - self._now().mono)
                self._note(
                    facts.RefreshFailed(
                        server, kind.label, failure.kind.value, failure.detail, wait
                    )
                )
            case do.Report(code, detail):
                self._note(facts.Finding(server, code, detail))
            case _:
                assert_never(effect)

    async def _operate(self, effect: do.StoreEffect) -> None:
        around = self._around
        event = await operate(around.store, self.pid, caller_of(self._entry), effect, around.clock)
        self._log.decided(effect, event)
        self._feed(event)

    async def _fetch_page(self, effect: do.FetchPage) -> None:
        self._log.requested(effect)
        try:
            outcome = await self._fetch(effect.cursor)
        except Exception as error:  # noqa: BLE001 - what a server sent costs its own catalog only
            _log.exception("a list request of %s broke", self._server.id)
            outcome = Failure(FailureKind.MALFORMED, f"the answer broke us: {type(error).__name__}")
        now = self._now()
        if isinstance(outcome, Failure):
            self._feed(happened.WalkFailed(effect.ticket, outcome, now, self._lots()))
        else:
            self._log.arrived(outcome)
            self._feed(happened.PageArrived(effect.ticket, outcome, now, self._lots()))

    def _abandon_walk(self) -> None:
        """Ends a list request whose walk the heart gave up: nobody waits for its answer."""
        if self._entry.walk is None and self._request is not None:
            self._request.cancel()
            self._request = None

    def _set_alarm(self, mono: float) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = self._errands.send(partial(self._ring, mono))

    async def _ring(self, mono: float) -> None:
        await anyio.sleep(max(0.0, mono - self._now().mono))
        self._alarm = None
        self._feed(happened.Woke(self._now(), self._lots()))

    def _now(self) -> Instant:
        return self._around.clock.now()

    def _lots(self) -> float:
        return self._around.clock.lots()

    def _note(self, fact: facts.Fact) -> None:
        self._around.observer.note(fact)
