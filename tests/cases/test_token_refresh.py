"""An access token that ends in the middle of a walk: the walk is finished with the next one."""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

from toolcrib.adapters.connector import McpConnector
from toolcrib.adapters.oauth.authorisers import Authorisers
from toolcrib.adapters.system_clock import SystemClock
from toolcrib.adapters.vault.memory_vault import MemoryVault
from toolcrib.config.keys import InstallationKey
from toolcrib.core.snapshot import Kind
from toolcrib.facts import Withdrawn
from toolcrib.ports import ClientProfile
from toolcrib.settings import HttpLaunch, Limits, OAuthSettings, Secret, ServerSettings
from toolcrib.testing.oauth_world import OAuthWorld, Walker
from toolcrib.testing.raw_http import RawExchange, serve_raw_http
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.scripted import tool
from toolcrib.testing.scripted_gateway import ServedGateway
from toolcrib.testing.signal_log import SignalLog
from toolcrib.testing.wired_gateway import wired_gateway

PAGES = 3


@dataclass
class Office:
    """A guarded server that lists on several pages, and something that happens before a page."""

    world: OAuthWorld
    names: list[str] = field(default_factory=lambda: [f"t{n}" for n in range(PAGES)])
    before: dict[int, Callable[[], None]] = field(default_factory=dict[int, Callable[[], None]])
    pages: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    """Every page that was given out, and under which token."""

    async def answer(self, request: RawExchange) -> None:
        posted = request.path == "/mcp" and request.body
        message: dict[str, Any] = json.loads(request.body) if posted else {}
        if message.get("method") != "tools/list":
            await self.world.answer(request)
            return
        number = int(message["params"].get("cursor", "0"))
        self.before.pop(number, lambda: None)()
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if token not in self.world.tokens:
            await self.world.answer(request)  # with a challenge
            return
        self.pages.append((number, token))
        following = {"nextCursor": str(number + 1)} if number + 1 < PAGES else {}
        page = {"tools": [tool(self.names[number])], **following}
        await request.answer(
            result={"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **page}
        )

    def launch(self) -> HttpLaunch:
        return HttpLaunch(Secret(self.world.url), oauth=OAuthSettings())


def connector(vault: MemoryVault, person: Walker | None) -> McpConnector:
    """What a process connects with; without a person nobody logs in anew."""
    clock = SystemClock()
    authorisers = Authorisers(
        vault=vault, keys=InstallationKey(bytes(32)), clock=clock, person=person
    )
    return McpConnector(limits=Limits(), observer=Recorder(), clock=clock, authorisers=authorisers)


@asynccontextmanager
async def office() -> AsyncGenerator[tuple[Office, ServedGateway]]:
    """The server, and a gateway of somebody who has logged in."""
    made: list[Office] = []

    async def answer(request: RawExchange) -> None:
        await made[0].answer(request)

    async with serve_raw_http(answer) as server:
        here = Office(OAuthWorld(server))
        made.append(here)
        vault = MemoryVault()
        settings = ServerSettings("s", here.launch())
        login = connector(vault, Walker(here.world))
        async with login.connect(settings, ClientProfile(), SignalLog(), None):
            pass
        async with wired_gateway(settings, connector=connector(vault, None)) as gateway:
            yield here, gateway


async def relisted(gateway: ServedGateway) -> list[str]:
    """The names after one more walk."""
    catalogs = gateway.crib.catalogs()
    catalogs.invalidate("s", Kind.TOOLS, why="a test")
    await catalogs.renewed("s", Kind.TOOLS)
    return await gateway.names()


@pytest.mark.parametrize("page", range(PAGES))
@pytest.mark.parametrize("rotates", [True, False], ids=["rotating", "lasting"])
async def test_a_walk_whose_token_ends_is_finished_with_the_next_one(
    page: int, *, rotates: bool
) -> None:
    with anyio.fail_after(15):
        async with office() as (here, gateway):
            listed = await gateway.names()
            assert listed == ["s__t0", "s__t1", "s__t2"]
            before = gateway.crib.catalogs().peek("s", Kind.TOOLS)
            (old,) = {token for _, token in here.pages}
            here.pages.clear()
            here.world.rotates = rotates
            here.before[page] = here.world.revoke_all
            assert await relisted(gateway) == listed
            reading = gateway.crib.catalogs().peek("s", Kind.TOOLS)
            assert reading.current
            assert reading.generation == before.generation, "the same partition, the same content"
            assert gateway.recorder.of(Withdrawn) == []
            given = dict(here.pages)
            assert sorted(given) == list(range(PAGES))
            assert all((given[number] == old) is (number < page) for number in given)
            assert here.world.forms[-1]["grant_type"] == "refresh_token"
            assert not (await gateway.call("s__t1")).get("isError")


async def test_what_changed_under_the_next_token_is_a_newer_generation_of_the_same() -> None:
    with anyio.fail_after(15):
        async with office() as (here, gateway):
            await gateway.names()
            before = gateway.crib.catalogs().peek("s", Kind.TOOLS).generation
            here.names[2] = "new"
            here.before[1] = here.world.revoke_all
            assert await relisted(gateway) == ["s__new", "s__t0", "s__t1"]
            assert gateway.crib.catalogs().peek("s", Kind.TOOLS).generation == before + 1


async def test_a_walk_whose_right_is_gone_withdraws_and_shows_no_half() -> None:
    with anyio.fail_after(15):
        async with office() as (here, gateway):
            assert len(await gateway.names()) == PAGES

            def end_it_all() -> None:
                here.world.revoke_all()
                here.world.refreshes.clear()

            here.before[1] = end_it_all
            assert await relisted(gateway) == []
            assert len(gateway.recorder.of(Withdrawn)) == 1
