"""What to write instead of what a small Python lacks, in a few words each."""

from collections.abc import Mapping
from typing import Final

_GATHER: Final = "use `await toolcrib.gather_settled(...)`, which gives {ok, value, error} for each"
_LISTED: Final = "build and return a list"
_PLAIN: Final = "write a plain method, and call it"
_MADE: Final = "call what it would call"
_DICT: Final = "keep it in a dict"
_RETURN: Final = "end the program with `return`"
_MANY: Final = "use asyncio.gather, or toolcrib.map_limit(function, items, limit)"
_SETTLED: Final = "use asyncio.gather, or toolcrib.gather_settled"
_AWAIT: Final = "await it: calls have time limits of their own"
_NETWORK: Final = "there is no network; call a tool"
_TYPED: Final = "use dict, list and the like for types"

CONSTRUCT_HINTS: Final[Mapping[str, str]] = {
    "class inheritance": "write one plain class, or use dicts",
    "exception classes": "raise RuntimeError('kind: what happened') and look at its text",
    "metaclasses": "leave it out",
    "yield": _LISTED,
    "async generators": _LISTED,
    "del": "use .pop(), or a comprehension that leaves it out",
    "except*": "use except",
    "type statement": "assign it: Name = list[int]",
    "match": "use if and elif",
    "with": _MADE,
    "async with": _MADE,
    "async for": "await a list and use for",
    "global": _DICT,
    "nonlocal": _DICT,
    "lambda": "use def",
    "walrus": "assign on a line of its own",
    "star import": "import the names that you use",
    "property": _PLAIN,
    "decorated methods": _PLAIN,
    "next(generator)": "write next(iter(...)), with a default as in next(iter(...), None)",
    "open": "there are no files; return what you want to keep",
    "object()": "use a text or a list of your own, and compare with `is`",
    "re.sub(function)": "loop over re.finditer, or substitute one text at a time",
    "exceptions of other than one text": "write one text: ValueError(f'...')",
    "raise SystemExit": _RETURN,
}

_MEMBERS: Final[Mapping[str, str]] = {
    "asyncio.create_task": _MANY,
    "asyncio.ensure_future": _MANY,
    "asyncio.TaskGroup": _MANY,
    "asyncio.as_completed": _SETTLED,
    "asyncio.wait": _SETTLED,
    "asyncio.wait_for": _AWAIT,
    "asyncio.timeout": _AWAIT,
    "asyncio.Semaphore": "use toolcrib.map_limit(function, items, limit)",
    "asyncio.Queue": "use toolcrib.map_limit(function, items, limit)",
    "asyncio.Lock": "leave it out: between two awaits nothing else runs",
    "asyncio.gather(return_exceptions=)": _GATHER,
    "builtins.callable": "look at what it is, and call it or not",
    "builtins.classmethod": "write a function",
    "builtins.staticmethod": "write a function",
    "builtins.dir": "name the members",
    "builtins.exit": _RETURN,
    "builtins.globals": "keep a dict of your own",
    "builtins.input": "nobody can be asked here; print, or return a question",
    "builtins.issubclass": "compare the classes",
    "builtins.bytearray": "use bytes or a list",
    "builtins.quit": _RETURN,
    "builtins.super": "there is no class inheritance",
    "builtins.vars": _DICT,
    "collections.OrderedDict": "use dict, which keeps its order",
    "collections.ChainMap": "write {**defaults, **values}",
    "dataclasses.asdict": "build the dict from its fields",
    "dataclasses.replace": "build the object anew",
    "datetime.UTC": "use datetime.timezone.utc",
    "datetime.datetime.utcnow()": "use datetime.now(timezone.utc)",
    "datetime.datetime.fromtimestamp()": "add timedelta(seconds=...) to datetime(1970, 1, 1)",
    "functools.wraps": "leave it out",
    "json.dumps(default=)": "turn the values into JSON values first",
    "json.dumps(indent=)": "leave it out",
    "json.dumps(sort_keys=)": "sort before: dict(sorted(x.items()))",
    "os.environ": "there is no environment; write the value itself",
    "os.getenv": "there is no environment; write the value itself",
    "re.VERBOSE": "write the pattern on one line",
    "sys.exit": _RETURN,
    "typing.NamedTuple": "use collections.namedtuple, or dicts",
    "typing.TypedDict": "use dict",
    ".__cause__": "keep str(error)",
    ".__traceback__": "keep str(error)",
    ".translate()": "use .replace(), or a comprehension over the letters",
}

_MODULES: Final[Mapping[str, str]] = {
    "urllib": _NETWORK,
    "requests": _NETWORK,
    "httpx": _NETWORK,
    "socket": _NETWORK,
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
    "collections.abc": "use dict, list and the like for types, or what typing has",
    "pandas": "use lists of dicts",
    "numpy": "use lists",
}


def hint_for_module(name: str) -> str:
    """What to do without a module; empty where nothing better is known."""
    return _MODULES.get(name, "")


def hint(name: str) -> str:
    """What to do without anything else that has no look of its own; empty as above."""
    known = _MEMBERS.get(name)
    if known is not None:
        return known
    of, _, member = name.removesuffix("()").removesuffix(" as a value").rpartition(".")
    if name.startswith("typing."):
        return _TYPED
    if name.endswith(" as a value"):
        return _uncalled(of, member)
    if name.endswith("()") and of:
        return f"call it on the value, if it has one: x.{member}()"
    return ""


def _uncalled(of: str, member: str) -> str:
    if of:
        return f"write lambda x: x.{member}()"
    return f"call it: x.{member}(); a member of a dict is x['{member}']"
