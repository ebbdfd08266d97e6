"""The modules of a program as Monty takes them, with functions that run inside.

A function of a module is a name that Monty calls outside. What a module has in `source` is fed
before the program, as a text of its own, so that no line of the program moves:

    def _of_toolcrib():
        from _outside_toolcrib import call      # what the source may call
        async def gather_settled(*awaitables):  # the source
            ...
        return [_Function(gather_settled)]
    _held_toolcrib = _of_toolcrib()

Only objects can go out of a session and come back as what they are, and functions are none to
Monty: hence `_Function`. What comes out is handed in again as attributes of the module, so that
`import` works as for every other name. After a snapshot their ids do the same.
"""

import ast
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

from pydantic_monty import ClassInstance, ExternalModule

from toolcrib.ports import Program, SandboxModule

OUTSIDE: Final = "_outside_"
"""Before the name of a module, under which its source finds what it may call."""

_FUNCTION: Final = """
class _Function:
    def __init__(self, function):
        self._function = function

    def __call__(self, *args, **kwargs):
        return self._function(*args, **kwargs)
"""

Helpers = Mapping[str, Mapping[str, UUID]]
"""By module and name, the ids of functions that run inside."""
Modules = Mapping[str, Callable[[], ExternalModule]]
"""By name, what makes a module when it is first imported."""


def imported(program: Program) -> tuple[str, ...]:
    """The modules with a source that the program can be importing: it says their names."""
    return tuple(
        name for name, module in program.modules.items() if module.source and name in program.source
    )


@lru_cache(maxsize=8)
def helper_names(source: str) -> tuple[str, ...]:
    """The functions of a source that can be imported, in its order."""
    return tuple(
        node.name
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and not node.name.startswith("_")
    )


def prelude(program: Program, names: tuple[str, ...]) -> str:
    """What is fed before the program; its value is the helpers, in order."""
    parts = [_FUNCTION, *(_inside(name, program.modules[name]) for name in names)]
    held = " + ".join(f"_held_{name}" for name in names)
    return "\n".join([*parts, held])


@lru_cache(maxsize=8)
def _inside(name: str, module: SandboxModule) -> str:
    """A source in a function of its own, where no program can replace what it calls."""
    made = ast.parse(f"def _of_{name}(): pass\n_held_{name} = _of_{name}()")
    around = made.body[0]
    assert isinstance(around, ast.FunctionDef)  # noqa: S101 - it is written two lines above
    lines = [f"from {OUTSIDE}{name} import {each}" for each in sorted(module.functions)]
    returned = ", ".join(f"_Function({each})" for each in helper_names(module.source))
    around.body = [
        *ast.parse("\n".join(lines)).body,
        *ast.parse(module.source).body,
        ast.Return(ast.parse(f"[{returned}]", mode="eval").body),
    ]
    return ast.unparse(ast.fix_missing_locations(made))


def external_modules(
    program: Program, helpers: Mapping[str, Mapping[str, Any]]
) -> dict[str, Callable[[], ExternalModule]]:
    """Every module, made when it is first imported; `helpers` is looked at then."""

    def made(name: str, module: SandboxModule) -> ExternalModule:
        attributes = dict.fromkeys(module.functions, _outside)
        return ExternalModule({**attributes, **helpers.get(name, {})}, stubs=module.declarations)

    def outside(module: SandboxModule) -> ExternalModule:
        return ExternalModule(dict.fromkeys(module.functions, _outside))

    taken: dict[str, Callable[[], ExternalModule]] = {}
    for name, module in program.modules.items():
        taken[name] = lambda name=name, module=module: made(name, module)
        if module.source:
            taken[OUTSIDE + name] = lambda module=module: outside(module)
    return taken


def held(proxies: list[Any], program: Program, names: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """What the prelude left, by module and name."""
    each = iter(proxies)
    return {
        name: {helper: next(each) for helper in helper_names(program.modules[name].source)}
        for name in names
    }


def held_again(ids: Helpers) -> dict[str, dict[str, Any]]:
    """Stand-ins for helpers that a snapshot holds: an object with their id means them."""
    return {
        module: {name: ClassInstance(object(), id=each) for name, each in of_module.items()}
        for module, of_module in ids.items()
    }


def _outside(*_: object, **__: object) -> None:
    """Stand for a function that is answered from outside: it is never called here."""
