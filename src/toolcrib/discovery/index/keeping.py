"""The word index of one principal: a search finds in it what is published, or says what is missing.

A published change only marks its server. A search takes in at once what costs next to nothing:
what went away, and few tools. All else is built in a thread beside the requests, small servers
first, and each is found as soon as it is built; a search waits a short time for it, and no longer.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import count
from math import inf
from typing import Final, Protocol

import anyio
import anyio.lowlevel

from toolcrib.catalog.access import CatalogAccess, PublishedChange
from toolcrib.core.quoting import enumerated, quoted
from toolcrib.core.search.fields import ServerTexts
from toolcrib.core.search.lexicon import Lexicon
from toolcrib.core.search.merged import MergedIndex
from toolcrib.core.search.segment import Doc, Segment
from toolcrib.core.snapshot import Kind, Snapshot
from toolcrib.discovery.hits import Introduced
from toolcrib.discovery.index.building import AT_ONCE, Building, Work, together
from toolcrib.discovery.index.shared import SegmentKey, SharedSegments

_PASSES: Final = 2
"""How often one server is taken in for one who waits, while it keeps changing."""

_NAMED: Final = 100
"""Characters of names of servers in what a search says."""


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
        wait: Seconds after which no search waits any more for what is not in the index, from when
            that was noticed; where `run` does not run, a search takes it in itself.
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
        wait: float = inf,
    ) -> None:
        self._access = access
        self._introduced = introduced
        self._partition = partition
        self._building = Building(lexicon, SharedSegments() if shared is None else shared)
        self._followers = tuple(followers)
        self._wait = wait
        self._merged = MergedIndex()
        self._held: dict[str, SegmentKey] = {}
        """What the index holds of each server."""
        self._ids: tuple[str, ...] = ()
        self._there: frozenset[str] = frozenset()
        """The servers that there were when they were looked at last."""
        self._marked: set[str] = set()
        """Servers that are looked at before anything is found."""
        self._owed: dict[str, Work] = {}
        """What was seen of servers and has to be taken in."""
        self._bare: set[str] = set()
        """Servers of which nothing was held; nobody says so when that ends by itself."""
        self._unmet: set[str] = set()
        """Servers whose tools are held from an earlier run, and that have not said yet what they
        say of themselves."""
        self._working = anyio.Lock()
        self._tended = False
        """Whether `run` runs, or is about to."""
        self._news = anyio.Event()
        self._taken = anyio.Event()
        """Set when something was taken in, and made anew."""
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

    def tend(self) -> None:
        """Says that `run` is about to run: a search that comes before it waits no longer for it."""
        self._tended = True

    async def run(self) -> None:
        """Brings the index up to date after each change, until it is cancelled.

        It begins with the first search, or with `wake`: where nobody searches nothing is indexed.
        """
        self.tend()
        try:
            await self._woken.wait()
            while True:
                self._news = anyio.Event()
                await self.settled()
                await self._news.wait()
        finally:
            self._tended = False

    async def settled(self) -> MergedIndex:
        """The index with all in it that was published before the call, however long it takes.

        A server that changes without end keeps nobody waiting for more than a second time.
        What is found out from it has to be found before anything else is waited for. A catalog
        that grows too old to be listed stays in it: nobody says so, and it may become good again.
        Whoever shows what was found looks at the catalogs as they are then.
        """
        self.wake()
        self._look()
        taken, turns = Counter[str](), count()
        while any(taken[server] < _PASSES for server in self._owed):
            async with self._working:
                # Whoever had the turn before may have taken in everything.
                self._look()
                # In every other turn the largest comes first: small servers that change without
                # end must not keep it out.
                works = self._in_order()[:: -1 if next(turns) % 2 else 1]
                for work, segment in await self._building.next(works) if works else ():
                    self._put(work, segment)
                    taken[work.key.server] += 1
                    await anyio.lowlevel.checkpoint()
                self._look()
        return self._merged

    async def ready(self, servers: Collection[str] | None = None) -> MergedIndex:
        """The index as a search of these servers (None: all) takes it: without what is gone.

        What was published before is in it as far as `wait` seconds suffice; `missing` says what is
        not. Like `settled` in all else.
        """
        self.wake()
        self._look()
        if self._owed:
            for built in self._building.at_once(together(self._in_order(), AT_ONCE)):
                self._put(*built)
        owed = self._owed_of(servers)
        if owed and not self._tended:
            await self.settled()
        elif owed:
            self._news.set()
            with anyio.CancelScope(deadline=max(it.since for it in owed) + self._wait):
                while self._owed_of(servers):
                    await self._taken.wait()
            self._look()
        return self._merged

    def missing(self, servers: Collection[str] | None = None) -> tuple[str, ...]:
        """What a search of these servers (None: all) has to be told of the rest, in sentences."""
        names = sorted(work.key.server for work in self._owed_of(servers))
        if not names:
            return ()
        told = enumerated(map(quoted, names), _NAMED)
        of = f"{len(names):,} server{'' if len(names) == 1 else 's'}"
        return (f"Tools of {of} are still being read into the index: {told}. Search again soon.",)

    def scores(self, text: str, servers: Collection[str] | None = None) -> Mapping[Doc, float]:
        """The score of every tool that shares a word with a text, in the index as it is now."""
        return self._merged.scores(self.lexicon.question(text), servers)

    def _look(self) -> None:
        """Finds out what has to be taken in, and forgets at once what is gone."""
        ids = self._access.server_ids()
        if ids is not self._ids:
            self._ids, self._there = ids, frozenset(ids)
            self._marked |= (self._held.keys() | self._owed.keys()) ^ self._there
            self._bare &= self._there
            self._unmet &= self._there
        self._marked |= self._bare
        self._marked |= {it for it in self._unmet if self._access.status(it).facts is not None}
        marked, self._marked = sorted(self._marked), set[str]()
        for server in marked:
            seen = self._shown(server) if server in self._there else None
            if seen is None:
                self._forget(server)
            elif self._held.get(server) == seen[0]:
                self._owed.pop(server, None)
            else:
                before = self._owed.get(server)
                since = anyio.current_time() if before is None else before.since
                self._owed[server] = Work(*seen, since)

    def _forget(self, server: str) -> None:
        self._building.forget(server)
        if self._owed.pop(server, None) is not None:
            self._tell()
        self._unmet.discard(server)
        if server in self._there:
            self._bare.add(server)
        if self._held.pop(server, None) is not None:
            self._merged.drop(server)
            for follower in self._followers:
                follower.drop(server)

    def _shown(self, server: str) -> tuple[SegmentKey, Snapshot] | None:
        """What is shown of a server now; None for no tools."""
        snapshot = self._access.peek(server, Kind.TOOLS).snapshot
        if snapshot is None or not snapshot.items:
            return None
        self._bare.discard(server)
        facts = self._access.status(server).facts
        if facts is None:
            self._unmet.add(server)
        else:
            self._unmet.discard(server)
        texts = ServerTexts("" if facts is None else facts.name, self._introduced.about(server))
        return SegmentKey(self._partition, server, snapshot.digest, texts), snapshot

    def _owed_of(self, servers: Collection[str] | None) -> list[Work]:
        """What has to be taken in of these servers; None: of all."""
        if servers is None:
            return list(self._owed.values())
        return [work for server, work in self._owed.items() if server in servers]

    def _in_order(self) -> list[Work]:
        """What has to be taken in: the smallest first, so that many servers are found soon."""
        return sorted(self._owed.values(), key=lambda it: (len(it.snapshot), it.key.server))

    def _put(self, work: Work, segment: Segment) -> None:
        server = work.key.server
        owed = self._owed.get(server)
        if owed is None:
            return
        self._merged.put(segment)
        for follower in self._followers:
            follower.put(segment, work.key.texts.title)
        self._held[server] = work.key
        # What was published while it was built comes next.
        if owed.key == work.key:
            del self._owed[server]
        self._tell()

    def _tell(self) -> None:
        self._taken.set()
        self._taken = anyio.Event()
