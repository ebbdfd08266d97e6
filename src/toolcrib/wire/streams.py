"""Serving one host over a pair of message streams, in the era that its first request opens.

The first request decides for the life of the connection (MCP 2026-07-28, versioning: dual-era
servers): one that carries the envelope of 2026-07-28 opens a modern connection, anything else a
handshake one. Nothing is ever sent before the host has spoken.
"""

import secrets
from collections.abc import Mapping
from typing import Any, cast

import anyio
from anyio.abc import TaskGroup
from mcp.shared.dispatcher import DispatchContext
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, UNSUPPORTED_PROTOCOL_VERSION

from toolcrib.core.partition import Principal
from toolcrib.errors import UpstreamRefused
from toolcrib.ports import Ask, Era
from toolcrib.protocol.eras import MODERN_VERSIONS
from toolcrib.wire.asking import Asking
from toolcrib.wire.audience import Subscriber, Topic
from toolcrib.wire.envelope import (
    declared_capabilities,
    given_handle,
    has_envelope,
    opened_version,
    wanted_level,
)
from toolcrib.wire.faults import RpcFault, fault_of, invalid_request
from toolcrib.wire.handshake import UNSETTLED, Agreed, agree, initialize_result
from toolcrib.wire.jsonwire import Prepared
from toolcrib.wire.kernel import Kernel, refusal_before_handshake
from toolcrib.wire.log_relay import log_relay
from toolcrib.wire.progress import ProgressRelay, progress_token
from toolcrib.wire.service import HostRequest, Standing

Incoming = Any
"""A stream of `SessionMessage | Exception` that can be received from (the SDK keeps its Protocol
private)."""

Outgoing = Any
"""A stream that `SessionMessage` can be sent to."""

Call = DispatchContext[TransportContext]


async def serve_streams(
    kernel: Kernel, incoming: Incoming, outgoing: Outgoing, principal: Principal
) -> None:
    """Serve until the host closes its side; both streams are closed then."""
    dispatcher = JSONRPCDispatcher[TransportContext](incoming, outgoing)
    async with anyio.create_task_group() as tasks:
        connection = _Connection(kernel, dispatcher, principal, tasks)
        try:
            await dispatcher.run(connection.on_request, connection.on_notification)
        finally:
            connection.leave()
            tasks.cancel_scope.cancel()


class _Connection:
    """What is known of the one host at the other end."""

    def __init__(
        self,
        kernel: Kernel,
        dispatcher: JSONRPCDispatcher[TransportContext],
        principal: Principal,
        tasks: TaskGroup,
    ) -> None:
        self._kernel = kernel
        self._dispatcher = dispatcher
        self._principal = principal
        self._tasks = tasks
        self._era: Era | None = None
        self._agreed: Agreed | None = None
        self._initialized = anyio.Event()
        self._standing: Standing | None = None
        self._handle = f"connection:{secrets.token_urlsafe(16)}"

    async def on_request(
        self, call: Call, method: str, params: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        """Answer one request; errors leave as the SDK's own, so that the dispatcher writes them."""
        try:
            result = await self._respond(call, method, params or {})
        except Exception as error:  # noqa: BLE001 - the dispatcher would quote what it gets
            fault = fault_of(error)
            raise MCPError(fault.code, fault.message, fault.data) from None
        return result

    async def on_notification(
        self, _call: Call, method: str, _params: Mapping[str, Any] | None
    ) -> None:
        """Take note that the handshake is complete; cancellation is the dispatcher's business."""
        if method == "notifications/initialized":
            self._initialized.set()

    def leave(self) -> None:
        """Tell this host nothing any more, and remember nothing of it."""
        self._kernel.service.left(self._principal, self._handle)
        if self._standing is not None:
            self._standing.subscriber.leave()

    async def _respond(self, call: Call, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        modern = method != "initialize" and has_envelope(params)
        if self._era is None:
            self._era = "modern" if modern else "handshake"
        if self._era == "modern":
            return await self._respond_modern(call, method, params)
        if modern:
            raise invalid_request(
                "this connection was opened with the initialize handshake; "
                "requests that carry the envelope of 2026-07-28 need a new one"
            )
        return await self._respond_handshake(call, method, params)

    async def _respond_modern(
        self, call: Call, method: str, params: Mapping[str, Any]
    ) -> dict[str, Any]:
        if method == "initialize":
            data: dict[str, Any] = {"supported": list(MODERN_VERSIONS)}
            if isinstance(asked := params.get("protocolVersion"), str):
                data["requested"] = asked
            message = "this connection speaks 2026-07-28, which has no initialize handshake"
            raise RpcFault(UNSUPPORTED_PROTOCOL_VERSION, message, data)
        version = opened_version(method, params)
        request = self._request(
            call,
            method,
            params,
            Agreed(version, declared_capabilities(params)),
            handle=given_handle(params) or self._handle,
            level=wanted_level(params),
        )
        result = await self._answer(request)
        if method == "subscriptions/listen":
            # The result comes first: hosts take an earlier cancellation for a lost stream.
            self._tasks.start_soon(self._close_subscription, call.request_id)
        return result

    async def _respond_handshake(
        self, call: Call, method: str, params: Mapping[str, Any]
    ) -> dict[str, Any]:
        if method == "initialize":
            # Nothing is awaited up to here, so a host that asks on without waiting finds it done.
            self._agreed = agree(params)
            if self._standing is None:
                subscriber = self._kernel.service.audience(self._principal).join(Topic)
                self._standing = Standing(subscriber)
                self._tasks.start_soon(self._announce, subscriber)
            return initialize_result(self._kernel.service, self._agreed)
        if self._agreed is None and method != "ping":
            # Unserved methods are told apart also before the handshake: hosts probe with them.
            raise refusal_before_handshake(method)
        agreed, standing = self._agreed or UNSETTLED, self._standing
        request = self._request(
            call,
            method,
            params,
            agreed,
            handle=self._handle,
            level="" if standing is None else standing.log_level,
            ask=Asking(agreed.capabilities, self._put, self._kernel.ask_seconds),
            standing=standing,
        )
        return await self._answer(request)

    def _request(
        self,
        call: Call,
        method: str,
        params: Mapping[str, Any],
        agreed: Agreed,
        *,
        handle: str,
        level: str,
        ask: Ask | None = None,
        standing: Standing | None = None,
    ) -> HostRequest:
        token = progress_token(params)
        return HostRequest(
            method=method,
            params=params,
            id=cast("str | int", call.request_id),  # None is for notifications only
            version=agreed.version,
            principal=self._principal,
            notify=call.notify,
            capabilities=agreed.capabilities,
            progress=None if token is None else ProgressRelay(token, call.notify),
            ask=ask,
            handle=handle,
            log_level=level,
            heard=log_relay(level, call.notify),
            standing=standing,
        )

    async def _answer(self, request: HostRequest) -> dict[str, Any]:
        result = await self._kernel.respond(request)
        return result.as_dict() if isinstance(result, Prepared) else result

    async def _put(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Ask the host; the dispatcher counts the ids, and tells the host when nobody waits."""
        try:
            return await self._dispatcher.send_raw_request(method, params)
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                raise UpstreamRefused("the host is gone", rpc_code=INTERNAL_ERROR) from None
            raise UpstreamRefused(error.message, rpc_code=error.code, data=error.data) from None

    async def _announce(self, subscriber: Subscriber) -> None:
        await self._initialized.wait()
        while (due := await subscriber.next()) is not None:
            await self._dispatcher.notify(due.method, due.params or None)

    async def _close_subscription(self, request_id: str | int | None) -> None:
        params = {"requestId": request_id, "reason": "the server ended the subscription"}
        await self._dispatcher.notify("notifications/cancelled", params)
