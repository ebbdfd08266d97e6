"""Calls of meta-tools: answered here, but for `call_tool`, which is the call of another tool."""

from collections.abc import Mapping
from typing import Any

from toolcrib.calls.results.refusal import refusal
from toolcrib.discovery.meta.definitions import CALL
from toolcrib.errors import BadArguments, RetryRefused, ToolcribError
from toolcrib.gateway.discovering import GatewayDiscovery
from toolcrib.gateway.forward import Forwarder
from toolcrib.gateway.requester import requester_of, retry_of
from toolcrib.protocol.mrtr import asks_input
from toolcrib.settings import GatewaySettings
from toolcrib.wire.faults import invalid_params
from toolcrib.wire.service import HostRequest


class MetaCalls:
    """Answers what one principal's hosts call of the meta-tools."""

    def __init__(
        self, discovery: GatewayDiscovery, forwarder: Forwarder, settings: GatewaySettings
    ) -> None:
        self._meta = discovery.meta
        self._names = discovery.names()
        self._forwarder = forwarder
        self._relay = settings.relay
        self._trace = settings.trace

    def takes(self, name: str) -> bool:
        """Whether a tool is one of them, shown at the moment or not."""
        return name in self._names

    async def call(self, request: HostRequest) -> dict[str, Any]:
        """`tools/call` of a meta-tool; what stops it is told as a result.

        A call through `call_tool` is what a direct call of the inner tool is, with the progress,
        the answers and the trace of this request. Refusals name the inner tool.
        """
        name: str = request.params["name"]
        arguments: Mapping[str, Any] = request.params.get("arguments") or {}
        if name != CALL:
            return await self._answered(name, arguments, request)
        try:
            inner = self._meta.inner(arguments)
        except BadArguments as error:
            return refusal(error, name)
        return await self._forwarder.call_inner(request, inner)

    async def _answered(
        self, name: str, arguments: Mapping[str, Any], request: HostRequest
    ) -> dict[str, Any]:
        requester = requester_of(request, self._relay, trace=self._trace)
        retry = retry_of(request.params)
        try:
            result = await self._meta.call(name, arguments, requester, retry, request.progress)
        except RetryRefused as error:
            raise invalid_params(error.for_model()) from None
        except ToolcribError as error:
            return refusal(error, name)
        if asks_input(result):
            return result
        return await self._forwarder.stamped(result)
