"""The rules that every store of entries shares: how large a value, how long a life."""

from typing import Final

from toolcrib.core.quoting import quoted
from toolcrib.errors import LimitExceeded

VALUE_LIMIT: Final = 16 * 1024 * 1024
"""Bytes one value may have."""
PRUNED_AT_ONCE: Final = 50
"""Expired entries of any owner that one write removes at most."""
_LONGEST: Final = 100 * 365 * 86_400.0
"""Seconds an entry lives at most, so that every expiry is a number that all stores can keep."""


def check_value(key: str, value: bytes) -> None:
    """Refuse a value that is too large.

    Raises:
        LimitExceeded: It has more than `VALUE_LIMIT` bytes.
    """
    if len(value) > VALUE_LIMIT:
        raise LimitExceeded(
            f"the entry {quoted(key)} has {len(value)} bytes, and an entry may have {VALUE_LIMIT}",
            remedy="keep less under this key, or split it over several keys",
        )


def expiry(now: float, lifetime: float) -> float:
    """When an entry written now stops to exist; what is no lifetime at all ends at once."""
    return now + min(max(0.0, lifetime), _LONGEST)
