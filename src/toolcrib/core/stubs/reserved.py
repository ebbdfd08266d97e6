"""Words that no identifier of ours may be, written down so that all replicas agree on them.

What an interpreter reserves differs from version to version, and a name must not.
"""

from typing import Final

_WORDS_OF_PYTHON: Final = """
False None True __debug__ and as assert async await break class continue def del elif else
except finally for from global if import in is lambda nonlocal not or pass raise return try
while with yield
"""
PYTHON_KEYWORDS: Final = frozenset(_WORDS_OF_PYTHON.split())
"""What can name neither a function nor a parameter in Python."""

_SOFT: Final = frozenset({"_", "case", "match", "type"})
_BUILT_IN: Final = """
abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod
compile complex delattr dict dir divmod enumerate eval exec filter float format frozenset
getattr globals hasattr hash hex id input int isinstance issubclass iter len list locals map
max memoryview min next object oct open ord pow print property range repr reversed round set
setattr slice sorted staticmethod str sum super tuple type vars zip
Exception KeyError RuntimeError TypeError ValueError
"""
_BUILTINS: Final = frozenset(_BUILT_IN.split())
"""What programs use without importing it."""

TYPING: Final = frozenset(
    {"Any", "Literal", "Mapping", "Never", "NotRequired", "Protocol", "TypedDict", "TypeVar"}
)
"""What our Python text imports from `typing`."""

LIST: Final = "ListOf"
"""What our Python text calls an array that is given."""

TYPE_WORDS: Final = TYPING | {LIST, "None", "bool", "dict", "float", "int", "list", "object", "str"}
"""What Python annotations of ours are written with."""

_WORDS_OF_TYPESCRIPT: Final = """
arguments await break case catch class const continue debugger default delete do else enum
eval export extends false finally for function if implements import in instanceof interface
let new null package private protected public return static super switch then this throw true
try typeof undefined var void while with yield
"""
_TYPESCRIPT: Final = frozenset(_WORDS_OF_TYPESCRIPT.split())
"""What can name no exported function in TypeScript, and `then`: what has one is awaited as if it
were a promise, and so would be the module of a server."""

FUNCTION_WORDS: Final = PYTHON_KEYWORDS | _SOFT | _BUILTINS | TYPE_WORDS | _TYPESCRIPT

_SHIPPED: Final = """
abc aifc annotationlib antigravity argparse array ast asynchat asyncio asyncore atexit
audioop base64 bdb binascii bisect builtins bz2 cProfile calendar cgi cgitb chunk cmath cmd
code codecs codeop collections colorsys compileall compression concurrent configparser
contextlib contextvars copy copyreg crypt csv ctypes curses dataclasses datetime dbm decimal
difflib dis distutils doctest email encodings ensurepip enum errno faulthandler fcntl
filecmp fileinput fnmatch fractions ftplib functools gc genericpath getopt getpass gettext
glob graphlib grp gzip hashlib heapq hmac html http idlelib imaplib imghdr imp importlib
inspect io ipaddress itertools json keyword lib2to3 linecache locale logging lzma mailbox
mailcap marshal math mimetypes mmap modulefinder msilib msvcrt multiprocessing netrc nis
nntplib nt ntpath nturl2path numbers opcode operator optparse os ossaudiodev pathlib pdb
pickle pickletools pipes pkgutil platform plistlib poplib posix posixpath pprint profile
pstats pty pwd py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re readline
reprlib resource rlcompleter runpy sched secrets select selectors shelve shlex shutil signal
site smtpd smtplib sndhdr socket socketserver spwd sqlite3 sre_compile sre_constants
sre_parse ssl stat statistics string stringprep struct subprocess sunau symtable sys
sysconfig syslog tabnanny tarfile telnetlib tempfile termios textwrap this threading time
timeit tkinter token tokenize tomllib toolcrib trace traceback tracemalloc tty turtle
turtledemo types typing typing_extensions unicodedata unittest urllib uu uuid venv warnings
wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport
zlib zoneinfo
"""
_LIBRARY: Final = frozenset(_SHIPPED.split())
"""Modules of Python's standard library, of any supported version, and `toolcrib`, our own."""

MODULE_WORDS: Final = FUNCTION_WORDS | _LIBRARY
