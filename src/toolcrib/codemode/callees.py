"""What the names in a program stand for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from toolcrib.calls.call import Requester
from toolcrib.codemode.plain import ARGUMENTS, NotPlain, plain
from toolcrib.core.jsontypes import is_object
from toolcrib.core.quoting import quoted
from toolcrib.errors import BadArguments, ToolGone
from toolcrib.ports import Called

TOOLCRIB: Final = "toolcrib"
"""The module that is always there."""
RAW: Final = "call"
"""Its function that calls a tool by its raw name."""
_LONGEST_NAME: Final = 1_024
"""Characters of a raw name: it is written down, and told to models, people and logs."""


@dataclass(frozen=True, slots=True)
class Callee:
    """A tool that a program calls."""

    server: str
    tool: str
    """Its own name."""
    contract: str = ""
    """As the program was told of it; empty: it was not."""
    originals: Mapping[str, str] = field(default_factory=dict[str, str])
    """The names of parameters on the server, by those in the program, where they differ."""


class Callees(Protocol):
    """Leads names in a program back to tools, as they were when it began."""

    def named(self, module: str, function: str) -> Callee | None:
        """What a function stands for; None: nothing."""
        ...

    async def reach(self, server: str, requester: Requester) -> None:
        """Have a server there, which a call is about to go to.

        Raises:
            ToolGone: There is none; it names what looks like it.
            NotAllowed: Its caller has not enabled it.
        """
        ...

    def in_own_names(self, gone: ToolGone, server: str, tool: str) -> ToolGone:
        """The error for a tool that is gone, with the names that programs call by."""
        ...


def callee_of(called: Called, callees: Callees) -> tuple[Callee, dict[str, Any]]:
    """The tool that a program called, and its arguments; nothing of a call is taken on trust.

    Whether there is such a tool is not said for raw names.

    Raises:
        ToolGone: It stands for none.
        BadArguments: They are not given by name, or are no JSON.
    """
    if (called.module, called.function) == (TOOLCRIB, RAW):
        server, tool, arguments = _raw(called)
        return Callee(server, tool), arguments
    callee = callees.named(called.module, called.function)
    if callee is None:
        raise ToolGone(f"there is no function {called.module}.{called.function}")
    given = _given(called)
    arguments = {callee.originals.get(name, name): it for name, it in given.items()}
    if len(arguments) < len(given):
        twice = next(name for name in given if callee.originals.get(name, name) != name)
        raise BadArguments(f"{quoted(twice)} is given twice, also as its own name")
    return callee, arguments


def _given(called: Called) -> dict[str, Any]:
    """The arguments by name; one object alone counts as all of them."""
    args, kwargs = called.args, called.kwargs
    if len(args) == 1 and not kwargs and is_object(args[0]):
        kwargs = args[0]
    elif args:
        raise BadArguments(
            f"{called.module}.{called.function} takes its arguments by name, not by position"
        )
    return _json(kwargs)


def _raw(called: Called) -> tuple[str, str, dict[str, Any]]:
    names = ("server", "tool", "args")
    given: dict[str, Any] = {**dict(zip(names, called.args, strict=False)), **called.kwargs}
    server, tool = given.get("server"), given.get("tool")
    arguments: object = given.get("args")
    fits = _is_name(server) and _is_name(tool) and len(called.args) <= len(names)
    if not fits or given.keys() - set(names):
        raise BadArguments(f"{TOOLCRIB}.{RAW} takes (server, tool, args): two names and an object")
    if arguments is None:
        arguments = {}
    if not is_object(arguments):
        raise BadArguments(f"{TOOLCRIB}.{RAW}: args is no object")
    return str(server), str(tool), _json(arguments)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_NAME


def _json(arguments: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return plain(dict(arguments), ARGUMENTS)
    except NotPlain as broken:
        raise BadArguments(f"the arguments are no JSON: {broken}") from None
