"""Whether a connection is still up, and why it is not."""

from typing import Final

import anyio

from toolcrib.adapters.http.wire import HttpFacts
from toolcrib.adapters.session.inbound import Inbound
from toolcrib.adapters.stdio.transport import CLOSED_BY_US, StdioFacts
from toolcrib.errors import UpstreamUnreachable

Transport = StdioFacts | HttpFacts
"""What is known of the transport below a session."""

_REASON_WAIT: Final = 1.0
"""Seconds a request that failed with its connection waits to learn the reason."""


class Lifetime:
    """The life of one connection, from its opening to its end."""

    def __init__(self, server: str, transport: Transport, inbound: Inbound) -> None:
        self._server = server
        self._transport = transport
        self._inbound = inbound
        self._reason = ""
        self._over = anyio.Event()
        self.scope = anyio.CancelScope()
        """What serves the connection is run in it."""

    @property
    def closed(self) -> bool:
        """Whether it is over."""
        return self._inbound.ended or self._over.is_set()

    @property
    def session_lost(self) -> bool:
        """Whether the server has forgotten the session that requests belong to."""
        return isinstance(self._transport, HttpFacts) and self._transport.session_lost

    async def wait(self) -> str:
        """Wait until it is over; why, in one sentence that a model may see."""
        await self._over.wait()
        return self._reason

    def end(self, reason: str) -> None:
        """End it: requests under way fail with the reason."""
        self._note_end(reason)
        self.scope.cancel()

    def ended(self) -> None:
        """Take note that nothing serves it any more."""
        self._note_end(self._transport.over or CLOSED_BY_US)

    async def unreachable(self) -> UpstreamUnreachable:
        """The error of whoever needed it; waits a moment to learn why it is over."""
        with anyio.move_on_after(_REASON_WAIT):
            await self._over.wait()
        note = self._transport.operator_note if isinstance(self._transport, StdioFacts) else None
        return UpstreamUnreachable(
            self._reason or "the connection is over", server=self._server, operator_note=note
        )

    def _note_end(self, reason: str) -> None:
        if not self._over.is_set():
            self._reason = reason
            self._over.set()
