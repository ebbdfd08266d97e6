"""Names of tools as every provider takes them, so that one name serves all of them.

Exposed names are legal as they are (`core.naming`), unless original names are exposed
(`--names plain`).
"""

import base64
import hashlib
import re
from typing import Final

LEGAL: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
"""Anthropic and OpenAI take these characters, 64 of them; Gemini wants no digit at the start."""

_FOREIGN: Final = re.compile("[^a-zA-Z0-9_-]+")
_LONGEST: Final = 64
_HASH: Final = 10
_SIGN: Final = "_0_"
_MADE: Final = re.compile(f"{_SIGN}[a-z2-7]{{{_HASH}}}")
"""How a name ends that was made here."""


def legal_name(exposed: str) -> str:
    """The name itself where it is legal, else what is legal of it and a hash over all of it.

    A legal name that ends like one made here is made anew, too: no server can give a tool the
    name that stands for another one's.
    """
    if LEGAL.fullmatch(exposed) and not _MADE.fullmatch(exposed[-len(_SIGN) - _HASH :]):
        return exposed
    mark = hashlib.sha256(exposed.encode("utf-8", "surrogatepass")).digest()
    short = base64.b32encode(mark).decode()[:_HASH].lower()
    plain = _FOREIGN.sub("_", exposed).strip("_-")
    if not plain or not plain[0].isalpha():
        plain = f"tool_{plain}".rstrip("_")
    return f"{plain[: _LONGEST - _HASH - len(_SIGN)]}{_SIGN}{short}"
