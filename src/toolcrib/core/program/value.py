"""What a program comes to that ends with an assignment: what it assigned.

Models often end so, and mean it. A last `if`, `try`, `with` or `match` comes to a name where each
of its ways that goes on to the end assigns that name last, or passes it by and it has had a value
before.
"""

import ast
from collections.abc import Sequence
from typing import Final

_LEAVES: Final = ast.Return | ast.Raise | ast.Continue | ast.Break
_NOTHING: Final = ""
_PASSED: Final = "pass"
"""In place of an expression: a way that assigns nothing."""


def with_value(source: str, tree: ast.Module) -> str:
    """The program, where need be with one line more that says its value."""
    value = _last(tree.body, _surely(tree.body[:-1]))
    text = source.rstrip()
    if not value or text.endswith("\\"):
        return source
    return f"{text}\n{value}\n"


def _last(body: Sequence[ast.stmt], before: frozenset[str]) -> str | None:
    """What a body comes to, as an expression; empty: nothing; None: its end is not reached."""
    if not body:
        return _NOTHING
    last, before = body[-1], before | _surely(body[:-1])
    match last:
        case ast.Assign(targets=targets):
            said = [_said(target) for target in targets]
            return next((each for each in said if each), _NOTHING)
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target, value=ast.expr()):
            return _said(target)
        case ast.If(body=first, orelse=other):
            return _agreed([_passed(first, before), _passed(other, before)], before)
        case ast.With(body=inside) | ast.AsyncWith(body=inside):
            return _last(inside, before)
        case ast.Try(body=inside, handlers=handlers, orelse=orelse):
            ways = [_passed(orelse or inside, before)]
            ways += [_passed(handler.body, before) for handler in handlers]
            return _agreed(ways, before)
        case ast.Match(cases=cases):
            ways = [_passed(case.body, before) for case in cases]
            return _agreed(ways if _takes_all(cases[-1]) else [*ways, _PASSED], before)
        case _:
            return None if isinstance(last, _LEAVES) else _NOTHING


def _passed(body: Sequence[ast.stmt], before: frozenset[str]) -> str | None:
    empty = all(isinstance(node, ast.Pass) for node in body)
    return _PASSED if empty else _last(body, before)


def _agreed(ways: Sequence[str | None], before: frozenset[str]) -> str | None:
    """The name that all ways come to."""
    ends = {way for way in ways if way is not None}
    if not ends:
        return None
    names = ends - {_PASSED}
    if len(names) != 1:
        return _NOTHING
    [name] = names
    return name if name in before or _PASSED not in ends else _NOTHING


def _takes_all(case: ast.match_case) -> bool:
    match case:
        case ast.match_case(pattern=ast.MatchAs(pattern=None), guard=None):
            return True
        case _:
            return False


def _said(target: ast.expr) -> str:
    """An expression for what was assigned; of `a["x"] = 1` it is `a`. Empty: there is none."""
    match target:
        case ast.Name(id=name):
            return name
        case ast.Starred(value=value):
            return _said(value)
        case ast.Subscript(value=ast.Name() | ast.Subscript() as value):
            return _said(value)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            parts = [_said(element) for element in elements]
            return f"({', '.join(parts)},)" if all(parts) else _NOTHING
        case _:
            return _NOTHING


def _surely(body: Sequence[ast.stmt]) -> frozenset[str]:
    """Names that have a value behind these statements, at the least."""
    found: set[str] = set()
    for node in body:
        match node:
            case ast.Assign(targets=targets):
                found.update(target.id for target in targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
                found.add(name)
            case _:
                pass
    return frozenset(found)
