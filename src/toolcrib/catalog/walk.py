"""One list request over a live connection: the raw result becomes a page, every failure a value."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import anyio.to_thread

from toolcrib.core.draft import Bounds
from toolcrib.core.freshness.events import Failure, FailureKind
from toolcrib.core.jsontypes import is_array
from toolcrib.core.snapshot import Hints, Item, Kind, Page
from toolcrib.errors import (
    AuthRequired,
    LimitExceeded,
    RateLimited,
    RequestTimedOut,
    ResultInvalid,
    ToolcribError,
    UpstreamRefused,
)
from toolcrib.ports import Clock, Upstream
from toolcrib.protocol.listing import ListingLimits, MalformedListing, parse_page
from toolcrib.settings import Limits

INVALID_PARAMS = -32602
METHOD_NOT_FOUND = -32601

LARGE_PAGE = 500
"""Definitions from which on a page is parsed off the event loop."""

FetchPage = Callable[[str | None], Awaitable[Page | Failure]]
"""Sends one list request; a keeper is handed one and never sees the connection."""

Heard = Callable[[str, Mapping[str, Any], Mapping[str, Any]], None]
"""Told of an answer: (method, params, result)."""


async def fetch_page(
    upstream: Upstream,
    kind: Kind,
    cursor: str | None,
    *,
    clock: Clock,
    limits: Limits,
    timeout: float,
    known: Mapping[str, Item],
    heard: Heard | None = None,
) -> Page | Failure:
    """Sends one list request and parses what comes back, item by item.

    The first page is asked for without a cursor key. A server that does not know the method has
    nothing of this kind: an empty page.

    Args:
        upstream: The live connection.
        kind: Which list.
        cursor: The cursor of the page before, or None.
        clock: Says when the page was received.
        limits: How large a definition may be, and how long a hint is believed.
        timeout: Seconds for the request.
        known: Items that were judged before, by fingerprint: what is unchanged is not judged again.
        heard: Told of the raw result.
    """
    params: dict[str, Any] = {} if cursor is None else {"cursor": cursor}
    try:
        result = await upstream.request(kind.method, params, timeout=timeout)
    except UpstreamRefused as refusal:
        return _refusal(refusal, cursor, clock)
    except ToolcribError as error:
        return failure_of(error)
    if heard is not None:
        heard(kind.method, params, result)
    parse = partial(
        parse_page,
        kind,
        result,
        era=upstream.facts.era,
        received=clock.now(),
        limits=ListingLimits(
            Bounds(limits.definition_bytes, limits.schema_depth, limits.schema_bytes),
            ttl_clamp=limits.ttl_clamp,
        ),
        known=known,
    )
    definitions = result.get(kind.field)
    try:
        if is_array(definitions) and len(definitions) > LARGE_PAGE:
            return await anyio.to_thread.run_sync(parse)
        return parse()
    except MalformedListing as error:
        return Failure(FailureKind.MALFORMED, str(error))


def _refusal(refusal: UpstreamRefused, cursor: str | None, clock: Clock) -> Page | Failure:
    if refusal.rpc_code == METHOD_NOT_FOUND and cursor is None:
        return Page((), (), None, Hints(), clock.now(), 0)
    if refusal.rpc_code == INVALID_PARAMS and cursor is not None:
        return Failure(
            FailureKind.REFUSED_CURSOR, f"the server refused its own cursor: {refusal.message}"
        )
    detail = f"the server answered {refusal.rpc_code}: {refusal.message}"
    return Failure(FailureKind.TRANSPORT, detail, refusal.retry_after)


def failure_of(error: ToolcribError) -> Failure:
    """What an error means for a walk."""
    retry_after = error.details.get("retry_after")
    match error:
        case AuthRequired():
            kind = FailureKind.FORBIDDEN
        case RateLimited():
            kind = FailureKind.RATE_LIMITED
        case RequestTimedOut():
            kind = FailureKind.TIMEOUT
        case LimitExceeded():
            kind = FailureKind.LIMIT
        case ResultInvalid():
            kind = FailureKind.MALFORMED
        case _:
            kind = FailureKind.TRANSPORT
    return Failure(kind, error.message, retry_after)
