"""Servers on demand as hosts meet them: a listing never depends on what was enabled."""

from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from toolcrib.calls.call import Requester, Retry
from toolcrib.core.exposure import Wanted
from toolcrib.core.partition import Principal
from toolcrib.core.snapshot import Kind
from toolcrib.crib import Crib
from toolcrib.discovery.exposing.exposing import EVERYTHING, Choice
from toolcrib.discovery.exposing.offer import Offer
from toolcrib.discovery.meta.seams import ExtraTool
from toolcrib.discovery.seams import Inner, Shown
from toolcrib.gateway.discovering import GatewayDiscovery
from toolcrib.ports import Progress
from toolcrib.settings import DynamicSettings, Settings
from toolcrib.testing.gateway_rig import refused
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import ScriptedWorld, server_settings
from toolcrib.testing.scripted_gateway import ScriptedGateway, scripted_gateway
from toolcrib.testing.servers_rig import ServersRig

pytestmark = pytest.mark.virtual_time

ANNA = Principal("https://login", "anna")


class OnlyServing:
    """The meta-tools that enable servers, and `call_tool`."""

    def __init__(self, tools: Collection[ExtraTool]) -> None:
        self._tools = {each.definition["name"]: each for each in tools}

    def names(self) -> Collection[str]:
        return (*self._tools, "call_tool")

    def definitions(self, exposure: Shown) -> tuple[Mapping[str, Any], ...]:
        del exposure
        return tuple(each.definition for each in self._tools.values())

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        requester: Requester,
        retry: Retry | None = None,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        del retry, progress
        return await self._tools[name].call(arguments, requester)

    def inner(self, arguments: Mapping[str, Any]) -> Inner:
        return Inner(arguments["name"], arguments.get("args"))


class ShowingAll:
    """Shows everything that may be listed, as `auto` does below its share."""

    wanted: Wanted = "auto"

    async def choose(self, offer: Offer, *, look: bool = False) -> Choice:
        del offer, look
        return EVERYTHING


class Mixed(ScriptedUpstream):
    """A server with something of every kind."""

    def __init__(self, name: str) -> None:
        super().__init__([tool(f"{name}_tool")])
        self.items[Kind.PROMPTS] = [{"name": f"{name}_prompt"}]
        self.items[Kind.RESOURCES] = [{"uri": f"{name}://resource", "name": name}]


@asynccontextmanager
async def gateway(
    mail: ScriptedUpstream, dynamic: DynamicSettings | None = None
) -> AsyncGenerator[tuple[ScriptedGateway, ServersRig]]:
    rigs: dict[Principal, ServersRig] = {}

    def discovery(crib: Crib, world: ScriptedWorld, principal: Principal) -> GatewayDiscovery:
        world.servers.add("mail", mail)
        servers = (server_settings("git"), server_settings("mail", on_demand=True))
        settings = Settings(servers=servers, dynamic=dynamic or DynamicSettings())
        rig = rigs[principal] = ServersRig(crib, world, settings, principal, world.store.entries)
        rig.start()
        return GatewayDiscovery(OnlyServing(rig.tools), rig.servers, ShowingAll())

    async with scripted_gateway({"git": Mixed("git")}, discovery=discovery) as served:
        await served.names(principal=ANNA)
        yield served, rigs[ANNA]


async def listings(served: ScriptedGateway) -> list[bytes]:
    return [await served.listing(kind, ANNA) for kind in Kind]


async def test_no_listing_changes_by_enabling_calling_or_disabling() -> None:
    async with gateway(Mixed("mail")) as (served, _):
        before = await listings(served)
        assert b"enable_server" in before[0]
        assert b"git_tool" in before[0]
        await served.call("enable_server", ANNA, server="mail")
        await anyio.sleep(10)
        assert await listings(served) == before
        await served.call("mail__mail_tool", ANNA)
        assert await listings(served) == before
        await served.call("disable_server", ANNA, server="mail")
        await anyio.sleep(10)
        assert await listings(served) == before


@pytest.mark.parametrize("through", ["call_tool", "its own name"])
async def test_an_enabled_tool_is_called_and_one_that_is_not_enabled_is_refused(
    through: str,
) -> None:
    mail = Mixed("mail")

    async def call(served: ScriptedGateway) -> dict[str, Any]:
        name = "mail__mail_tool"
        if through == "call_tool":
            inner: dict[str, Any] = {"name": "call_tool", "arguments": {"name": name}}
            return await served.ask("tools/call", inner, ANNA)
        return await served.call(name, ANNA)

    async with gateway(mail) as (served, rig):
        await rig.servers.enable(Requester(ANNA, "another caller"), ["mail"])
        assert refused(await call(served))["code"] == "not_allowed"
        assert mail.calls == []
        await served.call("enable_server", ANNA, server="mail")
        assert "isError" not in await call(served)
        assert len(mail.calls) == 1
        await served.call("disable_server", ANNA, server="mail")
        assert refused(await call(served))["code"] == "not_allowed"


async def test_a_host_does_not_notice_that_a_server_idled() -> None:
    mail = Mixed("mail")
    async with gateway(mail, DynamicSettings(idle_seconds=50)) as (served, _):
        await served.call("enable_server", ANNA, server="mail")
        before = await listings(served)
        for _ in range(5):
            await anyio.sleep(1_000)
            assert mail.live == 0
            assert await listings(served) == before
            assert mail.live == 0, "listing wakes nothing"
            assert "isError" not in await served.call("mail__mail_tool", ANNA)
        assert (len(mail.calls), mail.connects) == (5, 6)


async def test_what_changed_while_a_server_idled_is_refused_with_the_new_schema() -> None:
    mail = Mixed("mail")
    async with gateway(mail, DynamicSettings(idle_seconds=50)) as (served, rig):
        await served.call("enable_server", ANNA, server="mail")
        item = rig.catalogs.peek("mail", Kind.TOOLS).snapshot
        assert item is not None
        await served.crib.calls(ANNA).ledger.saw(Requester(ANNA), "mail", item.items)
        await anyio.sleep(1_000)
        mail.change([tool("mail_tool", to={"type": "string"})])
        error = refused(await served.call("mail__mail_tool", ANNA))
        assert error["code"] == "schema_changed"
        assert mail.calls == []
        assert "isError" not in await served.call("mail__mail_tool", ANNA, to="x")
