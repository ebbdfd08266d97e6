"""What this Monty lacks of the language, found by trying: no list of it could stay true."""

from collections.abc import Callable, Mapping
from typing import Final, Literal, Protocol

from pydantic_monty import MontyCrashedError, MontyError, MontyRuntimeError, ResourceLimits

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
    "decorated functions": "def d(f):\n  return f\n@d\ndef f():\n  return 1\nassert f() == 1",
    "property": "class A:\n  @property\n  def x(self):\n    return 1\nassert A().x == 1",
    "decorated methods": "def d(f):\n  return f\nclass A:\n  @d\n  def x(self):\n    return 1\n"
    "assert A().x() == 1",
    "iterator classes": "class A:\n  def __iter__(self):\n    return iter([1])\n"
    "assert list(A()) == [1]",
    "operator methods": "class A:\n  def __add__(self, x):\n    return x\nassert A() + 1 == 1",
    "next(generator)": "assert next(x for x in [1]) == 1",
    "object()": "object()",
    "exceptions of other than one text": "assert ValueError(1)",
    "raise SystemExit": "try:\n  raise SystemExit\nfinally:\n  pass",
    "open": "open('x', 'w')",
    "re.sub(function)": "import re\nassert re.sub('a', lambda m: 'b', 'a') == 'b'",
    "% formatting": "assert '%s %d' % ('a', 1) == 'a 1'",
    "nested f-strings": "x = {'a': 1}\nassert f\"{x[\"a\"]:>3}\" == '  1'",
    "slice assignment": "x = [1, 2]\nx[0:1] = [3]\nassert x == [3, 2]",
    "star assignment": "a, *b = [1, 2, 3]\nassert b == [2, 3]",
    "dict union": "assert {1: 2} | {3: 4} == {1: 2, 3: 4}",
    "set methods": "assert {1}.union({2}) == {1, 2}",
    "bytes": "assert b'a'.decode() == 'a'",
    "complex numbers": "assert (1j) ** 2 == -1",
    "isinstance with unions": "assert isinstance(1, int | str)",
}
"""What is tried, by the short name of what would be lacking."""

ARGUMENTS: Final[Mapping[str, str]] = {
    "asyncio.gather(return_exceptions=)": "async def f():\n  return 1\n"
    "assert await asyncio.gather(f(), return_exceptions=True) == [1]",
    "asyncio.run(debug=)": "async def f():\n  return 1\nasyncio.run(f(), debug=False)",
    "asyncio.sleep(result=)": "assert await asyncio.sleep(0, result=1) == 1",
    "base64.b64decode(validate=)": "base64.b64decode(b'YQ==', validate=True)",
    "base64.b64encode(altchars=)": "base64.b64encode(b'a', altchars=b'-_')",
    "bisect.bisect(key=)": "bisect.bisect([1], 1, key=abs)",
    "bisect.insort(key=)": "bisect.insort([1], 1, key=abs)",
    "builtins.complex(real=)": "complex(real=1)",
    "builtins.enumerate(start=)": "assert list(enumerate([1], start=1)) == [(1, 1)]",
    "builtins.int(base=)": "assert int('10', base=16) == 16",
    "builtins.max(default=)": "assert max([], default=1) == 1",
    "builtins.max(key=)": "assert max([1, -2], key=abs) == -2",
    "builtins.min(default=)": "assert min([], default=1) == 1",
    "builtins.min(key=)": "assert min([1, -2], key=abs) == 1",
    "builtins.pow(mod=)": "assert pow(2, 3, mod=5) == 3",
    "builtins.print(file=)": "import sys\nprint('', file=sys.stderr)",
    "builtins.print(flush=)": "print('', flush=True)",
    "builtins.print(sep=)": "print('', '', sep='')",
    "builtins.round(ndigits=)": "assert round(1.25, ndigits=1) == 1.2",
    "builtins.sorted(key=)": "assert sorted([2, -1], key=abs) == [-1, 2]",
    "builtins.sorted(reverse=)": "assert sorted([1, 2], reverse=True) == [2, 1]",
    "builtins.str(encoding=)": "assert str(b'a', encoding='utf-8') == 'a'",
    "builtins.sum(start=)": "assert sum([1], start=1) == 2",
    "builtins.zip(strict=)": "assert list(zip([1], [2], strict=True)) == [(1, 2)]",
    "collections.Counter(a=)": "assert collections.Counter(a=1)['a'] == 1",
    "collections.deque(maxlen=)": "assert len(collections.deque([1, 2], maxlen=1)) == 1",
    "collections.namedtuple(defaults=)": "collections.namedtuple('A', 'x', defaults=[1])()",
    "copy.deepcopy(memo=)": "copy.deepcopy([], memo={})",
    "csv.DictReader(delimiter=)": "list(csv.DictReader(['a;b', '1;2'], delimiter=';'))",
    "csv.DictReader(fieldnames=)": "list(csv.DictReader(['a'], fieldnames=['x']))",
    "csv.reader(delimiter=)": "list(csv.reader(['a;b'], delimiter=';'))",
    "dataclasses.dataclass(eq=)": "@dataclasses.dataclass(eq=True)\nclass A:\n  x: int = 1\nA()",
    "dataclasses.dataclass(frozen=)": "@dataclasses.dataclass(frozen=True)\nclass A:\n"
    "  x: int = 1\nA()",
    "dataclasses.dataclass(kw_only=)": "@dataclasses.dataclass(kw_only=True)\nclass A:\n"
    "  x: int = 1\nA()",
    "dataclasses.dataclass(order=)": "@dataclasses.dataclass(order=True)\nclass A:\n"
    "  x: int = 1\nassert A(1) < A(2)",
    "dataclasses.dataclass(repr=)": "@dataclasses.dataclass(repr=False)\nclass A:\n"
    "  x: int = 1\nA()",
    "dataclasses.dataclass(slots=)": "@dataclasses.dataclass(slots=True)\nclass A:\n"
    "  x: int = 1\nA()",
    "dataclasses.field(compare=)": "@dataclasses.dataclass\nclass A:\n"
    "  x: int = dataclasses.field(default=1, compare=False)\nA()",
    "dataclasses.field(default=)": "@dataclasses.dataclass\nclass A:\n"
    "  x: int = dataclasses.field(default=1)\nA()",
    "dataclasses.field(default_factory=)": "@dataclasses.dataclass\nclass A:\n"
    "  x: list = dataclasses.field(default_factory=list)\nA()",
    "dataclasses.field(repr=)": "@dataclasses.dataclass\nclass A:\n"
    "  x: int = dataclasses.field(default=1, repr=False)\nA()",
    "datetime.datetime(tzinfo=)": "datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)",
    "datetime.datetime.now(tz=)": "datetime.datetime.now(tz=datetime.timezone.utc)",
    "functools.lru_cache(maxsize=)": "functools.lru_cache(maxsize=None)(abs)",
    "hashlib.md5(usedforsecurity=)": "hashlib.md5(b'a', usedforsecurity=False)",
    "itertools.accumulate(initial=)": "list(itertools.accumulate([1], initial=1))",
    "itertools.count(start=)": "itertools.count(start=1)",
    "itertools.groupby(key=)": "list(itertools.groupby([1], key=abs))",
    "itertools.product(repeat=)": "list(itertools.product([1], repeat=2))",
    "itertools.zip_longest(fillvalue=)": "list(itertools.zip_longest([1], fillvalue=0))",
    "json.dumps(allow_nan=)": "json.dumps(1, allow_nan=False)",
    "json.dumps(cls=)": "json.dumps(1, cls=None)",
    "json.dumps(default=)": "assert json.dumps({1}, default=list) == '[1]'",
    "json.dumps(ensure_ascii=)": "json.dumps('é', ensure_ascii=False)",
    "json.dumps(indent=)": "json.dumps([1], indent=1)",
    "json.dumps(separators=)": "json.dumps([1], separators=(',', ':'))",
    "json.dumps(sort_keys=)": "json.dumps({'a': 1}, sort_keys=True)",
    "json.loads(object_hook=)": "json.loads('{}', object_hook=dict)",
    "json.loads(object_pairs_hook=)": "json.loads('{}', object_pairs_hook=dict)",
    "json.loads(parse_constant=)": "json.loads('1', parse_constant=str)",
    "json.loads(parse_float=)": "json.loads('1.5', parse_float=str)",
    "json.loads(parse_int=)": "json.loads('1', parse_int=str)",
    "json.loads(strict=)": "json.loads('1', strict=False)",
    "math.isclose(abs_tol=)": "math.isclose(1, 1, abs_tol=0.1)",
    "math.isclose(rel_tol=)": "math.isclose(1, 1, rel_tol=0.1)",
    "math.prod(start=)": "math.prod([1], start=1)",
    "random.choices(k=)": "random.choices([1], k=1)",
    "random.choices(weights=)": "random.choices([1], weights=[1])",
    "random.sample(k=)": "random.sample([1], k=1)",
    "re.compile(flags=)": "re.compile('a', flags=re.I)",
    "re.findall(flags=)": "re.findall('a', 'a', flags=re.I)",
    "re.search(flags=)": "re.search('a', 'a', flags=re.I)",
    "re.split(maxsplit=)": "re.split('a', 'a', maxsplit=1)",
    "re.sub(count=)": "re.sub('a', 'b', 'a', count=1)",
    "re.sub(flags=)": "re.sub('a', 'b', 'a', flags=re.I)",
}
"""Arguments that are tried, by `module.function(name=)`; the module is imported before."""

LIMITS: Final[ResourceLimits] = {
    "max_feed_duration_secs": 5.0,
    "max_memory": 16 * 1024 * 1024,
    "max_suspensions": 2000,
}


class Trying(Protocol):
    """A session to try things in."""

    def feed_run(
        self, code: str, *, print_callback: Callable[[Literal["stdout", "stderr"], str], None]
    ) -> object:
        """Run a text."""
        ...


def unheard(_: Literal["stdout", "stderr"], __: str) -> None:
    """Take what a probe prints: nothing of it may come out of this process."""


def lacks(session: Trying, code: str) -> bool:
    """Whether something cannot be done; each is tried in a session of its own.

    What a limit or the loss of a worker kept from being tried is not lacking: were it said to be,
    programs that can run would be refused.
    """
    try:
        session.feed_run(code, print_callback=unheard)
    except MontyCrashedError:
        return False
    except MontyRuntimeError as error:
        return not isinstance(error.exception(), TimeoutError | MemoryError)
    except MontyError:
        return True
    return False


def argument(name: str) -> str:
    """The text that tries an argument."""
    module = name.partition(".")[0]
    return ARGUMENTS[name] if module == "builtins" else f"import {module}\n{ARGUMENTS[name]}"
