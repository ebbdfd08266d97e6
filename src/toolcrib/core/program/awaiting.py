"""Which calls of a program its text does not wait for, as far as the text alone says so.

A call is waited for inside of `await`, and where what it is bound to is: `tasks = [f(n) for n in
ns]` and then `await gather(*tasks)`. What a lambda or a plain function returns is left to whoever
calls it.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from toolcrib.core.program.newer import parsed

_GROWING: Final = frozenset({"append", "add", "extend", "insert", "appendleft", "setdefault"})
"""Methods that keep what they are given."""


@dataclass(frozen=True, slots=True)
class Sightings:
    """Calls that nothing is seen to wait for."""

    places: frozenset[tuple[int, int]] = frozenset()
    """Lines and columns, from 1."""
    functions: Mapping[str, int] = field(default_factory=dict[str, int])
    """The line of the first one by the name of its function, as `main` or `asyncio.gather`."""


def unawaited(source: str) -> Sightings:
    """The calls of a Python program that it is not seen to wait for; none of what does not parse.

    Most of them are functions that nobody waits for: look up those that are known to need it.
    """
    try:
        tree, _ = parsed(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Sightings()
    bound = list(_bound(tree))
    waited = _waited(tree, bound)
    lines = source.split("\n")
    places: set[tuple[int, int]] = set()
    functions: dict[str, int] = {}
    calls = [it for it in ast.walk(tree) if isinstance(it, ast.Call) and id(it) not in waited]
    for call in sorted(calls, key=lambda it: (it.lineno, it.col_offset)):
        line = lines[call.lineno - 1].encode("utf-8", "replace")
        places.add((call.lineno, len(line[: call.col_offset].decode("utf-8", "replace")) + 1))
        functions.setdefault(_called(call.func), call.lineno)
    return Sightings(frozenset(places), functions)


def _bound(tree: ast.AST) -> Iterator[tuple[set[str], ast.AST]]:
    """Names, and what becomes a value of them or a part of it."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets, value):
                yield {name for target in targets for name in _roots(target)}, value
            case (
                ast.AnnAssign(target, _, ast.expr() as value)
                | ast.NamedExpr(target, value)
                | ast.AugAssign(target, _, value)
                | ast.For(target, value)
                | ast.AsyncFor(target, value)
                | ast.comprehension(target, value)
            ):
                yield set(_roots(target)), value
            case ast.Call(ast.Attribute(ast.expr() as kept, attr), args) if attr in _GROWING:
                names = set(_roots(kept))
                yield from ((names, arg) for arg in args)
            case _:
                pass


def _roots(target: ast.AST) -> Iterator[str]:
    """The names that are bound: of `a[0].b`, `a`."""
    match target:
        case ast.Name(name):
            yield name
        case ast.Attribute(value) | ast.Subscript(value) | ast.Starred(value):
            yield from _roots(value)
        case ast.Tuple(parts) | ast.List(parts):
            for part in parts:
                yield from _roots(part)
        case _:
            pass


def _waited(tree: ast.AST, bound: list[tuple[set[str], ast.AST]]) -> set[int]:
    """The calls that are waited for, or may be, by identity."""
    nodes: set[int] = set()
    values: dict[str, list[ast.AST]] = {}
    for targets, value in bound:
        for name in targets:
            values.setdefault(name, []).append(value)
    ready = [part for node in ast.walk(tree) for part in _waits_for(node)]
    while ready:
        part = ready.pop()
        if id(part) in nodes:
            continue
        for inner in ast.walk(part):
            nodes.add(id(inner))
            if isinstance(inner, ast.Name):
                ready += values.pop(inner.id, ())
    return nodes


def _waits_for(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of it that are waited for, or are left to whoever called it."""
    if isinstance(node, ast.Await | ast.Lambda) or _runs(node):
        yield node
    elif isinstance(node, ast.FunctionDef):
        yield from (it for it in ast.walk(node) if isinstance(it, ast.Return))


def _runs(node: ast.AST) -> bool:
    """Whether it is `asyncio.run(...)`."""
    return isinstance(node, ast.Call) and _called(node.func).rpartition(".")[2] == "run"


def _called(function: ast.AST) -> str:
    match function:
        case ast.Name(name):
            return name
        case ast.Attribute(value, name):
            of = _called(value)
            return f"{of}.{name}" if of else name
        case _:
            return ""
