"""Compact JSON, as it is measured, kept and sent."""

import json
from typing import Final

from pydantic_core import PydanticSerializationError, to_json

from toolcrib.core.finite import place_not_finite
from toolcrib.core.quoting import quoted

_LOOKED_AT: Final = 50_000
"""Values that are looked at for the place of a number that is not finite."""


class NotFinite(ValueError):
    """A value holds NaN or an infinity, so that there is no JSON for it; `place` says where."""

    def __init__(self, place: str) -> None:
        super().__init__(f"NaN or an infinity, which JSON has not, stands at {quoted(place)}")
        self.place = place


def encode(value: object) -> bytes:
    """Encode as compact JSON.

    Lone surrogates are real (servers cut descriptions in the middle of a pair) and have no UTF-8
    form: such a value is written with escapes. Raises `NotFinite` for NaN and infinities.
    """
    try:
        written = to_json(value, inf_nan_mode="constants")
    except (PydanticSerializationError, ValueError):
        written = json.dumps(value, separators=(",", ":")).encode()
    # The words may as well stand in a text: only then is the value itself looked through.
    if (b"NaN" in written or b"Infinity" in written) and not _is_finite(value):
        place = place_not_finite(value, most=_LOOKED_AT)
        if place is not None:
            raise NotFinite(place)
    return written


def _is_finite(value: object) -> bool:
    """Whether every number is finite, as far as the quick encoder can tell."""
    try:
        json.dumps(value, allow_nan=False)
    except RecursionError:
        return place_not_finite(value) is None
    except ValueError:
        return False
    return True
