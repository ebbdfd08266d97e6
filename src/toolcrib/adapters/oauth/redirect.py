"""Waits on a loopback address for the browser to come back (RFC 8252, 7.3)."""

import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, cast
from urllib.parse import parse_qs, urlsplit

import anyio
from anyio.abc import SocketAttribute, SocketListener, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp.shared.auth import AuthorizationCodeResult

from toolcrib.adapters.background import background
from toolcrib.core.quoting import quoted
from toolcrib.errors import AuthRequired, ConfigError

__all__ = ["LoopbackPerson", "Visit", "listen_for_redirect"]

Visit = Callable[[str, str], Awaitable[None]]
"""Shows a person an authorization URL and its host, and opens it where they agree.

Raises `AuthRequired` where they decline.
"""

_PATH: Final = "/callback"
_HEAD_BYTES: Final = 16 * 1024
_HEAD_SECONDS: Final = 10.0
_PAGE: Final = (
    "<!doctype html><meta charset=utf-8><title>toolcrib</title>"
    "<p>{text} You can close this window.</p>"
)
_GONE: Final = (
    anyio.EndOfStream,
    anyio.IncompleteRead,
    anyio.DelimiterNotFound,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
)


class LoopbackPerson:
    """Implements `Person`: shows the URL, and waits for one request that carries our `state`."""

    def __init__(self, listener: SocketListener, port: int, visit: Visit, seconds: float) -> None:
        self._listener = listener
        self._visit = visit
        self._seconds = seconds
        self.redirect_uri = f"http://127.0.0.1:{port}{_PATH}"
        """Where the browser is sent back to."""
        self._state = ""
        self._query: dict[str, list[str]] | None = None
        self._came = anyio.Event()

    async def authorise(self, url: str) -> AuthorizationCodeResult:
        """Show the URL, then wait; requests that were not asked for are turned away meanwhile."""
        parts = urlsplit(url)
        self._state = parse_qs(parts.query)["state"][0]
        with anyio.move_on_after(self._seconds):
            async with background() as tasks:
                tasks.start_soon(self._listener.serve, self._serve)
                await self._visit(url, parts.netloc)
                await self._came.wait()
        if self._query is None:
            raise AuthRequired(f"nobody logged in within {self._seconds:g} s")
        answer = {name: values[0] for name, values in self._query.items()}
        if "error" in answer:
            raise AuthRequired(f"the login was refused ({quoted(answer['error'])})")
        return AuthorizationCodeResult(
            code=answer.get("code", ""), state=answer.get("state"), iss=answer.get("iss")
        )

    async def _serve(self, stream: SocketStream) -> None:
        async with stream:
            try:
                with anyio.fail_after(_HEAD_SECONDS):
                    reader = BufferedByteReceiveStream(stream)
                    head = await reader.receive_until(b"\r\n\r\n", _HEAD_BYTES)
                    status, text = self._take(head.decode("latin-1").split("\r\n", 1)[0])
                    await stream.send(_answer(status, text))
            except (*_GONE, TimeoutError):
                return
            finally:
                if self._query is not None:
                    self._came.set()

    def _take(self, line: str) -> tuple[str, str]:
        """Judge one request line; only the first that carries our state counts."""
        words = line.split(" ")
        try:
            target = urlsplit(words[1]) if len(words) > 1 else urlsplit("")
        except ValueError:
            target = urlsplit("")
        if words[0] != "GET" or target.path != _PATH:
            return "404 Not Found", "There is nothing here."
        query = parse_qs(target.query)
        state = query.get("state", [""])[0]
        if self._query is not None or not secrets.compare_digest(
            state.encode(), self._state.encode()
        ):
            return "400 Bad Request", "This is no answer to our question."
        self._query = query
        if "error" in query:
            return "200 OK", "The login was refused."
        return "200 OK", "The login is being completed."


def _answer(status: str, text: str) -> bytes:
    body = _PAGE.format(text=text).encode()
    head = (
        f"HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\n"
        f"content-length: {len(body)}\r\ncache-control: no-store\r\n"
        "referrer-policy: no-referrer\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body


@asynccontextmanager
async def listen_for_redirect(
    visit: Visit, *, port: int = 0, preferred: int = 0, seconds: float = 300.0
) -> AsyncGenerator[LoopbackPerson]:
    """A person behind a loopback address that listens as long as the context.

    Args:
        visit: As for `Visit`.
        port: A port that must be used; 0: any.
        preferred: A port to use if it is free, where any may be used.
        seconds: How long a login may take.

    Raises:
        ConfigError: The port cannot be listened on.
    """
    listener = await _listener(port, preferred)
    async with listener:
        bound = listener.extra_attributes[SocketAttribute.local_port]()
        yield LoopbackPerson(listener, bound, visit, seconds)


async def _listener(port: int, preferred: int) -> SocketListener:
    for one in dict.fromkeys((port or preferred, port)):
        try:
            multi = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=one)
        except OSError:
            continue
        return cast("SocketListener", multi.listeners[0])
    raise ConfigError(
        f"port {port} of 127.0.0.1 cannot be listened on", remedy="set another oauth.redirect_port"
    )
