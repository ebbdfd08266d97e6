"""Versions that servers publish themselves: another one makes catalogs stale, and nothing else."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import pytest

from toolcrib.catalog.version_watch import VersionWatch
from toolcrib.core.snapshot import Kind
from toolcrib.crib import Crib
from toolcrib.errors import ConfigError
from toolcrib.protocol.version_source import VersionSource
from toolcrib.settings import ServerSettings, StdioLaunch, Waits
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import scripted_crib

META = {Kind.TOOLS: "tools/list", Kind.PROMPTS: "prompts/list"}
QUIET = Waits(admit_max_age=100_000.0, min_interval=10.0)


class Versioned(ScriptedUpstream):
    """A server whose version is in each answer, but not in its listings unless told to."""

    def __init__(self, version: object = "1", *, lists: bool = False) -> None:
        super().__init__([tool("t"), tool("info")], ttl_ms=86_400_000)
        self.version = version
        self.lists = lists
        self.on_call = self._answer

    async def _answer(self, _method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        told: dict[str, Any] = {} if self.version is None else {"v": self.version}
        return {"content": [], "_meta": dict(told), "structuredContent": dict(told)}

    def list_page(self, kind: Kind, cursor: str | None) -> dict[str, Any]:
        page = super().list_page(kind, cursor)
        return {**page, "_meta": {"v": self.version}} if self.lists else page


@asynccontextmanager
async def crib(
    script: ScriptedUpstream, version_from: str = "meta:v", waits: Waits = QUIET
) -> AsyncGenerator[Crib]:
    server = ServerSettings("s", StdioLaunch("s"), version_from=version_from, waits=waits)
    async with scripted_crib({"s": script}, settings={"s": server}) as (opened, _):
        await opened.catalogs().read(Kind.TOOLS)
        await anyio.sleep(20)
        yield opened


@pytest.mark.virtual_time
@pytest.mark.parametrize("source", ["meta:v", "tool:t#/v"])
async def test_another_version_in_an_answer_costs_one_listing(source: str) -> None:
    script = Versioned()
    async with crib(script, source) as opened:
        walks = script.walks[Kind.TOOLS]
        for _ in range(3):
            await opened.call(("s", "t"))
            await anyio.sleep(20)
        assert script.walks[Kind.TOOLS] == walks
        script.version = "2"
        for _ in range(3):
            await opened.call(("s", "t"))
            await anyio.sleep(20)
        assert script.walks[Kind.TOOLS] == walks + 1


@pytest.mark.virtual_time
@pytest.mark.parametrize("first", ["1", None])
async def test_the_first_sight_costs_none(first: object) -> None:
    script = Versioned(first)
    async with crib(script) as opened:
        walks = script.walks[Kind.TOOLS]
        await opened.call(("s", "t"))
        script.version = script.version or "1"
        await opened.call(("s", "t"))
        await anyio.sleep(20)
        assert script.walks[Kind.TOOLS] == walks


@pytest.mark.virtual_time
async def test_the_result_of_another_tool_says_nothing_and_the_tool_is_never_called() -> None:
    script = Versioned()
    async with crib(script, "tool:info#/v") as opened:
        walks = script.walks[Kind.TOOLS]
        await opened.call(("s", "t"))
        script.version = "2"
        await opened.call(("s", "t"))
        await anyio.sleep(1000)
        assert script.walks[Kind.TOOLS] == walks
        assert [params["name"] for _, params in script.calls] == ["t", "t"]


@pytest.mark.virtual_time
async def test_versions_that_change_with_each_answer_cost_one_listing_per_min_interval() -> None:
    script = Versioned(0)
    async with crib(script) as opened:
        await opened.call(("s", "t"))
        walks = script.walks[Kind.TOOLS]
        for number in range(1, 101):
            script.version = number
            await opened.call(("s", "t"))
            await anyio.sleep(0.5)
        assert walks + 3 <= script.walks[Kind.TOOLS] <= walks + 6


@pytest.mark.virtual_time
async def test_the_last_of_several_changes_is_never_lost() -> None:
    script = Versioned()
    async with crib(script) as opened:
        await opened.call(("s", "t"))
        script.version = "2"
        await opened.call(("s", "t"))
        await anyio.sleep(1)
        script.version = "3"
        script.change([tool("t"), tool("late")], signal=False)
        await opened.call(("s", "t"))
        await anyio.sleep(20)
        held = opened.catalogs().peek("s", Kind.TOOLS).snapshot
        assert held is not None
        assert held.get("late") is not None


@pytest.mark.virtual_time
async def test_a_listing_that_begins_with_another_version_is_not_stale_itself() -> None:
    script = Versioned(lists=True)
    # Each listing walks: nothing of it is believed for any time.
    script.ttl_ms = 0
    async with crib(script, waits=replace(QUIET, min_interval=0.0)) as opened:
        walks = script.walks[Kind.TOOLS]
        script.version = "2"
        await opened.catalogs().read(Kind.TOOLS)
        await anyio.sleep(20)
        assert script.walks[Kind.TOOLS] == walks + 1


@pytest.mark.parametrize("wrong", ["version", "meta:", "tool:x", "header:a b"])
async def test_a_form_that_says_nothing_is_refused_with_the_remedy(wrong: str) -> None:
    server = ServerSettings("s", StdioLaunch("s"), version_from=wrong)
    async with scripted_crib({"s": Versioned()}, settings={"s": server}) as (opened, _):
        with pytest.raises(ConfigError, match="does not say where") as raised:
            opened.catalogs()
        assert "header:NAME" in (raised.value.remedy or "")


@pytest.mark.virtual_time
async def test_where_to_look_may_change_while_it_runs() -> None:
    script = Versioned()
    async with crib(script, "") as opened:
        await opened.call(("s", "t"))
        script.version = "2"
        await opened.call(("s", "t"))
        walks = script.walks[Kind.TOOLS]
        (server,) = opened.settings.servers
        changed = replace(server, version_from="meta:v")
        await opened.apply(replace(opened.settings, servers=(changed,)))
        await opened.call(("s", "t"))
        script.version = "3"
        await opened.call(("s", "t"))
        await anyio.sleep(20)
        assert script.walks[Kind.TOOLS] == walks + 1


# ---------------------------------------------------------------- which catalogs


def told(watch: VersionWatch, method: str, version: str, cursor: str | None = None) -> list[str]:
    params = {} if cursor is None else {"cursor": cursor}
    kinds = (Kind.TOOLS, Kind.PROMPTS)
    found = watch.heard(method, params, {"_meta": {"v": version}}, kinds)
    return [kind.label for kind in found]


def test_a_listing_of_one_kind_makes_the_others_stale() -> None:
    watch = VersionWatch(VersionSource("meta", "v"))
    assert told(watch, "tools/list", "1") == []
    assert told(watch, "prompts/list", "1") == []
    assert told(watch, "tools/list", "2") == ["prompts"]
    assert told(watch, "tools/call", "2") == []
    assert told(watch, "tools/call", "3") == ["tools", "prompts"]
    assert told(watch, "tools/call", "3") == []


def test_a_listing_whose_version_moves_between_pages_is_stale() -> None:
    watch = VersionWatch(VersionSource("meta", "v"))
    assert told(watch, "tools/list", "1") == []
    assert told(watch, "tools/list", "1", "2") == []
    assert told(watch, "tools/list", "2", "3") == ["tools", "prompts"]


def test_a_catalog_that_comes_later_is_of_the_version_seen_last() -> None:
    watch = VersionWatch(VersionSource("meta", "v"))
    result = {"_meta": {"v": "1"}}
    assert watch.heard("tools/call", {}, result, (Kind.TOOLS,)) == ()
    result = {"_meta": {"v": "2"}}
    assert watch.heard("tools/call", {}, result, (Kind.TOOLS, Kind.PROMPTS)) == (
        Kind.TOOLS,
        Kind.PROMPTS,
    )
