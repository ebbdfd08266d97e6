"""Questions of toolcrib itself to whoever calls, such as whether a call may go out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from toolcrib.errors import PersonMustDecide
from toolcrib.protocol.elicitation import Action, harmless
from toolcrib.protocol.mrtr import Question

OWN_KEY: Final = "toolcrib"
"""The key under which a question of ours stands among those of a result."""

_STAMP: Final = "[toolcrib] "


def _no_fields() -> Mapping[str, Any]:
    return {"type": "object", "properties": {}}


@dataclass(frozen=True, slots=True)
class OwnQuestion:
    """One question: a form, which may be accepted or declined."""

    topic: str
    """What a yes is good for (a contract, a rule): an answer counts for the same topic alone."""
    message: str
    """What is asked; text of servers in it is defused by whoever writes it, or here."""
    schema: Mapping[str, Any] = field(default_factory=_no_fields)
    """The `requestedSchema` of the form; without fields, yes or no is all there is to say."""

    def as_question(self) -> Question:
        """The question as a person is shown it: it begins by saying that toolcrib asks."""
        message = f"{_STAMP}{harmless(self.message)}"
        params = {"mode": "form", "message": message, "requestedSchema": dict(self.schema)}
        return Question("elicitation/create", params)


@dataclass(frozen=True, slots=True)
class OwnAnswer:
    """What the person said."""

    action: Action
    content: Mapping[str, Any] = field(default_factory=dict[str, Any])


class InputNeeded(PersonMustDecide):
    """The caller has to be asked by a result: `result` is what it gets."""

    code: ClassVar[str] = "needs_confirmation"

    def __init__(self, result: Mapping[str, Any], *, server: str) -> None:
        super().__init__("a person has to answer first", server=server)
        self.result = dict(result)
        """An `input_required` result."""
