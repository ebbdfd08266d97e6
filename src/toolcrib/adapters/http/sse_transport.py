"""The old HTTP+SSE transport (MCP 2024-11-05): one stream brings all, messages go out by POST.

The stream is the connection: once it breaks the server has forgotten us, so nothing is re-opened
here. Not the SDK's `sse_client`: it ends quietly when a POST fails, so that the request waits for
its time-out.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import httpx2
from anyio.abc import TaskGroup
from mcp.shared._context_streams import ContextReceiveStream, create_context_streams
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import (
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
)

from toolcrib.adapters.background import background
from toolcrib.adapters.http.authorisation import Authoriser, refusal_error
from toolcrib.adapters.http.client import RedirectRefused, open_endpoint, settle
from toolcrib.adapters.http.event_stream import media_type, read_events
from toolcrib.adapters.http.exchange import read_refusal
from toolcrib.adapters.http.faults import describe_fault, fault_error, name_fault
from toolcrib.adapters.http.server_error import ErrorFilter
from toolcrib.adapters.http.wire import HttpFacts, Inbox, Outbox, Wire
from toolcrib.adapters.rpc_messages import write_message
from toolcrib.adapters.stream_watch import StreamWatch
from toolcrib.errors import ToolcribError
from toolcrib.settings import HttpLaunch, Limits

__all__ = ["SseOutbox", "open_sse"]


class SseStream:
    """The event stream: finds the address for messages, then delivers them until it breaks."""

    def __init__(self, wire: Wire, watch: StreamWatch) -> None:
        self._wire = wire
        self._watch = watch
        self._limit = max(wire.limits.walk_bytes, wire.limits.result_bytes)
        self._decided = anyio.Event()
        self.failure: ErrorData | None = None
        """Why the stream could not be opened."""
        self.address: httpx2.URL | None = None
        """Where messages are posted to."""

    async def run(self) -> None:
        """Open the stream and read it to its end."""
        reason = "the server ended the event stream, which is the connection"
        try:
            await self._read()
        except RedirectRefused as refused:
            self.failure = fault_error("redirect", status=refused.status)
        except ToolcribError as unauthorised:
            self.failure = refusal_error(unauthorised)
        except Exception as broken:  # noqa: BLE001 - ends this connection, must not end the caller
            fault = name_fault(broken)
            detail = f"limit walk_bytes: {self._limit} bytes" if fault == "too_large" else ""
            self.failure = fault_error(fault, detail=detail)
            reason = describe_fault(fault, detail)
        if self.failure is None and self.address is None:
            self.failure = fault_error("endpoint", detail="the stream ended before")
        self._decided.set()
        if self.address is not None:
            self._watch.stream_lost(reason)
        self._wire.end(reason)

    async def opened(self) -> httpx2.URL:
        """Wait for the address.

        Raises `MCPError` with the outcome in its data, as a failed request would, when there is
        none.
        """
        seconds = self._wire.limits.request_seconds
        with anyio.move_on_after(seconds):
            await self._decided.wait()
        if self.address is not None:
            return self.address
        error = self.failure or fault_error("endpoint", detail=f"none in {seconds:g} s")
        raise MCPError(code=error.code, message=error.message, data=error.data)

    async def _read(self) -> None:
        headers = {"accept": "text/event-stream", "cache-control": "no-store"}
        response = await self._wire.endpoint.send("GET", headers)
        try:
            if not response.is_success:
                self.failure = await read_refusal(self._wire, response, in_session=False)
            elif media_type(response) != "text/event-stream":
                self.failure = fault_error("content_type", status=response.status_code)
            else:
                await self._follow(response)
        finally:
            await response.aclose()

    async def _follow(self, response: httpx2.Response) -> None:
        async with read_events(response, self._limit) as events:
            async for event in events:
                if event.event == "endpoint" and self.address is None:
                    self.address = self._wire.endpoint.resolve(event.data)
                    if self.address is None:
                        self.failure = fault_error("endpoint", detail="it is on another origin")
                        return
                    self._watch.stream_opened()
                    self._decided.set()
                elif event.event == "message" and event.data:
                    await self._take(event.data)

    async def _take(self, text: str) -> None:
        message = await self._wire.inbox.read(text)
        if message is not None:
            await self._wire.inbox.deliver(message)


class SseOutbox(Outbox):
    """The write stream: posts each message to the address that the server named."""

    def __init__(self, wire: Wire, tasks: TaskGroup, address: httpx2.URL) -> None:
        super().__init__(wire.facts)
        self._wire = wire
        self._tasks = tasks
        self._address = address

    async def _forward(self, message: JSONRPCMessage, headers: dict[str, str]) -> None:
        """Only `notifications/initialized` is waited for: a server may refuse what comes before."""
        match message:
            case JSONRPCNotification(method="notifications/initialized"):
                await self._post(message, headers)
            case _:
                self._tasks.start_soon(self._post, message, headers)

    async def _post(self, message: JSONRPCMessage, headers: dict[str, str]) -> None:
        """Post a message; a request that cannot be posted is answered with the error."""
        error = None
        with anyio.move_on_after(self._wire.limits.request_seconds):
            try:
                error = await self._send(message, headers)
            except RedirectRefused as refused:
                error = fault_error("redirect", status=refused.status)
            except ToolcribError as unauthorised:
                error = refusal_error(unauthorised)
            except Exception as broken:  # noqa: BLE001 - costs this message, must not end the connection
                error = fault_error(name_fault(broken))
        if error is not None and isinstance(message, JSONRPCRequest):
            answer = JSONRPCError(jsonrpc="2.0", id=message.id, error=error)
            await self._wire.inbox.pass_on(SessionMessage(answer))
        if self._wire.facts.session_lost:
            self._wire.lose_session()

    async def _send(self, message: JSONRPCMessage, headers: dict[str, str]) -> ErrorData | None:
        sent = {"accept": "*/*", "content-type": "application/json", **headers}
        response = await self._wire.endpoint.send(
            "POST", sent, write_message(message), url=self._address
        )
        try:
            if not response.is_success:
                return await read_refusal(self._wire, response, in_session=True)
            await settle(response)
            return None
        finally:
            await response.aclose()


@asynccontextmanager
async def open_sse(
    launch: HttpLaunch,
    *,
    limits: Limits,
    watch: StreamWatch,
    transport: httpx2.AsyncBaseTransport | None = None,
    authoriser: Authoriser | None = None,
) -> AsyncGenerator[tuple[ContextReceiveStream[SessionMessage | Exception], SseOutbox, HttpFacts]]:
    """A connection to an HTTP+SSE server, as streams for the SDK's `JSONRPCDispatcher`.

    Entering opens the event stream and waits for the address of messages, at most
    `limits.request_seconds`. When the stream ends the read stream does too, and `facts.over` says
    why.

    Raises `MCPError` with the outcome in its data (`split_outcome`) when there is no such stream,
    and `ConfigError` for a URL, header or proxy that cannot be used.
    """
    async with open_endpoint(launch, limits, transport, authoriser) as endpoint:
        sender, receiver = create_context_streams[SessionMessage | Exception](64)
        errors = ErrorFilter(launch, authoriser)
        wire = Wire(endpoint, Inbox(sender, errors), errors, limits)
        async with sender, receiver, background() as tasks:
            stream = SseStream(wire, watch)
            tasks.start_soon(stream.run)
            address = await stream.opened()
            yield receiver, SseOutbox(wire, tasks, address), wire.facts
