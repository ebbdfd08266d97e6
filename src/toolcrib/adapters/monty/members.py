"""Which names, modules and members this Monty lacks of those that the Python around it has.

Each is tried as a program would use it. Methods are tried twice: Monty lets most of them only be
called. A member is told as lacking on every value only where no value of any type has it.
"""

import builtins
import collections
import csv
import datetime as dt
import decimal
import functools
import hashlib
import importlib
import io
import itertools
import pathlib
import pkgutil
import random
import re
import sys
import time
import types
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, cast

from pydantic_monty import MontyCrashedError, MontyError, MontyRuntimeError

from toolcrib.adapters.monty.probes import Trying, unheard

Sessions = Callable[[], AbstractContextManager[Trying]]
"""Lends a session that knows nothing of any other."""
Raised = tuple[str, str]
"""The class of what was raised, and what it said."""
_UNTRIED: Final = frozenset({"TimeoutError", "MemoryError"})
_SPECIAL: Final = ("__cause__", "__class__", "__context__", "__dict__", "__name__", "__traceback__")
"""Special members that programs read."""
_FUTURE: Final = "__future__"
"""Which can be imported from, and not imported."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """Values of a type."""

    type: type
    path: str
    """Where a program finds the type; empty: nowhere."""
    made: str
    """What makes a value of it, or several."""

    @property
    def before(self) -> str:
        """What has to be imported."""
        module = self.made.partition(".")[0]
        return f"import {module}" if module in sys.stdlib_module_names else ""


_DICT: Final[dict[str, str]] = {}
_READER: Final[type] = type(csv.reader(()))
_KINDS: Final = (
    *(
        _Kind(type_, f"builtins.{type_.__name__}", made)
        for type_, made in (
            (str, "''"), (int, "1"), (float, "0.5"), (bool, "True"), (complex, "1j"),
            (bytes, "b''"), (list, "[]"), (tuple, "()"), (dict, "{}"), (set, "{1}"),
            (frozenset, "frozenset()"), (range, "range(1)"), (slice, "slice(1)"),
            (ValueError, "ValueError('a')"), (KeyError, "KeyError('a')"), (OSError, "OSError('a')"),
            (UnicodeDecodeError, "UnicodeDecodeError('a')"), (SystemExit, "SystemExit('a')"),
            (StopIteration, "StopIteration('a')"), (type, "int"), (enumerate, "enumerate([])"),
            (zip, "zip()"), (map, "map(str, [])"), (filter, "filter(str, [])"),
        )
    ),
    _Kind(types.GeneratorType, "", "(x for x in [])"),
    _Kind(type(_DICT.keys()), "", "{}.keys()"),
    _Kind(type(_DICT.items()), "", "{}.items()"),
    _Kind(type(_DICT.values()), "", "{}.values()"),
    _Kind(type(iter([])), "", "iter([])"),
    _Kind(types.FunctionType, "", "(lambda: 0)"),
    _Kind(types.BuiltinFunctionType, "", "len"),
    _Kind(types.FunctionType, "", "f"),
    _Kind(type, "", "A"),
    _Kind(object, "", "A()"),
    _Kind(types.MethodType, "", "A().f"),
    _Kind(types.CoroutineType, "", "g()"),
    _Kind(dt.datetime, "datetime.datetime", "datetime.datetime(2026, 1, 1)"),
    _Kind(dt.date, "datetime.date", "datetime.date(2026, 1, 1)"),
    _Kind(dt.time, "datetime.time", "datetime.time(1)"),
    _Kind(dt.timedelta, "datetime.timedelta", "datetime.timedelta(1)"),
    _Kind(dt.timezone, "datetime.timezone", "datetime.timezone.utc"),
    _Kind(collections.Counter, "collections.Counter", "collections.Counter()"),
    _Kind(collections.defaultdict, "collections.defaultdict", "collections.defaultdict(list)"),
    _Kind(collections.deque, "collections.deque", "collections.deque()"),
    _Kind(tuple, "", "collections.namedtuple('A', 'x')(1)"),
    _Kind(decimal.Decimal, "decimal.Decimal", "decimal.Decimal(1)"),
    _Kind(decimal.Context, "decimal.Context", "decimal.getcontext()"),
    _Kind(re.Pattern, "re.Pattern", "re.compile('a')"),
    _Kind(re.Match, "re.Match", "re.match('a', 'a')"),
    _Kind(pathlib.Path, "pathlib.Path", "pathlib.Path('x')"),
    _Kind(random.Random, "random.Random", "random.Random()"),
    _Kind(type(hashlib.md5(usedforsecurity=False)), "", "hashlib.md5(b'')"),
    _Kind(_READER, "", "csv.reader([])"),
    _Kind(csv.DictReader, "csv.DictReader", "csv.DictReader([])"),
    _Kind(functools.partial, "functools.partial", "functools.partial(max)"),
    _Kind(type(functools.cache(max)), "", "functools.lru_cache(max)"),
    _Kind(itertools.chain, "itertools.chain", "itertools.chain()"),
    _Kind(itertools.count, "itertools.count", "itertools.count()"),
    _Kind(time.struct_time, "time.struct_time", "time.localtime()"),
    _Kind(io.TextIOWrapper, "", "sys.stdout"),
    _Kind(types.ModuleType, "", "sys"),
)  # fmt: skip
_OWN: Final = (
    "class A:\n  def f(self):\n    pass\ndef f():\n  pass\nasync def g():\n  pass\nimport sys\n"
)


def missing_modules(sessions: Sessions) -> frozenset[str]:
    """The modules that cannot be imported, of all that this Python (ours) has."""
    raised = raised_by(sessions, "", {name: f"import {name}" for name in _modules()})
    missing = frozenset(raised)
    inner = {
        f"{top}.{name}" for top in sys.stdlib_module_names - missing for name in _submodules(top)
    }
    return (
        missing | raised_by(sessions, "", {name: f"import {name}" for name in sorted(inner)}).keys()
    )


def missing_members(sessions: Sessions, missing: frozenset[str]) -> Iterator[str]:
    """`builtins.dir`, `datetime.UTC`: what is not there by its name."""
    names = [name for name in dir(builtins) if not name.startswith("_") and name.isidentifier()]
    raised = raised_by(sessions, "", {name: f"({name})" for name in names})
    yield from (f"builtins.{name}" for name in raised)
    for module in _modules():
        if module not in missing:
            members = _public(importlib.import_module(module))
            tries = {f"{module}.{name}": f"from {module} import {name}" for name in members}
            yield from raised_by(sessions, "", tries)


def missing_methods(sessions: Sessions) -> Iterator[str]:
    """`builtins.str.upper()` of classes, and `.translate()` of all values, as `core` names them."""
    ways: Counter[str] = Counter()
    """How often a member can be read, or called, of any value or class."""
    for kind in _KINDS:
        tries = dict(_tries(kind))
        raised = raised_by(sessions, _OWN + kind.before, tries)
        lacking = {name for name in tries if _has_none(raised.get(name), _member(name))}
        for name in tries:
            form = f".{_member(name)}()" if name.endswith("()") else f".{_member(name)}"
            ways[form] += name not in lacking
        yield from _of_type(tries, lacking)
    yield from _of_all(ways)


def _of_type(tries: Collection[str], lacking: Collection[str]) -> Iterator[str]:
    """What is lacking of a type itself, where a program can name it."""
    for name in lacking:
        called = f"{name}()"
        if name.startswith("."):
            continue
        if called not in tries:
            yield name
        elif called not in lacking:
            yield f"{name} as a value"


def _of_all(ways: Mapping[str, int]) -> Iterator[str]:
    """What no value has, by how often each member was there."""
    for form, count in ways.items():
        read, called = form.removesuffix("()"), f"{form.removesuffix('()')}()"
        if count:
            continue
        if form == called:
            if not ways[read]:
                yield form
        elif called not in ways:
            yield form
        elif ways[called]:
            yield f"{form} as a value"


def _member(name: str) -> str:
    return name.removesuffix("()").rpartition(".")[2]


def _tries(kind: _Kind) -> Iterator[tuple[str, str]]:
    """What is tried of a type: by name each member, of a value and of the type, and its code."""
    public = [name for name in dir(kind.type) if not name.startswith("_")]
    for member in (*public, *_SPECIAL):
        held: object = getattr(kind.type, member, None) if member in public else None
        yield f".{member}", f"({kind.made}).{member}"
        if callable(held):
            yield f".{member}()", f"({kind.made}).{member}()"
        if kind.path and member in public:
            type_ = kind.path.removeprefix("builtins.")
            if callable(held):
                yield f"{kind.path}.{member}()", f"{type_}.{member}({kind.made})"
                yield f"{kind.path}.{member}", f"{type_}.{member}"
            elif not hasattr(type(held), "__get__"):
                yield f"{kind.path}.{member}", f"{type_}.{member}"


def _has_none(raised: Raised | None, member: str) -> bool:
    return (
        raised is not None
        and raised[0] == "AttributeError"
        and f"no attribute '{member}'" in raised[1]
    )


def raised_by(sessions: Sessions, before: str, tries: Mapping[str, str]) -> dict[str, Raised]:
    """What each of the texts raised that did not go well.

    They are tried together; where one of them ends the session, in halves.
    """
    told = [
        f"try:\n  {code}\nexcept Exception as __error:\n"
        f"  __raised.append(({name!r}, type(__error).__name__, str(__error)))"
        for name, code in tries.items()
    ]
    try:
        with sessions() as session:
            text = "\n".join([before, "__raised = []", *told, "__raised"])
            found = session.feed_run(text, print_callback=unheard)
    except MontyError as error:
        if len(tries) > 1:
            return _in_halves(sessions, before, tries)
        return {name: _of(error) for name in tries if _of(error)[0] not in _UNTRIED}
    listed = cast("list[tuple[str, str, str]]", found)
    return {name: (class_, said) for name, class_, said in listed if class_ not in _UNTRIED}


def _in_halves(sessions: Sessions, before: str, tries: Mapping[str, str]) -> dict[str, Raised]:
    names = list(tries)
    half = len(names) // 2
    found: dict[str, Raised] = {}
    for part in (names[:half], names[half:]):
        found |= raised_by(sessions, before, {name: tries[name] for name in part})
    return found


def _of(error: MontyError) -> Raised:
    if not isinstance(error, MontyRuntimeError):
        return ("TimeoutError" if isinstance(error, MontyCrashedError) else "SyntaxError"), ""
    raised = error.exception()
    return type(raised).__name__, str(raised)


def _modules() -> list[str]:
    return sorted(sys.stdlib_module_names - {_FUTURE})


def _public(module: types.ModuleType) -> list[str]:
    return [name for name in dir(module) if not name.startswith("_")]


def _submodules(top: str) -> list[str]:
    """The modules in a module that can be imported by themselves."""
    module = importlib.import_module(top)
    listed = [it.name for it in pkgutil.iter_modules(getattr(module, "__path__", []))]
    known = [name for name in _public(module) if f"{top}.{name}" in sys.modules]
    return [name for name in {*listed, *known} if not name.startswith("_")]
