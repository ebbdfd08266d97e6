"""One request over Streamable HTTP: its POST, the answer as JSON or event stream, its end.

Whatever happens, the request is answered exactly once, unless it is cancelled: an answer of the
server, or an error of ours that says what broke (MCP 2026-07-28 and 2025-11-25, transports:
Streamable HTTP).
"""

import math
from http import HTTPStatus
from typing import Final

import anyio
import httpx2
from mcp.shared.message import SessionMessage
from mcp_types import (
    METHOD_NOT_FOUND,
    ErrorData,
    JSONRPCError,
    JSONRPCRequest,
    JSONRPCResponse,
)

from toolcrib.adapters.http.authorisation import refusal_error
from toolcrib.adapters.http.client import RedirectRefused
from toolcrib.adapters.http.event_stream import EventCursor, media_type, read_body, read_events
from toolcrib.adapters.http.faults import fault_error, name_fault
from toolcrib.adapters.http.outcome import Fault
from toolcrib.adapters.http.status import may_pass, own_error, status_error
from toolcrib.adapters.http.version_header import stamp_version
from toolcrib.adapters.http.wire import Wire
from toolcrib.adapters.rpc_messages import write_message
from toolcrib.errors import ToolcribError

__all__ = ["Exchange", "read_refusal"]

_ANSWER: Final = "application/json, text/event-stream"
_DRAIN_SECONDS: Final = 1.0
"""How long a stream may take to end after the answer, so that its connection can be used again."""
_REFUSAL_SECONDS: Final = 5.0
_REFUSAL_BYTES: Final = 1024 * 1024
_RESUMES: Final = 5
"""Attempts in a row without an event after which a broken answer counts as lost."""


async def read_refusal(wire: Wire, response: httpx2.Response, *, in_session: bool) -> ErrorData:
    """The error an answer outside 2xx stands for; its body is read only where it may hold one.

    A 404 in a session means that the server has forgotten it, unless it speaks of the method.
    """
    body = None
    if media_type(response).endswith("json"):
        with anyio.move_on_after(_REFUSAL_SECONDS):
            try:
                body = await read_body(response, _REFUSAL_BYTES)
            except httpx2.HTTPError:
                body = None
    own = own_error(body) if body else None
    status = response.status_code
    headers = dict(response.headers)
    if "www-authenticate" in headers:
        headers["www-authenticate"] = wire.errors.words(headers["www-authenticate"])
    error = status_error(status, headers, wire.errors.clean(own) if own else None)
    if status == HTTPStatus.NOT_FOUND and in_session and error.code != METHOD_NOT_FOUND:
        wire.facts.session_lost = True
    return error


class Exchange:
    """A request on its way. `run` sends it; cancelling `scope` closes its stream."""

    def __init__(self, wire: Wire, request: JSONRPCRequest, headers: dict[str, str]) -> None:
        self.scope = anyio.CancelScope()
        self.ends_by_closing = wire.session.modern or request.method == "initialize"
        """Whether closing the stream is all there is to a cancellation, by the era of the sending.

        `initialize` must never be cancelled by notice (MCP 2025-11-25, cancellation)."""
        self._resumable = not wire.session.modern
        self._wire = wire
        self._request = request
        self._headers = {**wire.session.headers(), **headers}
        self._in_session = wire.session.open
        listing = request.method.endswith("/list")
        self._limit_name = "walk_bytes" if listing else "result_bytes"
        self._limit: int = getattr(wire.limits, self._limit_name)
        self._cursor = EventCursor()
        self._status: int | None = None
        self._response: httpx2.Response | None = None
        self._answered = False
        self._unreadable = False

    async def run(self) -> None:
        """Send the request and see it answered. Raises nothing but a cancellation from outside."""
        with self.scope:
            try:
                error = await self._exchange()
            except RedirectRefused as refused:
                error = fault_error("redirect", status=refused.status)
            except ToolcribError as unauthorised:
                error = refusal_error(unauthorised)
            except Exception as broken:  # noqa: BLE001 - costs this request, must not cost the connection
                error = self._fail(name_fault(broken), type(broken).__name__)
            if error is not None and not self._answered:
                await self._wire.inbox.pass_on(
                    SessionMessage(JSONRPCError(jsonrpc="2.0", id=self._request.id, error=error))
                )
            if self._wire.facts.session_lost:
                self._wire.lose_session()

    def _fail(self, fault: Fault, detail: str = "") -> ErrorData:
        if fault == "too_large":
            detail = f"limit {self._limit_name}: {self._limit} bytes"
        return fault_error(fault, status=self._status, detail=detail)

    async def _exchange(self) -> ErrorData | None:
        headers = {"accept": _ANSWER, "content-type": "application/json", **self._headers}
        response = await self._wire.endpoint.send("POST", headers, write_message(self._request))
        self._status, self._response = response.status_code, response
        try:
            if not response.is_success:
                return await read_refusal(self._wire, response, in_session=self._in_session)
            if self._request.method == "initialize":
                self._wire.session.adopt(response)
            return await self._read_answer(response)
        finally:
            await response.aclose()

    async def _read_answer(self, response: httpx2.Response) -> ErrorData | None:
        kind = media_type(response)
        if self._status in {202, 204}:
            return self._fail("accepted", f"HTTP {self._status}")
        if kind == "text/event-stream":
            return await self._follow(response)
        if not kind.endswith("json"):
            return self._fail("content_type", ascii(kind[:80]))
        body = await read_body(response, self._limit)
        if body is None:
            return self._fail("too_large")
        await self._take(body)
        return None if self._answered else self._fail("unreadable")

    async def _take(self, raw: bytes | str) -> None:
        """Hand on the message in a body or an event; the answer under the request's own id."""
        message = await self._wire.inbox.read(raw)
        if message is None:
            self._unreadable = True
            return
        if isinstance(message, JSONRPCResponse | JSONRPCError) and self._is_answer(message):
            self._answered = True
            message.id = self._request.id
            header = self._wire.version_header
            if header and self._response is not None and isinstance(message, JSONRPCResponse):
                stamp_version(message, header, self._response)
        await self._wire.inbox.deliver(message)

    def _is_answer(self, message: JSONRPCResponse | JSONRPCError) -> bool:
        """Whether the id is ours, as number or as text; an early refusal may not know it."""
        return message.id is None or str(message.id) == str(self._request.id)

    async def _follow(self, response: httpx2.Response) -> ErrorData | None:
        """Read the answer from a stream, and from those that continue it in the handshake era."""
        error = await self._read_stream(response)
        while error is not None and self._resumable and self._cursor.last_id:
            resumed = await self._resume()
            if resumed is None:
                break
            try:
                error = await self._read_stream(resumed)
            finally:
                await resumed.aclose()
        return error

    async def _read_stream(self, response: httpx2.Response) -> ErrorData | None:
        """Read one stream to its end; the error when it did not bring the answer."""
        fault: Fault = "closed"
        self._cursor.failed()
        try:
            with anyio.CancelScope() as patience:
                async with read_events(response, self._limit) as events:
                    async for event in events:
                        self._cursor.heard(event)
                        if event.event == "message" and event.data:
                            await self._take(event.data)
                        if self._answered and patience.deadline == math.inf:
                            patience.deadline = anyio.current_time() + _DRAIN_SECONDS
        except httpx2.HTTPError as broken:
            fault = name_fault(broken)
        if self._answered:
            return None
        if fault == "too_large":
            self._cursor.skip()
        return self._fail("unreadable" if self._unreadable else fault)

    async def _resume(self) -> httpx2.Response | None:
        """The stream that continues a broken one; None when the server does not continue it."""
        while self._cursor.failures < _RESUMES:
            await anyio.sleep(self._cursor.delay(self._wire.lots()))
            headers = {"accept": "text/event-stream", **self._wire.session.headers()}
            try:
                response = await self._wire.endpoint.send(
                    "GET", {**headers, **self._cursor.resumption()}
                )
            except httpx2.HTTPError:
                self._cursor.failed()
                continue
            if response.is_success and media_type(response) == "text/event-stream":
                return response
            await response.aclose()
            if not may_pass(response.status_code):
                return None
            self._cursor.failed()
        return None
