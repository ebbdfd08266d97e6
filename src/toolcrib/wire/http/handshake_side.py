"""Hosts of the handshake revisions over HTTP: sessions, each with a stream of announcements."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import anyio

from toolcrib.core.partition import Principal
from toolcrib.errors import LimitExceeded
from toolcrib.wire.faults import invalid_request, unserved
from toolcrib.wire.handshake import agree, initialize_result
from toolcrib.wire.http.answering import RESUMABLE, Answering
from toolcrib.wire.http.guard import Headers, HttpLimits
from toolcrib.wire.http.message import Caller, Posted, first
from toolcrib.wire.http.reply import Receive, Reply, Send, exchange, send_json, send_whole
from toolcrib.wire.http.resumable import place
from toolcrib.wire.http.sessions import Session, Sessions
from toolcrib.wire.jsonwire import encode_error, encode_response
from toolcrib.wire.kernel import Kernel

SESSION_HEADER: Final = "mcp-session-id"
LAST_EVENT_HEADER: Final = "last-event-id"


class HandshakeSide:
    """Answers hosts that open with `initialize` (MCP 2025-11-25, transports)."""

    def __init__(self, kernel: Kernel, limits: HttpLimits) -> None:
        self._kernel = kernel
        self._limits = limits
        self.sessions = Sessions(limits, kernel.service.left)
        self._answering = Answering(kernel, limits, self.sessions.shelf)

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
            if posted.response is not None:
                session.asked.take(posted.response)
            elif posted.method == "notifications/cancelled":
                _cancel(session, posted.params.get("requestId"))
            await send_whole(send, 202)
            return
        with _used(session):
            await self._answering.request(session, posted.method, posted, receive, send)

    async def get(
        self, headers: Headers, principal: Principal, receive: Receive, send: Send
    ) -> None:
        """Open the session's stream of announcements, or go on with an answer that broke off."""
        session = await self._session(headers, principal, send)
        if session is None:
            return
        last = first(headers, LAST_EVENT_HEADER)
        with _used(session):
            if last is None or session.agreed.version not in RESUMABLE:
                await self._announce(session, receive, send)
            else:
                await self._take_up(session, last, receive, send)

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

    async def _announce(self, session: Session, receive: Receive, send: Send) -> None:
        """Carry announcements; a newer stream of the session takes over from this one."""
        reply = Reply(send)
        if session.carrier is not None:
            session.carrier.cancel()
        scope = session.carrier = anyio.CancelScope()

        async def carry() -> None:
            with scope:
                await _tell(session, reply)
            await reply.end()

        try:
            await exchange(reply, receive, carry, keepalive=self._limits.keepalive)
        finally:
            if session.carrier is scope:
                session.carrier = None

    async def _take_up(
        self, session: Session, last_event_id: str, receive: Receive, send: Send
    ) -> None:
        """Send the rest of the answer that an event id belongs to, where it is this host's own."""
        self.sessions.shelf.tidy()
        found = place(last_event_id)
        reply = None if found is None else session.streams.get(found[0])
        if found is None or reply is None or not reply.resumable:
            why = "what follows this event is not kept (any more): send the request again"
            await send_json(send, 400, encode_error(None, invalid_request(why).as_error()))
            return
        await self._answering.take_up(reply, found[1], receive, send)


@contextmanager
def _used(session: Session) -> Generator[None]:
    """Count the session as used meanwhile."""
    session.holds += 1
    try:
        yield
    finally:
        session.holds -= 1
        session.used_at = anyio.current_time()


async def _tell(session: Session, reply: Reply) -> None:
    await reply.keep_alive()  # opens the stream at once
    subscriber = session.standing.subscriber
    while (due := await subscriber.next()) is not None:
        try:
            await reply.notify(due.method, due.params or None)
        except anyio.get_cancelled_exc_class():
            subscriber.tell(due)  # for the stream that takes over
            raise


def _cancel(session: Session, request_id: object) -> None:
    """Cancel a request of this session; an unknown id is a race that the answer won."""
    if isinstance(request_id, bool) or not isinstance(request_id, str | int):
        return
    if request_id in session.in_flight:
        session.in_flight[request_id].cancel()
