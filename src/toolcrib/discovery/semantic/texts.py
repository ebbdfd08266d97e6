"""Vectors of texts: from the store where they are kept, else embedded once and kept.

The key of a vector is a hash of its text, so a tool that did not change is never embedded again:
not after a restart, not for another principal, and not by another process on the same store.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Final

import anyio
import anyio.to_thread

from toolcrib.errors import RequestTimedOut, ResultInvalid, StoreUnreachable
from toolcrib.ports import Embedder, VectorStore

BATCH: Final = 32
"""Texts that are embedded in one go, some tens of milliseconds: a query waits no longer."""
_QUERIES: Final = 256
"""Vectors of queries that are remembered: the same question often comes again."""
_FLOAT: Final = 4
PATIENCE: Final = 5.0
"""Seconds that a search waits for the vector of its query; the first one loads the model."""
_MOST_HANGING: Final = 2
"""Embeddings of queries that may be under way without end."""


class TextVectors:
    """Turns texts into vectors.

    Args:
        embedder: Does the work, in a thread of its own.
        store: Keeps vectors of tools; one that cannot be used costs embedding, nothing else.
    """

    def __init__(self, embedder: Embedder, store: VectorStore) -> None:
        self._embedder = embedder
        self._store = store
        self._queries: OrderedDict[str, bytes] = OrderedDict()
        self._size = embedder.dimensions * _FLOAT
        self._turn = anyio.Lock()
        # Threads of their own: tools that are embedded in the background keep no query waiting.
        self._background = anyio.CapacityLimiter(1)
        self._foreground = anyio.CapacityLimiter(1)
        self._hanging: set[object] = set()
        self.embedded = 0
        """Texts of tools that were embedded so far."""

    async def kept(self, texts: Sequence[str]) -> dict[str, bytes]:
        """The vectors of those texts that the store keeps."""
        keys = {_key(text): text for text in texts}
        try:
            found = await self._store.get(self._embedder.mark, list(keys))
        except StoreUnreachable:
            return {}
        # What is not of our size was not written by us.
        return {keys[key]: row for key, row in found.items() if len(row) == self._size}

    async def made(self, texts: Sequence[str]) -> dict[str, bytes]:
        """The vectors of texts of tools; the ones that nobody keeps are embedded, in batches."""
        found: dict[str, bytes] = {}
        wanted = list(dict.fromkeys(texts))
        for start in range(0, len(wanted), BATCH):
            some = wanted[start : start + BATCH]
            async with self._turn:
                # Inside the turn: whoever had it before may have embedded the same texts.
                known = await self.kept(some)
                missing = [text for text in some if text not in known]
                found |= known
                if missing:
                    found |= await self._embed(missing)
        return found

    async def of_query(self, texts: Sequence[str]) -> list[bytes]:
        """The vectors of a query and its parts, in order; never kept in the store."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._queries]
        rows = dict(self._queries)
        if missing:
            made = await anyio.to_thread.run_sync(
                self._embedded_now, missing, limiter=self._foreground
            )
            if any(len(row) != self._size for row in made):
                raise ResultInvalid("the embedder's vectors have another length than it says")
            rows |= zip(missing, made, strict=True)
        for text in texts:
            self._queries[text] = rows[text]
            self._queries.move_to_end(text)
        while len(self._queries) > _QUERIES:
            self._queries.popitem(last=False)
        return [rows[text] for text in texts]

    def _embedded_now(self, texts: list[str]) -> list[bytes]:
        """The vectors of texts that somebody waits for, for so long and no longer.

        In a thread that may be left behind: a model that hangs cannot be interrupted. Few are: then
        it is not asked any more until one of them is back. Raises `RequestTimedOut`.
        """
        if len(self._hanging) >= _MOST_HANGING:
            raise RequestTimedOut("the embedder does not answer")
        answers: SimpleQueue[list[bytes] | Exception] = SimpleQueue()
        mark = object()

        def work() -> None:
            try:
                answers.put(self._embedder.embed(texts))
            except Exception as error:  # noqa: BLE001 - handed on to whoever waits
                answers.put(error)
            finally:
                self._hanging.discard(mark)

        self._hanging.add(mark)
        Thread(target=work, name="toolcrib embedding a query", daemon=True).start()
        try:
            answer = answers.get(timeout=PATIENCE)
        except Empty:
            raise RequestTimedOut(f"the embedder did not answer in {PATIENCE:g} s") from None
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def _embed(self, texts: list[str]) -> dict[str, bytes]:
        made = await anyio.to_thread.run_sync(
            self._embedder.embed, texts, limiter=self._background, abandon_on_cancel=True
        )
        if any(len(row) != self._size for row in made):
            raise ResultInvalid("the embedder's vectors have another length than it says")
        self.embedded += len(texts)
        rows = dict(zip(texts, made, strict=True))
        # Where it cannot be kept, it is embedded again after a restart.
        with suppress(StoreUnreachable):
            await self._store.put(
                self._embedder.mark, {_key(text): row for text, row in rows.items()}
            )
        return rows


def _key(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
