"""Segments as they are built: some are there already, small ones together, large ones in pieces.

Nothing is worked at for longer than it takes to index a few hundred tools: then others have their
turn.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Final, TypeVar

import anyio.to_thread

from toolcrib.core.search.lexicon import Lexicon
from toolcrib.core.search.segment import Draft, Segment
from toolcrib.core.snapshot import Snapshot
from toolcrib.discovery.index.shared import SegmentKey, SharedSegments

T = TypeVar("T")

_log = logging.getLogger(__name__)

AT_ONCE: Final = 20
"""Tools that are indexed on the event loop, which takes a few milliseconds; more go to a thread."""

TOGETHER: Final = 250
"""Tools that are indexed in one go in a thread: some tens of milliseconds."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a server shows, to be taken in."""

    key: SegmentKey
    snapshot: Snapshot
    since: float
    """When it was noticed that the index is not up to date with the server, as the loop's time."""


Built = tuple[Work, Segment]


class Building:
    """Builds the segments of one principal.

    Args:
        lexicon: Turns texts into terms; the same one for all that share segments.
        shared: Where segments are shared.
    """

    def __init__(self, lexicon: Lexicon, shared: SharedSegments) -> None:
        self._lexicon = lexicon
        self._shared = shared
        self._drafts: dict[str, tuple[Work, Draft]] = {}
        """What is built in pieces, by server."""

    def at_once(self, works: Sequence[Work]) -> list[Built]:
        """The segments of few tools, on the event loop."""
        known = self._known(works)
        return known + self._kept(self._all(_without(works, known)))

    async def next(self, works: Sequence[Work]) -> list[Built]:
        """The segments that are ready after one piece of work.

        Those are none while there is more to do for a large server. What it showed when that began
        is built to its end, so that one which changes without end is found as it was, and not
        never.

        Args:
            works: What there is to do, what comes first in front.
        """
        chosen = together(works, TOGETHER) or works[:1]
        known = self._known(chosen)
        new = _without(chosen, known)
        tools = sum(len(work.snapshot) for work in new)
        if tools <= AT_ONCE:
            return known + self._kept(self._all(new))
        if tools <= TOGETHER:
            return known + self._kept(await anyio.to_thread.run_sync(self._all, new))
        return self._kept(await self._piece(new[0]))

    def forget(self, server: str) -> None:
        """Give up what was begun for a server."""
        self._drafts.pop(server, None)

    def _known(self, works: Iterable[Work]) -> list[Built]:
        found = [(work, self._shared.get(work.key)) for work in works]
        return [(work, segment) for work, segment in found if segment is not None]

    def _kept(self, built: list[Built]) -> list[Built]:
        for work, segment in built:
            self._shared.keep(work.key, segment)
        return built

    def _all(self, works: Iterable[Work]) -> list[Built]:
        return [(work, self._guarded(work, partial(self._whole, work))) for work in works]

    def _whole(self, work: Work) -> Segment:
        return Segment.build(work.key.server, work.snapshot, self._lexicon, work.key.texts)

    async def _piece(self, work: Work) -> list[Built]:
        key = work.key
        begun = self._drafts.get(key.server)
        if begun is None:
            draft = Draft(key.server, work.snapshot, self._lexicon, key.texts)
            begun = self._drafts[key.server] = work, draft
        first, draft = begun
        segment = await anyio.to_thread.run_sync(
            self._guarded, first, lambda: None if draft.go_on(TOGETHER) else draft.done()
        )
        if segment is None:
            return []
        if self._drafts.get(key.server) is begun:
            del self._drafts[key.server]
        return [(first, segment)]

    def _guarded(self, work: Work, build: Callable[[], T]) -> T | Segment:
        try:
            return build()
        except Exception as error:  # noqa: BLE001 - what one server shows costs no other its search
            server = work.key.server
            _log.warning(
                "the tools of %s cannot be found by words: %s", server, type(error).__name__
            )
            return Segment(server, (), {})


def together(works: Sequence[Work], tools: int) -> Sequence[Work]:
    """The first of the works, as many as have no more tools than that."""
    counts = accumulate(len(work.snapshot) for work in works)
    return works[: sum(1 for count in counts if count <= tools)]


def _without(works: Iterable[Work], built: Iterable[Built]) -> list[Work]:
    done = {work.key for work, _ in built}
    return [work for work in works if work.key not in done]
