"""The ASGI application of the MCP endpoint: lets requests in, finds their era, and answers them."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from toolcrib.core.partition import Principal
from toolcrib.protocol.eras import HANDSHAKE_VERSIONS
from toolcrib.wire.envelope import has_envelope
from toolcrib.wire.faults import RpcFault
from toolcrib.wire.http.guard import Headers, HttpLimits, Turned
from toolcrib.wire.http.handshake_side import HandshakeSide
from toolcrib.wire.http.message import Caller, Gone, Posted, first, parse, read_body
from toolcrib.wire.http.modern import VERSION_HEADER, ModernSide
from toolcrib.wire.http.reply import Receive, Send, header_lines, send_json, send_whole, turn_away
from toolcrib.wire.jsonwire import encode_error
from toolcrib.wire.kernel import Kernel

Scope = Mapping[str, Any]


class McpEndpoint:
    """Serves both eras at one address.

    A request is modern when its header names a revision that has no handshake, or when its body
    carries the envelope: a modern request without its header is then told so (-32020), and not
    taken for an older one.
    """

    def __init__(
        self, kernel: Kernel, limits: HttpLimits, principal_of: Callable[[Scope], Principal]
    ) -> None:
        self._limits = limits
        self._principal_of = principal_of
        self._modern = ModernSide(kernel, limits.keepalive)
        self._handshake = HandshakeSide(kernel, limits)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request that the guard let in."""
        with suppress(Gone):
            await self._dispatch(scope, header_lines(scope), receive, send)

    async def _dispatch(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        principal = self._principal_of(scope)
        client = scope.get("client")
        caller = Caller(principal, client[0] if client else "")
        match scope["method"]:
            case "POST":
                await self._post(headers, caller, receive, send)
            case "GET" if not _claims_modern(headers):
                if _accepts(headers, "text/event-stream"):
                    await self._handshake.get(headers, principal, receive, send)
                else:
                    await turn_away(send, Turned(406, "Accept must allow text/event-stream"))
            case "DELETE" if not _claims_modern(headers):
                await self._handshake.delete(headers, principal, send)
            case _:
                allowed = b"POST" if _claims_modern(headers) else b"GET, POST, DELETE"
                await send_whole(send, 405, fields=((b"allow", allowed),))

    async def _post(self, headers: Headers, caller: Caller, receive: Receive, send: Send) -> None:
        turned = _unfit(headers)
        body = turned or await read_body(receive, headers, self._limits)
        if isinstance(body, Turned):
            await turn_away(send, body)
            return
        request_id: str | int | None = None
        try:
            posted = parse(body)
            request_id = posted.id
            side = self._modern if _is_modern(headers, posted) else self._handshake
            await side.post(posted, headers, caller, receive, send)
        except RpcFault as fault:
            message = encode_error(request_id, fault.as_error())
            await send_json(send, fault.http_status, message)


def _claims_modern(headers: Headers) -> bool:
    version = first(headers, VERSION_HEADER)
    return version is not None and version not in HANDSHAKE_VERSIONS


def _is_modern(headers: Headers, posted: Posted) -> bool:
    if _claims_modern(headers):
        return True
    return posted.method != "initialize" and has_envelope(posted.params)


def _unfit(headers: Headers) -> Turned | None:
    kind = (first(headers, "content-type") or "").partition(";")[0].strip().lower()
    if kind != "application/json":
        return Turned(415, "Content-Type must be application/json")
    if not (_accepts(headers, "application/json") and _accepts(headers, "text/event-stream")):
        return Turned(406, "Accept must allow both application/json and text/event-stream")
    return None


def _accepts(headers: Headers, kind: str) -> bool:
    """Whether an `Accept` header allows a media type; without one nothing is allowed."""
    wanted = {kind, f"{kind.partition('/')[0]}/*", "*/*"}
    given = ",".join(value for name, value in headers if name == "accept").split(",")
    return any(part.partition(";")[0].strip().lower() in wanted for part in given)
