"""What can be enabled, and which of it fits what is wanted.

Servers on demand are few, and mostly described by a sentence: words that both have, or that mean
the same, weighed by how rare they are, find them well enough. Words are those of the search for
tools.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import log
from typing import Final

from toolcrib.core.search.lexicon import Lexicon
from toolcrib.discovery.servers.kinds import DEEDS, KINDS

_KIND: Final = 0.3
"""What a word counts that is another name of the kind of server that is wanted."""
_NAME, _ABOUT, _TOOLS = 3.0, 2.0, 1.0
"""What a word counts by where it stands."""
_WORDS: Final = 200
"""Words of one text that are looked at."""
_MOST_TOOLS: Final = 300
"""Names of tools of one server that are looked at, and words of them."""
_KEPT: Final = 2_000
"""Offers whose words are remembered."""

Bag = Mapping[str, float]
"""Each term of an offer, with what it counts where it counts most."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A server or a skill that can be enabled."""

    name: str
    about: str
    """What it is for, as configured, or as the server says of itself; may be empty."""
    tools: int | None = None
    """How many tools the server has, or had when it was last connected; None: not known."""
    tool_names: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    """The servers of a skill; empty for a server."""
    enabled: bool = False
    trouble: str = ""
    """Why an enabled server is not there, or why it was not when it last should have been."""


class OfferSearch:
    """Ranks what can be enabled, by the words of a query.

    Args:
        lexicon: Of the search for tools.
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._bag = lru_cache(maxsize=_KEPT)(self._read)

    def fitting(self, query: str, offers: Sequence[Offer]) -> tuple[Offer, ...]:
        """The offers that share a word with a query, the best first; all, by name, for no words."""
        by_name = sorted(offers, key=lambda offer: (bool(offer.servers), offer.name))
        wanted = self._wanted(query)
        if not wanted:
            return tuple(by_name)
        bags = [self._bag(it.name, it.about, it.tool_names, it.servers) for it in by_name]
        rarity = {
            term: log(1 + len(bags) / (1 + sum(term in bag for bag in bags))) for term in wanted
        }
        scored: list[tuple[float, int]] = []
        for place, bag in enumerate(bags):
            found = wanted.keys() & bag.keys()
            if found:
                score = sum(wanted[term] * bag[term] * rarity[term] for term in sorted(found))
                scored.append((-score, place))
        return tuple(by_name[place] for _, place in sorted(scored))

    @cached_property
    def _kinds(self) -> Mapping[str, tuple[str, ...]]:
        """Made with the first query."""
        return self._lexicon.groups(KINDS)

    @cached_property
    def _deeds(self) -> frozenset[str]:
        return frozenset(self._lexicon.terms(" ".join(sorted(DEEDS)), len(DEEDS)))

    def _wanted(self, query: str) -> dict[str, float]:
        """The terms of a query and what means the same, with weights."""
        question = self._lexicon.question(query)
        if not question.written:
            return {}
        wanted = {
            term: weight
            for term, weight in question.weights
            if term in question.written or term not in self._deeds
        }
        for term in question.written:
            for other in self._kinds.get(term, ()):
                wanted[other] = max(wanted.get(other, 0.0), _KIND * wanted[term])
        return wanted

    def _read(
        self, name: str, about: str, tool_names: tuple[str, ...], servers: tuple[str, ...]
    ) -> Bag:
        """Each term with what it counts where it counts most: what counts more comes later."""
        bag: dict[str, float] = {}
        tools = " ".join(tool_names[:_MOST_TOOLS])
        bag.update(dict.fromkeys(self._lexicon.terms(tools, _MOST_TOOLS), _TOOLS))
        bag.update(dict.fromkeys(self._lexicon.terms(about, _WORDS), _ABOUT))
        for text in servers:
            bag.update(dict.fromkeys(self._of_name(text), _ABOUT))
        bag.update(dict.fromkeys(self._of_name(name), _NAME))
        return bag

    def _of_name(self, name: str) -> Iterator[str]:
        yield from self._lexicon.terms(name, _WORDS)
        yield from self._lexicon.united(name, _WORDS)
