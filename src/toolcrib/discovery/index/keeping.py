"""The word index of one principal: what is published is in it before a search answers.

A published change only marks its server. `run` brings the index up to date soon afterwards, beside
the requests; a search that comes first does it itself, and never twice what another one is doing.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, Protocol

import anyio
import anyio.lowlevel
import anyio.to_thread

from toolcrib.catalog.access import CatalogAccess, PublishedChange
from toolcrib.core.search.fields import ServerTexts
from toolcrib.core.search.lexicon import Lexicon
from toolcrib.core.search.merged import MergedIndex
from toolcrib.core.search.segment import Doc, Segment
from toolcrib.core.snapshot import Kind, Snapshot
from toolcrib.discovery.hits import Introduced
from toolcrib.discovery.index.shared import SegmentKey, SharedSegments

_log = logging.getLogger(__name__)

AT_ONCE: Final = 20
"""Tools that are indexed on the event loop, which takes a few milliseconds; more go to a thread."""

_PASSES: Final = 2
"""How often the index is brought up to date for one who asks, while changes keep coming."""

_Work = tuple[SegmentKey, Snapshot]


class Follower(Protocol):
    """Another index of the same tools: told of each change in the step in which it is made."""

    def put(self, segment: Segment, title: str) -> None:
        """Take a server's tools, in the place of its earlier ones; `title`: what it is called."""
        ...

    def drop(self, server: str) -> None:
        """Forget a server."""
        ...


class ToolIndex:
    """The index over the tools that one principal sees.

    Args:
        access: The principal's catalogs.
        lexicon: Turns texts into terms; the same one for all that share segments.
        introduced: What servers say of themselves.
        partition: Names who may share segments with this principal.
        shared: Where segments are shared.
        followers: Other indexes that hold the same tools, such as the one of meanings.
    """

    def __init__(
        self,
        access: CatalogAccess,
        lexicon: Lexicon,
        *,
        introduced: Introduced,
        partition: str = "",
        shared: SharedSegments | None = None,
        followers: Sequence[Follower] = (),
    ) -> None:
        self._access = access
        self._introduced = introduced
        self._partition = partition
        self._shared = SharedSegments() if shared is None else shared
        self._followers = tuple(followers)
        self._merged = MergedIndex()
        self._held: dict[str, SegmentKey] = {}
        """What the index holds of each server."""
        self._marked: set[str] = set()
        """Servers that are looked at again before the next search."""
        self._unmet: set[str] = set()
        """Servers whose tools are held from an earlier run, and that have not said yet what they
        say of themselves."""
        self._working = anyio.Lock()
        self._passes = self._complete = 0
        """How often it was brought up to date: begun, and the last that is done."""
        self._news = anyio.Event()
        self._woken = anyio.Event()
        self.lexicon: Final = lexicon
        self.close: Final[Callable[[], None]] = access.on_published(self._heard)
        """Ends listening; the index stays as it is."""

    def reread(self, server: str) -> None:
        """Looks at a server again, because what is said of it became something else."""
        self._marked.add(server)
        self._news.set()

    def _heard(self, change: PublishedChange) -> None:
        if change.kind is Kind.TOOLS:
            self.reread(change.server)

    def wake(self) -> None:
        """Have `run` begin: somebody will search."""
        self._woken.set()

    async def run(self) -> None:
        """Brings the index up to date after each change, until it is cancelled.

        It begins with the first search, or with `wake`: where nobody searches nothing is indexed.
        """
        await self._woken.wait()
        while True:
            self._news = anyio.Event()
            await self.settled()
            await self._news.wait()

    async def settled(self) -> MergedIndex:
        """The index with all in it that was published before the call.

        What is found out from it has to be found before anything else is waited for. A catalog
        that grows too old to be listed stays in it: nobody says so, and it may become good again.
        Whoever shows what was found looks at the catalogs as they are then.
        """
        self.wake()
        enough = self._passes + _PASSES
        while self._due() and self._complete < enough:
            async with self._working:
                # Another one may have begun after the call, and taken in all that is asked for. A
                # server that changes without end keeps nobody waiting for more than a second pass,
                # which takes out what went away in the first.
                if self._complete < enough:
                    self._passes += 1
                    began = self._passes
                    await self._settle()
                    self._complete = began
        return self._merged

    def scores(self, text: str, servers: Collection[str] | None = None) -> Mapping[Doc, float]:
        """The score of every tool that shares a word with a text, in the index as it is now."""
        return self._merged.scores(self.lexicon.question(text), servers)

    def _due(self) -> dict[str, _Work | None]:
        """What the index has to take in, by server; None: it has to forget the server."""
        ids = frozenset(self._access.server_ids())
        held = self._held.keys()
        met = {it for it in self._unmet & ids if self._access.status(it).facts is not None}
        servers = self._marked | (held - ids) | (ids - held) | met
        due: dict[str, _Work | None] = {}
        for server in sorted(servers):
            work = self._shown(server) if server in ids else None
            if self._held.get(server) != (None if work is None else work[0]):
                due[server] = work
                self._marked.add(server)
            else:
                self._marked.discard(server)
        return due

    def _shown(self, server: str) -> _Work | None:
        """What is shown of a server now; None for no tools."""
        snapshot = self._access.peek(server, Kind.TOOLS).snapshot
        if snapshot is None or not snapshot.items:
            return None
        facts = self._access.status(server).facts
        if facts is None:
            self._unmet.add(server)
        else:
            self._unmet.discard(server)
        texts = ServerTexts("" if facts is None else facts.name, self._introduced.about(server))
        return SegmentKey(self._partition, server, snapshot.digest, texts), snapshot

    async def _settle(self) -> None:
        due = self._due()
        works = [work for work in due.values() if work is not None]
        new = [work for work in works if self._shared.get(work[0]) is None]
        for server in due.keys() - {key.server for key, _ in works}:
            self._merged.drop(server)
            for follower in self._followers:
                follower.drop(server)
            self._held.pop(server, None)
            self._unmet.discard(server)
        if sum(len(snapshot) for _, snapshot in new) <= AT_ONCE:
            built = self._build(new)
        else:
            built = await anyio.to_thread.run_sync(self._build, new)
        for key, segment in built.items():
            self._shared.keep(key, segment)
        for key, _ in works:
            segment = built[key] if key in built else self._shared.get(key)
            if segment is not None:
                self._merged.put(segment)
                for follower in self._followers:
                    follower.put(segment, key.texts.title)
                self._held[key.server] = key
                await anyio.lowlevel.checkpoint()

    def _build(self, works: list[_Work]) -> dict[SegmentKey, Segment]:
        return {key: self._built(key, snapshot) for key, snapshot in works}

    def _built(self, key: SegmentKey, snapshot: Snapshot) -> Segment:
        try:
            return Segment.build(key.server, snapshot, self.lexicon, key.texts)
        except Exception as error:  # noqa: BLE001 - what one server shows costs no other its search
            _log.warning(
                "the tools of %s cannot be found by words: %s", key.server, type(error).__name__
            )
            return Segment(key.server, (), {})
