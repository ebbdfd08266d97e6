"""Other people's text inside of source text: ASCII, on one line, unable to end its quotation."""

import json
from typing import Final

from toolcrib.core.invisible import visible

MOST_DOC: Final = 400
"""Characters of what is said about one tool."""
_READ: Final = 4_000
"""Characters that are looked at for that."""


def cleaned(text: object) -> str:
    """A description on one line without what hides, clipped; empty where it is no text."""
    if not isinstance(text, str):
        return ""
    line = one_line(text[:_READ])
    return line if len(line) <= MOST_DOC else f"{line[: MOST_DOC - 3].rstrip()}..."


def one_line(text: str) -> str:
    """A text on one line, without what hides or controls."""
    line = " ".join(visible(text).split())
    return line if line.isprintable() else "".join(filter(str.isprintable, line))


def python_string(text: str) -> str:
    """A string literal of Python, in ASCII on one line."""
    quoted = json.dumps(text, ensure_ascii=False).replace("\x7f", "\\x7f")
    return quoted.encode("ascii", "backslashreplace").decode("ascii")


def typescript_string(text: str) -> str:
    """A string literal of TypeScript, in ASCII on one line."""
    return json.dumps(text).replace("\x7f", "\\u007f")


def typescript_comment(text: str) -> str:
    """A comment of TypeScript that nothing in the text can end, or turn into a directive."""
    safe = one_line(text).replace("*/", "* /").replace("@", "@ ")
    return f"/** {safe.encode('ascii', 'backslashreplace').decode('ascii')} */"
