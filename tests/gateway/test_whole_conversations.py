"""A model searches, reads, calls, meets a change and calls again: what it is sent, and the cost.

Every definition, hit, refusal and result is what the gateway or a conversation of the library
answers; only what the model decides is scripted.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import anyio
import pytest

from toolcrib.context.tokens import HeuristicCounter
from toolcrib.context.toolset import Toolset
from toolcrib.core.snapshot import Kind
from toolcrib.facts import CallForwarded, CallRefused, HostNotified, Refreshed
from toolcrib.ports import Era
from toolcrib.settings import (
    Exposure,
    ExposureSettings,
    GatewaySettings,
    ServerSettings,
    StdioLaunch,
)
from toolcrib.testing.chain import Hop
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_gateway import HostEra, ScriptedGateway, scripted_gateway

pytestmark = pytest.mark.virtual_time

STRING = {"type": "string"}
FINDING = ["search_tools", "get_tool_details", "call_tool"]
NAME, KEY = "shop__late_deliveries", "late_deliveries"
SIZES = [1, 40, 1_500]


def wanted(parameter: str) -> dict[str, Any]:
    """The tool of the task, with its one parameter."""
    made = tool("late_deliveries", **{parameter: STRING})
    made["inputSchema"] |= {"required": [parameter], "additionalProperties": False}
    return {**made, "description": "Lists deliveries that are late, by the city they go to."}


def others(number: int) -> list[dict[str, Any]]:
    return [tool(f"gauge{each:05}_read", channel=STRING) for each in range(number)]


class Prompt:
    """What a model is sent, request after request."""

    def __init__(self) -> None:
        self.tools: list[str] = []
        self.messages: list[str] = ["Which deliveries to Lisbon are late?"]
        self.requests: list[list[str]] = []

    def show(self, tools: Sequence[Mapping[str, Any]]) -> None:
        """The definitions from now on."""
        self.tools = [json.dumps(each) for each in tools]

    def think(self, name: str, arguments: Mapping[str, Any]) -> None:
        """One request, and what the model says to it."""
        self.requests.append([*self.tools, *self.messages])
        self.messages.append(json.dumps({"name": name, "arguments": arguments}))

    def read(self, result: Mapping[str, Any]) -> None:
        """What it is told."""
        self.messages += [block["text"] for block in result["content"]]

    @property
    def broken(self) -> int:
        """Requests that do not begin with the whole of the one before."""
        pairs = zip(self.requests, self.requests[1:], strict=False)
        return sum(after[: len(before)] != before for before, after in pairs)

    @property
    def tokens(self) -> list[int]:
        """Of each request."""
        count = HeuristicCounter().count
        return [sum(map(count, request)) for request in self.requests]


class Host:
    """A model behind a gateway."""

    def __init__(self, gateway: ScriptedGateway) -> None:
        self.gateway = gateway
        self.prompt = Prompt()

    async def list(self) -> list[str]:
        tools = (await self.gateway.ask("tools/list"))["tools"]
        self.prompt.show(tools)
        return [each["name"] for each in tools]

    async def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        self.prompt.think(name, arguments)
        result = await self.gateway.call(name, **arguments)
        self.prompt.read(result)
        return result


async def published(gateway: ScriptedGateway, parameter: str) -> None:
    """Waits until the wanted tool has that parameter: threads know no virtual time."""
    await gateway.crib.catalogs().reach()
    catalogs = gateway.crib.catalogs()
    definition = wanted(parameter)
    for _ in range(10_000):
        snapshot = catalogs.peek("shop", Kind.TOOLS).snapshot
        found = None if snapshot is None else snapshot.get(KEY)
        if found is not None and found.definition == definition:
            return
        catalogs.server("shop").keeper(Kind.TOOLS).need()
        await anyio.sleep(0.01)
    raise AssertionError("it was not published")


def text(result: Mapping[str, Any]) -> str:
    return str(result["content"][0]["text"])


async def converse(exposure: Exposure, number: int) -> tuple[Prompt, ScriptedGateway]:
    """The whole conversation, with so many tools beside the one that is wanted."""
    script = ScriptedUpstream([*others(number), wanted("city")], ttl_ms=3_600_000)
    shown = GatewaySettings(exposure=exposure)
    async with scripted_gateway({"shop": script}, gateway=shown) as gateway:
        await published(gateway, "city")
        host = Host(gateway)
        searches = exposure == "search"

        async def call(**arguments: Any) -> dict[str, Any]:
            if searches:
                return await host.call("call_tool", name=NAME, args=arguments)
            return await host.call(NAME, **arguments)

        listed = await host.list()
        assert (listed == FINDING) is searches
        assert (NAME in listed) is not searches
        if searches:
            assert f"1. {NAME}(city" in text(await host.call("search_tools", query="late delivery"))
            assert '"city"' in text(await host.call("get_tool_details", names=[NAME]))
        assert not (await call(city="Lisbon")).get("isError")
        script.change([*others(number), wanted("destination")])
        await published(gateway, "destination")
        if not searches:
            await host.list()
        refused = (await call(city="Lisbon"))["structuredContent"]["error"]
        assert refused["tool"] == NAME
        # Who listed again has seen the new definition; who was shown the old one is told of it.
        assert refused["code"] == ("schema_changed" if searches else "bad_arguments")
        if searches:
            assert refused["details"]["inputSchema"] == wanted("destination")["inputSchema"]
        assert not (await call(destination="Lisbon")).get("isError")
        assert [sent["arguments"] for _, sent in script.calls] == [
            {"city": "Lisbon"},
            {"destination": "Lisbon"},
        ]
        assert script.walks[Kind.TOOLS] <= 3
        return host.prompt, gateway


@pytest.mark.duty(24)
@pytest.mark.parametrize("number", SIZES)
async def test_under_search_no_prefix_breaks_and_the_events_are_those_of_the_tool(
    number: int,
) -> None:
    prompt, gateway = await converse("search", number)
    assert (len(prompt.requests), prompt.broken) == (5, 0)
    sent, refused = gateway.recorder.of(CallForwarded), gateway.recorder.of(CallRefused)
    assert [(it.server, it.name, it.outcome) for it in sent] == [("shop", KEY, "ok")] * 2
    assert [(it.server, it.name, it.code) for it in refused] == [("shop", KEY, "schema_changed")]
    assert len([it for it in gateway.recorder.of(Refreshed) if it.kind == "tools"]) == 2
    assert gateway.recorder.of(HostNotified) == []


@pytest.mark.parametrize("number", SIZES)
async def test_under_full_the_change_of_one_tool_breaks_the_prefix_once(number: int) -> None:
    prompt, _ = await converse("full", number)
    assert (len(prompt.requests), prompt.broken) == (3, 1)


async def test_search_costs_the_same_tokens_whatever_the_number_of_tools() -> None:
    search = {number: (await converse("search", number))[0].tokens for number in SIZES}
    full = {number: (await converse("full", number))[0].tokens for number in SIZES}
    # The first request, in which nothing was found so far, is the same to the byte; later ones
    # hold what was found, which is bounded by the number of hits.
    assert len({tokens[0] for tokens in search.values()}) == 1
    most = max(tokens[-1] for tokens in search.values())
    assert most <= min(tokens[-1] for tokens in search.values()) + 10 * 60
    assert full[1][0] < full[40][0] < full[1_500][0]
    assert full[1][0] < search[1][0], "one or two tools are cheaper where they are shown"
    assert search[1_500][-1] * 20 < full[1_500][0]


# ---- in the library ----


def rendered(toolset: Toolset, provider: str) -> list[dict[str, Any]]:
    match provider:
        case "anthropic":
            return toolset.for_anthropic()
        case "openai":
            return toolset.for_openai_responses()
        case _:
            return toolset.for_json()


@pytest.mark.duty("D4")
@pytest.mark.parametrize("provider", ["anthropic", "openai", "plain"])
@pytest.mark.parametrize("exposure", ["search", "full"])
async def test_a_conversation_of_the_library_keeps_its_prefix_through_a_change(
    exposure: Exposure, provider: str
) -> None:
    script = ScriptedUpstream([*others(30), wanted("city")], ttl_ms=3_600_000)
    async with scripted_gateway({"shop": script}) as gateway:
        await gateway.crib.catalogs().reach()
        toolset = await gateway.crib.toolset(exposure=exposure)
        prompt, mark = Prompt(), toolset.mark

        async def call(name: str, /, **arguments: Any) -> dict[str, Any]:
            prompt.show(rendered(toolset, provider))
            prompt.think(name, arguments)
            result = await toolset.call(name, arguments)
            prompt.read(result)
            return result

        async def late(**arguments: Any) -> dict[str, Any]:
            if exposure == "search":
                return await call("call_tool", name=NAME, args=arguments)
            return await call(NAME, **arguments)

        if exposure == "search":
            assert NAME in text(await call("search_tools", query="late delivery"))
            assert '"city"' in text(await call("get_tool_details", names=[NAME]))
        assert not (await late(city="Lisbon")).get("isError")
        script.change([*others(31), wanted("destination")])
        await anyio.sleep(5)
        refused = (await late(city="Lisbon"))["structuredContent"]["error"]
        assert (refused["code"], refused["tool"]) == ("schema_changed", NAME)
        assert not (await late(destination="Lisbon")).get("isError")
        await toolset.refresh()
        news = toolset.delta(since=mark)
        assert news.prefix_survives
        if exposure == "full":
            assert (news.added, news.changed_names) == (("shop__gauge00030_read",), (NAME,))
            assert "`destination`" in news.text
        else:
            assert (news.added, news.joined) == ((), {"shop": 1})
            assert news.cost_of_a_miss == 0
        prompt.messages.append(news.text)
        assert not (await late(destination="Porto")).get("isError")
        assert len(script.calls) == 3
        if exposure == "search":
            assert prompt.broken == 0
            assert len({len(rendered(toolset, provider)), len(FINDING)}) == 1
        else:
            # Definitions stand before what was said: one that is appended costs the words alone.
            assert prompt.broken == 1
            definitions = [it[: it.index(prompt.messages[0])] for it in prompt.requests]
            assert definitions[-1][: len(definitions[0])] == definitions[0]


# ---- one gateway before another, both of them searched ----


@pytest.mark.parametrize("host", ["auto", "legacy"])
@pytest.mark.parametrize("era", ["modern", "handshake"])
@pytest.mark.parametrize("pinned", [True, False], ids=["some pinned", "none pinned"])
async def test_through_two_gateways_that_are_searched_everything_is_found_and_called(
    era: Era, host: HostEra, *, pinned: bool
) -> None:
    script = ScriptedUpstream([wanted("city"), *others(9)])
    shown = GatewaySettings(exposure="search")
    held = ExposureSettings(pinned=("shop__gauge*",)) if pinned else ExposureSettings()
    async with scripted_gateway({"shop": script}, gateway=shown, exposure=held) as inner:
        await inner.names()
        hop = Hop(inner.gateway, era)
        settings = ServerSettings("crib", StdioLaunch("inner"), strategy="notify+verify")
        async with (
            scripted_gateway(
                {"crib": cast("ScriptedUpstream", hop)}, settings={"crib": settings}, gateway=shown
            ) as outer,
            outer.host(host) as client,
        ):

            async def say(name: str, /, **arguments: Any) -> str:
                result = await client.call_tool(name, arguments)
                block: Any = result.content[0]
                assert not result.is_error, result
                return str(block.text)

            async def within(name: str, /, **arguments: Any) -> dict[str, Any]:
                asked = {"name": f"crib__{name}", "args": arguments}
                result = await client.call_tool("call_tool", asked)
                return result.model_dump(mode="json", by_alias=True)

            assert [each.name for each in (await client.list_tools()).tools] == FINDING
            # The outer one finds the search of the inner one, and what the inner one pins.
            assert "crib__search_tools(" in await say("search_tools", query="find tools")
            found = await say("search_tools", query="gauge read")
            assert ("crib__shop_gauge00003_read" in found) is pinned
            hits = await within("search_tools", query="late delivery")
            assert f"1. {NAME}(city" in text(hits)
            assert '"city"' in text(await within("get_tool_details", names=[NAME]))
            inside = {"name": NAME, "args": {"city": "Lisbon"}}
            assert not (await within("call_tool", **inside))["isError"]
            script.change([wanted("destination"), *others(12)])
            await anyio.sleep(5)
            told = await within("call_tool", **inside)
            assert told["isError"]
            assert "destination" in text(told)
            inside = {"name": NAME, "args": {"destination": "Lisbon"}}
            assert not (await within("call_tool", **inside))["isError"]
            assert "gauge00011_read" in text(await within("search_tools", query="gauge00011"))
            assert [sent["arguments"] for _, sent in script.calls] == [
                {"city": "Lisbon"},
                {"destination": "Lisbon"},
            ]
            assert [each.name for each in (await client.list_tools()).tools] == FINDING
