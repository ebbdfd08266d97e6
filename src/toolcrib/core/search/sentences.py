"""A query taken apart where it asks for several things."""

import re
from typing import Final

MOST_SENTENCES: Final = 8
"""Sentences of one query that are looked at; those that follow count with the whole only."""
_SHORTEST: Final = 12
_SHORTEST_CJK: Final = 4
"""Characters below which a piece says nothing by itself."""
_CJK: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_BETWEEN: Final = re.compile(
    r"(?<=[.!?;])\s+|(?<=[\u3002\uff01\uff1f\uff1b])|\n+"
    r"|,?\s+(?:and then|then|and also|after that)\s+",
    re.IGNORECASE,
)


def sentences_of(query: str) -> tuple[str, ...]:
    """The steps or sentences of a query that has several; empty for one that is all of a piece."""
    # Without long runs of white space, over which the pattern would go again and again.
    lines = filter(None, (" ".join(line.split()) for line in query.splitlines()))
    pieces = (piece.strip() for piece in _BETWEEN.split("\n".join(lines)))
    telling = [piece for piece in pieces if _is_telling(piece)][:MOST_SENTENCES]
    return tuple(telling) if len(telling) > 1 else ()


def _is_telling(piece: str) -> bool:
    return len(piece) >= (_SHORTEST_CJK if _CJK.search(piece) else _SHORTEST)
