"""What the things of a language look like that a runtime may lack, by the names of their probes."""

import ast
import builtins
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from toolcrib.core.program.names import BUILTINS, Names

Look = Callable[[ast.AST, Names], bool]

_EXCEPTIONS: Final = frozenset(
    f"{BUILTINS}.{name}"
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException) and value is not SystemExit
)
_ITERATORS: Final = frozenset(
    f"{BUILTINS}.{name}" for name in ("map", "filter", "zip", "enumerate", "reversed")
)
_NO_TEXT: Final = (
    ast.Dict
    | ast.List
    | ast.Tuple
    | ast.Set
    | ast.ListComp
    | ast.DictComp
    | ast.SetComp
    | ast.Lambda
)


def _is(*kinds: type[ast.AST]) -> Look:
    return lambda node, _: isinstance(node, kinds)


def _bases(node: ast.AST) -> list[str]:
    """The last parts of the names of base classes."""
    if not isinstance(node, ast.ClassDef):
        return []
    return [ast.unparse(base).rpartition(".")[2] for base in node.bases]


def _is_exception(name: str) -> bool:
    return name.endswith(("Exception", "Error", "Warning"))


def _inherits(node: ast.AST, _: Names) -> bool:
    return any(not _is_exception(base) for base in _bases(node))


def _defines_exception(node: ast.AST, _: Names) -> bool:
    return any(map(_is_exception, _bases(node)))


def _yields(function: ast.AST) -> Iterator[bool]:
    """The yields of a function itself, not those of functions within it."""
    nodes: list[ast.AST] = list(ast.iter_child_nodes(function))
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            yield True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            nodes += ast.iter_child_nodes(node)


def _generator(node: ast.AST, _: Names) -> bool:
    return isinstance(node, ast.FunctionDef | ast.Lambda) and any(_yields(node))


def _async_generator(node: ast.AST, _: Names) -> bool:
    return isinstance(node, ast.AsyncFunctionDef) and any(_yields(node))


def _goes_through_async(node: ast.AST, _: Names) -> bool:
    return isinstance(node, ast.AsyncFor) or bool(
        isinstance(node, ast.comprehension) and node.is_async
    )


def _calls(name: str) -> Look:
    path = f"{BUILTINS}.{name}"
    return lambda node, names: isinstance(node, ast.Call) and names.path(node.func) == path


def _decorators(node: ast.AST, names: Names) -> list[str]:
    """Of the methods of a class."""
    body = node.body if isinstance(node, ast.ClassDef) else []
    methods = [it for it in body if isinstance(it, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [names.path(each) for method in methods for each in method.decorator_list]


def _has_property(node: ast.AST, names: Names) -> bool:
    return f"{BUILTINS}.property" in _decorators(node, names)


def _decorates(node: ast.AST, names: Names) -> bool:
    return any(path != f"{BUILTINS}.property" for path in _decorators(node, names))


def _substitutes(node: ast.AST, names: Names) -> bool:
    """`re.sub`, or that of a pattern, with what can only be a function."""
    if not isinstance(node, ast.Call):
        return False
    place = None
    if names.path(node.func) == "re.sub":
        place = 1
    elif isinstance(node.func, ast.Attribute) and node.func.attr == "sub":
        place = None if names.path(node.func) or names.gives("sub") else 0
    if place is None:
        return False
    given = [*node.args[place : place + 1], *(it.value for it in node.keywords if it.arg == "repl")]
    return any(map(names.function, given))


def _next(node: ast.AST, names: Names) -> bool:
    """`next` of what is a list here."""
    if not (isinstance(node, ast.Call) and names.path(node.func) == f"{BUILTINS}.next"):
        return False
    for given in node.args[:1]:
        value = names.value(given)
        made = isinstance(value, ast.Call) and names.path(value.func) in _ITERATORS
        return made or isinstance(value, ast.GeneratorExp)
    return False


def _raises_other_than_text(node: ast.AST, names: Names) -> bool:
    """An exception that is made of anything but one text."""
    if not (isinstance(node, ast.Call) and names.path(node.func) in _EXCEPTIONS):
        return False
    if node.keywords or len(node.args) > 1:
        return True
    return any(
        isinstance(arg, _NO_TEXT)
        or (isinstance(arg, ast.Constant) and not isinstance(arg.value, str))
        for arg in node.args
    )


def _exits(node: ast.AST, names: Names) -> bool:
    """An end of the program that nothing in it catches."""
    if not isinstance(node, ast.Raise) or node.exc is None or names.catches_exit:
        return False
    raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    return names.path(raised) == f"{BUILTINS}.SystemExit"


LOOKS: Final[Mapping[str, Look]] = {
    "class inheritance": _inherits,
    "exception classes": _defines_exception,
    "metaclasses": lambda node, _: isinstance(node, ast.ClassDef) and bool(node.keywords),
    "yield": _generator,
    "async generators": _async_generator,
    "del": _is(ast.Delete),
    "except*": _is(ast.TryStar),
    "match": _is(ast.Match),
    "with": _is(ast.With),
    "async with": _is(ast.AsyncWith),
    "async for": _goes_through_async,
    "global": _is(ast.Global),
    "nonlocal": _is(ast.Nonlocal),
    "lambda": _is(ast.Lambda),
    "walrus": _is(ast.NamedExpr),
    "star import": lambda node, _: isinstance(node, ast.ImportFrom) and node.names[0].name == "*",
    "property": _has_property,
    "decorated methods": _decorates,
    "next(generator)": _next,
    "open": _calls("open"),
    "object()": _calls("object"),
    "re.sub(function)": _substitutes,
    "exceptions of other than one text": _raises_other_than_text,
    "raise SystemExit": _exits,
}
