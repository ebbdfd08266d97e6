"""The way of messages into the dispatcher: notes the end, drops what must not be answered."""

from collections.abc import Callable
from contextvars import Context
from typing import Final, Protocol

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest

from toolcrib.adapters.message_streams import ReadStream

Item = SessionMessage | Exception


class Source(Protocol):
    """A transport's read stream."""

    async def receive(self) -> Item:
        """The next item. Raises `EndOfStream` or `ClosedResourceError` after the last."""
        ...

    async def aclose(self) -> None:
        """Deliver no more."""
        ...


class Inbound(ReadStream):
    """A read stream in front of a transport's read stream.

    The dispatcher answers every request it sees. A client of MCP 2026-07-28 must never write a
    response on stdio nor POST one, so until a handshake is under way requests are dropped here.
    """

    def __init__(self, source: Source, on_dropped: Callable[[Item], None]) -> None:
        self._source: Final = source
        self._on_dropped = on_dropped
        self.answering = False
        """Whether requests of the server reach the dispatcher."""
        self.ended = False
        """Whether the transport has ended; true before the dispatcher tells those who wait."""

    @property
    def last_context(self) -> Context | None:
        """The context of the exchange the last message belongs to, where the transport keeps it."""
        return getattr(self._source, "last_context", None)

    async def receive(self) -> SessionMessage:
        """The next message for the dispatcher. Raises `EndOfStream` after the last."""
        while True:
            try:
                item = await self._source.receive()
            except (anyio.EndOfStream, anyio.ClosedResourceError):
                self.ended = True
                raise anyio.EndOfStream from None
            if isinstance(item, Exception):
                self._on_dropped(item)
            elif self.answering or not isinstance(item.message, JSONRPCRequest):
                return item
            else:
                self._on_dropped(item)

    async def aclose(self) -> None:
        """Close the transport's read stream."""
        self.ended = True
        await self._source.aclose()
