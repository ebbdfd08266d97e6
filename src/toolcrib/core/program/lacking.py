"""What a small Python lacks, found in the syntax of a program, with what to write instead.

Which of these it lacks is found by trying the installed version (`ports.Abilities`); here is only
what each of them looks like. A name that is not in the table and has the form `module.member` is
found where it is imported or read.
"""

import ast
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

Look = Callable[[ast.AST], bool]


@dataclass(frozen=True, slots=True)
class Construct:
    """Something that a program may use."""

    look: Look
    hint: str
    """What to write instead, in a few words."""


def _is(*kinds: type[ast.AST]) -> Look:
    return lambda node: isinstance(node, kinds)


def _dotted(node: ast.AST) -> str:
    """`name` or `module.name`; a question mark for everything else."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            return f"{module}.{name}"
        case _:
            return "?"


def _bases(node: ast.AST) -> list[str]:
    if not isinstance(node, ast.ClassDef):
        return []
    names = [_dotted(base) for base in node.bases]
    return [name for name in names if name != "object"]


def _is_exception(name: str) -> bool:
    return name.endswith(("Exception", "Error", "Warning"))


def _inherits(node: ast.AST) -> bool:
    return any(not _is_exception(base) for base in _bases(node))


def _defines_exception(node: ast.AST) -> bool:
    return any(map(_is_exception, _bases(node)))


def _async_generator(node: ast.AST) -> bool:
    return isinstance(node, ast.AsyncFunctionDef) and any(_yields(node))


def _yields(function: ast.AST) -> Iterator[bool]:
    """The yields of a function itself, not those of functions within it."""
    nodes: list[ast.AST] = list(ast.iter_child_nodes(function))
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            yield True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            nodes += ast.iter_child_nodes(node)


def _calls(name: str) -> Look:
    return lambda node: (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    )


def _passes(function: str, keyword: str) -> Look:
    """A call of `module.function` with a keyword argument."""
    member = function.rpartition(".")[2]
    return lambda node: (
        isinstance(node, ast.Call)
        and _dotted(node.func) in {function, member}
        and any(given.arg == keyword for given in node.keywords)
    )


def _substitutes(node: ast.AST) -> bool:
    """`re.sub` with a function; one that is only named may be a text."""
    return (
        isinstance(node, ast.Call)
        and _dotted(node.func) in {"re.sub", "sub", "re.subn"}
        and any(isinstance(arg, ast.Lambda) for arg in node.args[1:2])
    )


_GATHER: Final = "use `await toolcrib.gather_settled(...)`, which gives {ok, value, error} for each"

CONSTRUCTS: Final[Mapping[str, Construct]] = {
    "class inheritance": Construct(_inherits, "write one plain class, or use dicts"),
    "exception classes": Construct(
        _defines_exception, "raise RuntimeError('kind: what happened') and look at its text"
    ),
    "metaclasses": Construct(
        lambda node: isinstance(node, ast.ClassDef) and bool(node.keywords), "leave it out"
    ),
    "yield": Construct(
        lambda node: isinstance(node, ast.FunctionDef) and any(_yields(node)),
        "build and return a list",
    ),
    "async generators": Construct(_async_generator, "build and return a list"),
    "del": Construct(_is(ast.Delete), "use .pop(), or a comprehension that leaves it out"),
    "except*": Construct(_is(ast.TryStar), "use except"),
    "match": Construct(_is(ast.Match), "use if and elif"),
    "with": Construct(_is(ast.With), "call what it would call"),
    "async with": Construct(_is(ast.AsyncWith), "call what it would call"),
    "async for": Construct(_is(ast.AsyncFor), "await a list and use for"),
    "global": Construct(_is(ast.Global), "keep it in a dict"),
    "nonlocal": Construct(_is(ast.Nonlocal), "keep it in a dict"),
    "lambda": Construct(_is(ast.Lambda), "use def"),
    "walrus": Construct(_is(ast.NamedExpr), "assign on a line of its own"),
    "star import": Construct(
        lambda node: isinstance(node, ast.ImportFrom) and node.names[0].name == "*",
        "import the names that you use",
    ),
    "eval": Construct(_calls("eval"), "write the expression itself"),
    "input": Construct(_calls("input"), "nobody can be asked here; print, or return a question"),
    "globals": Construct(_calls("globals"), "keep a dict of your own"),
    "open": Construct(_calls("open"), "there are no files; return what you want to keep"),
    "asyncio.gather(return_exceptions=)": Construct(
        _passes("asyncio.gather", "return_exceptions"), _GATHER
    ),
    "json.dumps(default=)": Construct(
        _passes("json.dumps", "default"), "turn the values into JSON values first"
    ),
    "json.dumps(indent=)": Construct(_passes("json.dumps", "indent"), "leave it out"),
    "json.dumps(sort_keys=)": Construct(
        _passes("json.dumps", "sort_keys"), "sort before: dict(sorted(x.items()))"
    ),
    "re.sub(function)": Construct(
        _substitutes, "loop over re.finditer, or substitute one text at a time"
    ),
}

_MEMBERS: Final[Mapping[str, str]] = {
    "asyncio.create_task": "use asyncio.gather, or toolcrib.map_limit(function, items, limit)",
    "asyncio.TaskGroup": "use asyncio.gather, or toolcrib.map_limit(function, items, limit)",
    "asyncio.as_completed": "use asyncio.gather, or toolcrib.gather_settled",
    "asyncio.wait": "use asyncio.gather, or toolcrib.gather_settled",
    "asyncio.wait_for": "await it: calls have time limits of their own",
    "asyncio.timeout": "await it: calls have time limits of their own",
    "asyncio.Semaphore": "use toolcrib.map_limit(function, items, limit)",
    "asyncio.Queue": "use toolcrib.map_limit(function, items, limit)",
    "asyncio.Lock": "leave it out: between two awaits nothing else runs",
    "collections.OrderedDict": "use dict, which keeps its order",
    "dataclasses.asdict": "build the dict from its fields",
    "functools.partial": "use lambda",
}

_MODULES: Final[Mapping[str, str]] = {
    "urllib": "there is no network; call a tool",
    "requests": "there is no network; call a tool",
    "httpx": "there is no network; call a tool",
    "socket": "there is no network; call a tool",
    "subprocess": "there are no processes; call a tool",
    "threading": "use asyncio.gather",
    "concurrent": "use asyncio.gather",
    "multiprocessing": "use asyncio.gather",
    "operator": "use lambda",
    "statistics": "use sum, len and sorted",
    "heapq": "use sorted",
    "uuid": "use hashlib, or a counter",
    "string": "write the letters out",
    "textwrap": "slice the text",
    "io": "use lists of text",
    "logging": "use print",
    "traceback": "use str(error)",
    "enum": "use texts",
    "abc": "leave it out",
    "contextlib": "leave it out",
    "copy": "use dict(x) or list(x)",
    "pandas": "use lists of dicts",
    "numpy": "use lists",
}


def hint_for_module(name: str) -> str:
    """What to do without a module; empty where nothing better is known."""
    return _MODULES.get(name, "")


def found(tree: ast.AST, lacking: Collection[str]) -> Iterator[tuple[int, str, str]]:
    """Line, name and hint of everything in a program that a runtime lacks, in no order."""
    looks = [(name, CONSTRUCTS[name]) for name in lacking if name in CONSTRUCTS]
    members = {name for name in lacking if name not in CONSTRUCTS and name.count(".") == 1}
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        for name, construct in looks:
            if construct.look(node):
                yield line, name, construct.hint
        for name in _named(node) & members:
            yield line, name, _MEMBERS.get(name, "")


def _named(node: ast.AST) -> set[str]:
    """`module.member` that a node imports or reads."""
    match node:
        case ast.ImportFrom(module=str(module), level=0):
            return {f"{module}.{alias.name}" for alias in node.names}
        case ast.Attribute(value=ast.Name(id=module)):
            return {f"{module}.{node.attr}"}
        case _:
            return set()
