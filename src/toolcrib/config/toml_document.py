"""TOML as a tree in which every value knows its line.

`tomllib` gives no places. But a TOML document is a sequence of statements (a table header or an
assignment), each of which is a document by itself: reading them one after the other tells on which
line each one begins.
"""

import re
import tomllib
from collections.abc import Iterator
from datetime import date, time
from typing import Final, TypeAlias, cast

from toolcrib.config.document import BrokenDocument, Node, Value, step_into

Toml: TypeAlias = "str | int | float | bool | date | time | list[Toml] | dict[str, Toml]"
Way = tuple[str | int, ...]
"""The keys, and places in lists of tables, that lead to a value."""

LONGEST_STATEMENT: Final = 500
"""Lines of one statement; after a longer one, values stand where their table stands."""

_WHERE: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_HINT: Final = "see https://toml.io: text stands in double quotes, a table begins with [name]"


def parse(text: str, file: str = "") -> Node:
    """The document as a tree; every column is 1, and members of a list stand where the list does.

    But a table of a list of tables (`[[name]]`) stands where its own header does.

    Raises:
        BrokenDocument: it is no TOML.
    """
    try:
        root = _loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _broken(str(error), text) from None
    except RecursionError:
        deep = "is nested too deep"
        raise BrokenDocument(deep, 1, 1, "is this the file that was meant?") from None
    lines: dict[Way, int] = {}
    for way, line in _statements(text):
        for depth in range(1, len(way) + 1):
            lines.setdefault(way[:depth], line)
    return _Builder(lines, file).node(root, (), "", 1)


def _loads(text: str) -> dict[str, Toml]:
    return cast("dict[str, Toml]", tomllib.loads(text))


def _broken(said: str, text: str) -> BrokenDocument:
    where = _WHERE.search(said)
    message = _WHERE.sub("", said)  # which names keys and single characters, never values
    line, column = where.groups() if where else (None, None)
    if line is None or column is None:
        line, column = str(text.count("\n") + 1), "1"
    return BrokenDocument(f"is no TOML: {message}", int(line), int(column), _HINT)


def _statements(text: str) -> Iterator[tuple[Way, int]]:
    """The way of every header and every assigned key, with the line where its statement begins."""
    table: Way = ()
    last: dict[Way, int] = {}
    begun, begins = "", 1
    for number, line in enumerate(text.split("\n"), start=1):
        if not begun:
            begins = number
        elif number - begins > LONGEST_STATEMENT:
            return
        begun += line + "\n"
        try:
            statement = _loads(begun)
        except tomllib.TOMLDecodeError:  # goes on in the next line
            continue
        begun = ""
        if begins == number and line.lstrip().startswith("["):
            table = _inside(max(_ways(statement), key=len), last)
            if line.lstrip().startswith("[["):
                last[table] = last.get(table, -1) + 1
                table = (*table, last[table])
            yield table, number
        else:
            yield from (((*table, *way), begins) for way in _ways(statement))


def _inside(header: Way, last: dict[Way, int]) -> Way:
    """The way that a header means: a list of tables on it stands for its last table so far."""
    way: Way = header[:1]
    for key in header[1:]:
        way = (*way, last[way], key) if way in last else (*way, key)
    return way


def _ways(value: Toml) -> Iterator[Way]:
    """The ways to everything inside a value."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield (key,)
            yield from ((key, *way) for way in _ways(member))


class _Builder:
    """Makes the tree, given where statements begin."""

    def __init__(self, lines: dict[Way, int], file: str) -> None:
        self._lines = lines
        self._file = file

    def node(self, value: Toml, way: Way, path: str, line: int) -> Node:
        line = self._lines.get(way, line)
        inner: Value
        if isinstance(value, dict):
            inner = {
                key: self.node(member, (*way, key), step_into(path, key), line)
                for key, member in value.items()
            }
        elif isinstance(value, list):
            inner = [
                self.node(member, (*way, place), step_into(path, place), line)
                for place, member in enumerate(value)
            ]
        elif isinstance(value, date | time):  # means nothing in a configuration of ours
            inner = value.isoformat()
        else:
            inner = value
        return Node(inner, self._file, path, line, 1)
