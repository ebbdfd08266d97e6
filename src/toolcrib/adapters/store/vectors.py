"""The rules that every store of vectors shares: how many, and when one counts as used."""

from typing import Final

MOST_VECTORS: Final = 50_000
"""Vectors of all models that are kept; a tool takes two, and one of 512 numbers has 2 KiB."""
USED_ANEW: Final = 86_400.0
"""Seconds between two uses of a vector that are told apart: reading writes once a day at most."""


def is_new_use(used_at: float, now: float) -> bool:
    """Whether a use now is worth remembering; a clock that was set back makes it so, too."""
    return abs(now - used_at) >= USED_ANEW
