"""Answering one request of a handshake session, and taking up an answer that broke off."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final

import anyio

from toolcrib.wire.asking import Asking
from toolcrib.wire.faults import REQUEST_CANCELLED, RpcFault
from toolcrib.wire.http.guard import HttpLimits
from toolcrib.wire.http.message import Posted
from toolcrib.wire.http.modern import answer
from toolcrib.wire.http.reply import Receive, Reply, Send, exchange
from toolcrib.wire.http.resumable import Line, ResumableReply, Shelf
from toolcrib.wire.http.sessions import Session
from toolcrib.wire.jsonwire import encode_error
from toolcrib.wire.kernel import Kernel
from toolcrib.wire.log_relay import log_relay
from toolcrib.wire.progress import ProgressRelay, progress_token
from toolcrib.wire.service import HostRequest

RESUMABLE: Final = frozenset({"2025-11-25"})
"""Revisions whose hosts know events without content: older ones take them for broken messages."""


class Answering:
    """Answers requests in sessions, over streams that hosts may take up again."""

    def __init__(self, kernel: Kernel, limits: HttpLimits, shelf: Shelf) -> None:
        self._kernel = kernel
        self._limits = limits
        self._shelf = shelf

    async def request(
        self, session: Session, method: str, posted: Posted, receive: Receive, send: Send
    ) -> None:
        """Answer one request. A host that hangs up has cancelled nothing."""
        if session.agreed.version not in RESUMABLE:
            reply = Reply(send)
            await self._exchanged(session, method, posted, reply, receive, reply.hung_up)
            return
        line = Line(send)
        reply = ResumableReply(line, self._limits)
        session.streams[reply.name] = reply
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(line.close_when_done)
                tasks.start_soon(self._tend, reply, line)
                await self._exchanged(
                    session, method, posted, reply, receive, partial(reply.leave, line)
                )
                await line.wait_closed()
                tasks.cancel_scope.cancel()
        finally:
            if reply.resumable and reply.over:
                self._shelf.put(reply, session.streams)
            else:
                session.streams.pop(reply.name, None)

    async def take_up(
        self, reply: ResumableReply, after: int, receive: Receive, send: Send
    ) -> None:
        """Send the rest of an answer over this response, until it is given or the host hangs up."""
        line = await reply.take_up(send, after)

        async def carry() -> None:
            with anyio.move_on_after(self._limits.stream_seconds) as patience:
                await line.close_when_done()
            if patience.cancelled_caught:
                await reply.let_go(line)
                await line.close_when_done()

        try:
            await exchange(reply, receive, carry, keepalive=self._limits.keepalive)
        finally:
            reply.leave(line)

    async def _tend(self, reply: ResumableReply, line: Line) -> None:
        """Make an answer that takes long one that survives a break, and let go of it in time."""
        await anyio.sleep(self._limits.resumable_after)
        await reply.begin()
        await anyio.sleep(self._limits.stream_seconds)
        await reply.let_go(line)

    async def _exchanged(
        self,
        session: Session,
        method: str,
        posted: Posted,
        reply: Reply,
        receive: Receive,
        on_disconnect: Callable[[], None],
    ) -> None:
        request = self._told(session, method, posted, reply)
        scope = session.in_flight[request.id] = anyio.CancelScope()

        async def work() -> None:
            with scope:
                await answer(self._kernel, request, reply)
            if scope.cancelled_caught:
                fault = RpcFault(REQUEST_CANCELLED, "Request cancelled")
                await reply.finish(encode_error(request.id, fault.as_error()), 200)

        keepalive = self._limits.keepalive
        try:
            await exchange(reply, receive, work, keepalive=keepalive, on_disconnect=on_disconnect)
        finally:
            if session.in_flight.get(request.id) is scope:
                del session.in_flight[request.id]

    def _told(self, session: Session, method: str, posted: Posted, reply: Reply) -> HostRequest:
        token, level = progress_token(posted.params), session.standing.log_level
        put: Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]
        put = partial(session.asked.put, reply)
        return HostRequest(
            method=method,
            params=posted.params,
            id=posted.id if posted.id is not None else "",
            version=session.agreed.version,
            principal=session.principal,
            notify=reply.notify,
            capabilities=session.agreed.capabilities,
            progress=None if token is None else ProgressRelay(token, reply.notify),
            ask=Asking(session.agreed.capabilities, put, self._kernel.ask_seconds),
            handle=session.handle,
            log_level=level,
            heard=log_relay(level, reply.notify),
            standing=session.standing,
        )
