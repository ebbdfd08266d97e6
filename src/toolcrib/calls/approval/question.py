"""The question whether a call may go out, and what its answer means.

The form has one field with a few texts to choose from: the one shape that hosts of every revision
can show (MCP 2026-07-28, client: elicitation, requested schema).
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

from toolcrib.calls.call import ToolCall
from toolcrib.calls.rounds.own_questions import OwnAnswer, OwnQuestion
from toolcrib.core.invisible import escaped
from toolcrib.core.plain_sight import in_plain_sight
from toolcrib.core.snapshot import Item
from toolcrib.settings import ApprovalRule, Remember

ANSWER: Final = "answer"
"""The name of the field."""
ONCE: Final = "yes, once"
PROGRAM: Final = "yes, for this program"
RUN: Final = "yes, for this run"
NO: Final = "no"
_ROOM: Final = 3_500
"""Characters of arguments: hosts are sent 4,000 in all."""
_PROGRAM: Final = (
    "A program makes this call, and may make further ones of this tool with other arguments: your "
    "answer holds for all that the same rule asks about, while the program runs."
)
_UNITS: Final = (("day", 86_400.0), ("hour", 3_600.0), ("minute", 60.0))

Said = Literal["once", "run", "principal", "no", "nothing"]
"""What a person said; `once`: this call, or the program that makes it; `nothing`: the question was
dismissed, or the answer means nothing."""


def question_of(
    call: ToolCall, item: Item, rule: ApprovalRule, *, topic: str, remember: Remember
) -> OwnQuestion:
    """The question, with the arguments in plain sight.

    Args:
        call: What would go out.
        item: The tool.
        rule: The one that asks.
        topic: What the answer is good for.
        remember: How long a yes may be good at most.
    """
    lines = [
        "May this call go out?",
        "",
        f"Server: {escaped(call.server)}",
        f"Tool: {escaped(item.key)}",
        "Arguments:",
        in_plain_sight(call.arguments, room=_ROOM),
    ]
    if call.requester.consent is not None:
        lines += ["", _PROGRAM]
    if call.flow:
        what = f"may hold what {escaped(call.flow)} answered to this program"
        lines += ["", f"The arguments of this and of later calls {what}."]
    if rule.source:
        lines += ["", f"Asked by {rule.source}"]
    return OwnQuestion(topic, "\n".join(lines), _form(_choices(call, rule, remember)))


def said_in(answer: OwnAnswer, call: ToolCall, rule: ApprovalRule, remember: Remember) -> Said:
    """What an answer means; whatever is no clear yes is none."""
    match answer.action:
        case "decline":
            return "no"
        case "cancel":
            return "nothing"
        case "accept":
            chosen = answer.content.get(ANSWER)
            choices = _choices(call, rule, remember)
            return choices.get(chosen, "nothing") if isinstance(chosen, str) else "nothing"


def duration(seconds: float) -> str:
    """A time in its largest whole unit: `8 hours`, `90 minutes`, `1.5 seconds`."""
    for unit, size in _UNITS:
        if seconds >= size and seconds % size == 0:
            count = seconds / size
            return f"{count:g} {unit}{'s' * (count != 1)}"
    return f"{seconds:g} second{'s' * (seconds != 1)}"


def _choices(call: ToolCall, rule: ApprovalRule, remember: Remember) -> Mapping[str, Said]:
    choices: dict[str, Said] = {ONCE if call.requester.consent is None else PROGRAM: "once"}
    if remember != "call":
        choices[RUN] = "run"
    if remember == "principal":
        choices[f"yes, for {duration(rule.seconds)}"] = "principal"
    return {**choices, NO: "no"}


def _form(choices: Mapping[str, Said]) -> dict[str, Any]:
    field = {"type": "string", "title": "Answer", "enum": list(choices)}
    return {"type": "object", "properties": {ANSWER: field}, "required": [ANSWER]}
