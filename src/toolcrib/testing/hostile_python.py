"""Programs in Python that try to get out, to take everything, or to be believed: a corpus.

Each says `ESCAPED` where it got what it wanted. It is meant for limits of about a second and some
tens of megabytes, and for modules `github` (with `create_issue`) and `toolcrib`.
"""

from dataclasses import dataclass
from typing import Final

from toolcrib.ports import FailedWhy


@dataclass(frozen=True, slots=True)
class Hostile:
    """One program that means no good."""

    name: str
    source: str
    ends: frozenset[FailedWhy | None]
    """How it may end; None: with a value."""
    checked: bool = False
    """Whether its types are checked first."""


def _tries(name: str, expression: str, imports: str = "") -> Hostile:
    """A program that reads something it must not have, and tells it."""
    source = f"{imports}\ntry:\n  x = {expression}\nexcept Exception as e:\n  return 'denied'\n"
    return Hostile(name, f"{source}return 'ESCAPED ' + str(x)", frozenset({None, "raised"}))


def _absent(name: str, source: str) -> Hostile:
    """A program that wants what is not there."""
    return Hostile(name, f"{source}\nreturn 'ESCAPED'", frozenset({"raised", "unsupported"}))


def _stopped(name: str, source: str, *whys: FailedWhy) -> Hostile:
    """A program that a limit ends."""
    return Hostile(name, f"{source}\nreturn 'ESCAPED'", frozenset(whys))


def _borne(name: str, source: str, *whys: FailedWhy | None) -> Hostile:
    """A program that may end in either way; it must only do no harm."""
    return Hostile(name, source, frozenset(whys or (None, "raised")))


FILES: Final = (
    _tries("reads a file", "open('/etc/passwd').read()"),
    _tries("reads its own file", "open(__file__).read()"),
    _tries("writes a file", "open('/tmp/toolcrib-escaped', 'w').write('x')"),
    _tries("appends to a file", "open('/tmp/toolcrib-escaped', 'a').write('x')"),
    _tries("opens by a parent path", "open('../../../../etc/hostname').read()"),
    _tries("opens a device", "open('/dev/zero', 'rb').read(10)"),
    _tries("opens a descriptor", "open(0).read()"),
    _tries("reads by pathlib", "Path('/etc/passwd').read_text()", "from pathlib import Path"),
    _tries("lists by pathlib", "list(Path('/').iterdir())", "from pathlib import Path"),
    _tries("asks whether there is", "Path('/etc').stat()", "from pathlib import Path"),
    _tries("lists a directory", "os.listdir('/')", "import os"),
    _tries("makes a directory", "os.mkdir('/tmp/toolcrib-escaped')", "import os"),
    _tries("removes a file", "os.remove('/etc/hostname')", "import os"),
    _tries("reads the memory of its process", "open('/proc/self/mem', 'rb').read(1)"),
    _tries("reads its environment as a file", "open('/proc/self/environ').read()"),
)

MACHINE: Final = (
    _tries("reads the environment", "os.environ['PATH']", "import os"),
    _tries("asks for a variable", "os.getenv('HOME') or 1 / 0", "import os"),
    _tries("runs a command", "os.system('id')", "import os"),
    _tries("opens a pipe to a command", "os.popen('id').read()", "import os"),
    _tries("forks", "os.fork()", "import os"),
    _tries("kills its parent", "os.kill(os.getppid(), 9)", "import os"),
    _tries("takes entropy of the system", "os.urandom(8)", "import os"),
    _absent("imports subprocess", "import subprocess\nsubprocess.run(['id'])"),
    _absent("imports socket", "import socket\nsocket.socket()"),
    _absent("imports urllib", "import urllib.request\nurllib.request.urlopen('http://1.1.1.1')"),
    _absent("imports http", "import http.client"),
    _absent("imports ssl", "import ssl"),
    _absent("imports ctypes", "import ctypes"),
    _absent("imports multiprocessing", "import multiprocessing"),
    _absent("imports threading", "import threading"),
    _absent("imports importlib", "import importlib\nimportlib.import_module('socket')"),
    _absent("imports pickle", "import pickle"),
    _absent("imports gc", "import gc\ngc.get_objects()"),
    _absent("imports signal", "import signal"),
    _absent("imports the host's package", "import toolcrib.adapters"),
    _absent("imports the runtime's package", "import pydantic_monty"),
    _absent(
        "opens a connection by asyncio", "import asyncio\nasyncio.open_connection('1.1.1.1', 80)"
    ),
)

INSIDE: Final = (
    _tries("climbs by subclasses", "().__class__.__base__.__subclasses__()"),
    _tries("climbs by mro", "type(1).mro()"),
    _tries("reads globals of a function", "(lambda: 1).__globals__"),
    _tries("reads the code of a function", "(lambda: 1).__code__"),
    _tries("imports by the builtin", "__import__('os').environ['PATH']"),
    _tries("reads builtins", "__builtins__['open']"),
    _tries("walks frames", "sys._getframe(1)", "import sys"),
    _tries("reads the modules", "sys.modules['os']", "import sys"),
    _tries("formats its way in", "'{0.__class__.__init__.__globals__}'.format(1)"),
    _tries("takes attributes by name", "getattr((), '__class__').__base__.__subclasses__()"),
    _tries("evaluates its way out", "eval('open(\"/etc/passwd\").read()')"),
    _tries("executes its way out", "exec('import socket') or 'done'"),
    _tries(
        "reads the host function", "create_issue.__globals__", "from github import create_issue"
    ),
    _tries("reads what the module hides", "github.__dict__['_outside']", "import github"),
    _tries(
        "finds the helper's inside", "toolcrib.gather_settled._function.__code__", "import toolcrib"
    ),
    _tries("calls what was not declared", "github.delete_everything()", "import github"),
    _tries("calls a made-up host name", "system.sleep(1)"),
    _absent("replaces a host function", "import github\ngithub.create_issue = print"),
    _borne(
        "reads a traceback", "try:\n  1 / 0\nexcept Exception as e:\n  return str(e.__traceback__)"
    ),
    _borne("throws away print", "print = None\nreturn print", None),
    _borne(
        "shadows asyncio",
        "asyncio = None\nfrom toolcrib import gather_settled\nr = await gather_settled()\nreturn r",
        None,
    ),
)

TIME: Final = (
    _stopped("loops", "while True:\n  pass", "interpreter_seconds"),
    _stopped(
        "loops and catches",
        "while True:\n  try:\n    while True: pass\n  except BaseException:\n    pass",
        "interpreter_seconds",
    ),
    _stopped(
        "loops at last",
        "try:\n  while True: pass\nfinally:\n  while True: pass",
        "interpreter_seconds",
    ),
    _stopped(
        "loops between calls",
        "from github import create_issue\nwhile True:\n"
        "  await create_issue(title='a')\n  for i in range(100000): pass",
        "interpreter_seconds",
        "suspensions",
    ),
    _stopped("counts far", "x = 0\nfor i in range(10 ** 12): x += i", "interpreter_seconds"),
    _stopped("sums far", "sum(range(10 ** 12))", "interpreter_seconds"),
    _stopped(
        "sorts with a slow key",
        "def k(x):\n  while True: pass\nsorted([1, 2], key=k)",
        "interpreter_seconds",
    ),
    _stopped("sleeps long", "import time\ntime.sleep(3600)", "sleep_seconds"),
    _stopped("sleeps often", "import time\nfor i in range(9999): time.sleep(0.2)", "sleep_seconds"),
    _stopped(
        "sleeps long beside itself",
        "import asyncio\nawait asyncio.gather(*[asyncio.sleep(0.3) for i in range(9)])",
        "sleep_seconds",
    ),
    _stopped("sleeps for ever", "import time\ntime.sleep(float('inf'))", "sleep_seconds", "raised"),
    _stopped(
        "sleeps no number", "import time\ntime.sleep(float('nan'))", "sleep_seconds", "raised"
    ),
    _borne("sleeps backwards", "import time\ntime.sleep(-1)", None, "raised"),
    _borne(
        "matches for ever",
        "import re\nreturn bool(re.match(r'(a+)+$', 'a' * 5000 + 'b'))",
        None,
        "raised",
        "interpreter_seconds",
    ),
    _borne(
        "matches with back references",
        "import re\nreturn bool(re.match(r'(a*)*\\1b', 'a' * 3000))",
        None,
        "raised",
        "interpreter_seconds",
    ),
    _borne(
        "makes a huge number",
        "return len(str(7 ** (10 ** 7)))",
        "raised",
        "memory",
        "interpreter_seconds",
    ),
    _borne(
        "reads a huge number", "return int('9' * 200000) > 0", None, "raised", "interpreter_seconds"
    ),
    _stopped(
        "waits for nothing",
        "import asyncio\nwhile True:\n  await asyncio.sleep(0)",
        "suspensions",
        "interpreter_seconds",
    ),
)

MEMORY: Final = (
    _stopped("repeats a text", "x = 'a' * 10 ** 10", "memory"),
    _stopped("repeats a list", "x = [0] * 10 ** 9", "memory"),
    _stopped("fills a list", "x = []\nwhile True: x.append('a' * 1000)", "memory"),
    _stopped(
        "fills a dict", "x = {}\ni = 0\nwhile True:\n  x[i] = str(i) * 50\n  i += 1", "memory"
    ),
    _stopped("doubles a text", "x = 'ab'\nwhile True: x += x", "memory"),
    _stopped("doubles a list", "x = [1]\nwhile True: x = x + x", "memory"),
    _stopped("formats wide", "x = f'{1:>{10 ** 9}}'", "memory", "raised"),
    _stopped("joins wide", "x = ('a' * 10 ** 6).join(['b'] * 10 ** 4)", "memory"),
    _stopped("replaces wide", "x = ('a' * 10 ** 4).replace('a', 'b' * 10 ** 6)", "memory"),
    _stopped("shifts far", "x = 1 << 10 ** 10", "memory", "raised"),
    _stopped(
        "takes all permutations",
        "import itertools\nx = list(itertools.permutations(range(12)))",
        "memory",
        "interpreter_seconds",
    ),
    _stopped(
        "makes a list of a range", "x = list(range(10 ** 9))", "memory", "interpreter_seconds"
    ),
    _borne(
        "catches the end of memory",
        "x = []\ntry:\n  while True: x.append('a' * 10000)\n"
        "except BaseException:\n  pass\nreturn 'went on'",
        "memory",
        None,
    ),
    _borne("returns very much", "return 'a' * (20 * 1024 * 1024)", None, "memory", "crashed"),
    _borne("returns very many", "return [i for i in range(10 ** 5)]", None, "memory"),
    _borne(
        "calls with very much",
        "from github import create_issue\n"
        "return await create_issue(title='a' * (10 * 1024 * 1024))",
        None,
        "memory",
    ),
    _borne("raises very much", "raise ValueError('a' * (10 * 1024 * 1024))", "raised", "memory"),
)

DEPTH: Final = (
    _stopped("calls itself", "def f(): return f()\nf()", "depth"),
    _stopped("calls itself by its key", "def f(x): return sorted([1], key=f)\nf(1)", "depth"),
    _stopped(
        "calls itself by its text",
        "class A:\n  def __repr__(self): return repr(self)\nrepr(A())",
        "depth",
    ),
    _borne(
        "catches its own depth",
        "def f():\n  try:\n    return f()\n  except BaseException:\n    return f()\nreturn f()",
        "depth",
        "interpreter_seconds",
        "memory",
        "crashed",
        None,
    ),
    _borne(
        "nests a list",
        "x = []\nfor i in range(100000): x = [x]\nreturn len(str(x))",
        None,
        "depth",
        "raised",
        "crashed",
        "memory",
    ),
    _borne(
        "returns a deep list",
        "x = []\nfor i in range(100000): x = [x]\nreturn x",
        None,
        "depth",
        "raised",
        "crashed",
    ),
    _borne("returns itself", "x = []\nx.append(x)\nreturn x", None, "raised"),
    _borne(
        "calls with a deep list",
        "from github import create_issue\nx = []\n"
        "for i in range(10000): x = [x]\nreturn await create_issue(title=x)",
        None,
        "depth",
        "raised",
        "crashed",
    ),
    _borne("reads deep JSON", "import json\njson.loads('[' * 100000)", "raised", "depth"),
    _borne(
        "writes deep JSON",
        "import json\nx = []\nfor i in range(50000): x = [x]\njson.dumps(x)\n",
        "raised",
        "depth",
        None,
    ),
    _borne("nests deep source", "x = " + "[" * 3000 + "]" * 3000, "syntax"),
    _borne("nests deep source, checked", "x = " + "(" * 9000 + ")" * 9000, "syntax", "crashed"),
    _borne("chains operators", "x = " + "+".join(["1"] * 20000), None, "syntax", "raised"),
    _borne("chains attributes", "x = a" + ".b" * 20000, "syntax", "raised"),
    _borne("evaluates deep source", "eval('(' * 50000)", "raised"),
    _borne("has very many lines", "x = 1\n" * 100000, None, "memory", "interpreter_seconds"),
)

FORGING: Final = (
    _borne("prints for ever", "while True: print('x' * 1000)", "interpreter_seconds"),
    _borne("prints very much", "print('x' * (10 * 1024 * 1024))", None, "memory"),
    _borne("prints many lines", "for i in range(10 ** 5): print(i)", None, "interpreter_seconds"),
    _borne("prints control characters", "print('\\x1b[2J\\x00\\u202e')\nreturn '\\x00'", None),
    _borne("forges a limit", "raise TimeoutError('turn time limit exceeded: 1s > 1s')", "raised"),
    _borne("forges memory", "raise MemoryError('x')", "raised"),
    _borne("forges an unsupported construct", "raise NotImplementedError('x')", "raised"),
    _borne("forges a waiting call", "return '<coroutine external_future(1)>'", None),
    _borne("exits", "raise SystemExit", "raised"),
    _borne("interrupts", "raise KeyboardInterrupt", "raised"),
    _borne(
        "returns a call",
        "from github import create_issue\nreturn create_issue(title='a')",
        None,
    ),
    _borne("returns a host function", "from github import create_issue\nreturn create_issue", None),
    _borne("returns a class", "class A:\n  pass\nreturn A()", None),
    _borne("returns a module", "import github\nreturn github", None),
    _borne(
        "calls very often",
        "import asyncio\nfrom github import create_issue\n"
        "await asyncio.gather(*[create_issue(title='a') for i in range(10 ** 5)])",
        "suspensions",
    ),
    _borne(
        "catches the end of its calls",
        "import asyncio\nfrom github import create_issue\n"
        "while True:\n  try:\n    await create_issue(title='a')\n  except BaseException:\n    pass",
        "suspensions",
    ),
    _borne(
        "asks for very many names",
        "for i in range(10 ** 4):\n  try:\n    nothing\n  except NameError:\n    pass",
        "suspensions",
        None,
    ),
    _borne("source of no text", "x = '\\ud800'\nreturn x", None, "raised", "syntax"),
    _borne("source with a null", "x = 1\x00", "syntax", None),
)


def _typed(name: str, source: str, *ends: FailedWhy | None) -> Hostile:
    return Hostile(name, source, frozenset(ends), checked=True)


CHECKER: Final = (
    _typed("silences the checker", "# type: ignore\nx: int = 'a'\nreturn 'ESCAPED'", "types"),
    _typed("silences it for the file", "# ty: ignore\nx: int = ''", None, "types"),
    _typed(
        "lets it read a file",
        "import os\n# /// <reference path='/etc/passwd' />\nfrom etc import passwd",
        "types",
    ),
    _typed("lets it read a module of the machine", "import numpy", "types"),
    _typed("lets it go up", "from . import secrets_of_the_host", "types", "syntax"),
    _typed(
        "lets it reveal",
        "from typing import reveal_type\nreveal_type(open)\nreturn 1",
        None,
        "raised",
        "types",
    ),
    _typed(
        "blows its unions up",
        "from typing import Literal\n"
        + "\n".join(
            f"def f{i}(x: Literal[{', '.join(map(str, range(i * 50, i * 50 + 50)))}]): return x"
            for i in range(40)
        ),
        None,
    ),
    _typed(
        "blows its inference up",
        "x = 1\n" + "\n".join("x = (x, x)" for _ in range(25)),
        None,
        "types",
        "memory",
        "crashed",
        "interpreter_seconds",
    ),
    _typed("opens the gate", "__gate = 'open'\nx: int = ''", "types"),
    _typed("closes the gate early", "assert False\nx: int = ''", None, "raised", "types"),
)

CORPUS: Final = (
    *FILES,
    *MACHINE,
    *INSIDE,
    *TIME,
    *MEMORY,
    *DEPTH,
    *FORGING,
    *CHECKER,
)
"""All of them."""
