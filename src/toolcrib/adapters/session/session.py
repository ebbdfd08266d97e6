"""One live connection to a server, over any transport's streams: the `Upstream` port.

The SDK's dispatcher correlates, cancels and reads; its client session is not used, because it
lists behind the caller's back, fixes one envelope for all calls and loses what it does not know.
"""

from collections.abc import Mapping
from typing import Any, Final, Protocol, cast

import anyio
from anyio.abc import TaskStatus
from mcp.shared.dispatcher import CallOptions, DispatchContext, ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp.shared.transport_context import TransportContext
from mcp_types import METHOD_NOT_FOUND, JSONRPCRequest

from toolcrib.adapters.http.wire import HttpFacts
from toolcrib.adapters.session.attempt import Attempt
from toolcrib.adapters.session.era_evidence import contradiction, is_foreign
from toolcrib.adapters.session.error_mapping import is_closing, map_error
from toolcrib.adapters.session.inbound import Inbound, Item, Source
from toolcrib.adapters.session.stamps import HandshakeStamp, ModernStamp, Stamp
from toolcrib.adapters.stdio.transport import CLOSED_BY_US, StdioFacts
from toolcrib.errors import (
    BadArguments,
    RequestTimedOut,
    ToolcribBug,
    ToolcribError,
    UpstreamRefused,
    UpstreamUnreachable,
)
from toolcrib.facts import Finding
from toolcrib.ports import Progress, ServerFacts

Transport = StdioFacts | HttpFacts
"""What is known of the transport below a session."""

_ASKED: Final = {
    "elicitation/create": "elicitation",
    "roots/list": "roots",
    "sampling/createMessage": "sampling",
}
"""What a handshake-era server may ask of a client, and the capability that lets it."""

_OF_A_REQUEST: Final = frozenset({"notifications/progress", "notifications/cancelled"})
"""Notifications that belong to one request; the dispatcher has dealt with them."""

_REASON_WAIT: Final = 1.0
"""Seconds a request that failed with its connection waits to learn the reason."""


class Sink(Protocol):
    """A transport's write stream."""

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message. Raises `ClosedResourceError` or `BrokenResourceError` where over."""
        ...

    async def aclose(self) -> None:
        """Take no more."""
        ...


class NotificationFilter(Protocol):
    """Sees each notification first, in receive order."""

    def heard(self, method: str, params: Mapping[str, Any]) -> bool:
        """Take note of a notification; True keeps it from the signals."""
        ...


class Session:
    """Implements `ports.Upstream`. Its task is `run`; the era is told to it by `adopt`."""

    def __init__(self, attempt: Attempt, source: Source, sink: Sink, transport: Transport) -> None:
        self._server: Final = attempt.server.id
        self._attempt = attempt
        self._transport = transport
        self._http = isinstance(transport, HttpFacts)
        self._inbound = Inbound(source, self._dropped)
        self._dispatcher = JSONRPCDispatcher(self._inbound, cast("Any", sink))
        self._stamp: Stamp = HandshakeStamp(None)
        self._facts: ServerFacts | None = None
        self._reason = ""
        self._over = anyio.Event()
        self._scope = anyio.CancelScope()
        self._complained: set[str] = set()
        self.filter: NotificationFilter | None = None
        """Hears notifications before the signals do."""

    # ---- the port ----

    @property
    def facts(self) -> ServerFacts:
        """What the server said of itself."""
        if self._facts is None:
            raise ToolcribBug("a session was used before its era was known", server=self._server)
        return self._facts

    @property
    def closed(self) -> bool:
        """Whether the connection is over."""
        return self._inbound.ended or self._over.is_set()

    async def wait_closed(self) -> str:
        """Wait until the connection is over; why, in one sentence that a model may see."""
        await self._over.wait()
        return self._reason

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        progress: Progress | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Send a request in the envelope of the era; the raw result."""
        options: CallOptions = {}
        if progress is not None:
            # The dispatcher calls it with positions only, and mints the token itself.
            options["on_progress"] = cast("ProgressFnT", progress)
        seconds = self._attempt.request_seconds if timeout is None else timeout
        try:
            return await self._send(method, params, self._stamp, options, seconds, headers)
        except ToolcribError as error:
            if await self._outlived_by(error):
                raise await self._unreachable() from None
            raise

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification; a broken connection is no error."""
        options: CallOptions = {}
        if self._http:
            options["headers"] = self._stamp.headers(method, params or {})
        with anyio.move_on_after(self._attempt.request_seconds):
            await self._dispatcher.notify(method, params, options)

    # ---- for those who build the connection ----

    @property
    def stderr(self) -> str:
        """The end of the process's stderr, for operators only; empty for other transports."""
        return self._transport.stderr if isinstance(self._transport, StdioFacts) else ""

    def expect_requests(self) -> None:
        """Answer the server's requests from now on: a handshake is under way."""
        self._inbound.answering = True

    def adopt(self, facts: ServerFacts) -> None:
        """Speak the era that was found."""
        self._facts = facts
        version = facts.protocol_version
        if facts.era == "modern":
            self._inbound.answering = False
            self._stamp = ModernStamp(version, self._attempt.profile)
        else:
            self._inbound.answering = True
            self._stamp = HandshakeStamp(version)

    async def negotiate(
        self, method: str, params: Mapping[str, Any], stamp: Stamp, *, timeout: float
    ) -> dict[str, Any]:
        """Send a request of the negotiation, which the specification forbids to cancel."""
        return await self._send(method, params, stamp, {"cancel_on_abandon": False}, timeout, None)

    async def hold(
        self, method: str, params: Mapping[str, Any], *, request_id: str
    ) -> dict[str, Any]:
        """Send a request that is answered when its stream ends: it has no time-out."""
        return await self._send(method, params, self._stamp, {"request_id": request_id}, None, None)

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Serve the connection until it is over; reports `started` once requests can be sent."""
        try:
            with self._scope:
                await self._dispatcher.run(
                    self._requested, _never, self._notified, task_status=task_status
                )
        except Exception as error:  # noqa: BLE001 - one connection's fault must stay its own
            self._complain("session_failed", type(error).__name__)
        finally:
            self._end(self._transport.over or CLOSED_BY_US)

    def end(self, reason: str) -> None:
        """End the connection: requests under way fail with the reason."""
        self._end(reason)
        self._scope.cancel()

    def _end(self, reason: str) -> None:
        if not self._over.is_set():
            self._reason = reason
            self._over.set()

    # ---- sending ----

    async def _send(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        stamp: Stamp,
        options: CallOptions,
        seconds: float | None,
        headers: Mapping[str, str] | None,
    ) -> dict[str, Any]:
        if self.closed:
            raise await self._unreachable()
        try:
            body = stamp.body(params)
            if self._http:
                options["headers"] = {**stamp.headers(method, body), **(headers or {})}
            # Not the dispatcher's own time-out: it starts after the write, so that a server which
            # reads nothing would never time out, and its error looks like one of the server.
            with anyio.move_on_after(seconds):
                return await self._dispatcher.send_raw_request(method, body, options)
        except MCPError as error:
            raise await self._failed(error) from None
        except (ValueError, RecursionError):
            raise BadArguments(
                f"the parameters of {method} cannot be written as JSON", server=self._server
            ) from None
        raise RequestTimedOut(
            f"the server did not answer {method} within {seconds:g} s", server=self._server
        )

    async def _failed(self, error: MCPError) -> ToolcribError:
        if is_closing(error) or self._session_lost:
            return await self._unreachable()
        return map_error(error, server=self._server, http=self._http)

    async def _outlived_by(self, error: ToolcribError) -> bool:
        """Whether the error shows that this is no longer the server we connected to.

        An answer that only a server of the other era gives may also come from a careless server
        that is still the same, so it is asked again what it is before the connection is given up.
        """
        reason = contradiction(error, self.facts)
        if not reason and self.facts.era == "modern" and is_foreign(error):
            try:
                await self.negotiate(
                    "server/discover", {}, self._stamp, timeout=self._attempt.request_seconds
                )
            except ToolcribError as second:
                version = self.facts.protocol_version
                reason = f"the server no longer answers as MCP {version}" * is_foreign(second)
        if reason:
            self.end(reason)
        return bool(reason)

    @property
    def _session_lost(self) -> bool:
        return isinstance(self._transport, HttpFacts) and self._transport.session_lost

    async def _unreachable(self) -> UpstreamUnreachable:
        """The error of a connection that is over; waits a moment to learn why."""
        with anyio.move_on_after(_REASON_WAIT):
            await self._over.wait()
        note = self._transport.operator_note if isinstance(self._transport, StdioFacts) else None
        return UpstreamUnreachable(
            self._reason or "the connection is over", server=self._server, operator_note=note
        )

    # ---- hearing ----

    def _notified(self, method: str, params: Mapping[str, Any] | None) -> bool:
        """Take a notification, in receive order; always consumed, so that no task is started."""
        told = params or {}
        if self.filter is not None and self.filter.heard(method, told):
            return True
        if method not in _OF_A_REQUEST:
            self._attempt.signals.notified(method, told)
        return True

    async def _requested(
        self,
        context: DispatchContext[TransportContext],
        method: str,
        params: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        """Answer a request of a handshake-era server."""
        del context
        if method == "ping":
            return {}
        if _ASKED.get(method) not in self._attempt.profile.capabilities:
            raise MCPError(METHOD_NOT_FOUND, f"{method} is not supported by this client")
        try:
            return await self._attempt.signals.requested(method, params or {})
        except UpstreamRefused as refusal:
            raise MCPError(refusal.rpc_code, refusal.message, refusal.data) from None

    def _dropped(self, item: Item) -> None:
        if isinstance(item, Exception):
            self._complain("unreadable_message", type(item).__name__)
        elif isinstance(item.message, JSONRPCRequest):
            self._complain("stray_request", item.message.method)

    def _complain(self, code: str, detail: str) -> None:
        """Report a finding, each kind once: a server may repeat itself without end."""
        if code not in self._complained:
            self._complained.add(code)
            self._attempt.observer.note(Finding(self._server, code, detail[:200]))


async def _never(
    context: DispatchContext[TransportContext], method: str, params: Mapping[str, Any] | None
) -> None:
    """Stand where the dispatcher wants a handler of notifications; `_notified` takes them all."""
