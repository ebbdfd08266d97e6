"""Segments of many servers as one index: walked for a query, changed one server at a time.

A term points to the postings of each server that has it, so adding, replacing and removing a
server cost what that server holds, or nothing where it is large, and nothing of another server is
touched. Scores do not depend on the order in which servers came: what is added up for a tool
follows the terms of the query.
"""

from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Final

from toolcrib.core.search.lexicon import Question
from toolcrib.core.search.rarity import Rarity, rarity_of
from toolcrib.core.search.scoring import refine
from toolcrib.core.search.segment import Doc, Posting, Segment, joined
from toolcrib.core.search.weights import PARTS_WORTH, SATURATION

_SCALE: Final = SATURATION + 1
"""As usual with BM25: a term that occurs once where it counts 1 scores about its rarity."""


_LARGE: Final = 2_000
"""Words of one server that are entered one by one, a few milliseconds; of a server with more, its
own table is looked into when somebody asks for a word."""

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

    def with_(self, others: Mapping[str, Posting]) -> "_Term":
        """The same term, where it occurs with these servers, too."""
        whole = _Term()
        whole._by_server = {**self._by_server, **others}
        whole.tools = self.tools + sum(len(posting.docs) for posting in others.values())
        return whole

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

    def among(self, servers: AbstractSet[str]) -> tuple[int, int]:
        """How many tools, and servers, of these servers have it."""
        there = servers & self._by_server.keys()
        return sum(len(self._by_server[server].docs) for server in there), len(there)

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
        """Of all servers but the large ones."""
        self._large: dict[str, Segment] = {}
        self._whole: dict[str, _Term] = {}
        """Terms of large servers that were asked for since the last change, over all servers."""
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
        if len(segment.postings) > _LARGE:
            self._large[segment.server] = segment
            self._whole.clear()
            return
        for word, posting in segment.postings.items():
            self._whole.pop(word, None)
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
        if self._large.pop(server, None) is not None:
            self._whole.clear()
            return
        for word in segment.postings:
            self._whole.pop(word, None)
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
            servers: Only tools of these servers, and no other one has a say in what words are
                worth; None: all.
        """
        rarity = self.rarity if servers is None else self._among(frozenset(servers))
        whole, _ = self._scored(question, servers, _TOUCHED, rarity)
        if not whole:
            return whole
        top = max(whole.values())
        fits: dict[Doc, float] = {}
        for part in question.parts:
            most = _TOUCHED // len(question.parts)
            scores, close = self._scored(part, servers, most, rarity)
            best = max(scores.values(), default=0.0)
            for doc in close:
                fits[doc] = max(fits.get(doc, 0.0), scores[doc] / best)
        for doc, fit in fits.items():
            whole[doc] = whole.get(doc, 0.0) + PARTS_WORTH * top * fit
        return whole

    def _scored(
        self, question: Question, servers: Collection[str] | None, most: int, rarity: Rarity
    ) -> tuple[dict[Doc, float], list[Doc]]:
        """All scores, and the tools that were looked at closely."""
        # The longest first, as it is: nothing has to be looked up to add to.
        walks = sorted(self._walks(question, servers, most, rarity), key=_length, reverse=True)
        scores: dict[Doc, float] = {}
        for factor, posting in walks[:1]:
            worths = [factor * impact for impact in posting.impacts]
            scores = dict(zip(posting.docs, worths, strict=True))
        seen = scores.get
        for factor, posting in walks[1:]:
            for doc, impact in zip(posting.docs, posting.impacts, strict=True):
                scores[doc] = seen(doc, 0.0) + factor * impact
        return scores, refine(scores, question, rarity)

    def _walks(
        self, question: Question, servers: Collection[str] | None, most: int, rarity: Rarity
    ) -> Iterator[tuple[float, Posting]]:
        """What to add up: the terms that tell most first, until enough tools were touched."""
        told = [
            (weight * _SCALE * rarity(word), word, term)
            for word, weight in question.weights
            if (term := self._term(word)) is not None
        ]
        touched = 0
        for factor, _, term in sorted(told, key=lambda it: (-it[0], it[1])):
            posting = term.posting(servers)
            touched += len(posting.docs)
            if touched > most and touched > len(posting.docs):
                return
            yield factor, posting

    def _term(self, word: str) -> _Term | None:
        """Where a term occurs, with all servers; None: nowhere."""
        known = self._whole.get(word)
        if known is not None:
            return known
        term = self._terms.get(word)
        there = {
            server: segment.postings[word]
            for server, segment in self._large.items()
            if word in segment.postings
        }
        if there:
            term = self._whole[word] = (term or _Term()).with_(there)
        return term

    def rarity(self, word: str) -> float:
        """How much a term tells; 0 where no tool has it."""
        known = self._rarities.get(word)
        if known is None:
            term = self._term(word)
            known = 0.0
            if term is not None:
                known = rarity_of((term.tools, term.servers), (self._size, len(self._segments)))
            self._rarities[word] = known
        return known

    def _among(self, servers: AbstractSet[str]) -> Rarity:
        """How much terms tell where there are only these servers, worked out once for each."""
        there = servers & self._segments.keys()
        every = sum(len(self._segments[server]) for server in there), len(there)

        @cache
        def rarity(word: str) -> float:
            term = self._term(word)
            having = (0, 0) if term is None else term.among(there)
            return rarity_of(having, every) if having[0] else 0.0

        return rarity


def _length(walk: tuple[float, Posting]) -> int:
    return len(walk[1].docs)
