"""The ways to search that are there, and what stands in for one that is not or that fails."""

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from toolcrib.errors import BadArguments
from toolcrib.settings import SearchMethod, SearchSettings

__all__ = ["Methods", "Outcome", "Plan", "Ranker", "Ranking"]

_log = logging.getLogger(__name__)

_BY_MEANING: Final = frozenset[SearchMethod]({"semantic", "hybrid"})
_NO_MEANING: Final = "Searched by words: searching by meaning takes toolcrib[semantic]."
_MEANING_FAILED: Final = "Searched by words, because searching by meaning failed."
_NO_SUBAGENT: Final = "No small model is configured to choose: this is the order of the search."


class Ranking(Protocol):
    """Tools in an order."""

    @property
    def tools(self) -> Sequence[tuple[tuple[str, str], float]]:
        """((server id, original name), score), the best first; equal ones by server id and name."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """What the searcher should know, in sentences."""
        ...

    @property
    def by_meaning(self) -> bool:
        """Whether meaning had a say; False: words alone decided, whatever was asked for."""
        ...


Ranker = Callable[[str, Collection[str] | None, int], Awaitable[Ranking]]
"""Orders tools: (text, servers or None for all, how many) -> the best of them.

Content that was published before the call is in it, or a note says of which servers it is not.
Raises `BadArguments` for a text that cannot be searched for in this way.
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a query is searched for."""

    method: SearchMethod
    """One that there is a ranker for."""
    chooses: bool = False
    """Whether a small model chooses among what it finds."""
    notes: tuple[str, ...] = ()
    """Why it is another method than the one asked for."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a method ranked."""

    method: SearchMethod
    """That decided in the end."""
    tools: Sequence[tuple[tuple[str, str], float]]
    notes: tuple[str, ...] = ()


class Methods:
    """Searches in one of the ways that are there.

    Args:
        settings: Which method `auto` means.
        rankers: By method, `lexical` always among them; `semantic` and `hybrid` where there is an
            embedder.
        subagent: Whether there is a small model to choose.
    """

    def __init__(
        self, settings: SearchSettings, rankers: Mapping[SearchMethod, Ranker], *, subagent: bool
    ) -> None:
        self._settings = settings
        self._rankers = rankers
        self._subagent = subagent

    def plan(self, asked: SearchMethod) -> Plan:
        """How to search where `asked` was asked for."""
        method = self._settings.method if asked == "auto" else asked
        usual: SearchMethod = "hybrid" if "hybrid" in self._rankers else "lexical"
        match method:
            case "auto":
                return Plan(usual)
            case "subagent" if self._subagent:
                return Plan(usual, chooses=True)
            case "subagent":
                return Plan(usual, notes=(_NO_SUBAGENT,))
            case _ if method in self._rankers:
                return Plan(method)
            case _:
                return Plan("lexical", notes=(_NO_MEANING,))

    async def ranked(
        self, method: SearchMethod, text: str, servers: Collection[str] | None, most: int
    ) -> Outcome:
        """The best tools; by words where meaning fails. Raises `BadArguments`."""
        try:
            ranking = await self._rankers[method](text, servers, most)
        except BadArguments:
            raise
        except Exception as error:
            if method not in _BY_MEANING:
                raise
            # Whatever a model of meaning does, words are still there.
            _log.warning("searching by meaning failed: %s", type(error).__name__)
            ranking = await self._rankers["lexical"](text, servers, most)
            return Outcome("lexical", ranking.tools, (_MEANING_FAILED, *ranking.notes))
        fell_back = method in _BY_MEANING and not ranking.by_meaning
        return Outcome("lexical" if fell_back else method, ranking.tools, tuple(ranking.notes))
