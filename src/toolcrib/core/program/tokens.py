"""What a TypeScript text consists of, as far as that is clear without its grammar.

Code is told from what stands in comments, strings, templates and regular expressions. A slash that
may divide or begin a regular expression, a string without an end, brackets that do not fit: there
the text is not clear any more, and nothing behind it is told.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

_BREAK: Final = r"\r\n|[\n\r\u2028\u2029]"
_ESCAPED: Final = r"\\(?:\r\n|[\s\S])"
_NO_BREAK: Final = r"[^\n\r\u2028\u2029]"
_TOKEN: Final = re.compile(
    rf"""
      (?P<blank>{_BREAK}|[^\S\n\r\u2028\u2029]+|\ufeff|//{_NO_BREAK}*|/\*[\s\S]*?\*/|^\#!{_NO_BREAK}*)
    | (?P<value>"(?:[^"\\\n\r]|{_ESCAPED})*"|'(?:[^'\\\n\r]|{_ESCAPED})*')
    | (?P<word>[\w$@\#\\\u200c\u200d]+)
    | (?P<mark>\+\+|--|=>|\?\.|[\s\S])
    """,
    re.VERBOSE,
)
_REGEX: Final = re.compile(
    rf"/(?![*/])(?:\[(?:\\.|(?!\]|\\){_NO_BREAK})*\]|\\.|(?![/\\\[]){_NO_BREAK})+/\w*"
)
_TEMPLATE: Final = re.compile(r"(?:[^`\\$]|\\[\s\S]|\$(?!\{))*(`|\$\{)")
"""From behind its beginning, or behind a value in it, to its end or to the next value."""
_VALUE_IN_TEMPLATE: Final = "${"
_PAIRS: Final = {"(": ")", "[": "]", "{": "}", _VALUE_IN_TEMPLATE: "}"}
_BEFORE_REGEX: Final = frozenset(
    {"return", "typeof", "case", "in", "delete", "void", "throw", "new", "instanceof"}
    | {"await", "yield", "do", "else"}
)
_CONTROL: Final = frozenset({"if", "while", "for", "with"})
_EITHER: Final = frozenset({"of", "}", "++", "--", "!", ".", "?."})
"""Behind these a slash may divide, or begin a regular expression."""

Kind = Literal["word", "mark", "value"]


@dataclass(frozen=True, slots=True)
class Token:
    """One word, mark or value."""

    kind: Kind
    """`value`: a string, the end of a template, or a regular expression."""
    text: str
    line: int
    """From 1."""
    outermost: bool
    """Whether it stands in no bracket."""
    first: bool
    """Whether it is the first one of its line, or of the text."""
    member: bool
    """Whether it is the name of a member: it follows a point."""
    control: bool
    """Of a round bracket: whether it is that of `if`, `while`, `for` or `with`."""

    @property
    def quoted(self) -> bool:
        """Whether it is a string."""
        return self.kind == "value" and self.text[0] in "\"'"


def tokens(source: str) -> Iterator[Token]:
    """What the text consists of, up to where it is not clear any more."""
    return _Reading(source).tokens()


def lines(source: str) -> list[str]:
    """The lines of a text, as tokens count them."""
    return re.split(_BREAK, source)


class _Reading:
    def __init__(self, source: str) -> None:
        self._source = source
        self._at = 0
        self._line = 1
        self._first = True
        self._last: Token | None = None
        self._open: list[Token] = []

    def tokens(self) -> Iterator[Token]:
        while self._at < len(self._source):
            piece = self._piece()
            if piece is None:
                return
            kind, text = piece
            breaks = len(re.findall(_BREAK, text))
            if kind == "blank":
                self._first = self._first or breaks > 0
            else:
                token = self._token(kind, text)
                if not self._fits(token, text):
                    return
                yield token
                self._first, self._last = False, token
            self._at += len(text)
            self._line += breaks

    def _piece(self) -> tuple[Kind | Literal["blank"], str] | None:
        """The next piece of the text; None: it is not clear."""
        found = _TOKEN.match(self._source, self._at)
        if found is None:
            return None
        text = found[0]
        if text == "/":
            return self._slash()
        if text == "`" or (text == "}" and self._in_template):
            return self._template()
        for kind in ("word", "value", "blank"):
            if found.lastgroup == kind:
                return kind, text
        return None if text in {'"', "'"} else ("mark", text)

    @property
    def _in_template(self) -> bool:
        return bool(self._open) and self._open[-1].text == _VALUE_IN_TEMPLATE

    def _template(self) -> tuple[Kind, str] | None:
        found = _TEMPLATE.match(self._source, self._at + 1)
        if found is None:
            return None
        return "value" if found[1] == "`" else "mark", self._source[self._at : found.end()]

    def _slash(self) -> tuple[Kind, str] | None:
        if self._source.startswith("/*", self._at):  # a comment without an end
            return None
        match self._last:
            case Token(kind="value") | Token(text="]"):
                return "mark", "/"
            case Token(text=text) if text in _EITHER:
                return None
            case Token(kind="word", text=text, member=member):
                regex = text in _BEFORE_REGEX and not member
            case Token(text=")", control=control):
                regex = control
            case _:
                regex = True
        if not regex:
            return "mark", "/"
        found = _REGEX.match(self._source, self._at)
        return None if found is None else ("value", found[0])

    def _token(self, kind: Kind, text: str) -> Token:
        last = self._last
        after = "" if last is None or last.kind == "value" else last.text
        control = text == "(" and after in _CONTROL and last is not None and not last.member
        if text == ")" and self._open:
            control = self._open[-1].control
        return Token(
            kind,
            _VALUE_IN_TEMPLATE if kind == "mark" and text.endswith(_VALUE_IN_TEMPLATE) else text,
            self._line,
            outermost=not self._open,
            first=self._first,
            member=kind == "word" and after in {".", "?."},
            control=control,
        )

    def _fits(self, token: Token, text: str) -> bool:
        """Keep count of the brackets that are open; False: they do not fit."""
        closes = token.kind != "word" and text[0] in {")", "]", "}"}
        if closes and (not self._open or _PAIRS[self._open.pop().text] != text[0]):
            return False
        if token.kind == "mark" and token.text in _PAIRS:
            self._open.append(token)
        return True
