"""Tools whose name, title or description a pattern occurs in.

What a pattern is, and that it takes time in proportion to the text only, is the matter of the
engine that compiled it; here it is a function.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from toolcrib.core.search.segment import Doc

_CHARACTERS: Final = 2_000
"""Of a title and of a description that are looked at."""
_IN_NAME: Final = 2.0
_IN_TEXT: Final = 1.0


def matching(
    docs: Iterable[Doc], occurs: Callable[[str], bool], most: int
) -> list[tuple[tuple[str, str], float]]:
    """At most so many tools with scores: first where it occurs in the name, then in the texts.

    Among equals they are sorted by server id and name. A pattern that spans lines may begin in the
    title and end in the description.
    """
    found: list[tuple[tuple[str, str], float]] = []
    for doc in docs:
        if occurs(doc.item.key):
            found.append((doc.tool, _IN_NAME))
        elif occurs(_texts(doc.item.definition)):
            found.append((doc.tool, _IN_TEXT))
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:most]


def _texts(definition: Any) -> str:
    texts = (definition.get("title"), definition.get("description"))
    return "\n".join(text[:_CHARACTERS] for text in texts if isinstance(text, str))
