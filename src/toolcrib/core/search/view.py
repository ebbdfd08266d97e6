"""Some servers of an index, as if there were no others.

What a term is worth there, and where it occurs, is worked out when it is first asked for: to join
what a thousand servers hold takes longer than to search it.
"""

from collections.abc import Callable
from collections.abc import Set as AbstractSet

from toolcrib.core.search.rarity import rarity_of
from toolcrib.core.search.segment import NOWHERE, Posting
from toolcrib.core.search.term import Term


class View:
    """True for as long as nothing of its servers changes.

    Args:
        servers: All of them in the index.
        tools: How many tools these have.
        term: Where a term occurs in the whole index; None: nowhere.
    """

    def __init__(
        self, servers: AbstractSet[str], tools: int, term: Callable[[str], Term | None]
    ) -> None:
        self._servers = servers
        self._every = tools, len(servers)
        self._term = term
        self._known: dict[str, tuple[Posting, float]] = {}
        """By term that was asked for and occurs in the index: where, and what it tells."""

    def posting(self, word: str) -> Posting:
        """Where a term occurs."""
        return self._found(word)[0]

    def rarity(self, word: str) -> float:
        """How much a term tells; 0 where no tool has it."""
        return self._found(word)[1]

    def _found(self, word: str) -> tuple[Posting, float]:
        found = self._known.get(word)
        if found is None:
            term = self._term(word)
            if term is None:
                return NOWHERE, 0.0
            posting, servers = term.among(self._servers)
            rarity = rarity_of((len(posting.docs), servers), self._every) if servers else 0.0
            found = self._known[word] = posting, rarity
        return found
