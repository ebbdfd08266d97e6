"""What broke below the protocol, in words that hold no URL, no header and no foreign text."""

import re
import socket
import ssl
from collections.abc import Iterator
from typing import Final, cast

import httpx2
from mcp_types import ErrorData

from toolcrib.adapters.http.outcome import TRANSPORT_FAILED, Fault, HttpOutcome, join_outcome
from toolcrib.errors import ToolcribError

__all__ = ["describe_fault", "fault_error", "name_fault"]

_TEXTS: Final[dict[Fault, tuple[str, str]]] = {
    "accepted": (
        "the server took the request but promised no answer",
        "this server cannot answer requests on this path; check the URL and the transport",
    ),
    "authorization": (
        "no token for the server could be had",
        "look at what its authorization server says, or log in again",
    ),
    "closed": (
        "the server ended its answer before the result came",
        "look into the server's log; what the request did there is unknown",
    ),
    "connect_failed": (
        "no connection to the server could be made",
        "check that its host can be reached from here",
    ),
    "connect_refused": (
        "nothing accepts connections at the server's address",
        "start the server, or correct host and port of its URL",
    ),
    "connect_timeout": (
        "the server's address did not accept a connection in 5 s",
        "check host, port and firewalls",
    ),
    "content_type": (
        "the answer is neither JSON nor an event stream",
        "check that the URL names the MCP endpoint and not a web page",
    ),
    "dns": (
        "the server's host name has no address",
        "correct the host in its URL, or the name service",
    ),
    "endpoint": (
        "the server did not name an address of its own for messages",
        "check that its URL names an HTTP+SSE endpoint, and any proxy between",
    ),
    "protocol": (
        "what the server sent is not HTTP as it should be",
        "check scheme and port of its URL, and any proxy between",
    ),
    "proxy": (
        "the proxy from the environment did not open a way to the server",
        "correct HTTP_PROXY and HTTPS_PROXY, or name the host in NO_PROXY",
    ),
    "redirect": (
        "the server redirects to another origin, or in a way that drops the message",
        "configure the URL it redirects to, if that is the server you mean",
    ),
    "reset": (
        "the connection broke before the answer was whole",
        "look into the server's log; what the request did there is unknown",
    ),
    "tls": (
        "no trusted TLS connection could be made",
        "check the server's certificate, SSL_CERT_FILE, and that its URL should say https",
    ),
    "too_large": (
        "the answer is larger than allowed",
        "raise the limit, or make the server answer in smaller pieces",
    ),
    "unexpected": (
        "the exchange failed in a way that toolcrib did not foresee",
        "please report it with the server's name and version",
    ),
    "unreadable": (
        "the answer is not the JSON-RPC message that the request calls for",
        "look into the server's log; a proxy may have cut or replaced the answer",
    ),
}


_CUT_OFF: Final = re.compile("disconnected|closed connection")
"""The HTTP client has one exception for an answer that is malformed and one that is cut off."""

_CONNECT_FAULTS: Final[tuple[tuple[type[Exception], Fault], ...]] = (
    (ssl.SSLError, "tls"),
    (socket.gaierror, "dns"),
    (ConnectionRefusedError, "connect_refused"),
)

_PLAIN_FAULTS: Final[tuple[tuple[type[Exception], Fault], ...]] = (
    (ToolcribError, "authorization"),
    (httpx2.SSEError, "too_large"),
    (httpx2.ConnectTimeout, "connect_timeout"),
    (httpx2.ProxyError, "proxy"),
)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and everything it was raised from or during; groups are opened."""
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [one.__cause__, one.__context__]
        if isinstance(one, BaseExceptionGroup):
            waiting += cast("BaseExceptionGroup[BaseException]", one).exceptions


def _name_connect_fault(error: BaseException) -> Fault:
    found = list(_chain(error))
    for kind, fault in _CONNECT_FAULTS:
        if any(isinstance(one, kind) for one in found):
            return fault
    return "connect_failed"


def name_fault(error: Exception) -> Fault:
    """Which fault an exception of the HTTP client stands for; `unexpected` when it is none."""
    for kind, fault in _PLAIN_FAULTS:
        if isinstance(error, kind):
            return fault
    match error:
        case httpx2.ConnectError():
            return _name_connect_fault(error)
        case httpx2.RemoteProtocolError() if _CUT_OFF.search(str(error)):
            return "reset"
        case httpx2.ProtocolError() | httpx2.DecodingError() | httpx2.UnsupportedProtocol():
            return "protocol"
        case httpx2.TransportError() | httpx2.StreamError() | OSError():
            return "reset"
        case _:
            return "unexpected"


def describe_fault(fault: Fault, detail: str = "") -> str:
    """What happened and what to do about it; `detail` is put between."""
    happened, remedy = _TEXTS[fault]
    return f"{happened}{f' ({detail})' if detail else ''}; {remedy}"


def fault_error(fault: Fault, *, status: int | None = None, detail: str = "") -> ErrorData:
    """The JSON-RPC error of a request that a fault ended; `status` if an answer had begun."""
    return join_outcome(
        ErrorData(code=TRANSPORT_FAILED, message=describe_fault(fault, detail)),
        HttpOutcome(status=status, fault=fault),
    )
