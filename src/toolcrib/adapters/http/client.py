"""The HTTP client below both HTTP transports: one endpoint, its headers and its connections.

It sits on `httpx2`'s transport and not on its client. The client costs a third more CPU per
request, logs each URL, and follows the rules of a browser; a request here goes to one origin, with
the headers configured for it.
"""

import socket
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from logging import INFO, NOTSET, getLogger
from typing import Final

import anyio
import httpx2

from toolcrib.adapters.http.authorisation import CHALLENGES, Authoriser
from toolcrib.adapters.http.event_stream import media_type, read_body
from toolcrib.adapters.http.launch import configured_headers, read_url
from toolcrib.adapters.http.proxy import choose_proxy
from toolcrib.errors import ConfigError
from toolcrib.settings import HttpLaunch, Limits, Secret

__all__ = ["HttpEndpoint", "RedirectRefused", "open_endpoint", "settle", "system_trust"]

RawHeaders = list[tuple[bytes, bytes]]

_TIMEOUTS: Final = {"timeout": {"connect": 5.0, "read": None, "write": None, "pool": None}}
"""Only connecting is timed here: streams may be silent for hours, the dispatcher times requests."""

_KEEPALIVE: Final = 4.0
"""Seconds an idle connection is kept: less than the 5 s after which Node and uvicorn close one,
because a request that meets such a close may have been acted on and cannot be sent again."""

_RESERVE: Final = 8
"""Connections beyond those for calls: signal stream, cancellations, answers to the server."""

_REDIRECTS: Final = 5
_CHALLENGES_ANSWERED: Final = 2
"""For one request: it may want a token first, and then one with more rights."""
_SETTLE_BYTES: Final = 64 * 1024
_CLOSE_SECONDS: Final = 1.0


class RedirectRefused(Exception):
    """A redirect that is not followed; carries its status."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status


@cache
def system_trust() -> ssl.SSLContext:
    """This machine's certificates (or SSL_CERT_FILE, SSL_CERT_DIR), loaded once: it takes 20 ms."""
    return httpx2.create_ssl_context()


def _keepalive_options() -> list[tuple[int, int, int]]:
    """Have the system find out within a minute or so that a silent stream's other end is gone."""
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        option = getattr(socket, name, None)
        if option is not None:
            options.append((socket.IPPROTO_TCP, option, value))
    return options


def _same_origin(one: httpx2.URL, other: httpx2.URL) -> bool:
    """Whether scheme, host and port agree, or `other` is `one` by https, both on default ports."""
    if (one.scheme, one.host, one.port) == (other.scheme, other.host, other.port):
        return True
    upgraded = (one.scheme, other.scheme) == ("http", "https")
    return upgraded and one.host == other.host and one.port is None and other.port is None


class HttpEndpoint:
    """Sends requests to one MCP endpoint; follows redirects within its origin, keeps cookies."""

    def __init__(
        self,
        launch: HttpLaunch,
        transport: httpx2.AsyncBaseTransport | None,
        size: int,
        authoriser: Authoriser | None = None,
    ) -> None:
        url = read_url(launch)
        self._headers = configured_headers(launch, url)
        self._url = url.copy_with(userinfo=b"")
        self._cookies = httpx2.Cookies()
        self._authoriser = authoriser
        self._transport = transport or self._open_transport(size)

    def __repr__(self) -> str:
        return "HttpEndpoint(***)"

    def _open_transport(self, size: int) -> httpx2.AsyncBaseTransport:
        try:
            return httpx2.AsyncHTTPTransport(
                verify=system_trust(),
                proxy=choose_proxy(self._url),
                limits=httpx2.Limits(
                    max_connections=size,
                    max_keepalive_connections=size,
                    keepalive_expiry=_KEEPALIVE,
                ),
                socket_options=_keepalive_options(),
            )
        except (ImportError, ValueError, httpx2.InvalidURL):
            raise ConfigError(
                "the proxy that the environment names for the server cannot be used",
                remedy="give HTTP_PROXY and HTTPS_PROXY as http:// URLs, or set NO_PROXY",
            ) from None

    def resolve(self, reference: str) -> httpx2.URL | None:
        """The URL that `reference` means at this endpoint; None when it leaves the origin."""
        try:
            url = self._url.join(reference)
        except (httpx2.InvalidURL, ValueError):
            return None
        return url if _same_origin(self._url, url) and not url.userinfo else None

    async def send(
        self,
        method: str,
        headers: Mapping[str, str],
        content: bytes | None = None,
        *,
        url: httpx2.URL | None = None,
    ) -> httpx2.Response:
        """Send one request and return the answer with its body unread; the caller closes it.

        Where there is an authoriser, challenges are answered. Raises `httpx2.HTTPError` when
        no answer comes, `RedirectRefused` for a redirect that leaves the origin or would change the
        method, and what the authoriser raises.
        """
        named = self._headers | {name: value.encode() for name, value in headers.items()}
        target = url or self._url
        authoriser = self._authoriser
        if authoriser is None:
            return await self._send(method, target, named, content)
        token = await authoriser.token()
        response = await self._send(method, target, _with_token(named, token), content)
        for _ in range(_CHALLENGES_ANSWERED):
            if response.status_code not in CHALLENGES:
                break
            other = await self._answer_challenge(authoriser, response, token)
            if other is None:
                return response
            token = other
            response = await self._send(method, target, _with_token(named, token), content)
        if token is not None and response.status_code not in CHALLENGES:
            authoriser.accepted(token)
        return response

    @staticmethod
    async def _answer_challenge(
        authoriser: Authoriser, response: httpx2.Response, sent: Secret | None
    ) -> Secret | None:
        """The token to send instead; the answer is closed unless it is the last word."""
        other = None
        last_word = False
        try:
            other = await authoriser.challenged(response, sent)
            last_word = other is None
        finally:
            if not last_word:
                with anyio.CancelScope(shield=True):
                    await response.aclose()
        return other

    async def _send(
        self, method: str, target: httpx2.URL, named: dict[str, bytes], content: bytes | None
    ) -> httpx2.Response:
        """Send with these headers, following redirects."""
        raw = [(name.encode(), value) for name, value in named.items()]
        followed = 0
        while True:
            response = await self._send_once(method, target, raw, content)
            if not response.has_redirect_location:
                return response
            await response.aclose()
            if followed == _REDIRECTS:
                raise RedirectRefused(response.status_code)
            target = self._follow(method, response)
            followed += 1

    async def _send_once(
        self, method: str, url: httpx2.URL, headers: RawHeaders, content: bytes | None
    ) -> httpx2.Response:
        request = httpx2.Request(
            method, url, headers=headers, content=content, extensions=_TIMEOUTS
        )
        if self._cookies:
            self._cookies.set_cookie_header(request)
        response = await self._transport.handle_async_request(request)
        response.request = request
        self._cookies.extract_cookies(response)
        return response

    def _follow(self, method: str, response: httpx2.Response) -> httpx2.URL:
        """Where a redirect leads, if it keeps to the origin and takes the message along."""
        keeps_method = method == "GET" or response.status_code in {307, 308}
        target = self.resolve(response.headers["location"]) if keeps_method else None
        if target is None:
            raise RedirectRefused(response.status_code)
        return target

    async def aclose(self) -> None:
        """Close every connection."""
        await self._transport.aclose()


def _with_token(headers: dict[str, bytes], token: Secret | None) -> dict[str, bytes]:
    """The headers with the token, which replaces any configured credential (RFC 6750, 2.1)."""
    if token is None:
        return headers
    return {**headers, "authorization": b"Bearer " + token.reveal().encode()}


async def settle(response: httpx2.Response) -> None:
    """Read the little that follows a 202, so that the connection can be used again."""
    if media_type(response) != "text/event-stream":
        try:
            await read_body(response, _SETTLE_BYTES)
        except httpx2.HTTPError:
            return


@asynccontextmanager
async def open_endpoint(
    launch: HttpLaunch,
    limits: Limits,
    transport: httpx2.AsyncBaseTransport | None,
    authoriser: Authoriser | None = None,
) -> AsyncGenerator[HttpEndpoint]:
    """The endpoint of a launch, open as long as the context. Nothing is dialled on entering.

    `transport` takes the place of the network, for tests. Raises `ConfigError`.
    """
    wire_log = getLogger("httpcore2")
    if wire_log.level == NOTSET:
        wire_log.setLevel(INFO)  # at DEBUG it prints answer headers: session ids, cookies
    # A call whose person thinks has no turn, but its connection.
    connections = limits.calls_per_server + limits.parked_calls + _RESERVE
    endpoint = HttpEndpoint(launch, transport, connections, authoriser)
    try:
        yield endpoint
    finally:
        with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
            await endpoint.aclose()
