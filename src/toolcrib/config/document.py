"""A configuration file as a tree in which every value knows where it stands."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

LARGEST: Final = 4 * 1024 * 1024
"""Bytes of a configuration file that are read; a larger one is an error."""

Scalar: TypeAlias = str | int | float | bool | None
Value: TypeAlias = "dict[str, Node] | list[Node] | Scalar"

_PLAIN_KEY: Final = re.compile(r"[\w$-]+")


@dataclass(frozen=True, slots=True)
class Node:
    """One value of a configuration file."""

    value: Value = field(repr=False)
    """Out of the repr: it may be a secret."""
    file: str
    path: str
    """The way to it, such as `mcpServers.git.env.TOKEN`; empty for the whole file."""
    line: int
    """Counted from 1. A member of an object stands where its key stands."""
    column: int
    """Counted from 1, in characters."""
    hidden: tuple["Node", ...] = ()
    """Earlier members of this object whose key is written again further down."""

    @property
    def table(self) -> dict[str, "Node"]:
        """The members, where it is an object; else nothing."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def place(self) -> str:
        """`file:line`."""
        return f"{self.file}:{self.line}"


class BrokenDocument(Exception):
    """A file that cannot be read as what it should be: where, why, a hint; nothing it says."""

    def __init__(self, message: str, line: int, column: int, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.hint = hint


def step_into(path: str, key: str | int) -> str:
    """The path of a member: `a.b`, `a["b c"]` or `a[0]`."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    if not _PLAIN_KEY.fullmatch(key):
        return f'{path}["{key}"]'
    return f"{path}.{key}" if path else key


def repeated_keys(node: Node) -> Iterator[Node]:
    """Every member that a later one with the same key hides, at any depth."""
    yield from node.hidden
    members = node.value if isinstance(node.value, list) else node.table.values()
    for member in members:
        yield from repeated_keys(member)


def decoded(raw: bytes) -> str:
    """The text of a file: UTF-8 with or without a mark, or UTF-16 with one."""
    if len(raw) > LARGEST:
        raise BrokenDocument(
            f"is larger than {LARGEST} bytes", 1, 1, "is this the file that was meant?"
        )
    encoding = "utf-16" if raw[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        line = before.count(b"\n") + 1
        column = len(before) - (before.rfind(b"\n") + 1) + 1
        raise BrokenDocument(
            "is not UTF-8 text", line, column, "save the file in the encoding UTF-8"
        ) from None
