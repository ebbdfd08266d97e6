"""Reading one posted JSON-RPC message within its bounds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import anyio
from mcp_types import INVALID_REQUEST, PARSE_ERROR

from toolcrib.core.partition import Principal
from toolcrib.wire.faults import RpcFault
from toolcrib.wire.http.guard import Headers, HttpLimits, Turned
from toolcrib.wire.http.reply import Receive
from toolcrib.wire.jsonwire import decode


class Gone(Exception):
    """The host went away before its request was complete."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request, and from where."""

    principal: Principal
    address: str
    """The address of the client, or of the proxy before it; "" where the server does not tell."""


@dataclass(frozen=True, slots=True)
class Posted:
    """A message as posted: a request, a notification without id, or a response without method."""

    method: str | None
    params: Mapping[str, Any]
    id: str | int | None
    response: Mapping[str, Any] | None = None
    """The whole message, where it is a response."""


def first(headers: Headers, name: str) -> str | None:
    """The first header of that name, in lower case."""
    return next((value for key, value in headers if key == name), None)


async def read_body(receive: Receive, headers: Headers, limits: HttpLimits) -> bytes | Turned:
    """The whole body, or why it is not read any further; raises `Gone` when the host hangs up."""
    too_large = Turned(413, f"the request is larger than {limits.body_bytes} bytes")
    declared = first(headers, "content-length") or "0"
    if declared.isdecimal() and int(declared) > limits.body_bytes:
        return too_large
    body = bytearray()
    with anyio.move_on_after(limits.body_seconds):
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Gone
            body += message.get("body", b"")
            if len(body) > limits.body_bytes:
                return too_large
            if not message.get("more_body", False):
                return bytes(body)
    return Turned(408, f"the request did not arrive within {limits.body_seconds:g} seconds")


def parse(body: bytes) -> Posted:
    """Read a body as one JSON-RPC message.

    Raises `RpcFault`: -32700 for no JSON, -32600 for anything but one message (batches are gone
    from the protocol).
    """
    try:
        message = decode(body)
    except ValueError:
        raise RpcFault(PARSE_ERROR, "Parse error") from None
    wrong = RpcFault(INVALID_REQUEST, "the body must be one JSON-RPC request or notification")
    if not isinstance(message, dict):
        raise wrong
    fields = cast("dict[str, Any]", message)
    method, given = fields.get("method"), fields.get("params")
    params: object = {} if given is None else given
    if fields.get("jsonrpc") != "2.0" or not isinstance(params, dict):
        raise wrong
    if "id" not in fields and isinstance(method, str):
        return Posted(method, cast("dict[str, Any]", params), None)
    request_id = fields.get("id")
    if not isinstance(request_id, str | int) or isinstance(request_id, bool):
        raise wrong
    if method is None and ("result" in fields or "error" in fields):
        return Posted(None, {}, request_id, fields)
    if not isinstance(method, str):
        raise wrong
    return Posted(method, cast("dict[str, Any]", params), request_id)
