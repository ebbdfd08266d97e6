"""What can be enabled, and which of it fits what is wanted.

Servers on demand are few, and mostly described by a sentence: words that both have, weighed by how
rare they are, find them well enough.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log
from typing import Final

from toolcrib.core.search.stop_words import STOP_WORDS
from toolcrib.core.search.words import words

_STEM: Final = 5
"""Letters by which words of the same stem are told."""
_ENDING: Final = re.compile(r"(?<=...)(?:ings?|ed|es|e|s)$")
"""Plurals, gerunds, participles."""
_ALIKE: Final = 0.6
"""What a word counts that has only the stem of the one that is wanted."""
_NAME, _ABOUT, _TOOLS = 3.0, 2.0, 1.0
"""What a word counts by where it stands."""


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


def fitting(query: str, offers: Sequence[Offer]) -> tuple[Offer, ...]:
    """The offers that share a word with the query, the best first; all, by name, for no words."""
    wanted = frozenset(words(query)) - STOP_WORDS
    by_name = sorted(offers, key=lambda offer: (bool(offer.servers), offer.name))
    if not wanted:
        return tuple(by_name)
    bags = [_bag(offer.name, offer.about, offer.tool_names, offer.servers) for offer in by_name]
    frequency = Counter(word for bag in bags for word in bag)
    scored: list[tuple[float, int]] = []
    for place, bag in enumerate(bags):
        score = sum(_worth(word, bag, frequency, len(bags)) for word in wanted)
        if score > 0:
            scored.append((-score, place))
    return tuple(by_name[place] for _, place in sorted(scored))


def _worth(word: str, bag: dict[str, float], frequency: Counter[str], total: int) -> float:
    """What one wanted word says for an offer."""
    stem = _stem(word)
    found, share = (word, 1.0) if word in bag else (stem, _ALIKE)
    return bag.get(found, 0.0) * share * log(1 + total / (1 + frequency[found]))


@lru_cache(maxsize=2_000)
def _bag(
    name: str, about: str, tool_names: tuple[str, ...], servers: tuple[str, ...]
) -> dict[str, float]:
    """Each word and stem of an offer, with what it counts where it counts most."""
    bag: dict[str, float] = {}
    texts: Iterable[tuple[str, float]] = (
        *((tool, _TOOLS) for tool in tool_names),
        (about, _ABOUT),
        *((server, _ABOUT) for server in servers),
        (name, _NAME),
    )
    for text, counts in texts:
        for word in words(text):
            if word not in STOP_WORDS:
                bag[word] = bag[_stem(word)] = counts
    return bag


def _stem(word: str) -> str:
    """The beginning of a word without its ending, marked so that no whole word equals it."""
    return f"{_ENDING.sub('', word)[:_STEM]}…"
