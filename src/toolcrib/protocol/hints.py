"""Caching hints of a list result: what they say, what we believe, and what was odd about them.

MCP 2026-07-28, caching: time-to-live and cache scope. A wrong hint never costs the listing: what
cannot be relied on counts as 0 and private, and each oddity is told.
"""

from collections.abc import Mapping
from typing import Any

from toolcrib.core.jsontypes import described, is_integer, is_number
from toolcrib.core.quoting import literal
from toolcrib.core.snapshot import Hints, Scope
from toolcrib.protocol.eras import Era

DEFAULT_CLAMP = 86_400.0
"""Seconds beyond which no hint is believed."""


def parse_hints(result: Mapping[str, Any], *, era: Era, clamp: float = DEFAULT_CLAMP) -> Hints:
    """The hints of one raw result.

    Args:
        result: The result of a list request.
        era: Handshake revisions do not know hints: their absence is in order there.
        clamp: Most seconds a hint may say.
    """
    oddities: list[str] = []
    ttl, odd = _ttl(result, clamp)
    if odd is not None and (era == "modern" or "ttlMs" in result):
        oddities.append(odd)
    scope, odd = _scope(result)
    if odd is not None and (era == "modern" or "cacheScope" in result):
        oddities.append(odd)
    return Hints(ttl, scope, tuple(oddities))


def _ttl(result: Mapping[str, Any], clamp: float) -> tuple[float, str | None]:
    if "ttlMs" not in result:
        return 0.0, "ttlMs is missing"
    value = result["ttlMs"]
    if not is_number(value):
        return 0.0, f"ttlMs is {described(value)}, but must be a number"
    if value < 0:
        return 0.0, "ttlMs is negative"
    # Compared before it is divided: an integer may be too large for a float.
    if value > clamp * 1000:
        return clamp, f"ttlMs is more than {clamp:,.0f} seconds and was clamped"
    if not is_integer(value):
        return 0.0, "ttlMs is no whole number"
    return value / 1000, None


def _scope(result: Mapping[str, Any]) -> tuple[Scope, str | None]:
    if "cacheScope" not in result:
        return Scope.PRIVATE, "cacheScope is missing"
    value = result["cacheScope"]
    if value == Scope.PUBLIC.value:
        return Scope.PUBLIC, None
    odd = f"cacheScope is {literal(value)}, but must be public or private"
    return Scope.PRIVATE, None if value == Scope.PRIVATE.value else odd
