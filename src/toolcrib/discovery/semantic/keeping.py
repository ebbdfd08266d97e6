"""The vectors of what one principal may search, brought up to date beside the requests.

A search never waits for a vector of a tool: it takes those that are there, and the rest is ranked
by its words until its turn came.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn, cast

import anyio
import anyio.to_thread

from toolcrib.core.search.meant import Meant, meant_by
from toolcrib.core.search.segment import Doc, Segment
from toolcrib.discovery.semantic.texts import TextVectors
from toolcrib.errors import ToolcribError
from toolcrib.ports import VectorIndex

_SHOWN_FIRST: Final = 256
"""Tools after which what was embedded is put into the index; then after twice as many, and so on,
because putting it there takes time for each tool that is there already."""

AT_ONCE: Final = 20_000
"""Tools that a query is compared with on the event loop, some milliseconds; more go to a thread."""

_FEW: Final = 200
"""Tools of a server whose vectors are put there on the event loop."""

RETRY: Final = 30.0
"""Seconds after which vectors that could not be made are tried again."""


@dataclass(frozen=True, slots=True, eq=False)
class _Wanted:
    """What a server shows now."""

    title: str
    docs: tuple[Doc, ...]


class MeaningIndex:
    """Knows how alike a query and each tool are; one for each set of tools that is searched.

    `put` and `drop` are told of every change, in the same step as the index of words, so that both
    speak of the same tools; `run` does the work.

    Args:
        texts: Makes vectors.
        index: Holds and compares them; this class alone writes to it.
    """

    def __init__(self, texts: TextVectors, index: VectorIndex) -> None:
        self._texts = texts
        self._index = index
        self._wanted: dict[str, _Wanted] = {}
        self._due: dict[str, None] = {}
        """Servers whose vectors are not up to date, in the order in which they changed."""
        self._failed: dict[str, None] = {}
        """Servers that are tried again after a while."""
        self._rows: dict[str, tuple[Doc | None, ...]] = {}
        """What the rows of each group in the index stand for; None: for nothing any more."""
        self._missing: dict[str, int] = {}
        """Tools without a vector, by server."""
        self._changed = anyio.Event()
        self._calm = anyio.Event()
        """Set while nothing is due."""
        self._calm.set()
        # Of its own, so that a large catalog takes no thread from anybody else.
        self._threads = anyio.CapacityLimiter(1)
        self.trouble = ""
        """Why vectors could not be made the last time, in a sentence; empty where they could."""

    def put(self, segment: Segment, title: str = "") -> None:
        """Take note of what a server shows now; at once, what is gone or changed has no vector.

        Args:
            segment: Its tools, as they are in the index of words.
            title: What the server calls itself; empty where it does not.
        """
        server = segment.server
        wanted = _Wanted(title or server, segment.docs)
        renamed = server in self._wanted and self._wanted[server].title != wanted.title
        self._wanted[server] = wanted
        current = {} if renamed else {doc.item.key: doc for doc in wanted.docs}
        rows = tuple(
            _same(current.get(doc.item.key), doc) if doc is not None else None
            for doc in self._rows.get(server, ())
        )
        self._rows[server] = rows
        self._missing[server] = len(wanted.docs) - sum(doc is not None for doc in rows)
        self._due[server] = None
        self._changed.set()
        if self._calm.is_set():
            self._calm = anyio.Event()

    def drop(self, server: str) -> None:
        """Forget a server; one that is not there is no error."""
        for held in (self._wanted, self._due, self._failed, self._rows, self._missing):
            held.pop(server, None)
        self._index.drop(server)

    @property
    def missing(self) -> int:
        """Tools that are found by their words only, so far."""
        return sum(self._missing.values())

    async def alike(
        self, query: str, parts: Sequence[str], servers: Collection[str] | None
    ) -> dict[Doc, float]:
        """The cosine of the query and each tool that has a vector; of `servers`, if given."""
        first, *rest = await self._texts.of_query([query, *parts])
        compare, rows = self._index.comparison(first, rest), self._rows
        if sum(map(len, rows.values())) <= AT_ONCE:
            cosines = compare()
        else:
            rows = dict(rows)
            cosines = await anyio.to_thread.run_sync(compare)
        # No switch of the event loop from here on: rows and what they stand for belong together.
        # A server that changed meanwhile is found by its words this time.
        likeness: dict[Doc | None, float] = {}
        for server, of_rows in cosines.items():
            if (servers is None or server in servers) and self._rows.get(server) is rows[server]:
                likeness.update(zip(rows[server], of_rows, strict=True))
        likeness.pop(None, None)
        return cast("dict[Doc, float]", likeness)

    async def run(self) -> NoReturn:
        """Make the vectors that are missing, server by server, until cancelled."""
        while True:
            self._changed = anyio.Event()
            while self._due:
                server = next(iter(self._due))
                del self._due[server]
                await self._catch_up(server, self._wanted[server])
            self._calm.set()
            with anyio.move_on_after(RETRY if self._failed else float("inf")) as waiting:
                await self._changed.wait()
            if waiting.cancelled_caught:
                self._due |= self._failed

    async def caught_up(self) -> None:
        """Waits, while `run` runs, until there is nothing to do, vectors that failed apart."""
        while not self._calm.is_set():
            await self._calm.wait()

    async def _catch_up(self, server: str, wanted: _Wanted) -> None:
        try:
            meant = await anyio.to_thread.run_sync(_meant_by_all, wanted, limiter=self._threads)
            vectors = await self._texts.kept(_texts_of(meant.values()))
            await self._show(server, wanted, meant, vectors)
            missing = [one for one in meant.values() if not _is_known(one, vectors)]
            start, count = 0, _SHOWN_FIRST
            while start < len(missing):
                vectors |= await self._texts.made(_texts_of(missing[start : start + count]))
                if not await self._show(server, wanted, meant, vectors):
                    return
                start, count = start + count, 2 * count
        except Exception as error:  # noqa: BLE001 - whatever a model does, search by words goes on
            if self._wanted.get(server) is wanted:
                self._failed[server] = None
            self.trouble = f"Some tools are not found by meaning: {reason_of(error)}."
        else:
            self._failed.pop(server, None)
            if not self._failed:
                self.trouble = ""

    async def _show(
        self,
        server: str,
        wanted: _Wanted,
        meant: Mapping[Doc, Meant],
        vectors: Mapping[str, bytes],
    ) -> bool:
        """Put the vectors into the index; whether they are still wanted."""
        if len(wanted.docs) <= _FEW:
            there, put = self._prepared(server, meant, vectors)
        else:
            there, put = await anyio.to_thread.run_sync(
                self._prepared, server, meant, vectors, limiter=self._threads
            )
        if self._wanted.get(server) is not wanted:
            return False
        put()
        self._rows[server] = there
        self._missing[server] = len(wanted.docs) - len(there)
        return True

    def _prepared(
        self, server: str, meant: Mapping[Doc, Meant], vectors: Mapping[str, bytes]
    ) -> tuple[tuple[Doc, ...], Callable[[], None]]:
        """The tools that have vectors, and what puts these into the index."""
        there = {doc: one for doc, one in meant.items() if _is_known(one, vectors)}
        put = self._index.prepared(
            server,
            [vectors[one.whole] for one in there.values()],
            [vectors[one.name] for one in there.values()],
        )
        return tuple(there), put


def reason_of(error: Exception) -> str:
    """What may be said of an error to whoever searches: only what was written for people."""
    return error.message if isinstance(error, ToolcribError) else type(error).__name__


def _same(current: Doc | None, earlier: Doc) -> Doc | None:
    """The tool as it is now, if it did not change."""
    if current is None or current.item.fingerprint != earlier.item.fingerprint:
        return None
    return current


def _meant_by_all(wanted: _Wanted) -> dict[Doc, Meant]:
    return {doc: meant_by(wanted.title, doc.item) for doc in wanted.docs}


def _texts_of(meant: Iterable[Meant]) -> list[str]:
    return [text for one in meant for text in (one.whole, one.name)]


def _is_known(meant: Meant, vectors: Mapping[str, bytes]) -> bool:
    return meant.whole in vectors and meant.name in vectors
