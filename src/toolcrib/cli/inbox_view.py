"""Questions that wait for a person, as they are shown and as JSON."""

from collections.abc import Sequence
from typing import Any

from rich.console import Group
from rich.text import Text

from toolcrib.calls.approval.inbox import Waiting
from toolcrib.calls.approval.question import duration
from toolcrib.cli.output import View
from toolcrib.cli.tables import BAD, DIM, GOOD
from toolcrib.cli.terminal_text import ago, one_line, visible


def inbox_view(waiting: Sequence[Waiting], now: float) -> View:
    """All questions, with what may be answered; `now` in seconds since the epoch."""
    document = {"waiting": [waiting_document(one) for one in waiting]}
    if not waiting:
        return View(Text("Nothing waits for approval.", DIM), document)
    lines = [line for one in waiting for line in waiting_lines(one, now)]
    hint = "\n`toolcrib approve ID` lets a call out, with --deny it does not."
    return View(Group(*lines, Text(hint, DIM)), document)


def waiting_lines(one: Waiting, now: float) -> list[Text]:
    """One question, the arguments in full as far as they were kept."""
    age, left = ago(now - one.asked_at), ago(max(0.0, one.expires_at - now))
    head = Text.assemble((one.id, "bold"), f"  {one_line(one.server)}: {one_line(one.tool)}")
    rule = f"asked by {one_line(one.rule)}" if one.rule else "asked by default"
    who = f"  from {one_line(one.caller)}, {age} ago, waits {left} more; {rule}"
    arguments = [Text(f"    {line}") for line in visible(one.arguments).split("\n")]
    return [head, Text(who, DIM), *arguments, Text(f"  a yes may last: {_lasts(one)}", DIM)]


def answered_view(answered: Sequence[tuple[Waiting, str]]) -> View:
    """What was said to which question."""
    document = {"answered": [{**waiting_document(one), "answer": word} for one, word in answered]}
    lines = [
        Text(
            f"{one.id}  {one_line(one.server)}: {one_line(one.tool)}: {word}",
            BAD if word == "denied" else GOOD,
        )
        for one, word in answered
    ]
    return View(Group(*lines), document)


def waiting_document(one: Waiting) -> dict[str, Any]:
    """One question as JSON."""
    return {
        "id": one.id,
        "server": one.server,
        "tool": one.tool,
        "arguments": one.arguments,
        "caller": one.caller,
        "rule": one.rule,
        "remember": one.remember,
        "seconds": one.seconds if one.remember == "principal" else None,
        "asked_at": one.asked_at,
        "expires_at": one.expires_at,
    }


def _lasts(one: Waiting) -> str:
    match one.remember:
        case "call":
            return "for this call"
        case "run":
            return "for this call, or --for run"
        case "principal":
            return f"for this call, or --for run, or up to --for {_flag(one.seconds)}"


def _flag(seconds: float) -> str:
    """A duration as `--for` takes it, such as `8h`."""
    count, unit = duration(seconds).split()
    return f"{count}{unit[0]}"
