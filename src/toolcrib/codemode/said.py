"""What a program returned, said as JSON as far as it can be.

Its calls are made by then, and a model that gets nothing makes them again. So nothing is refused:
sets become lists, dates and times texts in ISO form, decimal numbers and errors texts, keys texts;
what cannot be said at all is null, and named with its place.
"""

import base64
from collections import Counter
from collections.abc import Collection, Mapping, Sized
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any, Final, cast

from pydantic_core import to_jsonable_python

from toolcrib.codemode.plain import NODE, Copying, NotPlain, place
from toolcrib.core.finite import is_too_long
from toolcrib.core.quoting import clipped
from toolcrib.ports import Unawaited

RETURNED: Final = 16 * 1024 * 1024
"""What a returned value may weigh."""
_MOST: Final = 10
"""Remarks that are made; the others are counted."""
_ERROR: Final = 4_000
"""Characters of an error."""
_NESTED: Final = 8
"""Levels of tuples that a key may be made of."""
_KEY: Final = 10_000
"""Characters and members of a key that is no text: what is shared in it, each time it is there."""
_QUICK: Final = frozenset({bool, type(None)})
_CONSTANTS: Final[Mapping[object, str]] = {None: "null", True: "true", False: "false"}


@dataclass(frozen=True, slots=True)
class Said:
    """A value as JSON."""

    value: Any
    remarks: tuple[str, ...]
    """What is not said, or otherwise than it was; each names a place, in words of the program."""
    unawaited: tuple[tuple[str, Unawaited], ...] = ()
    """What was not waited for, by its place; null stands there."""
    cut: bool = False
    """Whether something is left out because all of it weighs too much."""


def said(value: object, most: int = RETURNED) -> Said:
    """The value of a program.

    Args:
        value: Whatever its runtime handed out.
        most: What it may weigh, as `Copying` counts; the rest is cut off.
    """
    return _Saying(most).all_of(value)


class _Saying(Copying):
    def __init__(self, most: int) -> None:
        super().__init__(most)
        self._steps: list[str | int] = []
        self._remarks: list[str] = []
        self._unmade = 0
        self._unawaited: list[tuple[str, Unawaited]] = []
        self._made: list[object] = []
        """Arrays of ours: `_known` goes by identity, so that none of them may pass on its own."""
        self._full = False
        """Whether what was cut off is told."""

    def all_of(self, value: object) -> Said:
        """The value, with what there is to be said of it."""
        copy = self._tried(value, 0)
        if self._unmade:
            self._remarks.append(f"{self._unmade:,} more places are no JSON")
        return Said(copy, tuple(self._remarks), tuple(self._unawaited[:_MOST]), self._full)

    def _tried(self, value: object, depth: int) -> Any:
        try:
            return self.of(value, depth)
        except NotPlain as broken:
            if isinstance(value, Unawaited):
                self._unawaited.append((place(self._steps), value))
            elif broken.there:
                self._remark(f"is {broken.found}; null stands there")
            else:
                self._cut()
            return None

    def _cut(self) -> None:
        """There is no room for more, whatever it is."""
        if not self._full:
            self._full = True
            where = "its end" if not self._steps else f"what follows {place(self._steps)}"
            self._remarks.append(f"the value is {self._too_much().found}: {where} is left out")

    def _remark(self, what: str) -> None:
        if len(self._remarks) < _MOST:
            self._remarks.append(f"{place(self._steps)} {what}")
        else:
            self._unmade += 1

    def _other(self, value: object, depth: int) -> Any:
        match value:
            case str():
                return self._text(value)
            case set() | frozenset():
                return self._set(cast("frozenset[object]", value), depth)
            case date() | time() | timedelta():
                return self._text(to_jsonable_python(value))
            case Decimal() | type():
                return self._text(str(cast("object", value)))
            case BaseException():
                return self._text(clipped(f"{type(value).__name__}: {_words(value)}", _ERROR))
            case bytes():
                return self._bytes(value)
            case int() if is_too_long(value):
                self._remark("is told in hexadecimal: readers of JSON take no integer so long")
                return self._text(hex(value))
            case _:
                return super()._other(value, depth)

    def _set(self, value: frozenset[object], depth: int) -> Any:
        listed = list(value)
        if all(isinstance(it, str) for it in listed):
            listed.sort(key=str)
        self._made.append(listed)
        return self.of(listed, depth)

    def _bytes(self, value: bytes) -> str:
        try:
            return self._text(value.decode())
        except UnicodeDecodeError:
            self._remark("is told in base64: it is bytes that are no text")
            return self._text(base64.b64encode(value).decode())

    def _text(self, text: str) -> str:
        room = max(self._left, 0)
        self._left -= len(text)
        if len(text) > room:
            self._cut()
        return text[:room]

    def _object(self, value: dict[object, object], depth: int) -> dict[str, Any]:
        copy: dict[str, Any] = {}
        alike: Counter[str] = Counter()
        for key, inner in value.items():
            if self._is_full():
                break
            name = _name(key)
            if name in copy:  # 1 and "1" are two keys, and stay two
                name = _apart(f"{name} ({type(key).__name__}", copy, alike)
            self._left -= len(name)
            copy[name] = self._step(name, inner, depth)
        return copy

    def _array(self, value: list[object], depth: int) -> list[Any]:
        copy: list[Any] = []
        for at, inner in enumerate(value):
            if self._is_full():
                break
            copy.append(self._step(at, inner, depth))
        return copy

    def _is_full(self) -> bool:
        if self._left < NODE:
            self._cut()
        return self._full

    def _step(self, step: str | int, inner: object, depth: int) -> Any:
        self._left -= NODE
        if type(inner) in _QUICK:
            return inner
        self._steps.append(step)
        try:
            return self._tried(inner, depth + 1)
        finally:
            self._steps.pop()


def _apart(name: str, copy: Collection[str], alike: Counter[str]) -> str:
    """The name with the first number that is free; none is looked at twice."""
    while True:
        alike[name] += 1
        number = f" {alike[name]}" if alike[name] > 1 else ""
        if (apart := f"{name}{number})") not in copy:
            return apart


def _name(key: object, within: int = 0) -> str:
    """A key as a text."""
    match key:
        case str():
            return key
        case tuple() | frozenset() if not within and not _is_small(cast("object", key)):
            return f"a {type(cast('object', key)).__name__} that is too large"
        case None | bool():
            return _CONSTANTS[key]
        case date() | time() | timedelta():
            return str(to_jsonable_python(key))
        case tuple() if within < _NESTED:
            parts = cast("tuple[object, ...]", key)
            return ", ".join(_name(part, within + 1) for part in parts)
        case int() if is_too_long(key):
            return hex(key)
        case tuple():
            return "..."
        case _:
            return _words(key)


def _is_small(value: object) -> bool:
    """Whether a value is small once it is written out."""
    left, inside = _KEY, [value]
    while inside and left > 0:
        part = inside.pop()
        if not isinstance(part, Sized):
            left -= 1
            continue
        left -= len(part) + 1
        if left > 0 and not isinstance(part, str | bytes):
            inside += cast("Collection[object]", part)
            inside += cast("dict[object, object]", part).values() if isinstance(part, dict) else ()
    return left > 0


def _words(value: object) -> str:
    """The text of a value, which something within it may keep from being made.

    That is an integer of too many digits, too many levels, or what is larger than all memory once
    it is written out.
    """
    parts = value.args if isinstance(value, BaseException) else ()
    try:
        if all(isinstance(part, str) or _is_small(part) for part in parts):
            return str(value)
    except (ValueError, RecursionError):
        pass
    return f"a {type(value).__name__}"
