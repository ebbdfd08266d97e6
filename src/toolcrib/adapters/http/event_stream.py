"""Reads server-sent events and takes a broken stream up again (HTML standard, 9.2)."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Final, cast

import httpx2

__all__ = ["EventCursor", "media_type", "read_body", "read_events"]

_BASE: Final = 0.5
_CAP: Final = 60.0
_LEAST: Final = 0.05
"""Seconds before any reconnect, whatever `retry` says, so that no server can have us spin."""
_LONGEST_RETRY: Final = 600.0


def media_type(response: httpx2.Response) -> str:
    """The media type of an answer in lower case and without parameters; "" when it names none."""
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_body(response: httpx2.Response, limit: int) -> bytes | None:
    """The whole decoded body, or None when it is larger than `limit` bytes."""
    announced = response.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > limit:
        return None
    parts: list[bytes] = []
    size = 0
    async with aclosing(response.aiter_bytes()) as chunks:
        async for chunk in chunks:
            size += len(chunk)
            if size > limit:
                return None
            parts.append(chunk)
    return b"".join(parts)


def read_events(
    response: httpx2.Response, limit: int
) -> AbstractAsyncContextManager[AsyncGenerator[httpx2.ServerSentEvent]]:
    """The events of a stream; one of more than `limit` bytes raises `httpx2.SSEError`."""
    source = httpx2.EventSource(response, max_event_size=limit)
    return aclosing(cast("AsyncGenerator[httpx2.ServerSentEvent]", aiter(source)))


class EventCursor:
    """Where a stream that breaks is taken up again, and how soon."""

    def __init__(self) -> None:
        self.last_id = ""
        """The id of the last event that had one; "" before."""
        self._retry: float | None = None
        self._failures = 0

    @property
    def failures(self) -> int:
        """Attempts in a row that brought no event."""
        return self._failures

    def heard(self, event: httpx2.ServerSentEvent) -> None:
        """Take note of an event."""
        self._failures = 0
        if event.id:
            self.last_id = event.id
        if event.retry is not None and event.retry >= 0:
            self._retry = min(event.retry / 1000, _LONGEST_RETRY)

    def failed(self) -> None:
        """Take note of an attempt; it counts as failed until an event is heard."""
        self._failures += 1

    def lasted(self) -> None:
        """Take note that a stream, though silent, stood long enough to count as good."""
        self._failures = 0

    def skip(self) -> None:
        """Give up what came after the last event: replaying it would break the next stream too."""
        self.last_id = ""

    def resumption(self) -> dict[str, str]:
        """The header that asks for what came after the last event."""
        return {"last-event-id": self.last_id} if self.last_id else {}

    def delay(self, lot: float, asked: float | None = None) -> float:
        """Seconds to wait before the next attempt.

        At least what the server asked for (`retry`, or `asked` from a Retry-After, at most ten
        minutes), else half a second; doubled with each failure up to a minute; `lot` in [0, 1)
        spreads it.
        """
        base = _BASE if self._retry is None or self._failures else 0.0
        backoff = min(_CAP, base * 2.0 ** min(self._failures, 10))
        least = max(self._retry or 0.0, min(asked or 0.0, _LONGEST_RETRY), _LEAST)
        return max(least * (1.0 + lot / 4), backoff * (0.5 + lot / 2))
