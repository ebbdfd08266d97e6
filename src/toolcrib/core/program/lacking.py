"""What a small Python lacks, found in the syntax of a program.

Which of these it lacks is found by trying the installed version (`ports.Abilities`); here is only
what each of them looks like. A name that is not in the table says itself what it is of:

    builtins.dir                      a name that is always there
    datetime.UTC                      a member of a module, or of a class of one
    builtins.str.upper()              a method of a class, called by it
    builtins.str.upper as a value     the same, handed on and not called
    .translate()                      a method that no value has
    .upper as a value                 a method that every value has only to be called
    .errno                            a member that no value has
    json.loads(object_hook=)          an argument
"""

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from toolcrib.core.program.hints import CONSTRUCT_HINTS, hint
from toolcrib.core.program.names import BUILTINS, Names
from toolcrib.core.program.syntax import LOOKS, Look

_PLAIN: Final = (
    ast.Name
    | ast.Attribute
    | ast.Constant
    | ast.expr_context
    | ast.arguments
    | ast.arg
    | ast.keyword
    | ast.operator
    | ast.cmpop
    | ast.Expr
    | ast.Assign
    | ast.Await
    | ast.JoinedStr
    | ast.FormattedValue
    | ast.Subscript
)
"""Most of every program; none of it looks like anything that is lacking."""
AS_VALUE: Final = " as a value"


@dataclass(frozen=True, slots=True)
class _Lacking:
    """What a runtime lacks, by how it is looked for."""

    looks: tuple[tuple[str, Look], ...]
    others: frozenset[str]
    arguments: Mapping[str, frozenset[str]]
    """By function, the names of arguments that it does not take."""


@lru_cache(maxsize=8)
def _sorted(lacking: frozenset[str]) -> _Lacking:
    arguments: dict[str, frozenset[str]] = {}
    for name in lacking - LOOKS.keys():
        function, given, rest = name.partition("(")
        if given and rest.endswith("=)"):
            arguments[function] = arguments.get(function, frozenset()) | {rest[:-2]}
    looks = tuple((name, look) for name, look in LOOKS.items() if name in lacking)
    return _Lacking(looks, lacking - LOOKS.keys(), arguments)


def found(
    nodes: list[ast.AST], names: Names, lacking: Collection[str]
) -> Iterator[tuple[int, str, str]]:
    """Line, name and hint of everything in a program that a runtime lacks, in no order."""
    sought = _sorted(frozenset(lacking))
    if not lacking:
        return
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    for node in nodes:
        line = getattr(node, "lineno", 0)
        for name, look in () if isinstance(node, _PLAIN) else sought.looks:
            if look(node, names):
                yield line, name, CONSTRUCT_HINTS.get(name, "")
        for name in _named(node, names, called=id(node) in called):
            if name in sought.others:
                yield line, _shown(name), hint(name)
        for name in _given(node, names, sought.arguments):
            yield line, _shown(name), hint(name)


def _shown(name: str) -> str:
    return name.removeprefix(f"{BUILTINS}.")


def _named(node: ast.AST, names: Names, *, called: bool) -> list[str]:
    """What a node may be called in what is lacking."""
    match node:
        case ast.ImportFrom(module=str(module), level=0):
            return [f"{module}.{alias.name}" for alias in node.names]
        case ast.Name(ctx=ast.Load()):
            path = names.path(node)
            return [path] if path.startswith(f"{BUILTINS}.") else []
        case ast.Attribute(ctx=ast.Load(), attr=member):
            return _member(names.path(node), member, names, called=called)
        case ast.Call(args=[of, ast.Constant(value=str(member))], keywords=[]):
            if names.path(node.func) == f"{BUILTINS}.getattr":
                path = names.path(of)
                return _member(f"{path}.{member}" if path else "", member, names, called=False)
            return []
        case _:
            return []


def _member(path: str, member: str, names: Names, *, called: bool) -> list[str]:
    if not path and names.gives(member):
        return []
    whole = path or f".{member}"
    if called:
        return [whole, f"{whole}()"]
    return [whole, f"{whole}{AS_VALUE}", f"{whole}()"]


def _given(node: ast.AST, names: Names, arguments: Mapping[str, frozenset[str]]) -> Iterator[str]:
    if isinstance(node, ast.Call) and node.keywords:
        function = names.path(node.func)
        for keyword in node.keywords:
            if keyword.arg is not None and keyword.arg in arguments.get(function, ()):
                yield f"{function}({keyword.arg}=)"
