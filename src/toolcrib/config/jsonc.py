"""JSON as people write it: comments, trailing commas; every value knows its place.

A scanner of our own, because no library at hand gives what the error messages need. Of those tried,
`json5`, `pyjson5`, `commentjson` and `jsonyx` return bare values without places (and `commentjson`
repeats the whole document in its errors, secrets included), `json-source-map` reads strict JSON
only, and the model of `json-five` is slow and has no recovery hints. Strings and numbers are left
to the standard library.
"""

import json
import re
from bisect import bisect_right
from typing import Final, NoReturn

from toolcrib.config.document import BrokenDocument, Node, Value, step_into

DEEPEST: Final = 100
"""How deep objects and lists may be nested."""

_SKIPPED: Final = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_WORD: Final = re.compile(r"[A-Za-z_$][\w$.-]*")
_CONSTANTS: Final = {"true": True, "false": False, "null": None}
_QUOTES: Final = "\u201c\u201d\u201e\u2018\u2019`"
_DECODER: Final = json.JSONDecoder()


def parse(text: str, file: str = "") -> Node:
    """The document as a tree.

    Raises:
        BrokenDocument: it is no JSON, even with comments and trailing commas; with line, column and
            a hint.
    """
    return _Scanner(text, file).document()


class _Scanner:
    """Reads one document from left to right; `_at` is the next character."""

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._at = 0
        self._depth = 0
        self._lines = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def document(self) -> Node:
        self._skip()
        if not self._next():
            self._fail("is empty", 'write {"mcpServers": {}} at least')
        root = self._node("", self._at)
        self._skip()
        if self._next():
            self._fail(
                "goes on after its end",
                "a file holds one object: is a brace closed too early, or missing at the start?",
            )
        return root

    # ---- values ----

    def _node(self, path: str, named_at: int) -> Node:
        """The value that begins here; `named_at` is where its key stands, or it itself."""
        hidden: list[Node] = []
        value = self._value(path, hidden)
        line, column = self._place(named_at)
        return Node(value, self._file, path, line, column, tuple(hidden))

    def _value(self, path: str, hidden: list[Node]) -> Value:
        first = self._next()
        if first == "{":
            return self._object(path, hidden)
        if first == "[":
            return self._list(path)
        if first == '"':
            return self._string()
        if first == "-" or first.isdigit():
            return self._number()
        word = _WORD.match(self._text, self._at)
        if word is not None and word.group() in _CONSTANTS:
            self._at = word.end()
            return _CONSTANTS[word.group()]
        return self._no_value(word.group() if word else "")

    def _object(self, path: str, hidden: list[Node]) -> dict[str, Node]:
        opened = self._enter()
        members: dict[str, Node] = {}
        while not self._closes("}", opened):
            named_at = self._at
            key = self._key()
            if key in members:
                hidden.append(members.pop(key))
            members[key] = self._node(step_into(path, key), named_at)
            self._comma("}", opened)
        return members

    def _list(self, path: str) -> list[Node]:
        opened = self._enter()
        members: list[Node] = []
        while not self._closes("]", opened):
            members.append(self._node(step_into(path, len(members)), self._at))
            self._comma("]", opened)
        return members

    def _key(self) -> str:
        if self._next() != '"':
            self._no_key()
        key = self._string()
        self._skip()
        if self._next() != ":":
            hint = "write : between a key and its value"
            self._fail("lacks a colon after a key", hint)
        self._at += 1
        self._skip()
        return key

    def _string(self) -> str:
        try:
            value, self._at = _DECODER.raw_decode(self._text, self._at)
        except json.JSONDecodeError as error:
            if "escape" in error.msg:
                self._at = error.pos
                self._fail(
                    "has an unknown escape after a backslash",
                    r"write \\ for one backslash, or / in the paths of Windows",
                )
            self._fail(
                "has a string that is not closed on its line",
                r'close it with ", and write \n for a line break inside it',
            )
        return str(value)

    def _number(self) -> int | float:
        try:
            value, self._at = _DECODER.raw_decode(self._text, self._at)
        except ValueError:  # JSONDecodeError, or more digits than an int may have
            self._fail("has a number that cannot be read", "write plain decimal digits")
        if not isinstance(value, int | float) or value in (float("inf"), float("-inf")):
            self._fail("has a number that cannot be read", "infinity is no JSON number")
        return value

    # ---- between values ----

    def _enter(self) -> int:
        opened = self._at
        self._depth += 1
        if self._depth > DEEPEST:
            self._fail(f"is nested deeper than {DEEPEST}", "is this the file that was meant?")
        self._at += 1
        return opened

    def _closes(self, closer: str, opened: int) -> bool:
        """Whether the object or list ends here; leaves it if so."""
        self._skip()
        found = self._next()
        if found == closer:
            self._at += 1
            self._depth -= 1
            return True
        if not found or found in "}]":
            self._not_closed(closer, opened)
        if found == ",":
            self._fail("has a comma with nothing before it", "remove one comma")
        return False

    def _comma(self, closer: str, opened: int) -> None:
        end_of_value = self._at
        self._skip()
        found = self._next()
        if found == ",":
            self._at += 1
        elif not found or found in "}]":
            if found != closer:
                self._not_closed(closer, opened)
        else:
            line, _ = self._place(end_of_value)
            self._fail(
                "lacks a comma between two values",
                f"put one after the value that ends on line {line}",
            )

    def _skip(self) -> None:
        """Steps over white space and comments."""
        match = _SKIPPED.match(self._text, self._at)
        self._at = match.end() if match else self._at
        if self._text.startswith("/*", self._at):
            self._fail("has a comment that is never closed", "close it with */")

    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _place(self, at: int) -> tuple[int, int]:
        line = bisect_right(self._lines, at)
        return line, at - self._lines[line - 1] + 1

    # ---- what is wrong ----

    def _no_value(self, word: str) -> NoReturn:
        found = self._next()
        if not found:
            self._fail("ends where a value should stand", "write the value, and close what is open")
        if found in "}],":
            self._fail("lacks a value", "write the value, or remove the key or comma before it")
        if word.lower() in {"none", "true", "false", "null"}:
            proper = "null" if word.lower() == "none" else word.lower()
            self._fail("has a word that JSON spells otherwise", f"write {proper}")
        self._fail(
            "has a value that is no JSON", self._quote_hint(found) or "text stands in double quotes"
        )

    def _no_key(self) -> NoReturn:
        hint = self._quote_hint(self._next()) or "keys stand in double quotes"
        self._fail("has a key that is no JSON", hint)

    def _quote_hint(self, found: str) -> str:
        if found == "'":
            return "use double quotes: single ones are no JSON"
        if found and found in _QUOTES:
            return 'use straight double quotes: "'
        return "comments begin with // in JSON" if found == "#" else ""

    def _not_closed(self, closer: str, opened: int) -> NoReturn:
        line, column = self._place(opened)
        name = "an object" if closer == "}" else "a list"
        self._fail(
            f"has {name} that is not closed: it was opened on line {line}, column {column}",
            f"close it with {closer}",
        )

    def _fail(self, message: str, hint: str) -> NoReturn:
        line, column = self._place(min(self._at, len(self._text)))
        raise BrokenDocument(message, line, column, hint) from None
