"""Lines of JSON between a runner and us. A program can have written any of them: none is believed.

What a line can do is tell a call, a text, an end; what does not read as one of these, counts calls
otherwise than they come or goes on without end makes the program `crashed`.
"""

import json
import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Final, cast

from toolcrib.adapters.line_splitter import LongLine
from toolcrib.adapters.programs.printing import Printing
from toolcrib.core.jsontypes import is_object
from toolcrib.ports import (
    NOWHERE,
    Called,
    Event,
    Failed,
    FailedWhy,
    Finished,
    Place,
    Printed,
    Program,
    Unawaited,
    Waits,
)
from toolcrib.settings import CodeSettings

_WHYS: Final[Mapping[str, FailedWhy]] = {
    "syntax": "syntax",
    "unsupported": "unsupported",
    "types": "types",
    "raised": "raised",
    "sleep_seconds": "sleep_seconds",
    "depth": "depth",
}
_LONGEST: Final = 32 * 1024
"""Characters of a message."""
_LONGEST_LINE: Final = 200
"""Characters of a line that are repeated."""
_PLACES: Final = 20
_NAN: Final = "0e999"
"""How a runner writes NaN; infinities are numbers that are too large."""
_UNAWAITED: Final = "0e-"
"""What stands before the number of a call that the program did not wait for; 0: of no call."""
_ID: Final = 9
"""Digits of such a number."""
_PARTS: Final = ("line", "column", "function")
"""Of a place."""
_CALLS_MORE: Final = 50
"""Calls beyond `code.calls` that are still told, so that each can be refused with a reason."""
_PRINT_TIMES: Final = 4
ROOM: Final = 64 * 1024
"""Bytes of a line beside the value in it."""


class Malformed(Exception):
    """A line that no runner writes."""


class BigInt(Decimal):
    """An integer of more digits than Python makes an `int` of; no JSON, and called what it is."""


def print_room(settings: CodeSettings) -> int:
    """Characters that a runner passes on; it counts the rest."""
    return settings.print_bytes * _PRINT_TIMES


class Frames:
    """Reads what comes out of the worker of one program.

    Args:
        program: What it runs.
        settings: Its limits.
    """

    def __init__(self, program: Program, settings: CodeSettings) -> None:
        self._program = program
        self._lines = program.source.splitlines()
        self._settings = settings
        self._calls = 0
        self._printed = 0
        self._told: list[Event] = []
        self._printing = Printing(settings.print_bytes, self._told.append)
        self.open: set[int] = set()
        """Calls that are not answered."""

    @property
    def ran(self) -> bool:
        """Whether the program has done anything that shows."""
        return self._calls > 0 or self._printing.any

    def read(self, line: bytes | LongLine) -> list[Event]:
        """The events that a line tells.

        Raises:
            Malformed: It tells none.
        """
        if isinstance(line, LongLine):
            raise Malformed("a line without end")
        frame = _parsed(line)
        match frame.get("type"):
            case "print":
                self._print(_text(frame, "text"))
            case "dropped":
                self._printing.dropped += _count(frame, "count")
            case "call":
                self._told.append(self._call(frame))
            case "waits":
                self._told += [Waits(tuple(sorted(self.open)))] if self.open else []
            case "done":
                self._end(Finished(frame.get("value"), _ids(frame)))
            case "failed":
                self._end(self._failed(frame))
            case _:
                raise Malformed("a line of no known kind")
        told = list(self._told)
        self._told.clear()
        return told

    def dropped(self) -> Iterable[Printed]:
        """What is to be said of printed text that nobody took, before an end."""
        return [Printed("", self._printing.dropped)] if self._printing.dropped else ()

    def _print(self, text: str) -> None:
        self._printed += len(text)
        if self._printed > print_room(self._settings):
            raise Malformed("more printed text than a runner passes on")
        self._printing("stdout", whole(text))

    def _call(self, frame: Mapping[str, Any]) -> Called | Failed:
        id_, module = frame.get("id"), _text(frame, "module")
        function, args = _text(frame, "function"), frame.get("args")
        known = self._program.modules.get(module)
        if type(id_) is not int or id_ != self._calls + 1:
            raise Malformed("a call out of turn")
        if known is None or function not in known.functions or not isinstance(args, list):
            raise Malformed("a call of nothing")
        most = self._settings.calls
        if id_ > most * _PRINT_TIMES + _CALLS_MORE:
            return Failed(
                "suspensions", f"RangeError: it makes too many calls (code.calls: {most})"
            )
        self._calls = id_
        self.open.add(id_)
        place = self._place(frame.get("line"), frame.get("column"), "")
        return Called(id_, module, function, tuple(cast("list[Any]", args)), {}, place)

    def _end(self, end: Finished | Failed) -> None:
        self._told += [*self.dropped(), end]

    def _failed(self, frame: Mapping[str, Any]) -> Failed:
        why = _WHYS.get(str(frame.get("why")))
        trace, executed = frame.get("trace"), frame.get("executed")
        if why is None or not isinstance(trace, list) or not isinstance(executed, bool):
            raise Malformed("an end of no known kind")
        message = whole(_text(frame, "message")[:_LONGEST])
        places = [self._listed(each) for each in cast("list[Any]", trace)[:_PLACES]]
        return Failed(why, message, tuple(places), executed=executed or self.ran)

    def _listed(self, listed: object) -> Place:
        place = cast("list[object]", listed) if isinstance(listed, list) else []
        if len(place) != len(_PARTS) or not isinstance(function := place[2], str):
            raise Malformed("a place that is none")
        return self._place(place[0], place[1], whole(function[:_LONGEST_LINE]))

    def _place(self, line: object, column: object, function: str) -> Place:
        if type(line) is not int or type(column) is not int:
            raise Malformed("a place that is none")
        if not 0 < line <= len(self._lines):
            return NOWHERE
        return Place(line, max(column, 0), self._lines[line - 1][:_LONGEST_LINE], function)


def version_of(line: bytes | LongLine) -> str:
    """What the first line of a runner tells: the version of its Deno.

    Raises:
        Malformed: It is no such line.
    """
    if isinstance(line, LongLine):
        raise Malformed("a first line without end")
    frame = _parsed(line)
    if frame.get("type") != "ready":
        raise Malformed("a first line of no known kind")
    return _text(frame, "version")


def whole(text: str) -> str:
    """A text without halves of characters, which JSON can hold and nobody can write."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _parsed(line: bytes) -> Mapping[str, Any]:
    try:
        frame: object = json.loads(
            line, parse_constant=_refuse, parse_float=_number, parse_int=_integer
        )
    except (ValueError, RecursionError) as error:
        raise Malformed("a line that is no JSON") from error
    if not is_object(frame):
        raise Malformed("a line that is no object")
    return frame


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _number(digits: str) -> float | Unawaited:
    if digits.startswith(_UNAWAITED):
        return Unawaited(int(digits.removeprefix(_UNAWAITED)[:_ID]))
    return math.nan if digits == _NAN else float(digits)


def _integer(digits: str) -> int | BigInt:
    try:
        return int(digits)
    except ValueError:  # its digits are more than an `int` is made of
        return BigInt(digits)


def _text(frame: Mapping[str, Any], key: str) -> str:
    found = frame.get(key)
    if not isinstance(found, str):
        raise Malformed(f"a line without {key}")
    return found


def _ids(frame: Mapping[str, Any]) -> frozenset[int]:
    found: object = frame.get("untaken", [])
    ids = cast("list[object]", found) if isinstance(found, list) else [None]
    if not all(type(id_) is int for id_ in ids):
        raise Malformed("a line with what are no calls")
    return frozenset(cast("list[int]", ids))


def _count(frame: Mapping[str, Any], key: str) -> int:
    found = frame.get(key)
    if type(found) is not int or found < 0:
        raise Malformed(f"a line without {key}")
    return found
