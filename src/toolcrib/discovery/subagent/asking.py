"""Asks the small model of a crib: within its budget, in its time, and never in vain for long."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import anyio

from toolcrib.core.jsontypes import is_number
from toolcrib.discovery.subagent.answer import Answer, read_answer
from toolcrib.discovery.subagent.pace import Pace
from toolcrib.discovery.subagent.prompt import INSTRUCTIONS, Candidate, question
from toolcrib.errors import RequestTimedOut, ToolcribError
from toolcrib.facts import SmallModelAsked
from toolcrib.ports import Clock, Observer, SmallModel
from toolcrib.settings import SubagentSettings

__all__ = ["Asking", "Unanswered"]

_UNREADABLE: Final = "unreadable"
_BROKEN: Final = "broken"


@dataclass(frozen=True, slots=True)
class Unanswered:
    """The model did not choose."""

    why: str
    """`paused`, `over_budget`, `unreadable`, `broken`, or the code of the error."""


class Asking:
    """Puts choices to one model; one of these serves all principals of a crib.

    What it keeps is how often the model was asked and how it fared, and nothing of any question.
    """

    def __init__(
        self, model: SmallModel, settings: SubagentSettings, *, clock: Clock, observer: Observer
    ) -> None:
        self._model = model
        self._clock = clock
        self._observer = observer
        self._pace = Pace(settings.per_minute)
        self.settings = settings

    async def ask(self, query: str, candidates: Sequence[Candidate]) -> Answer | Unanswered:
        """Which of the candidates fit, as the model answers; never raises what the model raises."""
        began = self._clock.now().mono
        refused = self._pace.refuses(began)
        if refused:
            self._observer.note(SmallModelAsked(refused, 0.0))
            return Unanswered(refused)
        try:
            text = await self._complete(question(query, candidates))
        except ToolcribError as error:
            return self._failed(began, error.code, error=error)
        except Exception as error:  # noqa: BLE001 - whatever a model raises, the search goes on
            # Its text is for nobody: it may hold the question, or the key.
            return self._failed(began, _BROKEN, detail=type(error).__name__)
        answer = read_answer(text, [candidate.name for candidate in candidates])
        if not answer.readable:
            return self._failed(began, _UNREADABLE, invented=answer.invented)
        self._pace.succeeded()
        outcome = "chosen" if answer.chosen else "none_fits"
        seconds = self._clock.now().mono - began
        self._observer.note(SmallModelAsked(outcome, seconds, answer.invented))
        return answer

    async def _complete(self, asked: str) -> str:
        """The model's text; its time is kept here, too, whatever the model makes of it."""
        seconds = self.settings.timeout_seconds
        with anyio.move_on_after(seconds):
            return await self._model.complete(
                INSTRUCTIONS, asked, most_tokens=self.settings.output_tokens, timeout=seconds
            )
        raise RequestTimedOut(f"the small model did not answer in {seconds:g} s")

    def _failed(
        self,
        began: float,
        why: str,
        *,
        invented: int = 0,
        error: ToolcribError | None = None,
        detail: str = "",
    ) -> Unanswered:
        now = self._clock.now().mono
        asked_for = error.details.get("retry_after") if error is not None else None
        self._pace.failed(now, float(asked_for) if is_number(asked_for) else 0.0)
        detail = detail if error is None else error.for_operator()
        self._observer.note(SmallModelAsked(why, now - began, invented, detail))
        return Unanswered(why)
