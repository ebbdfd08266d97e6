"""The index of one server's tools: immutable, made once for each content, also in a thread."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice, pairwise, starmap
from typing import Final

from toolcrib.core.search import weights as worth
from toolcrib.core.search.fields import ServerTexts, ToolTexts, tool_texts
from toolcrib.core.search.lexicon import Lexicon, Terms, pair
from toolcrib.core.search.weights import SATURATION, Weight
from toolcrib.core.snapshot import Item, Snapshot

MOST_WORDS: Final = 60_000
"""Different words of one server that are indexed, more than fifty thousand tools of people
have. It bounds the memory of what a server makes up, and the time to take it in."""
_STEPS: Final = 1024
"""Impacts are kept in so many steps."""
_IMPACTS: Final = tuple(step / _STEPS for step in range(_STEPS + 1))
"""The same few objects, over and over: they cost no memory, and are near when they are added up."""


@dataclass(frozen=True, slots=True, eq=False)
class Doc:
    """One tool in an index; two are the same only if they are one object."""

    server: str
    item: Item
    name_terms: tuple[str, ...]
    """Each once, in their order."""
    pairs: frozenset[str] = field(repr=False)
    """Terms that stand side by side in name or description, as `pair` writes them."""

    @property
    def tool(self) -> tuple[str, str]:
        """Server id and original name."""
        return self.server, self.item.key


@dataclass(frozen=True, slots=True)
class Posting:
    """The tools of one server that a term occurs in, and what it is worth in each, 0 to 1."""

    docs: tuple[Doc, ...]
    impacts: tuple[float, ...]


NOWHERE: Final = Posting((), ())


def joined(postings: Iterable[Posting]) -> Posting:
    """Several postings of one term as one."""
    every = tuple(postings)
    if len(every) == 1:
        return every[0]
    return Posting(
        tuple(chain.from_iterable(posting.docs for posting in every)),
        tuple(chain.from_iterable(posting.impacts for posting in every)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """All of one server."""

    server: str
    docs: tuple[Doc, ...]
    """By key, by code point."""
    postings: Mapping[str, Posting] = field(repr=False)
    """By term."""

    @classmethod
    def build(
        cls, server: str, snapshot: Snapshot, lexicon: Lexicon, texts: ServerTexts | None = None
    ) -> "Segment":
        """The index of one snapshot; the same content gives the same index."""
        draft = Draft(server, snapshot, lexicon, texts)
        draft.go_on(len(snapshot))
        return draft.done()

    def __len__(self) -> int:
        return len(self.docs)


class Draft:
    """A segment that is made a piece at a time, so that others have their turn."""

    def __init__(
        self, server: str, snapshot: Snapshot, lexicon: Lexicon, texts: ServerTexts | None = None
    ) -> None:
        self._server = server
        self._terms = lexicon.bounded(MOST_WORDS)
        self._united = lexicon.united
        about = texts or ServerTexts()
        united = [self._united(name, worth.UNITED.most) for name in (server, about.title)]
        self._around = list(_server_terms(server, about, self._terms))
        self._around.append((worth.UNITED, list(dict.fromkeys(chain(*united)))))
        self._left = iter(sorted(snapshot.items, key=lambda item: item.key))
        self._worths: defaultdict[str, dict[Doc, float]] = defaultdict(dict)
        self._docs: list[Doc] = []

    def go_on(self, tools: int) -> bool:
        """Index so many tools more; whether there was one."""
        before = len(self._docs)
        for item in islice(self._left, tools):
            doc, own = _indexed(self._server, item, self._terms)
            own.append((worth.UNITED, self._united(item.key, worth.UNITED.most)))
            self._docs.append(doc)
            for term, value in _summed(own + self._around).items():
                impact = value / (SATURATION + value)
                self._worths[term][doc] = _IMPACTS[round(impact * _STEPS)]
        return len(self._docs) > before

    def done(self) -> Segment:
        """The segment of all that was indexed."""
        return Segment(self._server, tuple(self._docs), _shared(self._worths))


_Counted = tuple[Weight, list[str]]


def _server_terms(server: str, texts: ServerTexts, terms: Terms) -> Iterator[_Counted]:
    yield worth.SERVER, terms(server, worth.SERVER.most)
    yield worth.SERVER_TITLE, terms(texts.title, worth.SERVER_TITLE.most)
    described = worth.SERVER_DESCRIPTION
    yield described, terms(texts.description, described.most)


def _indexed(server: str, item: Item, terms: Terms) -> tuple[Doc, list[_Counted]]:
    texts = tool_texts(item)
    own = [(weight, terms(text, weight.most)) for weight, text in _weighed(texts)]
    name, described = own[0][1], own[1][1]
    pairs = frozenset(starmap(pair, chain(pairwise(name), pairwise(described))))
    return Doc(server, item, tuple(dict.fromkeys(name)), pairs), own


def _weighed(texts: ToolTexts) -> Iterator[tuple[Weight, str]]:
    yield worth.NAME, texts.name
    yield worth.DESCRIPTION, texts.description
    yield worth.LEAD, texts.lead
    yield worth.TITLE, texts.title
    yield worth.PARAMETERS, texts.parameters
    yield worth.EXPLANATIONS, texts.explanations
    yield worth.CHOICES, texts.choices


def _summed(fields: Iterable[_Counted]) -> dict[str, float]:
    """What each term is worth over all fields, before saturation."""
    sums: defaultdict[str, float] = defaultdict(float)
    for weight, terms in fields:
        if terms:
            longer = 1 - weight.length + weight.length * len(terms) / weight.usual
            for term in terms:
                sums[term] += weight.worth / longer
    return sums


def _shared(worths: Mapping[str, Mapping[Doc, float]]) -> dict[str, Posting]:
    """Postings, in which equal tuples are one object: a server's words are in all of its tools."""
    docs: dict[tuple[Doc, ...], tuple[Doc, ...]] = {}
    impacts: dict[tuple[float, ...], tuple[float, ...]] = {}
    postings: dict[str, Posting] = {}
    for term, by_doc in worths.items():
        there, values = tuple(by_doc), tuple(by_doc.values())
        postings[term] = Posting(docs.setdefault(there, there), impacts.setdefault(values, values))
    return postings
