"""A provider's prompt cache, simulated: what of each request was there before, and what was not.

A request is a sequence of blocks (tools, system text, messages). Its longest run of blocks from the
start that an earlier request had too is read from the cache; the rest is written to it. So do
providers with a prefix cache (Anthropic and OpenAI: prompt caching), but for their smallest prefix
and the time after which they forget, which are left out here: both would only add misses.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

READ_PRICE = 0.1
WRITE_PRICE = 1.25
"""Of a token that is read from the cache and of one that is written to it, in tokens that are sent
without a cache: Anthropic's price list, five-minute cache, November 2026."""


@dataclass(slots=True)
class Bill:
    """What a conversation took."""

    requests: int = 0
    hit: int = 0
    """Tokens that were read from the cache."""
    missed: int = 0
    """Tokens that were not there."""
    broken: int = 0
    """Requests that did not find the whole of the request before them."""
    longest: int = 0
    """Tokens of the largest request."""
    written: int = 0
    """Tokens that the model wrote."""

    @property
    def cost(self) -> float:
        """Prompt tokens, weighed by the prices of hits and misses."""
        return self.hit * READ_PRICE + self.missed * WRITE_PRICE

    @property
    def prompt(self) -> int:
        """Tokens of all prompts together."""
        return self.hit + self.missed


@dataclass(slots=True)
class PromptCache:
    """Bills requests, in the order in which they come."""

    count: Callable[[str], int]
    bill: Bill = field(default_factory=Bill)
    _known: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])

    def request(self, blocks: Sequence[str]) -> None:
        """One request with these blocks."""
        asked = tuple(blocks)
        shared = max((_shared(asked, known) for known in self._known), default=0)
        self.bill.requests += 1
        hit, missed = (sum(map(self.count, it)) for it in (asked[:shared], asked[shared:]))
        self.bill.hit += hit
        self.bill.missed += missed
        self.bill.longest = max(self.bill.longest, hit + missed)
        self.bill.broken += bool(self._known) and shared < len(self._known[-1])
        self._known.append(asked)

    def wrote(self, text: str) -> None:
        """The model wrote something."""
        self.bill.written += self.count(text)


def _shared(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """Blocks from the start that both have."""
    for position, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return position
    return min(len(one), len(other))
