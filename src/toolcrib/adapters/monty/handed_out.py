"""What Monty hands out of a program, where it is no value of Python's own.

Objects of the program's classes come as proxies, and become objects of their attributes; paths
become texts. Coroutines come as texts, which a tool may as well have said: so a text counts as one
only where the program has such a call, or such a function.
"""

import re
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import PurePath
from typing import Any, Final, cast

from pydantic_monty import MontyClassProxy, MontyClassTypeProxy, MontyStdTypeProxy

from toolcrib.ports import Unawaited

_GATHER: Final = "asyncio.gather"
_DEEPEST: Final = 100
"""Levels that are looked at: nobody takes a value that is deeper."""
_CALL: Final = re.compile(r"<coroutine external_future\((\d{1,9})\)>")
_FUNCTION: Final = re.compile(r"<coroutine object ([^\W\d]\w{0,200})>")
_GATHERED: Final = re.compile(r"<gather\(\d{1,9}\)>")
_GATHERS: Final = re.compile(r"\bgather\s*\(")
_DEFINES: Final = re.compile(r"\basync\s+def\s+(\w+)")
_LONGEST: Final = 250
"""Characters of what such a text has at most."""

Made = Callable[[int], Unawaited | None]
"""What the program made under a number of Monty's; None: nothing."""


class HandedOut:
    """Makes values of what comes out of one program.

    Args:
        text: The program.
        beside: What runs with it.
        made: Which calls it made.
    """

    def __init__(self, text: str, beside: Iterable[str], made: Made) -> None:
        self._text = text
        self._texts = [text, *beside]
        self._made_as = made
        self._known: dict[int, tuple[Any, Any]] = {}
        """What was made of arrays and objects, by the identity of these, which are kept alive."""

    def value(self, value: Any, depth: int = 0) -> Any:
        """The value, or itself where there is nothing to be made of it."""
        match value:
            case str():
                is_odd = value.startswith("<") and len(value) <= _LONGEST
                return self._unawaited(value) or value if is_odd else value
            case PurePath():
                return str(value)
            case MontyClassTypeProxy():
                return f"<class '{value.name}'>"
            case MontyStdTypeProxy():
                return f"<{value.kind} '{value.name}'>"
            case list() | tuple() | dict() | set() | frozenset() | MontyClassProxy():
                if depth >= _DEEPEST:
                    return cast("object", value)
                known = self._known.get(id(cast("object", value)))
                made = self._made(value, depth + 1) if known is None else known[1]
                self._known[id(cast("object", value))] = (value, made)
                return made
            case _:
                return value

    def _made(self, value: Any, depth: int) -> Any:
        if isinstance(value, MontyClassProxy):
            return {name: self.value(it, depth) for name, it in value.attributes.items()}
        if isinstance(value, dict):
            members = cast("dict[Any, Any]", value)
            made = {key: self.value(it, depth) for key, it in members.items()}
            return made if any(made[key] is not it for key, it in members.items()) else members
        parts = list(cast("list[Any]", value))
        inner = [self.value(it, depth) for it in parts]
        changed = any(one is not other for one, other in zip(inner, parts, strict=True))
        return inner if changed else value

    def _unawaited(self, text: str) -> Unawaited | None:
        if (found := _CALL.fullmatch(text)) is not None:
            return self._made_as(int(found[1]))
        if (found := _FUNCTION.fullmatch(text)) is not None:
            return Unawaited(function=found[1]) if found[1] in self._functions else None
        gathers = _GATHERED.fullmatch(text) and self._gathers
        return Unawaited(function=_GATHER) if gathers else None

    # A value may hold such a text a million times: the program is read once for all of them.

    @cached_property
    def _functions(self) -> frozenset[str]:
        """The asynchronous functions that the program, or what runs with it, defines."""
        return frozenset(name for text in self._texts for name in _DEFINES.findall(text))

    @cached_property
    def _gathers(self) -> bool:
        return _GATHERS.search(self._text) is not None
