"""Hosts of the handshake revisions over HTTP: sessions, each with a stream of announcements."""

from collections.abc import Awaitable, Callable
from typing import Final

import anyio

from toolcrib.core.partition import Principal
from toolcrib.errors import LimitExceeded
from toolcrib.wire.faults import REQUEST_CANCELLED, RpcFault, invalid_request, unserved
from toolcrib.wire.handshake import agree, initialize_result
from toolcrib.wire.http.guard import Headers, HttpLimits
from toolcrib.wire.http.message import Caller, Posted, first
from toolcrib.wire.http.modern import answer
from toolcrib.wire.http.reply import Receive, Reply, Send, exchange, send_json, send_whole
from toolcrib.wire.http.sessions import Session, Sessions
from toolcrib.wire.jsonwire import encode_error, encode_response
from toolcrib.wire.kernel import Kernel
from toolcrib.wire.progress import ProgressRelay, progress_token
from toolcrib.wire.service import HostRequest

SESSION_HEADER: Final = "mcp-session-id"


class HandshakeSide:
    """Answers hosts that open with `initialize` (MCP 2025-11-25, transports)."""

    def __init__(self, kernel: Kernel, limits: HttpLimits) -> None:
        self._kernel = kernel
        self._limits = limits
        self.sessions = Sessions(limits)

    async def post(
        self, posted: Posted, headers: Headers, caller: Caller, receive: Receive, send: Send
    ) -> None:
        """Answer one posted message."""
        principal = caller.principal
        if posted.method == "initialize" and posted.id is not None:
            await self._initialize(posted, posted.id, caller, send)
            return
        session = await self._session(headers, principal, send)
        if session is None:
            return
        if posted.id is None or posted.method is None:
            if posted.method == "notifications/cancelled":
                _cancel(session, posted.params.get("requestId"))
            await send_whole(send, 202)
            return
        await self._request(session, posted.method, posted, receive, send)

    async def get(
        self, headers: Headers, principal: Principal, receive: Receive, send: Send
    ) -> None:
        """Open the session's stream of announcements; it takes over from an older one."""
        session = await self._session(headers, principal, send)
        if session is None:
            return
        reply = Reply(send)
        if session.carrier is not None:
            session.carrier.cancel()
        scope = session.carrier = anyio.CancelScope()

        async def carry() -> None:
            with scope:
                await _announce(session, reply)
            await reply.end()

        try:
            await self._held(session, reply, receive, carry, cancel_on_disconnect=True)
        finally:
            if session.carrier is scope:
                session.carrier = None

    async def delete(self, headers: Headers, principal: Principal, send: Send) -> None:
        """End the session."""
        session = await self._session(headers, principal, send)
        if session is not None:
            self.sessions.end(session)
            await send_whole(send, 200)

    async def _initialize(
        self, posted: Posted, request_id: str | int, caller: Caller, send: Send
    ) -> None:
        service = self._kernel.service
        agreed = agree(posted.params)
        audience = service.audience(caller.principal)
        try:
            session = self.sessions.start(agreed, caller.principal, audience, caller.address)
        except LimitExceeded as full:
            error = unserved(full).as_error()
            await send_json(send, 503, encode_error(request_id, error))
            return
        result = initialize_result(service, agreed)
        named = (SESSION_HEADER.encode(), session.id.encode())
        await send_json(send, 200, encode_response(request_id, result), (named,))

    async def _session(self, headers: Headers, principal: Principal, send: Send) -> Session | None:
        """The session that the headers name; without one the request is answered here."""
        session_id = first(headers, SESSION_HEADER)
        session = None if session_id is None else self.sessions.find(session_id, principal)
        if session is not None:
            return session
        status, why = (
            (400, f"the {SESSION_HEADER} header is missing: send initialize first")
            if session_id is None
            else (404, "this session is not open (any more): send initialize again")
        )
        await send_json(send, status, encode_error(None, invalid_request(why).as_error()))
        return None

    async def _request(
        self, session: Session, method: str, posted: Posted, receive: Receive, send: Send
    ) -> None:
        reply = Reply(send)
        request_id = posted.id if posted.id is not None else ""
        token = progress_token(posted.params)
        request = HostRequest(
            method=method,
            params=posted.params,
            id=request_id,
            version=session.agreed.version,
            principal=session.principal,
            notify=reply.notify,
            capabilities=session.agreed.capabilities,
            progress=None if token is None else ProgressRelay(token, reply.notify),
        )
        scope = session.in_flight[request_id] = anyio.CancelScope()

        async def work() -> None:
            with scope:
                await answer(self._kernel, request, reply)
            if scope.cancelled_caught:
                fault = RpcFault(REQUEST_CANCELLED, "Request cancelled")
                await reply.finish(encode_error(request_id, fault.as_error()), 200)

        try:
            await self._held(session, reply, receive, work, cancel_on_disconnect=False)
        finally:
            if session.in_flight.get(request_id) is scope:
                del session.in_flight[request_id]

    async def _held(
        self,
        session: Session,
        reply: Reply,
        receive: Receive,
        work: Callable[[], Awaitable[None]],
        *,
        cancel_on_disconnect: bool,
    ) -> None:
        """Exchange while the session counts as used."""
        session.holds += 1
        try:
            await exchange(
                reply,
                receive,
                work,
                keepalive=self._limits.keepalive,
                cancel_on_disconnect=cancel_on_disconnect,
            )
        finally:
            session.holds -= 1
            session.used_at = anyio.current_time()


async def _announce(session: Session, reply: Reply) -> None:
    await reply.keep_alive()  # opens the stream at once
    while (topic := await session.subscriber.next()) is not None:
        try:
            await reply.notify(topic.method)
        except anyio.get_cancelled_exc_class():
            session.subscriber.tell(topic)  # for the stream that takes over
            raise


def _cancel(session: Session, request_id: object) -> None:
    """Cancel a request of this session; an unknown id is a race that the answer won."""
    if isinstance(request_id, bool) or not isinstance(request_id, str | int):
        return
    if request_id in session.in_flight:
        session.in_flight[request_id].cancel()
