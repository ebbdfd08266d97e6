"""What the parts of an HTTP transport share: endpoint, session, the stream to the dispatcher."""

import random
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import anyio
import anyio.lowlevel
import httpx2
from mcp.shared._context_streams import ContextSendStream
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolcrib.adapters.http.client import HttpEndpoint
from toolcrib.adapters.http.server_error import ErrorFilter
from toolcrib.adapters.message_streams import MessageStream
from toolcrib.adapters.rpc_messages import UnreadableMessage, read_message
from toolcrib.settings import Limits

__all__ = ["VERSION_HEADER", "HttpFacts", "HttpSession", "Inbox", "Outbox", "Wire"]

VERSION_HEADER: Final = "mcp-protocol-version"
_SESSION_HEADER: Final = "mcp-session-id"


@dataclass(slots=True)
class HttpFacts:
    """What a transport knows that no message carries. Changes while the connection lives."""

    session_lost: bool = False
    """The server answered 404 in our session: a new one is due (MCP 2025-11-25, transports)."""
    over: str = ""
    """Why the connection is over, in one sentence; "" while it lives."""


class HttpSession:
    """The revision, and the handshake-era session, that requests belong to; as headers."""

    def __init__(self) -> None:
        self.version: str | None = None
        """The revision of the last message that carried one; it holds for those that carry none."""
        self._id: str | None = None

    def __repr__(self) -> str:
        return f"HttpSession(version={self.version!r}, {'open' if self._id else 'none'})"

    @property
    def open(self) -> bool:
        """Whether the server gave a session id."""
        return self._id is not None

    @property
    def modern(self) -> bool:
        """Whether the revision is stateless: a closed stream cancels, and nothing is resumed."""
        return self.version in MODERN_PROTOCOL_VERSIONS

    def begin(self) -> None:
        """Forget everything: `initialize` negotiates anew."""
        self.version = self._id = None

    def adopt(self, response: httpx2.Response) -> None:
        """Take the session id from the answer to `initialize`, if it has one."""
        self._id = response.headers.get(_SESSION_HEADER) or None

    def headers(self) -> dict[str, str]:
        """The headers every request of this session carries."""
        headers: dict[str, str] = {}
        if self._id is not None:
            headers[_SESSION_HEADER] = self._id
        if self.version is not None:
            headers[VERSION_HEADER] = self.version
        return headers


class Outbox(MessageStream):
    """A write stream in the shape that the SDK's dispatcher takes."""

    def __init__(self, facts: HttpFacts) -> None:
        self._facts = facts
        self._closed = False

    async def aclose(self) -> None:
        """Take no more messages; those on their way go on."""
        self._closed = True
        await anyio.lowlevel.checkpoint()

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message on its way. Raises `ClosedResourceError` once the connection is over."""
        if self._closed or self._facts.over:
            raise anyio.ClosedResourceError
        await anyio.lowlevel.checkpoint()
        metadata = item.metadata
        headers = metadata.headers if isinstance(metadata, ClientMessageMetadata) else None
        named = {name.lower(): value for name, value in (headers or {}).items()}
        await self._forward(item.message, named)

    @abstractmethod
    async def _forward(self, message: JSONRPCMessage, headers: dict[str, str]) -> None:
        """Send a message with these headers, whose names are in lower case."""


class Inbox:
    """The way to the dispatcher. What arrives after the dispatcher has gone is dropped."""

    def __init__(
        self, stream: ContextSendStream[SessionMessage | Exception], errors: ErrorFilter
    ) -> None:
        self._stream = stream
        self._errors = errors

    async def read(self, raw: bytes | str) -> JSONRPCMessage | None:
        """The message in a body or an event; None, which the observer hears of, for no message."""
        try:
            return read_message(raw)
        except UnreadableMessage as unreadable:
            await self.pass_on(unreadable)
            return None

    async def deliver(self, message: JSONRPCMessage) -> None:
        """Hand over a message of the server; its errors are cleaned on the way."""
        if isinstance(message, JSONRPCError):
            error = self._errors.clean(message.error)
            message = JSONRPCError(jsonrpc="2.0", id=message.id, error=error)
        await self.pass_on(SessionMessage(message))

    async def pass_on(self, item: SessionMessage | Exception) -> None:
        """Hand over as it is: an error of ours, or an exception for the dispatcher's observer."""
        try:
            await self._stream.send(item)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return

    def close(self) -> None:
        """Say that nothing more comes: the dispatcher ends once it has read what is there."""
        self._stream.close()


@dataclass(frozen=True, slots=True)
class Wire:
    """One HTTP connection in the sense of MCP, as its parts see it."""

    endpoint: HttpEndpoint
    inbox: Inbox
    errors: ErrorFilter
    limits: Limits
    lots: Callable[[], float] = random.random
    """Numbers in [0, 1) that spread reconnects."""
    session: HttpSession = field(default_factory=HttpSession)
    facts: HttpFacts = field(default_factory=HttpFacts)
    version_header: str = ""
    """A response header that goes up with each result; empty: none."""

    def end(self, reason: str) -> None:
        """The connection is over: what waits for an answer learns it from the dispatcher."""
        if not self.facts.over:
            self.facts.over = reason
            self.inbox.close()

    def lose_session(self) -> None:
        """The server does not know the session any more."""
        self.facts.session_lost = True
        self.end("the server no longer knows the session (HTTP 404); a new one must be made")
