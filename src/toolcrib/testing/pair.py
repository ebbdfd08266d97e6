"""Two replicas over one record, moved step by step: for traces in which the order is everything."""

from toolcrib.core.freshness.effects import Invalidate, Publish, Served, StoreEffect
from toolcrib.core.freshness.events import Connected, Hinted, Invalidated, Needed, Reason
from toolcrib.core.freshness.tempo import Tempo
from toolcrib.core.snapshot import Hints
from toolcrib.testing.simulator import Listing, Reader, Replica, World

V0: Listing = (("p:0",), ("q:0",))
"""Two pages, read from state 0 of the server."""
V1: Listing = (("p:1",), ("q:1",))

NO_WAITS = Tempo(debounce=0.0, min_interval=0.0, recheck=1000.0, after_loss="wait")
"""Nothing is held back but what the protocol itself holds back."""


class Pair(World):
    """Two replicas that both hold state 0 under one number, fresh for a minute, and are at rest.

    Nothing moves on its own: store operations run, answers arrive and pages are read when the
    test says so. `first` is the number.
    """

    def __init__(self, tempo: Tempo = NO_WAITS) -> None:
        super().__init__(2, tempo=tempo, manual=True, remote=True)
        self.server.listing, self.server.hints = V0, Hints(ttl=60.0)
        for replica in self.replicas:
            replica.tell(Connected(self.instant))
            replica.quiet()
        self.a.tell(Needed(self.instant))
        self.finish(self.a)
        self.b.tell(Hinted(self.instant))
        self.finish(self.b)
        self.run(29)
        self.first = self.a.standing.generation
        for replica in self.replicas:
            replica.log.clear()
            replica.walks.clear()

    def until(self, replica: Replica, kind: type[StoreEffect]) -> None:
        """Answer store operations of a replica until one of this kind is sent and has not run."""
        for _ in range(9):
            if isinstance(replica.pending, kind):
                return
            replica.run()
            replica.receive()
        raise AssertionError(f"{replica.name} sends no {kind.__name__}")

    def finish(self, replica: Replica) -> None:
        """Let a replica do all it wants to do."""
        while replica.pending is not None or replica.fetches:
            replica.quiet()
            if replica.fetches:
                replica.page()

    def expire(self) -> None:
        """The ttl of what is held is over."""
        self.run(61)

    def needs(self, replica: Replica) -> None:
        """Somebody asks; store operations are answered, and page one is on its way."""
        replica.tell(Needed(self.instant))
        replica.quiet()

    def page(self, replica: Replica) -> None:
        """A page is read and arrives; a RENEW is answered, a PUBLISH is not sent on."""
        replica.page()
        if not isinstance(replica.pending, Publish | Invalidate):
            replica.quiet()

    def hears(self, *to: Replica) -> None:
        """The change signal reaches these replicas; nothing is recorded yet."""
        for replica in to:
            replica.tell(Invalidated(Reason.SIGNAL, self.instant))

    def published(self) -> list[str] | None:
        """The definitions in the record, as `name:state of the server`; None without a snapshot."""
        record = self.store.record
        if record is None or record.published is None:
            return None
        return [item.fingerprint for item in record.published.snapshot.items]


def shown(answered: Replica | Reader) -> list[str] | None:
    """The definitions that are answered, as `name:state of the server`."""
    standing = answered.answer if isinstance(answered, Reader) else answered.standing
    if standing is None or standing.snapshot is None:
        return None
    return [item.fingerprint for item in standing.snapshot.items]


def mixed(replica: Replica) -> bool:
    """Whether a replica was ever told a listing whose pages are of two states of the server."""
    told = [{item.fingerprint[-1] for item in each.snapshot.items} for each in replica.told(Served)]
    return any(len(states) > 1 for states in told)
