"""Telling hosts that a listing changed: when what they see changed, and once per burst."""

from typing import Final

import anyio
import anyio.lowlevel

from toolcrib.core.snapshot import Kind
from toolcrib.facts import HostNotified
from toolcrib.gateway.listings import Listings
from toolcrib.ports import Clock, Observer
from toolcrib.wire.audience import TOPIC_OF, Audience

COALESCE: Final = 0.05
"""Seconds in which further changes join the announcement of the first."""

AT_ONCE: Final = 32
"""Streams that are told at one moment; each of them is a host that lists anew."""

SPREAD: Final = 0.05
"""Seconds, at most, between one group of streams and the next."""

_STEPS: Final = 8
"""Turns of the event loop in which streams begin to write what they were told."""


class Announcer:
    """Announces changes to the hosts of one principal.

    What counts is what hosts may hold: every listing they were shown since the last announcement.
    So a change that nobody can see is not announced, and one that was undone is, if somebody listed
    in between.
    """

    def __init__(
        self, listings: Listings, audience: Audience, clock: Clock, observer: Observer
    ) -> None:
        self._listings = listings
        self._audience = audience
        self._clock = clock
        self._observer = observer
        self._shown: dict[Kind, set[str]] = {kind: set() for kind in Kind}
        self._current: dict[Kind, str] = {}
        self._due: dict[Kind, None] = {}
        self._bell = anyio.Event()

    def shown(self, kind: Kind, digest: str) -> None:
        """Take note that a host was shown a listing, perhaps one that is not current any more."""
        self._shown[kind].add(digest)
        if self._current.setdefault(kind, digest) != digest:
            self.changed(kind)

    def changed(self, kind: Kind) -> None:
        """Take note of a change of content."""
        self._due[kind] = None
        self._bell.set()

    async def run(self) -> None:
        """Announce until cancelled."""
        while True:
            await self._bell.wait()
            await anyio.sleep(COALESCE)
            self._bell = anyio.Event()
            due, self._due = self._due, {}
            for kind in due:
                await self._announce(kind)

    async def announce_now(self, kind: Kind) -> None:
        """Announce a change that waits for company, before something else is said to hosts."""
        if kind not in self._due:
            return
        del self._due[kind]
        await self._announce(kind)
        for _ in range(_STEPS):
            await anyio.lowlevel.checkpoint()

    async def _announce(self, kind: Kind) -> None:
        digest = (await self._listings.held(kind)).digest
        self._current[kind] = digest
        if self._shown[kind] == {digest}:
            return
        self._shown[kind] = {digest}
        topic = TOPIC_OF[kind]
        for position, subscriber in enumerate(self._audience.subscribers()):
            if position and position % AT_ONCE == 0:
                await anyio.sleep(SPREAD * self._clock.lots())
            if subscriber.tell(topic):
                self._observer.note(HostNotified(kind.label))
