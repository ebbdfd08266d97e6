"""Segments of many servers as one index: walked for a query, changed one server at a time.

A term points to the postings of each server that has it, so adding, replacing and removing a
server cost what that server holds, and nothing of another server is touched. Scores do not depend
on the order in which servers came: what is added up for a tool follows the terms of the query.
"""

from collections.abc import Collection, Iterator
from math import log1p
from typing import Final

from toolcrib.core.search.lexicon import Question
from toolcrib.core.search.scoring import refine
from toolcrib.core.search.segment import Doc, Posting, Segment, joined
from toolcrib.core.search.weights import PARTS_WORTH, SATURATION, SERVER_SHARE

_SCALE: Final = SATURATION + 1
"""As usual with BM25: a term that occurs once where it counts 1 scores about its rarity."""


_TOUCHED: Final = 20_000
"""Tools that the terms of one question may have together, and those of its parts once more; what
tells less is left out. It bounds the time of long questions to large catalogs."""


class _Term:
    """Where one term occurs."""

    __slots__ = ("_all", "_by_server", "tools")

    def __init__(self) -> None:
        self._by_server: dict[str, Posting] = {}
        self._all: Posting | None = None
        """All of it in one piece, from the first search after a change on."""
        self.tools = 0
        """Tools of all servers that have it."""

    def put(self, server: str, posting: Posting) -> None:
        self._by_server[server] = posting
        self._all = None
        self.tools += len(posting.docs)

    def drop(self, server: str) -> None:
        self.tools -= len(self._by_server.pop(server).docs)
        self._all = None

    @property
    def servers(self) -> int:
        return len(self._by_server)

    def posting(self, servers: Collection[str] | None) -> Posting:
        """Where it occurs (in these servers), as one posting."""
        if servers is not None:
            there = [self._by_server[server] for server in servers if server in self._by_server]
            return joined(there)
        if self._all is None:
            self._all = joined(self._by_server.values())
        return self._all


class MergedIndex:
    """The tools of many servers, found by what they say of themselves. Used on one thread."""

    def __init__(self) -> None:
        self._segments: dict[str, Segment] = {}
        self._terms: dict[str, _Term] = {}
        self._size = 0
        self._rarities: dict[str, float] = {}
        """What was worked out since the last change, by term."""

    def put(self, segment: Segment) -> None:
        """Takes a server's segment in, in the place of its earlier one."""
        if self._segments.get(segment.server) is segment:
            return
        self.drop(segment.server)
        self._segments[segment.server] = segment
        self._size += len(segment)
        self._rarities.clear()
        for word, posting in segment.postings.items():
            term = self._terms.get(word)
            if term is None:
                term = self._terms[word] = _Term()
            term.put(segment.server, posting)

    def drop(self, server: str) -> None:
        """Forgets a server; one that is not there is no error."""
        segment = self._segments.pop(server, None)
        if segment is None:
            return
        self._size -= len(segment)
        self._rarities.clear()
        for word in segment.postings:
            term = self._terms[word]
            term.drop(server)
            if not term.servers:
                del self._terms[word]

    def __len__(self) -> int:
        """How many tools are in it."""
        return self._size

    def servers(self) -> tuple[str, ...]:
        """The servers in it, sorted by code point."""
        return tuple(sorted(self._segments))

    def docs(self, servers: Collection[str] | None = None) -> Iterator[Doc]:
        """All tools (of these servers), by server id and key, by code point."""
        for server in self.servers():
            if servers is None or server in servers:
                yield from self._segments[server].docs

    def scores(
        self, question: Question, servers: Collection[str] | None = None
    ) -> dict[Doc, float]:
        """What speaks for each tool that has a word of the question, higher is better.

        The scale is that of BM25, the same for any question and any other tools: no score is
        compared with the best one. Where the question has several steps, a tool that fits one of
        them well is not lost among those that fit all of them a little.

        Args:
            question: From the lexicon that the segments were built with.
            servers: Only tools of these servers; None: all.
        """
        whole, _ = self._scored(question, servers, _TOUCHED)
        if not whole:
            return whole
        top = max(whole.values())
        fits: dict[Doc, float] = {}
        for part in question.parts:
            scores, close = self._scored(part, servers, _TOUCHED // len(question.parts))
            best = max(scores.values(), default=0.0)
            for doc in close:
                fits[doc] = max(fits.get(doc, 0.0), scores[doc] / best)
        for doc, fit in fits.items():
            whole[doc] = whole.get(doc, 0.0) + PARTS_WORTH * top * fit
        return whole

    def _scored(
        self, question: Question, servers: Collection[str] | None, most: int
    ) -> tuple[dict[Doc, float], list[Doc]]:
        """All scores, and the tools that were looked at closely."""
        # The longest first, as it is: nothing has to be looked up to add to.
        walks = sorted(self._walks(question, servers, most), key=_length, reverse=True)
        scores: dict[Doc, float] = {}
        for factor, posting in walks[:1]:
            worths = [factor * impact for impact in posting.impacts]
            scores = dict(zip(posting.docs, worths, strict=True))
        seen = scores.get
        for factor, posting in walks[1:]:
            for doc, impact in zip(posting.docs, posting.impacts, strict=True):
                scores[doc] = seen(doc, 0.0) + factor * impact
        return scores, refine(scores, question, self.rarity)

    def _walks(
        self, question: Question, servers: Collection[str] | None, most: int
    ) -> Iterator[tuple[float, Posting]]:
        """What to add up: the terms that tell most first, until enough tools were touched."""
        told = [
            (weight * _SCALE * self.rarity(word), word)
            for word, weight in question.weights
            if word in self._terms
        ]
        touched = 0
        for factor, word in sorted(told, key=lambda pair: (-pair[0], pair[1])):
            posting = self._terms[word].posting(servers)
            touched += len(posting.docs)
            if touched > most and touched > len(posting.docs):
                return
            yield factor, posting

    def rarity(self, word: str) -> float:
        """How much a term tells, after Robertson and Spärck Jones; 0 where no tool has it."""
        known = self._rarities.get(word)
        if known is None:
            known = self._rarities[word] = self._rarity(word)
        return known

    def _rarity(self, word: str) -> float:
        term = self._terms.get(word)
        if term is None:
            return 0.0
        tools = _idf(term.tools, self._size)
        servers = _idf(term.servers, len(self._segments))
        return (1 - SERVER_SHARE) * tools + SERVER_SHARE * servers


def _length(walk: tuple[float, Posting]) -> int:
    return len(walk[1].docs)


def _idf(having: int, of: int) -> float:
    return log1p((of - having + 0.5) / (having + 0.5))
