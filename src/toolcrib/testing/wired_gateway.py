"""A gateway in this process, in front of servers that are reached over real wires."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from toolcrib.adapters.system_clock import SystemClock
from toolcrib.compose import open_parts
from toolcrib.config.keys import InstallationKey
from toolcrib.core.partition import Principal
from toolcrib.crib import Crib
from toolcrib.gateway.discovering import GatewayDiscovery, discovered
from toolcrib.gateway.server import Gateway
from toolcrib.ports import Connector
from toolcrib.settings import Limits, ServerSettings, Settings
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.scripted_gateway import ServedGateway


@asynccontextmanager
async def wired_gateway(
    *servers: ServerSettings,
    limits: Limits | None = None,
    connector: Connector | None = None,
    discovery: Callable[[Crib, Principal], GatewayDiscovery] | None = None,
    **others: Any,
) -> AsyncGenerator[ServedGateway]:
    """A running gateway over these servers, with the transports of production and no file.

    It has a file where `store` names one. Time is real: wait for what happens, inside
    `anyio.fail_after`.

    Args:
        servers: Such as the `settings()` of scripted servers.
        limits: Of crib and gateway.
        connector: In place of the one of production.
        discovery: Makes what a principal is shown, in place of the crib's own.
        others: Further members of `Settings`, such as `gateway` and `store`.
    """
    recorder, bounds = Recorder(), limits or Limits()
    settings = Settings(servers=servers, limits=bounds, **others)
    keys = InstallationKey(b"k" * 32)
    with open_parts(settings, observer=recorder, keys=keys) as parts:
        mine = replace(parts, connector=connector or parts.connector)
        async with Crib.open(settings, mine) as crib:

            def found(principal: Principal) -> GatewayDiscovery:
                if discovery is not None:
                    return discovery(crib, principal)
                return discovered(crib.discovery(principal))

            made = Gateway(
                crib.catalogs,
                crib.calls,
                settings.gateway,
                bounds,
                recorder,
                SystemClock(),
                discovery_for=found,
            )
            async with made.running():
                yield ServedGateway(made, crib, recorder)
