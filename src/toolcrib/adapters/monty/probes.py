"""What this Monty lacks of Python, found by trying: no list of it could stay true."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol, cast

from pydantic_monty import MontyError, ResourceLimits

PROBES: Final[Mapping[str, str]] = {
    "class inheritance": "class A:\n  pass\nclass B(A):\n  pass",
    "exception classes": "class A(Exception):\n  pass",
    "metaclasses": "class A(metaclass=type):\n  pass",
    "yield": "def f():\n  yield 1\nassert list(f()) == [1]",
    "async generators": "async def f():\n  yield 1",
    "del": "x = {1: 2}\ndel x[1]\nassert not x",
    "except*": "try:\n  pass\nexcept* ValueError:\n  pass",
    "type statement": "type A = int",
    "generic functions": "def f[T](x: T) -> T:\n  return x\nassert f(1) == 1",
    "match": "match 1:\n  case 1:\n    pass",
    "with": "class A:\n  def __enter__(self):\n    return 1\n"
    "  def __exit__(self, *a):\n    pass\nwith A() as a:\n  assert a == 1",
    "async with": "class A:\n  async def __aenter__(self):\n    return 1\n"
    "  async def __aexit__(self, *a):\n    pass\nasync with A() as a:\n  assert a == 1",
    "async for": "async def f(y):\n  async for x in y:\n    pass",
    "global": "x = 1\ndef f():\n  global x\n  x = 2\nf()\nassert x == 2",
    "nonlocal": "def f():\n  x = 1\n  def g():\n    nonlocal x\n    x = 2\n  g()\n  return x\n"
    "assert f() == 2",
    "lambda": "assert (lambda x: x)(1) == 1",
    "walrus": "assert (x := 1) == 1",
    "star import": "from math import *",
    "chained exceptions": "try:\n  try:\n    1 / 0\n  except Exception as e:\n"
    "    raise ValueError('x') from e\nexcept ValueError as e:\n  assert e.__cause__ is not None",
    "decorated functions": "def d(f):\n  return f\n@d\ndef f():\n  return 1\nassert f() == 1",
    "property": "class A:\n  @property\n  def x(self):\n    return 1\nassert A().x == 1",
    "classmethod": "class A:\n  @classmethod\n  def x(cls):\n    return 1\nassert A.x() == 1",
    "staticmethod": "class A:\n  @staticmethod\n  def x():\n    return 1\nassert A.x() == 1",
    "super": "class A:\n  def __init__(self):\n    super().__init__()\nA()",
    "iterator classes": "class A:\n  def __iter__(self):\n    return iter([1])\n"
    "assert list(A()) == [1]",
    "operator methods": "class A:\n  def __add__(self, x):\n    return x\nassert A() + 1 == 1",
    "generator send": "g = (x for x in [1])\ng.send(None)",
    "next": "assert next(x for x in [1]) == 1",
    "eval": "assert eval('1') == 1",
    "input": "input",
    "globals": "globals()",
    "asyncio.create_task": "import asyncio\nasync def f():\n  return 1\n"
    "t = asyncio.create_task(f())\nassert await t == 1",
    "asyncio.wait_for": "import asyncio\nasync def f():\n  return 1\n"
    "assert await asyncio.wait_for(f(), 1) == 1",
    "asyncio.wait": "import asyncio\nasyncio.wait",
    "asyncio.as_completed": "import asyncio\nasyncio.as_completed",
    "asyncio.Semaphore": "import asyncio\nasyncio.Semaphore(2)",
    "asyncio.Lock": "import asyncio\nasyncio.Lock()",
    "asyncio.Queue": "import asyncio\nasyncio.Queue()",
    "asyncio.TaskGroup": "import asyncio\nasyncio.TaskGroup()",
    "asyncio.timeout": "import asyncio\nasyncio.timeout(1)",
    "asyncio.gather": "import asyncio\nasync def f():\n  return 1\n"
    "assert list(await asyncio.gather(f(), f())) == [1, 1]",
    "asyncio.gather(return_exceptions=)": "import asyncio\nasync def f():\n  1 / 0\n"
    "await asyncio.gather(f(), return_exceptions=True)",
    "asyncio.run": "import asyncio\nasync def f():\n  return 1\nassert asyncio.run(f()) == 1",
    "json.dumps(default=)": "import json\njson.dumps(object(), default=str)",
    "json.dumps(indent=)": "import json\nassert json.dumps([1], indent=1)",
    "json.dumps(sort_keys=)": "import json\nassert json.dumps({'a': 1}, sort_keys=True)",
    "re.sub(function)": "import re\nassert re.sub('a', lambda m: 'b', 'a') == 'b'",
    "collections.OrderedDict": "from collections import OrderedDict",
    "collections.ChainMap": "from collections import ChainMap",
    "dataclasses.asdict": "from dataclasses import asdict",
    "dataclasses.replace": "from dataclasses import replace",
    "functools.partial": "from functools import partial\nassert partial(max, 1)(2) == 2",
    "functools.wraps": "from functools import wraps",
    "itertools.groupby": "from itertools import groupby",
    "str.format": "assert '{:>3}|{a}'.format(1, a=2) == '  1|2'",
    "% formatting": "assert '%s %d' % ('a', 1) == 'a 1'",
    "nested f-strings": "x = {'a': 1}\nassert f\"{x[\"a\"]:>3}\" == '  1'",
    "sorted(key=)": "assert sorted([2, 1], key=lambda x: x) == [1, 2]",
    "slice assignment": "x = [1, 2]\nx[0:1] = [3]\nassert x == [3, 2]",
    "star assignment": "a, *b = [1, 2, 3]\nassert b == [2, 3]",
    "dict union": "assert {1: 2} | {3: 4} == {1: 2, 3: 4}",
    "set methods": "assert {1}.union({2}) == {1, 2}",
    "bytes": "assert b'a'.decode() == 'a'",
    "complex numbers": "assert (1j) ** 2 == -1",
    "datetime.strptime": "from datetime import datetime\ndatetime.strptime('2026', '%Y')",
    "datetime.fromisoformat": "from datetime import datetime\n"
    "datetime.fromisoformat('2026-01-01T00:00:00Z')",
    "getattr on types": "getattr(str, 'upper')",
    "isinstance with unions": "assert isinstance(1, int | str)",
    "str methods as functions": "assert list(map(str.upper, ['a'])) == ['A']",
    "open": "open('x', 'w')",
}
"""What is tried, by the short name of what would be lacking."""

LIMITS: Final[ResourceLimits] = {
    "max_feed_duration_secs": 1.0,
    "max_memory": 16 * 1024 * 1024,
    "max_suspensions": 2000,
}


class Trying(Protocol):
    """A session to try things in."""

    def feed_run(self, code: str) -> object:
        """Run a text."""
        ...


@dataclass(frozen=True, slots=True)
class Lacking:
    """What was not there."""

    constructs: tuple[str, ...]
    """Names of `PROBES`, in their order."""
    modules: frozenset[str]
    """Modules of the standard library that cannot be imported."""


def lacks(session: Trying, code: str) -> bool:
    """Whether something cannot be done; each is tried in a session of its own."""
    try:
        session.feed_run(code)
    except MontyError:
        return True
    return False


def missing_modules(session: Trying) -> frozenset[str]:
    """The modules that cannot be imported, of all that this Python (ours) has."""
    names = sorted(name for name in sys.stdlib_module_names if not name.startswith("_"))
    tried = [
        f"try:\n  import {name}\nexcept ImportError:\n  missing.append('{name}')" for name in names
    ]
    found = session.feed_run("\n".join(["missing = []", *tried, "missing"]))
    return frozenset(cast("list[str]", found))
