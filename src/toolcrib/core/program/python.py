"""A Python program before it runs: is it one that can run, and what does it come to?

    checked = check_python(source, limits, lacking=..., modules=...)
    checked.problems        # in words, each with its line; empty: it may run
    checked.source          # the same text, and where need be one line more at its end

Text that this parser does not take is left to the runtime, which may know a newer grammar and says
what is wrong in its own words.
"""

import ast
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from types import MappingProxyType
from typing import Final

from toolcrib.core.program.hints import CONSTRUCT_HINTS, hint_for_module
from toolcrib.core.program.lacking import found
from toolcrib.core.program.names import Names, unannotated
from toolcrib.core.program.newer import TYPE_STATEMENT, parsed
from toolcrib.core.program.problem import Problem
from toolcrib.core.program.value import with_value
from toolcrib.core.quoting import enumerated, quoted

NO_MODULES: Final[Mapping[str, Collection[str]]] = MappingProxyType({})
NO_REASONS: Final[Mapping[str, str]] = MappingProxyType({})

_MOST: Final = 10
"""Problems that are told."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How large a program may be."""

    size: int
    """Bytes in UTF-8 (`code.source_bytes`)."""
    depth: int
    """Levels of its syntax (`code.source_depth`)."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found."""

    source: str
    """To be run."""
    problems: tuple[Problem, ...] = ()


def check_python(
    source: str,
    bounds: Bounds,
    *,
    lacking: Collection[str] = (),
    missing: Collection[str] = (),
    modules: Mapping[str, Collection[str]] = NO_MODULES,
    away: Mapping[str, str] = NO_REASONS,
) -> Checked:
    """Whether a program may run.

    Args:
        source: As the model wrote it.
        bounds: How large it may be.
        lacking: Names of what the runtime lacks of the language.
        missing: Modules of the standard library that it lacks.
        modules: Modules of servers, which it has, with their functions; without any, nothing is
            said of what is imported from it.
        away: Why a module is not known now.
    """
    if (large := too_large(source, bounds.size)) is not None:
        return Checked(source, (large,))
    try:
        tree, newer = parsed(source)
    except (RecursionError, MemoryError):
        return Checked(source, (_too_deep(bounds),))
    except (SyntaxError, ValueError):
        return Checked(source)
    if not _within(tree, bounds.depth):
        return Checked(source, (_too_deep(bounds),))
    nodes = unannotated(tree)
    names = Names(nodes)
    imports = islice(_imports(nodes, missing, modules, away), _MOST)  # to look for names takes long
    lacked = _constructs(nodes, names, lacking)
    statements = _newer(newer, lacking)
    lines = source.splitlines()
    told = [
        Problem("unsupported", message, line, lines[line - 1] if 0 < line <= len(lines) else "")
        for line, message in sorted({*imports, *lacked, *statements, *_idle(tree)})
    ]
    return Checked(with_value(source, tree), tuple(told[:_MOST]))


def too_large(source: str, most: int) -> Problem | None:
    """What is wrong with a program of more bytes than it may have."""
    size = len(source.encode("utf-8", "replace"))
    if size <= most:
        return None
    what = f"the program has {size:,} bytes; code.source_bytes allows {most:,}"
    return Problem("size", f"{what}: keep data out of it, and fetch it with tools")


def _too_deep(bounds: Bounds) -> Problem:
    what = f"the program is nested deeper than {bounds.depth} levels (code.source_depth)"
    return Problem("depth", f"{what}: use functions and loops")


def _within(tree: ast.AST, depth: int) -> bool:
    level: list[ast.AST] = [tree]
    for _ in range(depth + 1):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return True
    return False


def _newer(lines: Collection[int], lacking: Collection[str]) -> Iterator[tuple[int, str]]:
    """The `type` statements of a program."""
    if TYPE_STATEMENT in lacking:
        hint = CONSTRUCT_HINTS[TYPE_STATEMENT]
        yield from ((line, f"this Python has no {TYPE_STATEMENT}: {hint}") for line in lines)


def _constructs(
    nodes: list[ast.AST], names: Names, lacking: Collection[str]
) -> Iterator[tuple[int, str]]:
    said: dict[tuple[int, str], str] = {}
    for line, name, hint in found(nodes, names, lacking):
        said[line, name] = hint or said.get((line, name), "")
    for (line, name), hint in said.items():
        yield line, f"this Python has no {name}{f': {hint}' if hint else ''}"


def _imports(
    nodes: list[ast.AST],
    missing: Collection[str],
    modules: Mapping[str, Collection[str]],
    away: Mapping[str, str],
) -> Iterator[tuple[int, str]]:
    for node in nodes:
        if isinstance(node, ast.Import):
            names, members = [alias.name for alias in node.names], []
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names, members = [node.module], [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, "there are no relative imports: import a module by its name"
            continue
        else:
            continue
        for name in names:
            message = away.get(name) or _missing(name, missing, modules)
            told = [message] if message else _not_there(members, name, modules)
            yield from ((node.lineno, it) for it in told)


def _not_there(
    members: Collection[str], module: str, modules: Mapping[str, Collection[str]]
) -> Iterator[str]:
    """What is to be said of members that the module of a server has not."""
    there = frozenset(modules.get(module, ()))
    for name in members if there else ():
        if name != "*" and name not in there:
            what = f"the module {quoted(module)} has no function {quoted(name)}"
            near = get_close_matches(name, sorted(there), n=3, cutoff=0.6)
            yield f"{what}; did you mean {enumerated(map(quoted, near))}?" if near else what


def _missing(name: str, missing: Collection[str], modules: Collection[str]) -> str | None:
    top = name.partition(".")[0]
    if top in modules:
        return None
    if top in sys.stdlib_module_names and top not in missing:
        return _lacked(name) if name in missing else None
    if top in missing or hint_for_module(top):
        return _lacked(top)
    near = get_close_matches(top, list(modules), n=3, cutoff=0.6)
    if near:
        return f"there is no module {quoted(top)}; did you mean {enumerated(map(quoted, near))}?"
    known = enumerated(map(quoted, sorted(modules)))
    return f"there is no module {quoted(top)}; those of tools are {known}"


def _lacked(name: str) -> str:
    hint = hint_for_module(name)
    if hint:
        return f"there is no module {quoted(name)} here: {hint}"
    return f"this Python has no module {quoted(name)}"


def _idle(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """A program that defines functions and does nothing."""
    body = [node for node in tree.body if not _is_docstring(node)]
    functions = [node for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    passive = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
    if functions and all(isinstance(node, passive) for node in body):
        last = functions[-1]
        call = (
            f"await {last.name}()" if isinstance(last, ast.AsyncFunctionDef) else f"{last.name}()"
        )
        yield last.lineno, f"the program defines functions and calls none: end it with `{call}`"


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
