"""What ended a program, from what Monty raised."""

import ast
import re
from dataclasses import replace
from typing import Final

from pydantic_monty import MontyCrashedError, MontyError, MontyRuntimeError, MontySyntaxError

from toolcrib.adapters.monty.places import Source
from toolcrib.core.program.hints import CONSTRUCT_HINTS
from toolcrib.ports import Failed, FailedWhy, Place
from toolcrib.settings import CodeSettings

_NEVER_CLOSED: Final = re.compile(r"('[(\[{]') was never closed")
_DENIED: Final = "Permission denied"
_LONGEST: Final = 32 * 1024
"""Characters of a message."""


def failed(error: MontyError, source: Source, settings: CodeSettings, *, ran: bool) -> Failed:
    """The end of a program.

    Args:
        error: What the session raised.
        source: The program, to tell its own lines.
        settings: The limits, to name the one that was reached.
        ran: Whether the program has called or printed anything.
    """
    if isinstance(error, MontyCrashedError):
        return _lost(error, settings)
    if not isinstance(error, MontyRuntimeError | MontySyntaxError):
        return Failed("raised", str(error)[:_LONGEST])
    frames = error.traceback()
    message = error.display("type-msg")[:_LONGEST]
    if frames and all(frame.function_name is None for frame in frames) and not ran:
        # No code has a place yet: the parser said no, before anything ran.
        why = "syntax" if isinstance(error, MontySyntaxError) else "unsupported"
        return Failed(why, _unprefixed(message), source.trace(frames), executed=False)
    raised = error.exception()
    why, limit = _limit(raised, settings, uncaught=not frames)
    if limit:
        message = f"{message} ({limit})"
    elif isinstance(raised, PermissionError) and str(raised).startswith(_DENIED):
        message = f"{message} ({CONSTRUCT_HINTS['open']})"
    return Failed(why, message, source.trace(frames))


def unclosed(failed: Failed, source: Source, text: str) -> Failed:
    """The end of a program; where a bracket of it has no end, that bracket and its line.

    A parser that looks for the end finds nothing but the end of the text.
    """
    if failed.why != "syntax" or failed.executed:
        return failed
    try:
        ast.parse(text)
    except SyntaxError as error:
        found = _NEVER_CLOSED.fullmatch(error.msg)
        if found is None or error.lineno is None:
            return failed
        place = Place(error.lineno, error.offset or 0, source.line(error.lineno))
        told = f"script.py:{place.line}:{place.column}: this {found[1]} is not closed"
        return replace(failed, message=f"{told}\n    {place.text.strip()}", trace=(place,))
    except (ValueError, RecursionError, MemoryError):
        return failed
    return failed


def _lost(error: MontyCrashedError, settings: CodeSettings) -> Failed:
    if error.timed_out:
        most = f"code.interpreter_seconds: {settings.interpreter_seconds:g}"
        return Failed("interpreter_seconds", f"the program was stopped from outside ({most})")
    return Failed("crashed", "the process that ran the program ended under it")


def _unprefixed(message: str) -> str:
    """A parser's message without the name of its exception, which no program could catch."""
    kind, colon, rest = message.partition(": ")
    return rest if colon and kind in {"SyntaxError", "NotImplementedError"} else message


def _limit(
    error: BaseException, settings: CodeSettings, *, uncaught: bool
) -> tuple[FailedWhy, str]:
    """Which limit was reached, and its setting; `raised` and nothing where there was none."""
    said = str(error)
    match error:
        case TimeoutError() if uncaught and said.startswith("turn time"):
            return "interpreter_seconds", f"code.turn_seconds: {settings.turn_seconds:g}"
        case TimeoutError() if uncaught and said.startswith("feed time"):
            most = f"code.interpreter_seconds: {settings.interpreter_seconds:g}"
            return "interpreter_seconds", most
        case MemoryError() if "memory limit" in said:
            return "memory", f"code.memory_bytes: {settings.memory_bytes}"
        case RecursionError():
            return "depth", ""
        case RuntimeError() if said.startswith("suspension limit"):
            return "suspensions", f"code.calls: {settings.calls}"
        case _:
            return "raised", ""
