"""One live connection to a server, over any transport's streams: the `Upstream` port.

The SDK's dispatcher correlates, cancels and reads; its client session is not used, because it
lists behind the caller's back, fixes one envelope for all calls and loses what it does not know.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Protocol, cast

import anyio
from anyio.abc import TaskStatus
from mcp.shared.dispatcher import CallOptions, DispatchContext
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp.shared.transport_context import TransportContext
from mcp_types import JSONRPCRequest

from toolcrib.adapters.http.wire import HttpFacts
from toolcrib.adapters.session.attempt import Attempt
from toolcrib.adapters.session.era_evidence import contradiction, is_foreign
from toolcrib.adapters.session.inbound import Inbound, Item, Source
from toolcrib.adapters.session.lifetime import Lifetime, Transport
from toolcrib.adapters.session.log_messages import LOGGED, LogMessages, SessionLevel
from toolcrib.adapters.session.outgoing import Outgoing
from toolcrib.adapters.session.questions import Questions
from toolcrib.adapters.session.sending import Sending
from toolcrib.adapters.session.stamps import PLAIN, HandshakeStamp, ModernStamp, Stamp
from toolcrib.adapters.session.under_way import Requests
from toolcrib.adapters.stdio.transport import StdioFacts
from toolcrib.errors import ResultInvalid, ToolcribBug, ToolcribError, UpstreamRefused
from toolcrib.facts import Finding
from toolcrib.ports import Progress, RequestContext, ServerFacts
from toolcrib.protocol.envelope import result_type_fault
from toolcrib.protocol.eras import UNSUPPORTED_VERSION, mutual_version


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
        self._life = Lifetime(self._server, transport, self._inbound)
        self._dispatcher = JSONRPCDispatcher(self._inbound, cast("Any", sink))
        self._stamp: Stamp = HandshakeStamp(None)
        self._facts: ServerFacts | None = None
        self._complained: set[str] = set()
        self._requests = Requests()
        self._out = Outgoing(
            attempt, self._dispatcher, self._requests, self._life, http=self._http, deaf=self._deaf
        )
        self._level = SessionLevel(self._set_level)
        self._logs = LogMessages(self._requests, self._complain)
        self._questions = Questions(
            attempt.profile, attempt.signals, self._requests, self._complain
        )
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
        return self._life.closed

    async def wait_closed(self) -> str:
        """Wait until the connection is over; why, in one sentence that a model may see."""
        return await self._life.wait()

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        progress: Progress | None = None,
        headers: Mapping[str, str] | None = None,
        context: RequestContext | None = None,
    ) -> dict[str, Any]:
        """Send a request in the envelope of the era; the raw result."""
        context = context or PLAIN
        if context.log_level:
            await self._level.want(context.log_level, self.facts)
        sending = Sending(method, params, context, headers, progress)
        seconds = self._attempt.request_seconds if timeout is None else timeout
        result = await self._exchange(sending, seconds)
        self._check(method, result)
        return result

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
        options: CallOptions = {"cancel_on_abandon": False}
        return await self._out.send(Sending(method, params), stamp, timeout, options)

    async def hold(
        self, method: str, params: Mapping[str, Any], *, request_id: str
    ) -> dict[str, Any]:
        """Send a request that is answered when its stream ends: it has no time-out."""
        options: CallOptions = {"request_id": request_id}
        return await self._out.send(Sending(method, params), self._stamp, None, options)

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Serve the connection until it is over; reports `started` once requests can be sent."""
        try:
            with self._life.scope:
                await self._dispatcher.run(
                    self._requested, _never, self._notified, task_status=task_status
                )
        except Exception as error:  # noqa: BLE001 - one connection's fault must stay its own
            self._complain("session_failed", type(error).__name__)
        finally:
            self._life.ended()

    def end(self, reason: str) -> None:
        """End the connection: requests under way fail with the reason."""
        self._life.end(reason)

    # ---- sending ----

    async def _exchange(
        self, sending: Sending, seconds: float, *, again: bool = False
    ) -> dict[str, Any]:
        """Send a request and judge what its failure says about the connection."""
        try:
            return await self._out.accompany(sending, self._stamp, seconds)
        except ToolcribError as error:
            if not again and self._renegotiates(error):
                return await self._exchange(sending, seconds, again=True)
            if await self._outlived_by(error):
                raise await self._life.unreachable() from None
            raise

    async def _set_level(self, level: str) -> None:
        """Set the log level of a handshake-era session."""
        sending = Sending("logging/setLevel", {"level": level})
        await self._out.send(sending, self._stamp, self._attempt.request_seconds)

    def _check(self, method: str, result: Mapping[str, Any]) -> None:
        """Refuse a result of a type that does not exist in the server's era."""
        if self.facts.era != "modern":
            return
        fault = result_type_fault(method, result)
        if fault is not None:
            raise ResultInvalid(fault, server=self._server)
        if "resultType" not in result and not method.endswith("/list"):  # a walk reports its own
            self._complain("result_type_missing", f"first in the result of {method}")

    def _renegotiates(self, error: ToolcribError) -> bool:
        """Whether the server refused our revision and named one that we can go on with.

        It has not acted on the request, so that sending it once more is safe (MCP 2026-07-28,
        versioning: unsupported versions).
        """
        if not isinstance(error, UpstreamRefused) or error.rpc_code != UNSUPPORTED_VERSION:
            return False
        version = mutual_version(error.data)
        if version is None or self.facts.era != "modern":
            return False
        self.adopt(replace(self.facts, protocol_version=version))
        return True

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

    # ---- hearing ----

    def _notified(self, method: str, params: Mapping[str, Any] | None) -> bool:
        """Take a notification, in receive order; always consumed, so that no task is started."""
        told = params or {}
        if self.filter is not None and self.filter.heard(method, told):
            return True
        match method:
            case "notifications/progress":
                self._requests.progressed(told)
            case "notifications/cancelled":
                pass  # a question of the server's: the dispatcher has seen to it
            case _:
                if method == LOGGED:
                    self._logs.take(told, self._inbound.last_context)
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
        return await self._questions.answer(method, params or {})

    def _deaf(self, error: Exception) -> None:
        self._complain("listener_failed", f"{type(error).__name__} while hearing of a request")

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
