"""The choice of a small model as an order of candidates, remembered for questions that return."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from toolcrib.discovery.subagent.answer import Answer
from toolcrib.discovery.subagent.asking import Asking, Unanswered
from toolcrib.discovery.subagent.prompt import Candidate

__all__ = ["Choice", "Subagent"]

_REMEMBERED: Final = 256

_WHY: Final = {
    "over_budget": "it was asked as often as it may be in a minute",
    "paused": "it is left alone for a while after failures",
    "timeout": "it took too long",
    "unreadable": "its answer could not be understood",
}

Question = tuple[str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True, slots=True)
class Choice:
    """In which order candidates come."""

    first: tuple[int, ...] = ()
    """Positions of those that were chosen, the best first; the others follow in their order."""
    note: str = ""
    """What a searcher should know, in a sentence; empty where the model chose."""
    answered: bool = True
    """Whether the model answered."""


class Subagent:
    """Chooses for one principal; what is remembered is this principal's alone."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._answers: OrderedDict[Question, Answer] = OrderedDict()

    @property
    def candidates(self) -> int:
        """How many candidates it chooses from."""
        return self._asking.settings.candidates

    async def choose(self, query: str, candidates: Sequence[Candidate]) -> Choice:
        """The choice among these candidates; of none or one there is nothing to choose."""
        if len(candidates) < 2:  # noqa: PLR2004 - one is in order already
            return Choice()
        key = (query, tuple((it.name, it.mark) for it in candidates))
        answer = self._answers.get(key)
        if answer is None:
            found = await self._asking.ask(query, candidates)
            if isinstance(found, Unanswered):
                return Choice(note=_fallen_back(found.why), answered=False)
            answer = found
            self._remember(key, answer)
        else:
            self._answers.move_to_end(key)
        if not answer.chosen:
            return Choice(
                note=f"The small model finds none of the first {len(candidates)} fitting."
            )
        return Choice(answer.chosen)

    def _remember(self, key: Question, answer: Answer) -> None:
        self._answers[key] = answer
        if len(self._answers) > _REMEMBERED:
            self._answers.popitem(last=False)


def _fallen_back(why: str) -> str:
    reason = _WHY.get(why, f"it failed with {why}")
    return f"The small model did not choose, because {reason}: this is the order of the search."
