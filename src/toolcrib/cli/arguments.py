r"""The arguments of a call, as a command line can write them.

- `name=value`: the value as JSON where it is JSON (`n=3`, `on=true`, `ids=[1,2]`), else as text.
- `name:=value`: the value must be JSON; `id:="3"` is how a text of digits is written.
- `outer.inner=value`: a member of an object; `a\.b=value` is a name with a dot in it.
- all of them at once as JSON: `{…}`, `@file`, or `-` for standard input, once, among the others or
  by itself; single ones come on top, wherever they stand.

Errors name the argument and never its value, which may be a secret.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NoReturn, TextIO

from toolcrib.cli.exits import UsageError
from toolcrib.core.jsontypes import is_object

_DOT: Final = re.compile(r"(?<!\\)\.")
_FORMS: Final = "write name=value, name:=json or outer.inner=value"


def parse_arguments(
    pairs: Sequence[str], whole: str | None = None, stdin: TextIO | None = None
) -> dict[str, Any]:
    """The arguments object of a call.

    Args:
        pairs: single arguments, such as `path=/tmp` or `depth:=2`, and all at once.
        whole: all arguments at once: JSON, `@file` or `-`.
        stdin: what `-` reads.

    Raises:
        UsageError: something cannot be understood, or is said twice.
    """
    wholes = [(pair, "{…}") for pair in pairs if _is_whole(pair)]
    if whole is not None:
        wholes.append((whole, "--args"))
    if len(wholes) > 1:
        raise UsageError("all arguments at once are given twice", remedy="keep one")
    arguments = _whole(*wholes[0], stdin) if wholes else {}
    given: set[tuple[str, ...]] = set()
    for pair in (pair for pair in pairs if not _is_whole(pair)):
        way, value = _pair(pair)
        if way in given:
            raise UsageError(f"argument {'.'.join(way)} is given twice", remedy="keep one")
        given.add(way)
        _put(arguments, way, value)
    return arguments


def _is_whole(word: str) -> bool:
    """Whether a word on the command line is all arguments at once."""
    return word == "-" or word.lstrip().startswith(("{", "@"))


def _pair(pair: str) -> tuple[tuple[str, ...], Any]:
    name, equals, text = pair.partition("=")
    if not equals:
        raise UsageError(f"argument {name!r} has no value", remedy=_FORMS)
    forced = name.endswith(":")
    name = name.removesuffix(":")
    way = tuple(part.replace(r"\.", ".") for part in _DOT.split(name))
    if not all(way):
        raise UsageError(f"argument {name!r} has an empty name", remedy=_FORMS)
    try:
        return way, _json(text)
    except ValueError as error:
        if forced:
            _not_json(f"the value of argument {name}", error, "quote it, or write = instead of :=")
        return way, text


def _put(arguments: dict[str, Any], way: tuple[str, ...], value: Any) -> None:
    inner = arguments
    for depth, part in enumerate(way[:-1], start=1):
        member: Any = inner.setdefault(part, {})
        if not is_object(member):
            outer = ".".join(way[:depth])
            raise UsageError(
                f"argument {'.'.join(way)} is inside {outer}, which is no object",
                remedy=f"leave out {outer}, or make it an object",
            )
        inner = member
    inner[way[-1]] = value


def _whole(whole: str, where: str, stdin: TextIO | None) -> dict[str, Any]:
    text = whole
    if whole == "-":
        text, where = _standard_input(stdin), "standard input"
    elif whole.startswith("@"):
        text, where = _file(whole[1:]), whole[1:]
    try:
        value = _json(text)
    except ValueError as error:
        _not_json(where, error, "write one JSON object, and quote it for the shell")
    if not is_object(value):
        raise UsageError(f"{where} is JSON, but no object", remedy='write {"name": value}')
    return value


def _standard_input(stdin: TextIO | None) -> str:
    if stdin is None:
        raise UsageError("there is no standard input to read", remedy="write --args @file")
    try:
        return stdin.read()
    except UnicodeDecodeError:
        raise UsageError("standard input is no UTF-8 text", remedy="send JSON in UTF-8") from None


def _file(name: str) -> str:
    try:
        return Path(name).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{name} is no UTF-8 text", remedy="save it as UTF-8") from None
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        raise UsageError(f"cannot read {name}: {reason}", remedy="check the path") from None


def _json(text: str) -> Any:
    """The value of a JSON text; the words NaN and Infinity are none."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("is nested too deep") from None


def _no_constant(_word: str) -> NoReturn:
    raise ValueError("holds a number that JSON has not")


def _not_json(what: str, error: ValueError, remedy: str) -> NoReturn:
    place = ""
    if isinstance(error, json.JSONDecodeError):
        place = f" (line {error.lineno}, column {error.colno})"
    raise UsageError(f"{what} is no JSON{place}", remedy=remedy) from None
