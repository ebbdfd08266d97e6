from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import anyio
import pytest

from toolcrib.catalog.access import PublishedChange
from toolcrib.catalog.reading import Reading
from toolcrib.core.snapshot import Kind, Scope
from toolcrib.errors import UpstreamRefused, UpstreamUnreachable
from toolcrib.ports import Era, ServerFacts
from toolcrib.settings import HttpLaunch, Launch, Secret, StdioLaunch, ToolFilter
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import scripted_crib, server_settings

pytestmark = pytest.mark.virtual_time

TEMPLATE = {"uriTemplate": "a://{x}", "name": "t"}
RESOURCE = {"uri": "a://1", "name": "r"}
PROMPT = {"name": "p"}


def names(reading: Reading) -> list[str] | None:
    return None if reading.snapshot is None else [item.key for item in reading.snapshot.items]


@pytest.mark.parametrize(
    ("capabilities", "asked"),
    [
        ({}, set[Kind]()),
        ({"tools": {}}, {Kind.TOOLS}),
        ({"prompts": {}}, {Kind.PROMPTS}),
        ({"resources": {}}, {Kind.RESOURCES, Kind.TEMPLATES}),
        ({"tools": {}, "resources": {"subscribe": True}}, set(Kind) - {Kind.PROMPTS}),
        ({"tools": True, "prompts": None, "resources": []}, set(Kind)),
        ({"logging": {}, "completions": {}}, set[Kind]()),
    ],
    ids=lambda it: (
        ",".join(kind.name for kind in Kind if kind in it) if isinstance(it, set) else None
    ),
)
async def test_only_what_a_server_declares_is_asked_for_and_the_rest_is_empty_and_fresh(
    capabilities: Mapping[str, Any], asked: set[Kind]
) -> None:
    script = ScriptedUpstream([tool("a")], capabilities=capabilities)
    async with scripted_crib({"s": script}) as (crib, _):
        for kind in Kind:
            (reading,) = await crib.catalogs().read(kind)
            if kind not in asked:
                assert (names(reading), reading.fresh) == ([], True)
                assert reading.scope is Scope.PUBLIC
        assert {kind for kind in Kind if script.requests[kind]} == asked
        await anyio.sleep(3600)
        assert {kind for kind in Kind if script.requests[kind]} == asked


@pytest.mark.parametrize("kind", list(Kind))
async def test_a_declared_method_that_the_server_does_not_know_is_an_empty_catalog(
    kind: Kind,
) -> None:
    script = ScriptedUpstream([tool("a")])
    script.faults.lists = UpstreamRefused("Method not found", rpc_code=-32601)
    async with scripted_crib({"s": script}) as (crib, _):
        (reading,) = await crib.catalogs().read(kind)
        assert names(reading) == []


@pytest.mark.parametrize(
    ("method", "kinds"),
    [
        ("notifications/tools/list_changed", {Kind.TOOLS}),
        ("notifications/prompts/list_changed", {Kind.PROMPTS}),
        ("notifications/resources/list_changed", {Kind.RESOURCES, Kind.TEMPLATES}),
        ("notifications/resources/updated", set[Kind]()),
        ("notifications/message", set[Kind]()),
        ("notifications/nobody/knows", set[Kind]()),
    ],
)
@pytest.mark.parametrize("declared", [True, False], ids=["declared", "undeclared"])
async def test_a_notification_refreshes_its_own_lists_and_no_others(
    method: str, kinds: set[Kind], *, declared: bool
) -> None:
    capabilities = {kind.capability: {"listChanged": declared} for kind in Kind}
    script = ScriptedUpstream([tool("a")], ttl_ms=3_600_000, capabilities=capabilities)
    script.items[Kind.PROMPTS] = [PROMPT]
    script.items[Kind.RESOURCES] = [RESOURCE]
    script.items[Kind.TEMPLATES] = [TEMPLATE]
    async with scripted_crib({"s": script}) as (crib, _):
        for kind in Kind:
            await crib.catalogs().read(kind)
        await anyio.sleep(30)
        before = dict(script.walks)
        script.notify(method, {"uri": "a://1"})
        await anyio.sleep(1)
        assert {kind for kind in Kind if script.walks[kind] > before[kind]} == kinds


async def test_a_signal_for_what_nobody_reads_asks_for_nothing() -> None:
    script = ScriptedUpstream([tool("a")])
    async with scripted_crib({"s": script}) as (crib, _):
        await crib.catalogs().read(Kind.TOOLS)
        for kind in (Kind.PROMPTS, Kind.RESOURCES):
            script.signal(kind)
        await anyio.sleep(30)
        assert {kind for kind in Kind if script.requests[kind]} == {Kind.TOOLS}


async def test_a_kind_that_the_server_does_not_declare_as_changing_is_polled() -> None:
    capabilities = {"tools": {"listChanged": True}, "prompts": {}, "resources": {"listChanged": 1}}
    script = ScriptedUpstream([tool("a")], capabilities=capabilities)
    async with scripted_crib({"s": script}) as (crib, _):
        catalogs = crib.catalogs()
        for kind in Kind:
            await catalogs.read(kind)
        await anyio.sleep(10)
        before = dict(script.walks)
        await anyio.sleep(300)
        polled = {kind for kind in Kind if script.walks[kind] > before[kind]}
        assert polled == {Kind.PROMPTS, Kind.RESOURCES, Kind.TEMPLATES}


@pytest.mark.parametrize("stream", ["refused", "silent"])
async def test_without_a_stream_even_what_is_declared_is_polled(stream: Any) -> None:
    capabilities = {"tools": {"listChanged": True}}
    script = ScriptedUpstream([tool("a")], capabilities=capabilities, stream=stream)
    async with scripted_crib({"s": script}) as (crib, _):
        await crib.catalogs().read(Kind.TOOLS)
        script.change([tool("b")], signal=False)
        await anyio.sleep(80)
        assert names(crib.catalogs().peek("s", Kind.TOOLS)) == ["b"]


async def test_a_kind_that_is_read_late_hears_how_the_connection_stands() -> None:
    script = ScriptedUpstream([tool("a")])
    script.items[Kind.PROMPTS] = [PROMPT]
    async with scripted_crib({"s": script}) as (crib, _):
        await crib.catalogs().read(Kind.TOOLS)
        await anyio.sleep(600)
        (reading,) = await crib.catalogs().read(Kind.PROMPTS)
        assert names(reading) == ["p"]
        before = script.walks[Kind.PROMPTS]
        await anyio.sleep(600)
        assert script.walks[Kind.PROMPTS] == before, "the open stream is enough"


async def test_an_eager_servers_tools_are_listed_before_anybody_asks() -> None:
    script = ScriptedUpstream([tool("a")])
    async with scripted_crib({"s": script}) as (crib, _):
        catalogs = crib.catalogs()
        await anyio.sleep(1)
        assert names(catalogs.peek("s", Kind.TOOLS)) == ["a"]
        assert script.requests[Kind.PROMPTS] == 0


async def test_a_lazy_server_is_left_alone_until_somebody_asks() -> None:
    script = ScriptedUpstream([tool("a")])
    settings = {"s": server_settings("s", connect="lazy")}
    async with scripted_crib({"s": script}, settings=settings) as (crib, _):
        catalogs = crib.catalogs()
        catalogs.peek("s", Kind.TOOLS)
        await anyio.sleep(60)
        assert script.connects == 0
        (reading,) = await catalogs.read(Kind.TOOLS)
        assert names(reading) == ["a"]


async def test_a_status_keeps_what_a_lost_server_said_of_itself() -> None:
    script = ScriptedUpstream([tool("a")])
    async with scripted_crib({"s": script}) as (crib, _):
        catalogs = crib.catalogs()
        assert catalogs.status("s").facts is None
        await catalogs.read(Kind.TOOLS)
        assert catalogs.status("s").state == "ready"
        assert catalogs.status("s").detail == ""
        script.faults.connect = UpstreamUnreachable("refused", server="s")
        script.drop("it crashed")
        await anyio.sleep(0.1)
        status = catalogs.status("s")
        assert status.state == "backoff"
        assert "it crashed" in status.detail
        assert status.facts is not None
        assert status.facts.name == "scripted"


async def test_what_did_not_change_is_the_same_object_after_a_refresh() -> None:
    script = ScriptedUpstream([tool("a"), tool("b")])
    async with scripted_crib({"s": script}) as (crib, _):
        (before,) = await crib.catalogs().read(Kind.TOOLS)
        await anyio.sleep(10)
        script.change([tool("b"), tool("c"), tool("a", x={"type": "string"})])
        (after,) = await crib.catalogs().read(Kind.TOOLS)
        assert before.snapshot is not None
        assert after.snapshot is not None
        assert names(after) == ["a", "b", "c"]
        assert after.snapshot.get("b") is before.snapshot.get("b")
        assert after.snapshot.get("a") is not before.snapshot.get("a")


@pytest.mark.parametrize(("first", "then"), [("handshake", "modern"), ("modern", "handshake")])
async def test_what_was_judged_in_another_era_is_judged_anew(first: Era, then: Era) -> None:
    wrong = {**tool("a"), "inputSchema": {"type": "object", "properties": {
        "n": {"type": "object", "x-mcp-header": "N"}}}}  # fmt: skip
    script = ScriptedUpstream([wrong, tool("b")], era=first)
    kept = {"handshake": ["a", "b"], "modern": ["b"]}
    async with scripted_crib({"s": script}) as (crib, _):
        (before,) = await crib.catalogs().read(Kind.TOOLS)
        assert names(before) == kept[first]
        script.era = then
        script.drop()
        await anyio.sleep(30)
        (after,) = await crib.catalogs().read(Kind.TOOLS)
        assert names(after) == kept[then]


async def test_other_filters_show_at_once_and_listeners_hear_what_came_and_went() -> None:
    script = ScriptedUpstream([tool("read"), tool("write")])
    changes: list[PublishedChange] = []
    async with scripted_crib({"s": script}) as (crib, _):
        catalogs = crib.catalogs()
        await catalogs.read(Kind.TOOLS)
        catalogs.on_published(changes.append)
        before = script.walks[Kind.TOOLS]
        settings = server_settings("s", tools=ToolFilter(deny=("write",)))
        catalogs.retune(settings)
        assert names(catalogs.peek("s", Kind.TOOLS)) == ["read"]
        catalogs.retune(replace(settings, request_seconds=9.0))
        catalogs.retune(server_settings("s"))
        assert names(catalogs.peek("s", Kind.TOOLS)) == ["read", "write"]
        assert script.walks[Kind.TOOLS] == before, "nothing has to be asked for"
        told = [
            ([i.key for i in c.before.items], [i.key for i in c.after.items])
            for c in changes
            if c.before and c.after
        ]
        assert told == [(["read", "write"], ["read"]), (["read"], ["read", "write"])]


async def test_a_change_behind_the_filter_is_told_to_nobody() -> None:
    script = ScriptedUpstream([tool("read"), tool("write")])
    settings = {"s": server_settings("s", tools=ToolFilter(allow=("read*",)))}
    changes: list[PublishedChange] = []
    async with scripted_crib({"s": script}, settings=settings) as (crib, _):
        catalogs = crib.catalogs()
        await catalogs.read(Kind.TOOLS)
        catalogs.on_published(changes.append)
        await anyio.sleep(10)
        script.change([tool("read"), tool("write", x={})])
        await anyio.sleep(10)
        assert changes == []
        script.change([tool("read", x={})])
        await anyio.sleep(10)
        assert len(changes) == 1


async def test_a_listener_may_look_at_other_kinds_while_it_is_told() -> None:
    script = ScriptedUpstream([tool("a"), tool("b")])
    script.items[Kind.PROMPTS] = [PROMPT]
    async with scripted_crib({"s": script}) as (crib, _):
        catalogs = crib.catalogs()
        seen: list[str] = []

        def look(change: PublishedChange) -> None:
            seen.append(change.kind.label)
            for kind in Kind:
                catalogs.peek(change.server, kind)

        await catalogs.read(Kind.TOOLS)
        catalogs.on_published(look)
        catalogs.retune(server_settings("s", tools=ToolFilter(deny=("a",))))
        script.drop()
        await anyio.sleep(30)
        assert seen[0] == "tools"
        assert catalogs.status("s").state == "ready"


HEADER = {"Authorization": Secret("Bearer x")}
SHARING: Mapping[str, tuple[Launch, bool, Scope]] = {
    "a program": (StdioLaunch("s"), False, Scope.PUBLIC),
    "a program with a key": (StdioLaunch("s", env={"KEY": Secret("k")}), False, Scope.PRIVATE),
    "a trusted program": (StdioLaunch("s", env={"KEY": Secret("k")}), True, Scope.PUBLIC),
    "an address": (HttpLaunch(Secret("https://h/mcp")), False, Scope.PUBLIC),
    "an address with a token": (HttpLaunch(Secret("https://h/mcp"), HEADER), False, Scope.PRIVATE),
    "an address with an API key": (
        HttpLaunch(Secret("https://h/mcp"), {"X-Api-Key": Secret("k")}),
        False,
        Scope.PRIVATE,
    ),
    "a trusted address": (HttpLaunch(Secret("https://h/mcp"), HEADER), True, Scope.PUBLIC),
}


@pytest.mark.parametrize("case", SHARING)
async def test_a_public_listing_is_believed_without_credentials_or_by_configuration(
    case: str,
) -> None:
    launch, trusted, scope = SHARING[case]
    script = ScriptedUpstream([tool("a")], scope="public", ttl_ms=60_000)
    settings = {"s": server_settings("s", launch=launch, trust_public=trusted)}
    async with scripted_crib({"s": script}, settings=settings) as (crib, _):
        (reading,) = await crib.catalogs().read(Kind.TOOLS)
        assert reading.scope is scope
        assert crib.catalogs().peek("s", Kind.TOOLS).scope is scope
        assert (await crib.catalogs().read_one("s", Kind.TOOLS)).scope is scope


@pytest.mark.parametrize("scope", ["private", "tenant", None, 7])
async def test_nothing_else_is_ever_called_public(scope: object) -> None:
    script = ScriptedUpstream([tool("a")], scope=scope, ttl_ms=60_000)
    settings = {"s": server_settings("s", trust_public=True)}
    async with scripted_crib({"s": script}, settings=settings) as (crib, _):
        (reading,) = await crib.catalogs().read(Kind.TOOLS)
        assert reading.scope is Scope.PRIVATE


async def test_a_server_that_says_nothing_of_itself_is_kept_all_the_same() -> None:
    class Bare(ScriptedUpstream):
        def facts(self) -> ServerFacts:
            return ServerFacts("handshake", "2025-06-18", {"tools": {}})

    async with scripted_crib({"s": Bare([tool("a")])}) as (crib, _):
        (reading,) = await crib.catalogs().read(Kind.TOOLS)
        assert names(reading) == ["a"]
