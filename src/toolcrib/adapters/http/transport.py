"""Streamable HTTP in both eras, as the two streams that the SDK's dispatcher takes.

Why not the SDK's own transport: it turns every HTTP failure into one code, gives the GET stream up
after two failures, never notices that a session is gone, and opens a new connection for each answer
that comes as an event stream, which costs nearly twice the CPU per call (a quarter more for JSON).
Bending it from below would mend the first of the four.
"""

import random
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final

import anyio
import httpx2
from anyio.abc import TaskGroup
from mcp.shared._context_streams import ContextReceiveStream, create_context_streams
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, RequestId

from toolcrib.adapters.background import background
from toolcrib.adapters.http.authorisation import Authoriser
from toolcrib.adapters.http.client import open_endpoint, settle
from toolcrib.adapters.http.exchange import Exchange
from toolcrib.adapters.http.get_stream import GetStream
from toolcrib.adapters.http.server_error import ErrorFilter
from toolcrib.adapters.http.wire import VERSION_HEADER, HttpFacts, Inbox, Outbox, Wire
from toolcrib.adapters.rpc_messages import write_message
from toolcrib.adapters.stream_watch import StreamWatch
from toolcrib.settings import HttpLaunch, Limits

__all__ = ["HttpFacts", "HttpOutbox", "open_streamable_http"]

_INBOX_MESSAGES: Final = 64
"""Messages read ahead of the dispatcher; a full inbox stops reading, and TCP slows the server."""
_CANCEL_SECONDS: Final = 5.0
_LEAVE_SECONDS: Final = 1.0


class HttpOutbox(Outbox):
    """The write stream: sends each message on its way and returns at once.

    Only `notifications/initialized` is waited for, since a server may refuse what comes before it.
    Tasks begin in the sender's context, so that what a server asks during a call is known to belong
    to it.
    """

    def __init__(self, wire: Wire, tasks: TaskGroup, watch: StreamWatch) -> None:
        super().__init__(wire.facts)
        self._wire = wire
        self._tasks = tasks
        self._watch = watch
        self._exchanges: dict[RequestId, Exchange] = {}

    async def _forward(self, message: JSONRPCMessage, headers: dict[str, str]) -> None:
        self._note_revision(message, headers)
        match message:
            case JSONRPCRequest():
                self._begin(message, headers)
            case JSONRPCNotification(method="notifications/cancelled"):
                self._cancel(message)
            case JSONRPCNotification(method="notifications/initialized"):
                await self._post(message, headers)
                self._listen()
            case _:
                self._tasks.start_soon(self._post, message, headers)

    def _note_revision(self, message: JSONRPCMessage, headers: dict[str, str]) -> None:
        """Keep the revision in the order of sending; a probe's must not leak onto the handshake."""
        if isinstance(message, JSONRPCRequest) and message.method == "initialize":
            self._wire.session.begin()
            return
        self._wire.session.version = headers.get(VERSION_HEADER, self._wire.session.version)

    def _begin(self, request: JSONRPCRequest, headers: dict[str, str]) -> None:
        """Start a request. Under an id in use it takes the waiter over, so the older is cut off."""
        older = self._exchanges.get(request.id)
        if older is not None:
            older.scope.cancel()
        exchange = Exchange(self._wire, request, headers)
        self._exchanges[request.id] = exchange
        self._tasks.start_soon(self._run, request.id, exchange)

    async def _run(self, request_id: RequestId, exchange: Exchange) -> None:
        try:
            await exchange.run()
        finally:
            if self._exchanges.get(request_id) is exchange:
                del self._exchanges[request_id]

    def _cancel(self, notice: JSONRPCNotification) -> None:
        """Cancel a request in the way of the era it was sent in; one that is over needs nothing."""
        request_id = cancelled_request_id_from_params(notice.params)
        exchange = self._exchanges.get(request_id) if request_id is not None else None
        if exchange is None:
            return
        if exchange.ends_by_closing:
            exchange.scope.cancel()
        else:
            self._tasks.start_soon(self._cancel_by_notice, notice, exchange)

    async def _cancel_by_notice(self, notice: JSONRPCNotification, exchange: Exchange) -> None:
        """Tell a handshake-era server, to which a closed stream means nothing; then close it."""
        with anyio.move_on_after(_CANCEL_SECONDS):
            await self._post(notice, {})
        exchange.scope.cancel()

    async def _post(self, message: JSONRPCMessage, headers: dict[str, str]) -> None:
        """Send what has no answer. A failure is no error: the next request meets the same one."""
        session = self._wire.session
        in_session = session.open
        sent = {
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
            **session.headers(),
            **headers,
        }
        with anyio.move_on_after(self._wire.limits.request_seconds):
            try:
                response = await self._wire.endpoint.send("POST", sent, write_message(message))
            except Exception:  # noqa: BLE001 - see above
                return
            try:
                if response.status_code == HTTPStatus.NOT_FOUND and in_session:
                    self._wire.lose_session()
                await settle(response)
            finally:
                await response.aclose()

    def _listen(self) -> None:
        """Open the signal stream of the handshake revisions."""
        if self._wire.session.modern:
            return
        stream = GetStream(self._wire, self._watch)
        self._tasks.start_soon(stream.run)
        self._tasks.start_soon(stream.mind_silence)


async def _leave(wire: Wire) -> None:
    """Give the session back (DELETE), if there is one; never takes longer than a second."""
    if not wire.session.open or wire.facts.session_lost:
        return
    with anyio.move_on_after(_LEAVE_SECONDS, shield=True):
        try:
            response = await wire.endpoint.send("DELETE", wire.session.headers())
            await response.aclose()
        except Exception:  # noqa: BLE001 - we are leaving; a server that is gone needs no goodbye
            return


@asynccontextmanager
async def open_streamable_http(
    launch: HttpLaunch,
    *,
    limits: Limits,
    watch: StreamWatch,
    lots: Callable[[], float] = random.random,
    transport: httpx2.AsyncBaseTransport | None = None,
    authoriser: Authoriser | None = None,
    version_header: str = "",
) -> AsyncGenerator[tuple[ContextReceiveStream[SessionMessage | Exception], HttpOutbox, HttpFacts]]:
    """A connection to a Streamable HTTP server, as streams for the SDK's `JSONRPCDispatcher`.

    Nothing is sent until the first message; leaving ends requests and session. A request that fails
    below JSON-RPC is answered with an error whose data holds the outcome (`split_outcome`). A
    message's headers come from its `ClientMessageMetadata`; the revision header among them decides
    how its era cancels. The read stream ends, and `facts.over` says why, when the server has
    forgotten the session.

    `lots` gives numbers in [0, 1) that spread reconnects, `transport` takes the network's place in
    tests, `authoriser` answers challenges, `version_header` is a response header that goes up with
    each result (`stamp_version`). Raises `ConfigError` for a URL, header or proxy that
    cannot be used.
    """
    async with open_endpoint(launch, limits, transport, authoriser) as endpoint:
        sender, receiver = create_context_streams[SessionMessage | Exception](_INBOX_MESSAGES)
        errors = ErrorFilter(launch, authoriser)
        inbox = Inbox(sender, errors)
        wire = Wire(endpoint, inbox, errors, limits, lots, version_header=version_header)
        async with sender, receiver:
            try:
                async with background() as tasks:
                    yield receiver, HttpOutbox(wire, tasks, watch), wire.facts
            finally:
                await _leave(wire)
