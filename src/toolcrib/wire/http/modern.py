"""One request of 2026-07-28 over HTTP: one POST in, one answer out, nothing remembered."""

from typing import Final

from mcp.shared.inbound import (
    find_duplicated_routing_header,
    unsupported_protocol_version_rejection,
)
from mcp_types import HEADER_MISMATCH

from toolcrib.wire.envelope import (
    declared_capabilities,
    given_handle,
    opened_version,
    wanted_level,
)
from toolcrib.wire.faults import RpcFault, invalid_request
from toolcrib.wire.http.guard import Headers
from toolcrib.wire.http.message import Caller, Posted, first
from toolcrib.wire.http.reply import Receive, Reply, Send, exchange, send_whole
from toolcrib.wire.jsonwire import encode_error, encode_response
from toolcrib.wire.kernel import Kernel
from toolcrib.wire.log_relay import log_relay
from toolcrib.wire.progress import ProgressRelay, progress_token
from toolcrib.wire.service import HostRequest

VERSION_HEADER: Final = "mcp-protocol-version"


class ModernSide:
    """Answers hosts of 2026-07-28; every request stands alone."""

    def __init__(self, kernel: Kernel, keepalive: float) -> None:
        self._kernel = kernel
        self._keepalive = keepalive

    async def post(
        self, posted: Posted, headers: Headers, caller: Caller, receive: Receive, send: Send
    ) -> None:
        """Answer one posted message; a host that closes the connection cancels it.

        Notifications are accepted and dropped: this revision has none that a host posts, and a
        cancellation by a freely chosen id would let one host cancel another's work. Raises
        `RpcFault` before anything was sent.
        """
        if posted.method is None:
            raise invalid_request("a host of this revision has nothing to respond to")
        if posted.id is None:
            _refuse_unserved(first(headers, VERSION_HEADER) or "")
            await send_whole(send, 202)
            return
        version = _agreed_version(posted.method, posted, headers)
        reply = Reply(send)
        token, level = progress_token(posted.params), wanted_level(posted.params)
        request = HostRequest(
            method=posted.method,
            params=posted.params,
            id=posted.id,
            version=version,
            principal=caller.principal,
            notify=reply.notify,
            capabilities=declared_capabilities(posted.params),
            headers=headers,
            progress=None if token is None else ProgressRelay(token, reply.notify),
            handle=given_handle(posted.params),
            log_level=level,
            heard=log_relay(level, reply.notify),
        )

        async def work() -> None:
            await answer(self._kernel, request, reply)

        await exchange(reply, receive, work, keepalive=self._keepalive)


async def answer(kernel: Kernel, request: HostRequest, reply: Reply) -> None:
    """Let the kernel answer, and send what comes of it."""
    try:
        result = await kernel.respond(request)
    except RpcFault as fault:
        await reply.finish(encode_error(request.id, fault.as_error()), fault.http_status)
    else:
        await reply.finish(encode_response(request.id, result), 200)


def _agreed_version(method: str, posted: Posted, headers: Headers) -> str:
    """The revision that headers and body agree on; raises `RpcFault` where they do not.

    A header that is there twice is refused, because two readers could each take another one for it.
    """
    if (doubled := find_duplicated_routing_header(headers)) is not None:
        raise RpcFault(HEADER_MISMATCH, f"the {doubled} header appears more than once")
    return opened_version(method, posted.params, dict(headers))


def _refuse_unserved(version: str) -> None:
    rejection = unsupported_protocol_version_rejection(version)
    if rejection is not None:
        raise RpcFault(rejection.code, rejection.message, rejection.data)
