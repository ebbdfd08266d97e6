"""Programs in a newer grammar than that of the Python that toolcrib itself runs on.

A runtime may take what `ast` here does not. Then the text is written in the older grammar, line for
line, to be looked at and never to be run: values in f-strings become arguments of `str`, type
parameters are left out, a `type` statement becomes an assignment, and the classes of an `except`
get their brackets.
"""

import ast
import re
from collections.abc import Collection
from typing import Final, Literal

TYPE_STATEMENT: Final = "type statement"

_PIECE: Final = re.compile(
    r"""
      (?P<comment>\#[^\n\r]*)
    | (?P<string>(?:[bB][rR]?|[rR][bB]?|[uU]|[fF][rR]?|[rR][fF])?(?:'''|\"\"\"|'|\"))
    | (?P<word>\w+)
    | (?P<blank>[ \t\f]+|\\\r?\n)
    | (?P<other>!=|[\s\S])
    """,
    re.VERBOSE,
)
_GENERIC: Final = re.compile(r"(?:def|class)[ \t]+\w+[ \t]*(?=\[)")
_ALIAS: Final = re.compile(r"type[ \t]+(?P<name>[^\W\d]\w*)[ \t]*(?=\[|=(?!=))")
_CAUGHT: Final = re.compile(
    r"(?P<word>except\*?)[ \t]+(?P<names>[\w.]+(?:[ \t]*,[ \t]*[\w.]+)+)(?=[ \t]*:)"
)
_OPENING: Final = frozenset("([{")
_CLOSING: Final = frozenset(")]}")

_Until = Literal["end", "value", "bracket"]


def parsed(source: str) -> tuple[ast.Module, Collection[int]]:
    """The syntax of a program, and the lines of its `type` statements.

    Raises:
        SyntaxError: It is none, or in a grammar that is not known here.
        ValueError: It holds what no source may.
        RecursionError: It is nested too deep.
        MemoryError: As above.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:
        text, aliases = older(source)
        return ast.parse(text), aliases
    return tree, [getattr(it, "lineno", 0) for it in ast.walk(tree) if _is_alias(it)]


def older(source: str) -> tuple[str, Collection[int]]:
    """A program in the older grammar, and the lines of its `type` statements; raises as above."""
    reading = _Older(source)
    return reading.text(), reading.aliases


def _is_alias(node: ast.AST) -> bool:
    return type(node).__name__ == "TypeAlias"  # which `ast` has from Python 3.12 on


class _Older:
    """A text in the older grammar."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._at = 0
        self.aliases: list[int] = []

    def text(self) -> str:
        return self._code("end")

    def _code(self, until: _Until) -> str:
        """Code from here, up to the end of the text, of a value in an f-string, or of a bracket."""
        told: list[str] = []
        depth, begins, text_before = 0, True, False
        while (found := _PIECE.match(self._source, self._at)) is not None:
            kind, piece = found.lastgroup, found[0]
            if depth == 0 and _ends(until, piece):
                break
            if kind == "string":
                told.append("+" * text_before + self._string(found))
            elif kind == "word":
                told.append(self._word(piece, begins=begins and depth == 0))
            else:
                depth += (piece in _OPENING) - (piece in _CLOSING)
                self._at = found.end()
                told.append(piece)
            if depth < 0:
                raise SyntaxError("brackets do not fit")
            if kind not in {"blank", "comment"}:
                text_before = kind == "string" or (piece in "\r\n" and text_before and depth > 0)
                begins = piece in "\r\n;:"
        return "".join(told)

    def _word(self, word: str, *, begins: bool) -> str:
        at = self._at
        if begins and word == "type" and (alias := _ALIAS.match(self._source, at)):
            self.aliases.append(self._source.count("\n", 0, at) + 1)
            self._at = alias.end()
            return alias["name"] + self._without_bracket()
        if word in {"def", "class"} and (generic := _GENERIC.match(self._source, at)):
            self._at = generic.end()
            return generic[0] + self._without_bracket()
        if word == "except" and (caught := _CAUGHT.match(self._source, at)):
            self._at = caught.end()
            return f"{caught['word']} ({caught['names']})"
        self._at += len(word)
        return word

    def _without_bracket(self) -> str:
        """The lines of a bracket that begins here, if one does, without what they hold."""
        if not self._source.startswith("[", self._at):
            return ""
        begin = self._at
        self._at += 1
        self._code("bracket")
        self._at += 1
        return "\\\n" * self._source.count("\n", begin, self._at)

    def _string(self, found: re.Match[str]) -> str:
        self._at = found.end()
        quote = found[0].lstrip("bBrRuUfF")
        if "f" not in found[0].lower():
            end = re.compile(rf"(?:\\[\s\S]|(?!{quote})[^\\])*{quote}").match(
                self._source, self._at
            )
            if end is None:
                raise SyntaxError("a text without an end")
            self._at = end.end()
            return found[0] + end[0]
        return f"str({self._formatted(quote, raw='r' in found[0].lower())})"

    def _formatted(self, quote: str, *, raw: bool) -> str:
        """The values of an f-string or, where the quote is none, of a format in it."""
        told: list[str] = []
        while self._at < len(self._source):
            here = self._source[self._at]
            if quote and self._source.startswith(quote, self._at):
                self._at += len(quote)
                return "".join(told)
            if here == "}" and not quote:
                return "".join(told)
            if self._source.startswith(("{{", "}}"), self._at) and quote:
                self._at += 2
            elif here == "{":
                self._at += 1
                told.append(self._value(raw=raw))
            elif here == "\\":
                told.append(self._escaped(raw=raw))
            else:
                told.append(here if here == "\n" else "")
                self._at += 1
        raise SyntaxError("an f-string without an end")

    def _escaped(self, *, raw: bool) -> str:
        """Nothing, or the end of the line that is escaped."""
        begin = self._at
        named = re.compile(r"\\N\{[^{}'\"]*\}").match(self._source, self._at)
        if named is not None and not raw:
            self._at = named.end()
        else:
            self._at += 1 if self._source.startswith(("{", "}"), self._at + 1) else 2
        return "\n" * self._source.count("\n", begin, self._at)

    def _value(self, *, raw: bool) -> str:
        value = self._code("value").rstrip()
        if value.endswith("=") and value[-2:] not in {"==", "!=", "<=", ">="}:
            value = value[:-1]
        conversion = re.compile(r"!\w\s*").match(self._source, self._at)
        if conversion is not None:
            self._at = conversion.end()
        inner = ""
        if self._source.startswith(":", self._at):
            self._at += 1
            inner = self._formatted("", raw=raw)
        if not self._source.startswith("}", self._at):
            raise SyntaxError("a value in an f-string without an end")
        self._at += 1
        return f"({value}\n),{inner}" if "#" in value else f"({value}),{inner}"


def _ends(until: _Until, piece: str) -> bool:
    match until:
        case "end":
            return False
        case "value":
            return piece in {"}", "!", ":"}
        case "bracket":
            return piece == "]"
