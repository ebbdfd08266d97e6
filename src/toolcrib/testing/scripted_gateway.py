"""A gateway in front of scripted servers, asked as hosts ask it: all in this process."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal

import anyio
from mcp.client.client import Client
from mcp.shared.memory import create_client_server_memory_streams

from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.core.partition import LOCAL, Principal
from toolcrib.core.snapshot import Kind
from toolcrib.crib import Crib
from toolcrib.gateway.discovering import GatewayDiscovery, discovered
from toolcrib.gateway.server import Gateway
from toolcrib.settings import ApprovalSettings, GatewaySettings, Limits, ServerSettings
from toolcrib.testing.fake_service import host_request
from toolcrib.testing.gateway_rig import refused
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.scripted import ScriptedUpstream
from toolcrib.testing.scripted_crib import ScriptedWorld, scripted_crib
from toolcrib.wire.jsonwire import Prepared, encode_result

HostEra = Literal["legacy", "auto"]
"""The SDK's words for its client modes: the handshake, and the newest revision."""


class ServedGateway:
    """What a test asks of a gateway, as some principal's host."""

    def __init__(self, gateway: Gateway, crib: Crib, recorder: Recorder) -> None:
        self.gateway = gateway
        self.crib = crib
        self.recorder = recorder
        """The facts that were told."""

    async def ask(
        self, method: str, params: Mapping[str, Any] | None = None, principal: Principal = LOCAL
    ) -> dict[str, Any]:
        """The result of one request."""
        result = await self._answer(method, params, principal)
        return result.as_dict() if isinstance(result, Prepared) else result

    async def listing(self, kind: Kind = Kind.TOOLS, principal: Principal = LOCAL) -> bytes:
        """The listing of a kind as it goes out."""
        return encode_result(await self._answer(kind.method, None, principal))

    async def names(self, kind: Kind = Kind.TOOLS, principal: Principal = LOCAL) -> list[str]:
        """What a host sees listed: names, or URIs."""
        return [
            item[kind.key] for item in (await self.ask(kind.method, None, principal))[kind.field]
        ]

    async def call(
        self, name: str, principal: Principal = LOCAL, /, **arguments: Any
    ) -> dict[str, Any]:
        """The result of one tool call."""
        params = {"name": name, "arguments": arguments}
        return await self.ask("tools/call", params, principal)

    async def refusal(self, name: str, principal: Principal = LOCAL) -> dict[str, Any]:
        """The error inside the result of a tool call that has to be refused."""
        return refused(await self.call(name, principal))

    @asynccontextmanager
    async def host(self, era: HostEra = "auto", **options: Any) -> AsyncGenerator[Client]:
        """A client of the SDK at the other end of a pair of streams, as over stdio."""

        @asynccontextmanager
        async def transport() -> AsyncGenerator[Any]:
            async with (
                create_client_server_memory_streams() as (client, server),
                anyio.create_task_group() as tasks,
            ):
                tasks.start_soon(self.gateway.serve_streams, *server)
                yield client
                tasks.cancel_scope.cancel()

        async with Client(transport(), mode=era, cache=None, **options) as client:
            yield client

    async def _answer(
        self, method: str, params: Mapping[str, Any] | None, principal: Principal
    ) -> dict[str, Any] | Prepared:
        return await self.gateway.answer(host_request(method, params, principal=principal))


class ScriptedGateway(ServedGateway):
    """A gateway whose servers, store and clock are those of a test."""

    def __init__(self, gateway: Gateway, crib: Crib, world: ScriptedWorld) -> None:
        super().__init__(gateway, crib, world.recorder)
        self.world = world


@asynccontextmanager
async def scripted_gateway(
    scripts: Mapping[str, ScriptedUpstream],
    *,
    settings: Mapping[str, ServerSettings] | None = None,
    gateway: GatewaySettings | None = None,
    limits: Limits | None = None,
    store: MemoryStore | None = None,
    approval: ApprovalSettings | None = None,
    discovery: Callable[[Crib, ScriptedWorld, Principal], GatewayDiscovery] | None = None,
    **others: Any,
) -> AsyncGenerator[ScriptedGateway]:
    """A running gateway over one server for each script.

    Args:
        scripts: By server id.
        settings: Those of single servers, where the defaults do not do.
        gateway: How it shows itself.
        limits: Of crib and gateway.
        store: The memory that snapshots survive in; a new one where none is given.
        approval: Which calls a person is asked about.
        discovery: Makes what a principal is shown, in place of the crib's own.
        others: Further members of `Settings`, such as `exposure` and `skills`.
    """
    async with scripted_crib(
        scripts,
        settings=settings,
        limits=limits,
        store=store,
        gateway=gateway,
        approval=approval,
        **others,
    ) as (crib, world):

        def found(principal: Principal) -> GatewayDiscovery:
            if discovery is not None:
                return discovery(crib, world, principal)
            return discovered(crib.discovery(principal))

        made = Gateway(
            crib.catalogs,
            crib.calls,
            gateway or GatewaySettings(),
            limits or Limits(),
            world.recorder,
            world.clock,
            discovery_for=found,
        )
        async with made.running():
            yield ScriptedGateway(made, crib, world)
