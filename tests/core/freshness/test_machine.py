"""Any order of events: the promises of the heart against a record that the test keeps itself.

Two replicas, one record, a server whose state only grows. Hypothesis picks which store operation
runs, which answer arrives, which page is read, what fails, what is lost and how time passes; the
model remembers what each walk read and when, which signals were recorded, and which tickets are
void.
"""

from dataclasses import dataclass, field

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from toolcrib.core.freshness.effects import (
    Begin,
    FetchPage,
    Invalidate,
    Publish,
    Revoke,
    Served,
)
from toolcrib.core.freshness.events import (
    Connected,
    Disconnected,
    Failure,
    FailureKind,
    Hinted,
    Invalidated,
    Needed,
    PageArrived,
    Reason,
    Regranted,
    Revoked,
    StreamLost,
    StreamOpened,
    StreamRefused,
)
from toolcrib.core.freshness.need import standing
from toolcrib.core.freshness.record import Record, Ticket
from toolcrib.core.freshness.tempo import Tempo
from toolcrib.core.snapshot import Hints, Page
from toolcrib.testing.simulator import Replica, World

DOWN = Failure(FailureKind.TRANSPORT, "connection refused")
FORBIDDEN = Failure(FailureKind.FORBIDDEN, "403")
GRAIN = 0.001

replicas = st.integers(0, 1)
seconds = st.sampled_from([0.0, 0.01, 0.025, 0.1, 0.3, 1.0, 3.0, 21.0, 70.0])


@dataclass
class Read:
    """What the model saw one walk read."""

    grant: int
    """Number of the grant, over all incarnations."""
    versions: list[int] = field(default_factory=list[int])
    expires: float = float("inf")
    began: int = 0
    """The state of the server when the first page was read."""


class Heart(RuleBasedStateMachine):
    """The model: the state of the server is a number, and each definition carries it."""

    def __init__(self) -> None:
        super().__init__()
        self.version = 0
        self.pages = 2
        self.ttl = 60.0
        self.right = True
        self.grants = 0
        self.reads: dict[Ticket, Read] = {}
        self.last_revoke = -1
        self.heard = [0, 0]
        """Per replica: the newest state of the server of which a signal reached it."""
        self.recorded = 0
        """The newest state of which a signal is recorded."""
        self.content: dict[int, str] = {}
        self.highest = [0, 0]
        self.seen = [0, 0]
        """Per replica: how many of its effects were checked."""
        self.standbys: list[Record | None] = [None]
        self.losses = 0

    @initialize(
        pages=st.integers(1, 3),
        remote=st.booleans(),
        after_loss=st.sampled_from(["wait", "serve"]),
        settled=st.booleans(),
    )
    def begin(self, *, pages: int, remote: bool, after_loss: str, settled: bool) -> None:
        tempo = Tempo(after_loss="wait" if after_loss == "wait" else "serve")
        self.world = World(2, tempo=tempo, remote=remote, manual=True)
        self.pages = pages
        self.set_listing()
        if settled:
            for index in (0, 1):
                self.replica(index).tell(Connected(self.world.instant))
                self.replica(index).tell(Needed(self.world.instant))
            self.work(until=30.0)

    # ---- the model's own view ----

    def replica(self, index: int) -> Replica:
        return self.world.replicas[index]

    def set_listing(self) -> None:
        self.world.server.listing = [[f"{name}:{self.version}"] for name in "pqr"[: self.pages]]
        self.world.server.hints = Hints(ttl=self.ttl)

    def tell(self, index: int, event: object) -> None:
        replica = self.replica(index)
        replica.tell(event)  # type: ignore[arg-type] - one of the events
        self.check(index)

    def check(self, index: int) -> None:
        """Compare what a replica was told with what the model knows."""
        replica = self.replica(index)
        fresh_effects = replica.log[self.seen[index] :]
        self.seen[index] = len(replica.log)
        for effect in fresh_effects:
            if isinstance(effect, Served):
                self.check_served(index, effect)

    def check_served(self, index: int, served: Served) -> None:
        names = [item.key for item in served.snapshot.items]
        assert names == list("pqr"[: self.pages]), "never half a listing"
        known = self.content.setdefault(served.generation, served.snapshot.digest)
        assert known == served.snapshot.digest, "one number, one content"
        assert served.generation >= self.highest[index], "only forward"
        self.highest[index] = served.generation

    def run_operation(self, index: int) -> None:
        """Run the pending operation at the store, and compare its decision with the model's."""
        replica, store = self.replica(index), self.world.store
        effect, before = replica.pending, store.record
        assert effect is not None
        if not replica.run():
            self.check(index)
            return
        answer = replica.answer
        assert answer is not None
        match effect:
            case Invalidate():
                self.recorded = max(self.recorded, self.heard[index])
            case Begin() if answer.ticket is not None:
                self.grants += 1
                self.reads[answer.ticket] = Read(self.grants)
            case Revoke():
                self.last_revoke = self.grants
            case Publish(ticket, candidate):
                self.check_publish(index, ticket, candidate.snapshot.digest, before)
            case _:
                pass
        self.check_record()

    def check_publish(self, index: int, ticket: Ticket, digest: str, before: Record | None) -> None:
        answer, read = self.replica(index).answer, self.reads[ticket]
        assert answer is not None
        if answer.verdict != "done":
            return
        assert read.grant == self.grants, "a newer grant makes every older walk void"
        assert read.grant > self.last_revoke, "no walk from before a withdrawal"
        record = self.world.store.record
        assert record is not None
        assert record.published is not None
        found = [int(item.fingerprint[2:]) for item in record.published.snapshot.items]
        assert found == read.versions, "exactly what this walk read"
        assert record.published.snapshot.digest == digest
        assert abs(record.published.expires_at - self.world.wall_offset - read.expires) < GRAIN
        mixed = len(set(read.versions)) > 1
        told_in_time = max(self.recorded, self.heard[index]) > read.began
        provisional = before is None or (before.published is None and not before.withdrawn)
        assert not mixed or not told_in_time or provisional, "a change in it was known"

    def check_record(self) -> None:
        """What counts as fresh in the record contains every change whose signal is recorded."""
        record = self.world.store.record
        if record is None or record.published is None or record.snap_epoch != record.epoch:
            return
        found = [int(item.fingerprint[2:]) for item in record.published.snapshot.items]
        assert min(found) >= self.recorded

    # ---- what may happen ----

    @rule(index=replicas, force=st.booleans())
    def need(self, index: int, *, force: bool) -> None:
        replica = self.replica(index)
        walking = replica.entry.walk is not None
        before = len(replica.log)
        self.tell(index, Needed(self.world.instant, force=force))
        if walking:
            begun = [each for each in replica.log[before:] if isinstance(each, Begin | FetchPage)]
            assert not begun, "a need while a walk is running begins no other"

    @rule(to=st.sets(replicas))
    def change(self, to: set[int]) -> None:
        self.version += 1
        self.set_listing()
        self.signal(to)

    @rule(to=st.sets(replicas, min_size=1))
    def signal(self, to: set[int]) -> None:
        for index in to:
            self.heard[index] = self.version
            self.tell(index, Invalidated(Reason.SIGNAL, self.world.instant))
            assert not self.replica(index).standing.fresh

    @rule(index=replicas)
    def operate(self, index: int) -> None:
        replica = self.replica(index)
        if replica.pending is not None and replica.answer is None:
            self.run_operation(index)

    @rule(index=replicas)
    def answer(self, index: int) -> None:
        replica = self.replica(index)
        if replica.answer is not None:
            replica.receive()
            self.check(index)
            self.check_held(index)

    def check_held(self, index: int) -> None:
        """What a replica took in expires no later than its walk allows."""
        replica = self.replica(index)
        held, entry = replica.entry.held, replica.entry
        if held is None or held.inc != entry.inc or replica.standing.ttl_left == 0:
            return
        assert held.expires <= held.read + self.ttl + GRAIN
        walks = [read for read in self.reads.values() if self.is_of(read, held.snapshot.items)]
        assert walks, "every held listing was read by one walk"
        assert held.expires <= max(read.expires for read in walks) + GRAIN

    def is_of(self, read: Read, items: tuple[object, ...]) -> bool:
        return [int(item.fingerprint[2:]) for item in items] == read.versions  # type: ignore[attr-defined] - an Item

    @rule(index=replicas, late=st.booleans())
    def page(self, index: int, *, late: bool) -> None:
        replica = self.replica(index)
        if not replica.fetches:
            return
        fetch = replica.fetches[0 if late else -1]
        walk = replica.entry.walk
        current = walk is not None and walk.ticket == fetch.ticket
        if current:
            self.note_page(fetch)
        before, shown = len(replica.log), replica.standing.snapshot
        held = replica.entry.held
        if not self.right:
            self.world.server.failure = FORBIDDEN
        replica.page(fetch)
        self.world.server.failure = None
        self.check(index)
        if not current:
            told = [each for each in replica.log[before:] if isinstance(each, Served | FetchPage)]
            assert not told, "a late page of an abandoned walk is dropped"
            assert replica.entry.held is held
        elif not self.right:
            assert replica.standing.snapshot is None
        else:
            assert replica.standing.snapshot is shown, "a page publishes nothing by itself"

    def note_page(self, fetch: FetchPage) -> None:
        read = self.reads[fetch.ticket]
        if fetch.cursor is None:
            read.versions, read.expires, read.began = [], float("inf"), self.version
        read.versions.append(self.version)
        read.expires = min(read.expires, self.world.now + self.ttl)

    @rule(index=replicas, late=st.booleans())
    def failing_page(self, index: int, *, late: bool) -> None:
        replica = self.replica(index)
        if not replica.fetches:
            return
        shown = replica.standing.snapshot
        hidden = replica.entry.held is not None and shown is None
        self.world.server.failure = DOWN
        replica.page(replica.fetches[0 if late else -1])
        self.world.server.failure = None
        self.check(index)
        assert replica.standing.snapshot is shown or hidden, "a failure keeps last good"

    @rule(index=replicas)
    def abandoned_page(self, index: int) -> None:
        """A page with a ticket that was never granted, or long ago."""
        replica, world = self.replica(index), self.world
        read = world.server.page(None, world.instant)
        assert isinstance(read, Page)
        before = replica.entry
        self.tell(index, PageArrived(Ticket("elsewhere", 1, 0), read, world.instant))
        assert replica.entry.walk is before.walk
        assert replica.entry.held is before.held

    @rule(index=replicas, pages=st.integers(0, 3))
    def go_on(self, index: int, pages: int) -> None:
        """Everything goes well for one replica, for a few pages."""
        replica = self.replica(index)
        for number in range(pages + 1):
            for _ in range(9):
                self.operate(index)
                self.answer(index)
            if number < pages and replica.fetches:
                self.page(index, late=False)

    @rule(index=replicas, ran=st.booleans())
    def lost_answer(self, index: int, *, ran: bool) -> None:
        replica = self.replica(index)
        if replica.pending is None:
            return
        if ran:
            self.operate(index)
        self.lose(index)

    def lose(self, index: int) -> None:
        replica = self.replica(index)
        if replica.pending is not None:
            replica.lose_answer()
            self.check(index)

    @rule(for_=seconds)
    def wait(self, for_: float) -> None:
        self.world.run(for_)
        for index in (0, 1):
            self.check(index)

    @rule(index=replicas)
    def hint(self, index: int) -> None:
        self.tell(index, Hinted(self.world.instant))

    @rule(index=replicas, up=st.booleans())
    def connection(self, index: int, *, up: bool) -> None:
        now = self.world.instant
        self.tell(index, Connected(now) if up else Disconnected(now))
        if up:
            assert not self.replica(index).standing.fresh

    @rule(index=replicas, state=st.sampled_from([StreamOpened, StreamLost, StreamRefused]))
    def stream(self, index: int, state: type[StreamOpened | StreamLost | StreamRefused]) -> None:
        self.tell(index, state(self.world.instant))
        assert not self.replica(index).standing.fresh

    @rule(index=replicas)
    def revoke(self, index: int) -> None:
        self.right = False
        self.tell(index, Revoked(self.world.instant))
        assert self.replica(index).standing.snapshot is None

    @rule()
    def grant_again(self) -> None:
        self.right = True
        for index in (0, 1):
            if self.replica(index).entry.withdrawn:
                self.tell(index, Regranted(self.world.instant))

    @rule(index=replicas, reachable=st.booleans())
    def cut_off(self, index: int, *, reachable: bool) -> None:
        self.replica(index).reachable = reachable

    @rule(index=replicas)
    def crash(self, index: int) -> None:
        self.world.restart(self.replica(index))
        self.seen[index] = self.highest[index] = 0
        self.heard[index] = 0

    @rule()
    def sync_standby(self) -> None:
        self.standbys.append(self.world.store.record)

    @precondition(lambda self: self.losses < 2)
    @rule(which=st.integers(0, 5))
    def lose_memory(self, which: int) -> None:
        self.losses += 1
        self.world.run(0.01)
        self.world.store.lose(back_to=self.standbys[which % len(self.standbys)])
        self.recorded = 0

    # ---- what always holds ----

    @invariant()
    def nothing_is_shown_while_a_revocation_waits(self) -> None:
        for replica in self.world.replicas if hasattr(self, "world") else ():
            if replica.entry.revoked:
                assert replica.standing.snapshot is None

    @invariant()
    def fresh_listings_contain_what_was_heard(self) -> None:
        if not hasattr(self, "world"):
            return
        for index in (0, 1):
            stands = self.replica(index).standing
            assert stands.ttl_left >= 0
            if stands.fresh and stands.snapshot is not None:
                found = [int(item.fingerprint[2:]) for item in stands.snapshot.items]
                assert min(found) >= self.heard[index]

    def work(self, until: float) -> None:
        """Let everything that is asked for be answered at once, for that long."""
        end = self.world.now + until
        while True:
            while any([self.is_busy(index) for index in (0, 1)]):  # noqa: C419 - each takes a turn
                pass
            if self.world.now >= end:
                return
            self.world.run(0.02)

    def is_busy(self, index: int) -> bool:
        """Do one thing that a replica asked for; whether there was one."""
        replica = self.replica(index)
        if replica.pending is not None:
            self.operate(index)
            self.answer(index)
            return True
        if replica.fetches:
            self.page(index, late=True)
            return True
        return False

    def teardown(self) -> None:
        """When faults cease and one last signal is heard, everybody has what the server has."""
        if not hasattr(self, "world"):
            return
        self.right = True
        for index in (0, 1):
            replica = self.replica(index)
            replica.reachable = True
            self.tell(index, Connected(self.world.instant))
            self.tell(index, Needed(self.world.instant))
        self.work(until=1.0)
        self.grant_again()
        self.work(until=90.0)
        self.grant_again()
        self.work(until=90.0)
        for index in (0, 1):
            self.tell(index, Needed(self.world.instant))
            self.replica(index).walks.clear()
        self.change({0, 1})
        self.work(until=30.0)
        begun = sum(len(self.replica(index).walks) for index in (0, 1))
        for index in (0, 1):
            self.tell(index, Hinted(self.world.instant))
        self.work(until=0.0)
        for index in (0, 1):
            snapshot = standing(self.replica(index).entry, self.world.now).snapshot
            assert snapshot is not None
            found = {int(item.fingerprint[2:]) for item in snapshot.items}
            assert found == {self.version}, "everybody has what the server has"
        assert begun <= 4, "two walks after the last signal, and one re-check for each replica"


Heart.TestCase.settings = settings(
    max_examples=60,
    stateful_step_count=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestHeart = Heart.TestCase
