"""A TypeScript program before it runs: does it import what is not known now?

    checked = check_typescript(source, most, away=...)
    checked.problems        # in words, each with its line; empty: it may run

What is refused is an import whose module is written out as a string, in code. Whatever may be read
otherwise is left to the runtime, which says the same of a module that is not there.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Final

from toolcrib.core.program.problem import Problem
from toolcrib.core.program.python import NO_REASONS, Checked, too_large
from toolcrib.core.program.tokens import Token, lines, tokens

_MOST: Final = 10
"""Problems that are told."""
_CLAUSE: Final = frozenset("{},*")
"""The marks that may stand between `import` and `from`."""


def check_typescript(source: str, most: int, *, away: Mapping[str, str] = NO_REASONS) -> Checked:
    """Whether a program may run.

    Args:
        source: As the model wrote it.
        most: Bytes that it may have in UTF-8 (`code.source_bytes`).
        away: Why a module is not known now.
    """
    if (large := too_large(source, most)) is not None:
        return Checked(source, (large,))
    if not any(module in source for module in away):
        return Checked(source)
    text = lines(source)
    told = dict.fromkeys(
        Problem("unsupported", away[module], line, text[line - 1], "script.ts")
        for line, module in imported(source)
        if module in away
    )
    return Checked(source, tuple(told)[:_MOST])


def imported(source: str) -> Iterator[tuple[int, str]]:
    """The modules that a program imports by names which are written out, each with its line."""
    found = list(tokens(source))
    for at, token in enumerate(found):
        if (token.kind, token.text) != ("word", "import") or token.member:
            continue
        named = _called(found[at + 1 : at + 4])
        if named is None and token.outermost and _begins(token, found[at - 1] if at else None):
            named = _from(found, at + 1)
        if named is not None and "\\" not in named:
            yield token.line, named[1:-1]


def _called(after: Sequence[Token]) -> str | None:
    """The string of `import("module")`."""
    match after:
        case [Token(kind="mark", text="("), named, Token(kind="mark", text=")" | ",")]:
            return named.text if named.quoted else None
        case _:
            return None


def _begins(token: Token, before: Token | None) -> bool:
    """Whether a statement begins here, for all that can be seen."""
    return token.first or (
        before is not None and before.kind == "mark" and before.text in {";", "}"}
    )


def _from(found: Sequence[Token], start: int) -> str | None:
    """The string of `import … from "module"`, or of `import "module"`."""
    for at in count(start):
        token = found[at] if at < len(found) else None
        match token:
            case None | Token(kind="word", text="import"):
                return None
            case Token(kind="value"):
                before = found[at - 1]
                if at == start or (before.kind, before.text) == ("word", "from"):
                    return token.text if token.quoted else None
            case Token(kind="mark", text=text) if text not in _CLAUSE:
                return None
            case _:
                pass
    return None
