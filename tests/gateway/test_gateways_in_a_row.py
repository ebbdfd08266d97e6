"""A toolcrib before a toolcrib: contracts and digests on the wire, and nothing asked in vain."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Self, cast

import anyio
import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.facts import Finding
from toolcrib.gateway.server import Gateway
from toolcrib.ports import Era
from toolcrib.settings import (
    GatewaySettings,
    HttpLaunch,
    Secret,
    ServerSettings,
    StdioLaunch,
    Strategy,
    Waits,
)
from toolcrib.testing.chain import Hop, listening
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_gateway import HostEra, ScriptedGateway, scripted_gateway

OLD = [tool("add", a={"type": "string"}), tool("stay")]
NEW = [tool("add", a={"type": "integer"}), tool("stay")]
HOSTS: list[HostEra] = ["auto", "legacy"]
ERAS: list[Era] = ["modern", "handshake"]
SEEN = "dev.toolcrib/seen"


@dataclass
class Chain:
    """An outer gateway, an inner one, and the server behind both."""

    script: ScriptedUpstream
    inner: ScriptedGateway
    outer: ScriptedGateway
    hop: Hop

    def listed(self) -> int:
        """How often the outer gateway listed the tools of the inner one."""
        return self.hop.count("tools/list")

    def marks(self) -> list[Mapping[str, Any]]:
        """What the calls of the outer gateway said that it had seen."""
        sent = [params for method, params in self.hop.sent if method == "tools/call"]
        return [params.get("_meta", {}).get(SEEN) for params in sent]


@asynccontextmanager
async def chain(
    era: Era,
    *,
    http: bool = False,
    strategy: Strategy = "notify+verify",
    waits: Waits = Waits(),  # noqa: B008 - frozen
    deaf: bool = False,
    **inner: Any,
) -> AsyncGenerator[Chain]:
    """Two gateways in a row; `deaf`: no signal reaches the outer one."""
    script = ScriptedUpstream(OLD)
    plain = GatewaySettings(names="plain", http=("127.0.0.1", 0))
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        behind = await enter(scripted_gateway({"a": script}, gateway=plain, **inner))
        await behind.names()
        gateway = cast("Gateway", Muffled(behind.gateway)) if deaf else behind.gateway
        url = await enter(listening(behind.gateway)) if http else ""
        hop = Hop(None if http else gateway, era)
        launch = HttpLaunch(Secret(url)) if http else StdioLaunch("inner")
        server = ServerSettings("crib", launch, strategy=strategy, waits=waits)
        before = await enter(
            scripted_gateway(
                {"crib": cast("ScriptedUpstream", hop)},
                settings={"crib": server},
                gateway=GatewaySettings(names="plain"),
            )
        )
        yield Chain(script, behind, before, hop)


class Muffled:
    """A gateway whose hosts hear of no change: its notifications are lost on the way."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def serve_streams(self, incoming: Any, outgoing: Any) -> None:
        await self._gateway.serve_streams(incoming, Silenced(outgoing))


class Silenced:
    """A stream of messages that lets no word of a change pass."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def send(self, item: Any) -> None:
        if "list_changed" not in getattr(item.message, "method", ""):
            await self._stream.send(item)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stream.__aexit__(*exc)


def text_of(result: Any) -> str:
    return " ".join(block.text for block in result.content)


# ---------------------------------------------------------------- a host that keeps its old list


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("http", [False, True], ids=["streams", "http"])
async def test_a_host_that_keeps_its_list_gets_the_difference_through_both(
    era: Era, host: HostEra, *, http: bool
) -> None:
    with anyio.fail_after(20):
        async with chain(era, http=http) as both, both.outer.host(host) as client:
            assert {each.name for each in (await client.list_tools()).tools} == {"add", "stay"}
            heard = anyio.Event()
            both.outer.crib.catalogs().on_published(lambda _: heard.set())
            both.script.change(NEW)
            with anyio.fail_after(5):
                await heard.wait()
            assert knows_the_new_one(both)
            told = await client.call_tool("add", {"a": "x"})
            assert told.is_error
            error = cast("dict[str, Any]", told.structured_content)["error"]
            assert (error["code"], error["tool"]) == ("schema_changed", "add")
            assert error["details"]["inputSchema"] == NEW[0]["inputSchema"]
            assert "was string" in text_of(told)
            assert both.script.calls == []
            assert both.marks() == []
            assert not (await client.call_tool("add", {"a": 1})).is_error
            assert len(both.script.calls) == 1


def knows_the_new_one(both: Chain) -> bool:
    reading = both.outer.crib.catalogs().peek("crib", Kind.TOOLS)
    item = None if reading.snapshot is None else reading.snapshot.get("add")
    return item is not None and item.definition["inputSchema"] == NEW[0]["inputSchema"]


@pytest.mark.virtual_time
@pytest.mark.parametrize("strategy", ["auto", "notify+verify"])
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("era", ERAS)
async def test_what_only_the_inner_one_knows_it_refuses_and_the_outer_one_tells_in_its_own_words(
    era: Era, host: HostEra, strategy: Strategy
) -> None:
    async with chain(era, deaf=True, strategy=strategy) as both, both.outer.host(host) as client:
        await client.list_tools()
        both.script.change(NEW)
        await anyio.sleep(1)
        assert not knows_the_new_one(both)
        walks = both.listed()
        told = await client.call_tool("add", {"a": "x"})
        error = cast("dict[str, Any]", told.structured_content)["error"]
        assert (error["code"], error["tool"], error["server"]) == ("schema_changed", "add", "crib")
        assert error["details"]["inputSchema"] == NEW[0]["inputSchema"]
        assert "was string" in text_of(told)
        assert both.script.calls == []
        assert both.listed() == walks + 1
        assert not (await client.call_tool("add", {"a": 1})).is_error
        assert both.listed() == walks + 1


@pytest.mark.virtual_time
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("era", ERAS)
async def test_so_it_is_with_a_tool_that_is_gone(era: Era, host: HostEra) -> None:
    async with chain(era, deaf=True) as both, both.outer.host(host) as client:
        await client.list_tools()
        both.script.change([OLD[1]])
        await anyio.sleep(1)
        walks = both.listed()
        told = await client.call_tool("add", {"a": "x"})
        error = cast("dict[str, Any]", told.structured_content)["error"]
        assert (error["code"], error["tool"], error["server"]) == ("tool_gone", "add", "crib")
        assert both.script.calls == []
        assert both.listed() == walks + 1


# ---------------------------------------------------------------- what is said on the wire


@pytest.mark.virtual_time
@pytest.mark.parametrize("era", ERAS)
async def test_a_peer_is_told_what_was_seen_and_the_server_behind_it_is_not(era: Era) -> None:
    async with chain(era) as both:
        (add, _) = (await both.inner.ask("tools/list"))["tools"]
        digest = (await both.inner.ask("tools/list"))["_meta"]["dev.toolcrib/digest"]
        await both.outer.names()
        await both.outer.call("add", a="x")
        contract = add["_meta"]["dev.toolcrib/contract"]
        assert both.marks() == [{"contract": contract, "digest": digest}]
        assert both.script.calls == [("tools/call", {"name": "add", "arguments": {"a": "x"}})]


@pytest.mark.virtual_time
@pytest.mark.parametrize("era", ERAS)
async def test_hosts_get_the_marks_of_their_own_hop(era: Era) -> None:
    async with chain(era) as both:
        outer = await both.outer.ask("tools/list")
        inner = await both.inner.ask("tools/list")
        answer = await both.outer.call("add", a="x")
        digest = outer["_meta"]["dev.toolcrib/digest"]
        assert answer["_meta"] == {"dev.toolcrib/digest": digest}
        assert digest != inner["_meta"]["dev.toolcrib/digest"]
        assert outer["tools"][0]["_meta"].keys() == {"dev.toolcrib/contract"}


# ---------------------------------------------------------------- notify+verify


@pytest.mark.virtual_time
@pytest.mark.parametrize("era", ERAS)
async def test_while_the_digest_is_equal_no_call_costs_a_listing(era: Era) -> None:
    async with chain(era) as both, both.outer.host() as client:
        await client.list_tools()
        await anyio.sleep(5)
        walks = both.listed()
        for _ in range(20):
            await anyio.sleep(300)
            assert not (await client.call_tool("add", {"a": "x"})).is_error
        assert both.listed() == walks
        assert len(both.script.calls) == 20


@pytest.mark.virtual_time
@pytest.mark.parametrize("era", ERAS)
async def test_another_strategy_lists_again_when_the_catalog_is_old(era: Era) -> None:
    async with chain(era, strategy="auto") as both, both.outer.host() as client:
        await client.list_tools()
        await anyio.sleep(5)
        walks = both.listed()
        for _ in range(3):
            await anyio.sleep(300)
            assert not (await client.call_tool("add", {"a": "x"})).is_error
        assert both.listed() == walks + 3


@pytest.mark.virtual_time
@pytest.mark.parametrize("at_once", [1, 10])
@pytest.mark.parametrize("era", ERAS)
async def test_another_digest_costs_one_listing_however_many_calls_bring_it(
    era: Era, at_once: int
) -> None:
    async with chain(era, deaf=True) as both, both.outer.host() as client:
        await client.list_tools()
        both.script.change([*OLD, tool("new")])
        await anyio.sleep(10)
        walks = both.listed()

        async def call() -> None:
            assert not (await client.call_tool("add", {"a": "x"})).is_error

        async with anyio.create_task_group() as tasks:
            for _ in range(at_once):
                tasks.start_soon(call)
        assert both.listed() == walks + 1
        for _ in range(5):
            await anyio.sleep(100)
            await call()
        assert both.listed() == walks + 1
        assert len(both.script.calls) == at_once + 5
        held = both.outer.crib.catalogs().peek("crib", Kind.TOOLS).snapshot
        assert held is not None
        assert held.get("new") is not None


@pytest.mark.virtual_time
async def test_the_digest_of_an_answer_that_a_listing_overtook_costs_nothing() -> None:
    async with chain("modern") as both, both.outer.host() as client:
        await client.list_tools()
        released = anyio.Event()

        async def slow(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
            await released.wait()
            return {"content": []}

        both.script.on_call = slow
        results: list[Any] = []
        walks = -1

        async def call() -> None:
            results.append(await client.call_tool("add", {"a": "x"}))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await anyio.sleep(1)
            both.script.change([*OLD, tool("new")])
            await anyio.sleep(5)
            walks = both.listed()
            released.set()
        assert not results[0].is_error
        assert both.listed() == walks


@pytest.mark.virtual_time
async def test_an_unknown_digest_alone_refuses_nothing() -> None:
    async with chain("modern") as both:
        (add, _) = (await both.inner.ask("tools/list"))["tools"]
        seen = {"contract": add["_meta"]["dev.toolcrib/contract"], "digest": "of another time"}
        params = {"name": "add", "arguments": {"a": "x"}, "_meta": {SEEN: seen}}
        answer = await both.inner.ask("tools/call", params)
        assert not answer.get("isError")
        listed = (await both.inner.ask("tools/list"))["_meta"]["dev.toolcrib/digest"]
        assert answer["_meta"]["dev.toolcrib/digest"] == listed


# ---------------------------------------------------------------- foreign servers


def foreign(**answers: Any) -> ScriptedUpstream:
    script = ScriptedUpstream(OLD)

    async def answer(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        return {"content": [], **answers}

    script.on_call = answer
    return script


@pytest.mark.virtual_time
async def test_a_foreign_server_is_sent_its_arguments_and_no_key_of_ours() -> None:
    script = ScriptedUpstream(OLD)
    async with scripted_gateway({"a": script}) as gateway:
        await gateway.names()
        await gateway.call("a__add", a="x")
        assert script.calls == [("tools/call", {"name": "add", "arguments": {"a": "x"}})]


@pytest.mark.virtual_time
async def test_notify_and_verify_is_auto_with_a_foreign_server_and_is_reported_once() -> None:
    script = ScriptedUpstream(OLD)
    verify = ServerSettings("a", StdioLaunch("a"), strategy="notify+verify")
    async with scripted_gateway({"a": script}, settings={"a": verify}) as gateway:
        await gateway.names()
        await anyio.sleep(5)
        walks = script.walks[Kind.TOOLS]
        for _ in range(3):
            await anyio.sleep(300)
            await gateway.call("a__add", a="x")
        assert script.walks[Kind.TOOLS] == walks + 3
        findings = [f.code for f in gateway.world.recorder.of(Finding)]
        assert findings.count("not_verifiable") == 1


@pytest.mark.virtual_time
async def test_a_server_that_marks_its_listing_and_no_answer_is_taken_for_foreign() -> None:
    script = ScriptedUpstream()
    marked = {**OLD[0], "_meta": {"dev.toolcrib/contract": "c"}}
    script.pages = {None: {"tools": [marked], "_meta": {"dev.toolcrib/digest": "d"}}}
    verify = ServerSettings("a", StdioLaunch("a"), strategy="notify+verify")
    async with scripted_gateway({"a": script}, settings={"a": verify}) as gateway:
        await gateway.names()
        await anyio.sleep(5)
        walks = script.walks[Kind.TOOLS]
        for _ in range(4):
            await anyio.sleep(300)
            await gateway.call("a__add", a="x")
        # The first call trusts the mark; from then on the server is polled as any other.
        assert script.walks[Kind.TOOLS] == walks + 3


@pytest.mark.virtual_time
@pytest.mark.parametrize("code", ["schema_changed", "tool_gone"])
async def test_the_words_of_a_refusal_mean_nothing_from_a_foreign_server(code: str) -> None:
    error = {"code": code, "message": "no"}
    content = [{"type": "text", "text": "no"}]
    script = foreign(content=content, isError=True, structuredContent={"error": error})
    async with scripted_gateway({"a": script}) as gateway:
        await gateway.names()
        await anyio.sleep(5)
        walks = script.walks[Kind.TOOLS]
        answer = await gateway.call("a__add", a="x")
        assert answer["structuredContent"] == {"error": error}
        assert script.walks[Kind.TOOLS] == walks


@pytest.mark.virtual_time
async def test_a_digest_that_never_fits_costs_one_listing_and_not_one_for_each_call() -> None:
    script = foreign(_meta={"dev.toolcrib/digest": "another"})
    marked = {**OLD[0], "_meta": {"dev.toolcrib/contract": "c"}}
    script.pages = {None: {"tools": [marked], "_meta": {"dev.toolcrib/digest": "d"}}}
    verify = ServerSettings("a", StdioLaunch("a"), strategy="notify+verify")
    async with scripted_gateway({"a": script}, settings={"a": verify}) as gateway:
        await gateway.names()
        await anyio.sleep(5)
        walks = script.walks[Kind.TOOLS]
        for _ in range(10):
            await anyio.sleep(20)
            assert not (await gateway.call("a__add", a="x")).get("isError")
        assert script.walks[Kind.TOOLS] == walks + 1


@pytest.mark.virtual_time
async def test_a_digest_that_is_new_each_time_costs_one_listing_per_min_interval() -> None:
    script = foreign()
    numbers = iter(range(1000))

    async def answer(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        return {"content": [], "_meta": {"dev.toolcrib/digest": f"d{next(numbers)}"}}

    script.on_call = answer
    marked = {**OLD[0], "_meta": {"dev.toolcrib/contract": "c"}}
    script.pages = {None: {"tools": [marked], "_meta": {"dev.toolcrib/digest": "d"}}}
    verify = ServerSettings(
        "a", StdioLaunch("a"), strategy="notify+verify", waits=replace(Waits(), min_interval=10.0)
    )
    async with scripted_gateway({"a": script}, settings={"a": verify}) as gateway:
        await gateway.names()
        await anyio.sleep(5)
        walks = script.walks[Kind.TOOLS]
        for _ in range(100):
            await anyio.sleep(0.5)
            await gateway.call("a__add", a="x")
        assert script.walks[Kind.TOOLS] <= walks + 6
