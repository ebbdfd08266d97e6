"""How much a word tells: the less, the more tools and servers have it."""

from collections.abc import Callable
from math import log1p

from toolcrib.core.search.weights import SERVER_SHARE

Rarity = Callable[[str], float]
"""How much a term tells; 0 where nothing has it."""


def rarity_of(having: tuple[int, int], every: tuple[int, int]) -> float:
    """Of a term that so many tools on so many servers have, out of all of these.

    After Robertson and Spärck Jones.
    """
    tools, servers = map(_idf, having, every)
    return (1 - SERVER_SHARE) * tools + SERVER_SHARE * servers


def _idf(having: int, of: int) -> float:
    return log1p((of - having + 0.5) / (having + 0.5))
