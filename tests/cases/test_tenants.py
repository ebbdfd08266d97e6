"""Several principals behind one gateway: nobody sees, calls or learns of what is another's."""

import itertools
import logging
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import anyio
import pytest

from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.catalog.access import PublishedChange
from toolcrib.core.partition import ANONYMOUS, LOCAL, Principal
from toolcrib.core.snapshot import Kind
from toolcrib.crib import Crib
from toolcrib.errors import AuthRequired, UpstreamUnreachable
from toolcrib.facts import Withdrawn
from toolcrib.ports import ClientProfile
from toolcrib.settings import HttpLaunch, Launch, Secret, ServerSettings, Settings, StdioLaunch
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import ScriptedWorld, server_settings
from toolcrib.testing.scripted_gateway import ScriptedGateway, scripted_gateway
from toolcrib.testing.virtual_clock import LoopClock
from toolcrib.wire.faults import RpcFault

pytestmark = pytest.mark.virtual_time

ANNA = Principal("https://login", "anna", tenant="acme")
BEN = Principal("https://login", "ben", tenant="bolt")
STATEFUL = {"s": server_settings("s", stateful=True)}


class Personal(ScriptedUpstream):
    """A server that shows each connection its own tools, the first one Anna's."""

    def __init__(self, *lists: list[dict[str, Any]], **rest: Any) -> None:
        super().__init__(**rest)
        self.lists = lists
        self.served: list[tuple[int, str]] = []
        """Which connection called which tool."""

    def list_for(self, connection: int, kind: Kind, cursor: str | None) -> dict[str, Any]:
        if kind is Kind.TOOLS:
            self.items[kind] = list(self.lists[connection])
        return self.list_page(kind, cursor)

    async def call_for(self, connection: int, method: str, params: Mapping[str, Any]) -> Any:
        self.served.append((connection, params["name"]))
        await anyio.sleep(1)
        text = f"ran {params['name']} on connection {connection}"
        return {"content": [{"type": "text", "text": text}], "resultType": "complete"}


async def both(gateway: ScriptedGateway, *principals: Principal) -> None:
    """Connects these principals in this order."""
    for principal in principals:
        await gateway.crib.catalogs(principal).reach()
        await gateway.names(principal=principal)


async def test_each_principal_of_a_stateful_server_has_its_own_connection_and_list() -> None:
    script = Personal([tool("a_only"), tool("note")], [tool("b_only"), tool("note")])
    async with scripted_gateway({"s": script}, settings=STATEFUL) as gateway:
        await both(gateway, ANNA, BEN)
        assert script.live == 2
        assert await gateway.names(principal=ANNA) == ["s__a_only", "s__note"]
        assert await gateway.names(principal=BEN) == ["s__b_only", "s__note"]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[::5])
async def test_a_call_runs_with_its_callers_context_whoever_called_last(
    order: tuple[int, ...],
) -> None:
    people = [ANNA, BEN, LOCAL, ANONYMOUS]
    script = Personal(*([tool("note")] for _ in people))
    async with scripted_gateway({"s": script}, settings=STATEFUL) as gateway:
        await both(gateway, *people)
        answers: dict[int, str] = {}

        async def call(number: int) -> None:
            result = await gateway.call("s__note", people[number])
            answers[number] = result["content"][0]["text"]

        async with anyio.create_task_group() as tasks:
            for number in order:
                tasks.start_soon(call, number)
                await anyio.sleep(0.1)
        assert answers == {n: f"ran note on connection {n}" for n in range(4)}


async def test_anothers_tool_is_unknown_in_lists_calls_and_the_words_of_errors() -> None:
    script = Personal([tool("report_of_acme")], [tool("report_of_bolt")])
    async with scripted_gateway({"s": script}, settings=STATEFUL) as gateway:
        await both(gateway, ANNA, BEN)
        for mine, other in ((ANNA, "bolt"), (BEN, "acme")):
            with pytest.raises(RpcFault) as refused:
                await gateway.call(f"s__report_of_{other}", mine)
            told = str(refused.value.as_error())
            own = "acme" if mine is ANNA else "bolt"
            assert f"report_of_{own}" in told, "near names are its own"
            assert told.count(other) == 1, "nothing but the name that was asked for"
        assert script.served == []


async def test_a_change_of_one_principals_list_is_told_to_nobody_else() -> None:
    script = Personal([tool("a")], [tool("b")])
    heard: dict[str, list[PublishedChange]] = {"anna": [], "ben": []}
    async with scripted_gateway({"s": script}, settings=STATEFUL) as gateway:
        await both(gateway, ANNA, BEN)
        await anyio.sleep(30)
        gateway.crib.catalogs(ANNA).on_published(heard["anna"].append)
        gateway.crib.catalogs(BEN).on_published(heard["ben"].append)
        script.lists = ([tool("a"), tool("new")], [tool("b")])
        script.signal()
        await anyio.sleep(30)
        assert [len(heard["anna"]), len(heard["ben"])] == [1, 0]


DIFFERENT: Mapping[str, tuple[Principal, Principal]] = {
    "subject": (Principal("i", "a"), Principal("i", "b")),
    "issuer": (Principal("i", "a"), Principal("j", "a")),
    "tenant": (Principal("i", "a", tenant="x"), Principal("i", "a", tenant="y")),
    "client": (Principal("i", "a", client="x"), Principal("i", "a", client="y")),
    "audience": (Principal("i", "a", audience="x"), Principal("i", "a", audience="y")),
    "scopes": (Principal("i", "a", scopes=("r",)), Principal("i", "a", scopes=("r", "w"))),
    "nothing but the border": (Principal("i", "ab", "c"), Principal("i", "a", "bc")),
}


@pytest.mark.parametrize("stateful", [True, False])
@pytest.mark.parametrize("case", DIFFERENT)
async def test_whatever_tells_two_callers_apart_separates_their_catalogs(
    case: str, *, stateful: bool
) -> None:
    one, other = DIFFERENT[case]
    script = ScriptedUpstream([tool("first")])
    settings = {"s": server_settings("s", stateful=stateful)}
    async with scripted_gateway({"s": script}, settings=settings) as gateway:
        await both(gateway, one)
        script.items[Kind.TOOLS] = [tool("second")]
        await both(gateway, other)
        assert await gateway.names(principal=one) == ["s__first"]
        assert await gateway.names(principal=other) == ["s__second"]
        assert script.live == (2 if stateful else 1)


async def test_a_public_listing_of_one_caller_is_not_shown_to_another_unless_believed() -> None:
    bearer = {"Authorization": Secret("Bearer TOKEN_A")}
    launch = HttpLaunch(Secret("https://u/mcp"), bearer)
    script = ScriptedUpstream([tool("tenant_a_report")], ttl_ms=60_000, scope="public")
    settings = {"s": server_settings("s", launch=launch)}
    async with scripted_gateway({"s": script}, settings=settings) as gateway:
        result = await gateway.ask("tools/list", principal=ANNA)
        assert result["cacheScope"] == "private"
        script.items[Kind.TOOLS] = [tool("tenant_b_report")]
        assert await gateway.names(principal=BEN) == ["s__tenant_b_report"]
        assert await gateway.names(principal=ANNA) == ["s__tenant_a_report"]


@pytest.mark.duty(6)
@pytest.mark.parametrize("scopes", [("public", "private"), ("private", "public")])
async def test_the_whole_listing_is_as_private_as_its_most_private_server(
    scopes: tuple[str, str],
) -> None:
    scripts = {
        name: ScriptedUpstream([tool("a")], ttl_ms=60_000, scope=scope)
        for name, scope in zip("ab", scopes, strict=True)
    }
    async with scripted_gateway(scripts) as gateway:
        assert (await gateway.ask("tools/list"))["cacheScope"] == "private"
        for script in scripts.values():
            script.scope = "public"
            script.signal()
        await anyio.sleep(2)
        assert (await gateway.ask("tools/list"))["cacheScope"] == "public"


async def test_a_scope_that_tightens_is_passed_on_at_once_and_is_no_new_content() -> None:
    script = ScriptedUpstream([tool("a")], ttl_ms=3_600_000, scope="public")
    async with scripted_gateway({"s": script}) as gateway:
        before = await gateway.ask("tools/list")
        generation = gateway.crib.catalogs().peek("s", Kind.TOOLS).generation
        assert before["cacheScope"] == "public"
        await anyio.sleep(30)
        script.scope = "private"
        script.signal()
        await anyio.sleep(1)
        after = await gateway.ask("tools/list")
        assert after["cacheScope"] == "private"
        assert after["tools"] == before["tools"]
        assert gateway.crib.catalogs().peek("s", Kind.TOOLS).generation == generation


LAUNCHES: Mapping[str, tuple[Launch, Launch]] = {
    "another token": (
        HttpLaunch(Secret("https://u/mcp"), {"Authorization": Secret("Bearer TOKEN_A")}),
        HttpLaunch(Secret("https://u/mcp"), {"Authorization": Secret("Bearer TOKEN_B")}),
    ),
    "a token in the query": (
        HttpLaunch(Secret("https://u/mcp?key=TOKEN_A")),
        HttpLaunch(Secret("https://u/mcp?key=TOKEN_B")),
    ),
    "another environment": (
        StdioLaunch("s", env={"KEY": Secret("TOKEN_A")}),
        StdioLaunch("s", env={"KEY": Secret("TOKEN_B")}),
    ),
    "another directory": (StdioLaunch("s", cwd="/a"), StdioLaunch("s", cwd="/b")),
    "another argument": (StdioLaunch("s", ("TOKEN_A",)), StdioLaunch("s", ("TOKEN_B",))),
}


@pytest.mark.parametrize("case", LAUNCHES)
async def test_two_credentials_at_one_address_never_share_a_catalog_and_show_nowhere(
    case: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    one, other = LAUNCHES[case]
    store = MemoryStore(LoopClock())
    seen: list[str] = []
    for launch, name in ((one, "a_only"), (other, "b_only"), (one, "a_only")):
        script = ScriptedUpstream([tool(name)])
        settings: dict[str, ServerSettings] = {"s": server_settings("s", launch=launch)}
        async with scripted_gateway({"s": script}, settings=settings, store=store) as gateway:
            assert await gateway.names() == [f"s__{name}"]
            seen += [str(asdict(fact)) for fact in gateway.world.recorder.facts]
            seen.append(repr((gateway.crib.settings, launch)))
    keys = [*store._records, *store._notes]  # pyright: ignore[reportPrivateUsage]
    assert len(store._records) == 2  # pyright: ignore[reportPrivateUsage]
    for text in (*seen, *keys, caplog.text):
        assert "TOKEN_" not in text


async def test_a_right_that_is_lost_withdraws_for_that_principal_only() -> None:
    script = Personal([tool("a")], [tool("b")])
    async with scripted_gateway({"s": script}, settings=STATEFUL) as gateway:
        await both(gateway, ANNA, BEN)
        await anyio.sleep(30)
        script.faults.lists = AuthRequired("401")
        gateway.crib.catalogs(ANNA).invalidate("s", Kind.TOOLS, why="a call was refused")
        await anyio.sleep(1)
        script.faults.lists = None
        assert await gateway.names(principal=ANNA) == []
        assert await gateway.names(principal=BEN) == ["s__b"]
        assert len(gateway.world.recorder.of(Withdrawn)) == 1


@pytest.mark.parametrize("page_size", [None, 1])
async def test_a_page_that_arrives_after_the_right_was_lost_brings_nothing_back(
    page_size: int | None,
) -> None:
    script = ScriptedUpstream([tool("a"), tool("b")], latency=2, page_size=page_size)
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.crib.catalogs().reach()
        await anyio.sleep(30)
        assert await gateway.names() == ["s__a", "s__b"]
        await anyio.sleep(30)
        keeper = gateway.crib.catalogs().server("s").keeper(Kind.TOOLS)
        keeper.need()
        await anyio.sleep(1)
        keeper.revoked()
        for _ in range(30):
            assert await gateway.names() == []
            await anyio.sleep(1)
        refusal = await gateway.refusal("s__a")
        assert refusal["code"] == "not_allowed"
        assert "the right to see this catalog is gone" in refusal["message"]
        assert script.calls == []


CLASSES = [
    ClientProfile(),
    ClientProfile({"roots": {}}),
    ClientProfile({"elicitation": {"form": {}}, "roots": {}}),
    ClientProfile({"elicitation": {"url": {}}, "roots": {}}),
]


async def test_what_is_declared_to_a_server_separates_what_it_listed() -> None:
    store = MemoryStore(LoopClock())
    settings = Settings(servers=(server_settings("s"),))
    for turn in range(2):
        for number, profile in enumerate(CLASSES):
            script = ScriptedUpstream([tool(f"t{n}") for n in range(12 + number)])
            if turn:
                script.faults.connect = UpstreamUnreachable("refused")
            world = ScriptedWorld({"s": script}, store)
            async with Crib.open(settings, world.parts(), profile=profile) as crib:
                (reading,) = await crib.catalogs().read(Kind.TOOLS)
                assert reading.snapshot is not None
                assert len(reading.snapshot) == 12 + number, "its own, and at the next start too"
