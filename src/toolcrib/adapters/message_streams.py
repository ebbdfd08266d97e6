"""What the SDK's dispatcher wants of its two streams, beside the messages themselves."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

import anyio
from mcp.shared.message import SessionMessage


class MessageStream(ABC):
    """One direction of a connection, closed on leaving it as a context."""

    @abstractmethod
    async def aclose(self) -> None:
        """Take or deliver no more."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()


class ReadStream(MessageStream):
    """A stream of messages that can be iterated over."""

    @abstractmethod
    async def receive(self) -> SessionMessage:
        """The next message. Raises `EndOfStream` after the last."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None
