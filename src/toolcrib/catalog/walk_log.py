"""What walks cost and brought, as facts: requests and walks are counted apart."""

from toolcrib import facts
from toolcrib.core.diff import diff
from toolcrib.core.freshness.effects import FetchPage, Publish, Release, StoreEffect
from toolcrib.core.freshness.events import Event, Viewed
from toolcrib.core.freshness.record import Ticket
from toolcrib.core.snapshot import Kind, Page, Snapshot
from toolcrib.ports import Clock, Observer


class WalkLog:
    """Counts one catalog's walks; a keeper tells it what it does."""

    def __init__(self, server: str, kind: Kind, clock: Clock, observer: Observer) -> None:
        self._server = server
        self._kind = kind.label
        self._clock = clock
        self._observer = observer
        self._ticket: Ticket | None = None
        self._began = 0.0
        self._requests = 0
        self._items = 0
        self._quarantined = 0
        self._size = 0
        self._whole = False
        self._digest = ""
        """Of the snapshot that is current."""

    def requested(self, effect: FetchPage) -> None:
        """A list request goes out; the first one of a ticket begins a walk."""
        if effect.ticket != self._ticket:
            self._end("superseded")
            self._ticket = effect.ticket
            self._began = self._clock.now().mono
            self._requests = 0
        if effect.cursor is None:
            self._items = self._quarantined = self._size = 0
        self._whole = False
        self._requests += 1

    def arrived(self, page: Page) -> None:
        """A page came."""
        self._items += len(page.items)
        self._quarantined += len(page.quarantined)
        self._size += page.size
        self._whole = page.next_cursor is None

    def failed(self) -> None:
        """The walk under way, if there is one, brought nothing that can be used."""
        self._end("failed")

    def withdrawn(self) -> None:
        """Nothing is current any more, and nothing of a walk under way can be used."""
        self._end("failed")
        self._digest = ""

    def decided(self, effect: StoreEffect, event: Event) -> None:
        """The store answered: a PUBLISH or RELEASE ends the walk."""
        if isinstance(effect, Release):
            self._end("held" if self._whole else "failed")
        elif isinstance(effect, Publish):
            self._end(self._outcome(effect, event))

    def _outcome(self, effect: Publish, event: Event) -> str:
        verdict = event.answer.verdict if isinstance(event, Viewed) else "failed"
        match verdict:
            case "refused_dirty":
                return "dirty"
            case "refused_fence":
                return "superseded"
            case "done" if effect.provisional:
                return "provisional"
            case "done":
                same = effect.candidate.snapshot.digest == self._digest
                return "renewed" if same else "published"
            case _:
                return "failed"

    def served(self, snapshot: Snapshot, before: Snapshot | None, generation: int) -> None:
        """A snapshot became current; new content is worth a fact of its own."""
        self._digest = snapshot.digest
        if before is not None and before.digest == snapshot.digest:
            return
        difference = diff(before, snapshot)
        self._observer.note(
            facts.Refreshed(
                self._server,
                self._kind,
                generation,
                len(snapshot),
                len(difference.added),
                len(difference.removed),
                len(difference.changed),
            )
        )
        known: set[str] = set() if before is None else {q.fingerprint for q in before.quarantined}
        for out in snapshot.quarantined:
            if out.fingerprint not in known:
                self._observer.note(
                    facts.ItemQuarantined(self._server, self._kind, out.key, out.reason)
                )

    def _end(self, outcome: str) -> None:
        if self._ticket is None:
            return
        self._ticket = None
        self._observer.note(
            facts.WalkEnded(
                self._server,
                self._kind,
                outcome,
                self._requests,
                self._items,
                self._quarantined,
                self._size,
                self._clock.now().mono - self._began,
            )
        )
