"""One raw list result, parsed item by item: a bad item never costs the page.

MCP 2026-07-28, pagination: response format; basic: result responses.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from toolcrib.core.draft import DEFAULT_BOUNDS, Bounds
from toolcrib.core.instant import Instant
from toolcrib.core.jsontypes import JsonArray, JsonObject, described, is_array, is_object
from toolcrib.core.quarantine import NOTHING_KNOWN, judge
from toolcrib.core.snapshot import Hints, Item, Kind, Page, Quarantined
from toolcrib.protocol.envelope import DIGEST_KEY, own_mark, result_type_fault
from toolcrib.protocol.eras import Era
from toolcrib.protocol.hints import DEFAULT_CLAMP, parse_hints


class MalformedListing(ValueError):
    """A result is no list result at all; the text says which part is wrong."""


@dataclass(frozen=True, slots=True)
class ListingLimits:
    """What one page is held to."""

    bounds: Bounds = DEFAULT_BOUNDS
    """How large one definition may be."""
    ttl_clamp: float = DEFAULT_CLAMP
    """Most seconds a hint is believed."""
    cursor_bytes: int = 64 * 1024
    """Bytes of a cursor: a walk keeps them all, to notice one that comes twice."""


def parse_page(
    kind: Kind,
    result: object,
    *,
    era: Era,
    received: Instant,
    limits: ListingLimits = ListingLimits(),
    size: int | None = None,
    position: int = 0,
    known: Mapping[str, Item] = NOTHING_KNOWN,
) -> Page:
    """Parse one page of a listing.

    Args:
        kind: What was asked for.
        result: The raw result, whatever its shape.
        era: In the modern era hints are expected and a wrong `x-mcp-header` costs its tool.
        received: When it arrived: its freshness counts from here.
        limits: How large a definition may be, and how long a hint is believed.
        size: Bytes on the wire; None: the definitions' canonical forms and the cursor together.
        position: How many definitions earlier pages of the walk had, for those without a name.
        known: Items of the snapshot before, by fingerprint: what is unchanged is not judged again.
            They must have been judged in this era and under these limits.

    Raises:
        MalformedListing: if it is no list result of this kind.
    """
    if not is_object(result):
        raise MalformedListing(f"the {kind.method} result is {described(result)}, not an object")
    _check_result_type(kind, result, era)
    definitions, cursor = _members(kind, result)
    counted = _cursor_size(kind, cursor, limits.cursor_bytes)
    items: list[Item] = []
    quarantined: list[Quarantined] = []
    for index, raw in enumerate(definitions, position):
        judged = judge(
            kind,
            raw,
            position=index,
            bounds=limits.bounds,
            header_rules=era == "modern",
            known=known,
        )
        counted += judged.size
        if isinstance(judged.verdict, Item):
            items.append(judged.verdict)
        else:
            quarantined.append(judged.verdict)
    return Page(
        items=tuple(items),
        quarantined=tuple(quarantined),
        next_cursor=cursor,
        hints=_hints(result, era, limits.ttl_clamp),
        received=received,
        size=counted if size is None else size,
    )


def _check_result_type(kind: Kind, result: JsonObject, era: Era) -> None:
    """Refuse results that are not complete; handshake revisions have no such member to look at."""
    fault = result_type_fault(kind.method, result) if era == "modern" else None
    if fault is not None:
        raise MalformedListing(fault)


def _members(kind: Kind, result: JsonObject) -> tuple[JsonArray, str | None]:
    definitions = result.get(kind.field)
    if not is_array(definitions):
        found = described(definitions) if kind.field in result else "missing"
        raise MalformedListing(f"{kind.field} of the {kind.method} result is {found}, not an array")
    cursor = result.get("nextCursor")
    if cursor is not None and not isinstance(cursor, str):
        found = described(cursor)
        raise MalformedListing(f"nextCursor of the {kind.method} result is {found}, not a string")
    return definitions, cursor


def _cursor_size(kind: Kind, cursor: str | None, limit: int) -> int:
    size = 0 if cursor is None else len(cursor.encode("utf-8", "surrogatepass"))
    if size > limit:
        raise MalformedListing(
            f"nextCursor of the {kind.method} result is {size:,} bytes long, more than the "
            f"{limit:,} that a cursor may have"
        )
    return size


def _hints(result: JsonObject, era: Era, clamp: float) -> Hints:
    """The hints, with a missing `resultType` among the oddities: it counts as complete."""
    hints = parse_hints(result, era=era, clamp=clamp)
    hints = replace(hints, peer_digest=own_mark(result.get("_meta"), DIGEST_KEY))
    if era == "handshake" or "resultType" in result:
        return hints
    return replace(hints, oddities=(*hints.oddities, "resultType is missing"))
