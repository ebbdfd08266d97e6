"""Segments of many servers as one index: walked for a query, changed one server at a time.

A term points to the postings of each server that has it, so adding, replacing and removing a
server cost what that server holds, or nothing where it is large, and nothing of another server is
touched. Scores do not depend on the order in which servers came: what is added up for a tool
follows the terms of the query.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterator
from typing import Final

from toolcrib.core.search.lexicon import Question
from toolcrib.core.search.rarity import rarity_of
from toolcrib.core.search.scoring import LOOKED_AT, refine
from toolcrib.core.search.segment import NOWHERE, Doc, Posting, Segment
from toolcrib.core.search.sums import added_up, best_added_up
from toolcrib.core.search.term import Term
from toolcrib.core.search.view import View
from toolcrib.core.search.walks import walks_of
from toolcrib.core.search.weights import PARTS_WORTH

_LARGE: Final = 2_000
"""Words of one server that are entered one by one, a few milliseconds; of a server with more, its
own table is looked into when somebody asks for a word."""

_TOUCHED: Final = 20_000
"""Tools that the terms of one question may have together, and those of its parts once more; what
tells less is left out. It bounds the time of long questions to large catalogs."""

_VIEWS: Final = 8
"""Sets of servers whose view is remembered: each caller may have enabled others."""


class MergedIndex:
    """The tools of many servers, found by what they say of themselves. Used on one thread."""

    def __init__(self) -> None:
        self._segments: dict[str, Segment] = {}
        self._terms: dict[str, Term] = {}
        """Of all servers but the large ones."""
        self._large: dict[str, Segment] = {}
        self._whole: dict[str, Term] = {}
        """Terms of large servers that were asked for since the last change, over all servers."""
        self._size = 0
        self._rarities: dict[str, float] = {}
        """What was worked out since the last change, by term that occurs."""
        self._views: OrderedDict[frozenset[str], View] = OrderedDict()
        """Of some servers, the least recently used first; none outlives a change of its servers."""

    def put(self, segment: Segment) -> None:
        """Takes a server's segment in, in the place of its earlier one."""
        if self._segments.get(segment.server) is segment:
            return
        self.drop(segment.server)
        self._segments[segment.server] = segment
        self._size += len(segment)
        self._forget(segment.server)
        if len(segment.postings) > _LARGE:
            self._large[segment.server] = segment
            self._whole.clear()
            return
        for word, posting in segment.postings.items():
            self._whole.pop(word, None)
            term = self._terms.get(word)
            if term is None:
                term = self._terms[word] = Term()
            term.put(segment.server, posting)

    def drop(self, server: str) -> None:
        """Forgets a server; one that is not there is no error."""
        segment = self._segments.pop(server, None)
        if segment is None:
            return
        self._size -= len(segment)
        self._forget(server)
        if self._large.pop(server, None) is not None:
            self._whole.clear()
            return
        for word in segment.postings:
            self._whole.pop(word, None)
            term = self._terms[word]
            term.drop(server)
            if not term.servers:
                del self._terms[word]

    def _forget(self, changed: str) -> None:
        """What was worked out with this server in it, or not yet in it."""
        self._rarities.clear()
        for servers in [it for it in self._views if changed in it]:
            del self._views[servers]

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
        self, question: Question, servers: Collection[str] | None = None, most: int | None = None
    ) -> dict[Doc, float]:
        """What speaks for each tool that has a word of the question, higher is better.

        The scale is that of BM25, the same for any question and any other tools: no score is
        compared with the best one. Where the question has several steps, a tool that fits one of
        them well is not lost among those that fit all of them a little.

        Args:
            question: From the lexicon that the segments were built with.
            servers: Only tools of these servers, and no other one has a say in what words are
                worth; None: all.
            most: Scores that `ranked` needs for so many hits suffice, the others may be missing;
                None: all.
        """
        seen = self if servers is None else self._view(frozenset(servers))
        fits: dict[Doc, float] = {}
        for part in question.parts:
            walks = walks_of(part, seen, _TOUCHED // len(question.parts))
            scores = best_added_up(walks, LOOKED_AT, half_of=1)
            close = refine(scores, part, seen.rarity)
            best = max(scores.values(), default=0.0)
            for doc in close:
                fits[doc] = max(fits.get(doc, 0.0), scores[doc] / best)
        walks = walks_of(question, seen, _TOUCHED)
        if most is None:
            whole = added_up(walks)
        else:
            whole = best_added_up(walks, LOOKED_AT, half_of=max(1, most), wanted=fits)
        if not whole:
            return whole
        refine(whole, question, seen.rarity)
        top = max(whole.values())
        for doc, fit in fits.items():
            whole[doc] = whole.get(doc, 0.0) + PARTS_WORTH * top * fit
        return whole

    def posting(self, word: str) -> Posting:
        """Where a term occurs."""
        term = self._term(word)
        return NOWHERE if term is None else term.posting

    def _term(self, word: str) -> Term | None:
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
            term = self._whole[word] = (term or Term()).with_(there)
        return term

    def rarity(self, word: str) -> float:
        """How much a term tells; 0 where no tool has it."""
        known = self._rarities.get(word)
        if known is None:
            term = self._term(word)
            if term is None:
                return 0.0
            having, every = (term.tools, term.servers), (self._size, len(self._segments))
            known = self._rarities[word] = rarity_of(having, every)
        return known

    def _view(self, servers: frozenset[str]) -> View:
        """What of it is seen by whoever searches these servers alone."""
        view = self._views.pop(servers, None)
        if view is None:
            there = servers & self._segments.keys()
            view = View(there, sum(len(self._segments[it]) for it in there), self._term)
        self._views[servers] = view
        if len(self._views) > _VIEWS:
            self._views.popitem(last=False)
        return view
