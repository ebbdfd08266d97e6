"""The stream on GET for what a handshake-era server says unasked (MCP 2025-11-25, transports).

It is opened whether or not the server gave a session id, and re-opened for ever: a list that
changed is announced nowhere else. What comes between two streams is lost unless the server replays
it from `Last-Event-ID`.
"""

from http import HTTPStatus
from typing import Final

import anyio
import httpx2

from toolcrib.adapters.http.client import RedirectRefused
from toolcrib.adapters.http.event_stream import EventCursor, media_type, read_events
from toolcrib.adapters.http.faults import describe_fault, name_fault
from toolcrib.adapters.http.status import describe_status, may_pass, parse_retry_after
from toolcrib.adapters.http.wire import Wire
from toolcrib.adapters.stream_watch import StreamWatch

__all__ = ["GetStream"]

_UNDECIDED_SECONDS: Final = 5.0
_STANDING_SECONDS: Final = 30.0
"""A stream that stood this long was good even if nothing came."""


class GetStream:
    """Keeps the stream open and tells the watch how it stands."""

    def __init__(self, wire: Wire, watch: StreamWatch) -> None:
        self._wire = wire
        self._watch = watch
        self._cursor = EventCursor()
        self._decided = anyio.Event()
        self._finished = False
        self._trouble = "it does not answer the GET"

    async def run(self) -> None:
        """Open the stream, again after each loss, until it is refused or the session is lost."""
        while True:
            self._cursor.failed()
            asked = None
            try:
                asked = await self._attempt()
            except RedirectRefused as refused:
                self._refuse(describe_fault("redirect", f"HTTP {refused.status}"))
            except Exception as broken:  # noqa: BLE001 - costs an attempt, must not cost the connection
                self._trouble = describe_fault(name_fault(broken))
            if self._finished or self._wire.facts.over:
                return
            await anyio.sleep(self._cursor.delay(self._wire.lots(), asked))

    async def mind_silence(self) -> None:
        """Say that there are no signals while the stream is neither opened nor refused.

        Some servers send the headers of a stream with its first event, and some hang: whoever waits
        for the stream before trusting a listing must not wait on them. The stream may still open
        later.
        """
        with anyio.move_on_after(_UNDECIDED_SECONDS):
            await self._decided.wait()
            return
        self._watch.stream_refused(
            f"the signal stream is not open after {_UNDECIDED_SECONDS:g} s: {self._trouble}"
        )

    def _refuse(self, reason: str) -> None:
        self._finished = True
        self._decided.set()
        self._watch.stream_refused(reason)

    async def _attempt(self) -> float | None:
        """One GET, to the end of its stream. Returns the seconds a refusal asks to wait."""
        session = self._wire.session
        in_session = session.open
        headers = {"accept": "text/event-stream", "cache-control": "no-store", **session.headers()}
        response = await self._wire.endpoint.send("GET", headers | self._cursor.resumption())
        try:
            if response.is_success:
                await self._listen(response)
                return None
            status = response.status_code
            asked = parse_retry_after(
                response.headers.get("retry-after"), response.headers.get("date")
            )
        finally:
            await response.aclose()
        if status == HTTPStatus.NOT_FOUND and in_session:
            self._wire.lose_session()
        elif not may_pass(status):
            self._refuse(describe_status(status))
        self._trouble = describe_status(status, asked)
        return asked

    async def _listen(self, response: httpx2.Response) -> None:
        if media_type(response) != "text/event-stream":
            self._refuse(describe_fault("content_type", f"HTTP {response.status_code} to a GET"))
            return
        self._decided.set()
        self._watch.stream_opened()
        opened = anyio.current_time()
        reason = "the server ended the signal stream"
        try:
            async with read_events(response, self._wire.limits.result_bytes) as events:
                async for event in events:
                    self._cursor.heard(event)
                    await self._take(event)
        except httpx2.HTTPError as broken:
            fault = name_fault(broken)
            if fault == "too_large":
                self._cursor.skip()
            reason = describe_fault(fault, "signal stream")
        if anyio.current_time() - opened >= _STANDING_SECONDS:
            self._cursor.lasted()
        self._watch.stream_lost(reason)

    async def _take(self, event: httpx2.ServerSentEvent) -> None:
        if event.event != "message" or not event.data:
            return
        message = await self._wire.inbox.read(event.data)
        if message is not None:
            await self._wire.inbox.deliver(message)
