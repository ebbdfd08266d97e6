"""What is found when tools come, go and change, and by which words: through the gateway."""

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.errors import ToolcribError, UpstreamUnreachable
from toolcrib.facts import HostNotified
from toolcrib.ports import Era
from toolcrib.settings import GatewaySettings
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import server_settings
from toolcrib.testing.scripted_gateway import HostEra, ScriptedGateway, scripted_gateway

pytestmark = pytest.mark.virtual_time

HOSTS: list[HostEra] = ["auto", "legacy"]
ERAS: list[Era] = ["modern", "handshake"]
HIT = re.compile(r"^\d+\. ([\w.-]+)", re.MULTILINE)


@asynccontextmanager
async def searching(
    scripts: Mapping[str, ScriptedUpstream], **options: Any
) -> AsyncGenerator[ScriptedGateway]:
    """A gateway that shows meta-tools only."""
    shown = GatewaySettings(exposure="search")
    async with scripted_gateway(scripts, gateway=shown, **options) as gateway:
        yield gateway


async def told(gateway: ScriptedGateway, name: str, **arguments: Any) -> str:
    """The text of a meta-tool's answer."""
    result = await gateway.call(name, **arguments)
    assert not result.get("isError"), result
    return str(result["content"][0]["text"])


async def hits(gateway: ScriptedGateway, query: str, **arguments: Any) -> list[str]:
    """The exposed names that a search finds, the best first."""
    return HIT.findall(await told(gateway, "search_tools", query=query, **arguments))


# ---- a call changes the tools of its server ----


FIRST = [tool("start_daemon"), tool("retired")]
LATER = [tool("start_daemon"), *(tool(f"gadget{n}", n={"type": "integer"}) for n in range(89))]


class Daemon(ScriptedUpstream):
    """Has 89 tools more, and one less, while it is called; the answer comes later."""

    def __init__(self, era: Era, *, takes: float = 0.0, signal: bool = True) -> None:
        super().__init__(FIRST, era=era)
        self.takes = takes
        self.signals = signal
        self.changed = anyio.Event()
        self.on_call = self.start

    async def start(self, _method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        if params["name"] == "start_daemon":
            self.change(LATER, signal=self.signals)
            self.changed.set()
            await anyio.sleep(self.takes)
        return {"content": [{"type": "text", "text": "up"}], "resultType": "complete"}


@pytest.mark.duty("D2")
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("through", ["call_tool", "its name"])
async def test_what_a_call_brought_is_found_by_the_search_after_its_result(
    through: str, era: Era, host: HostEra
) -> None:
    script = Daemon(era)
    async with searching({"s": script}) as gateway, gateway.host(host) as client:

        async def found(query: str) -> list[str]:
            answer = await client.call_tool("search_tools", {"query": query, "limit": 50})
            block: Any = answer.content[0]
            return HIT.findall(block.text)

        before = [each.name for each in (await client.list_tools()).tools]
        assert await found("gadget42") == []
        assert await found("retired") == ["s__retired"]
        walks = script.walks[Kind.TOOLS]
        if through == "call_tool":
            result = await client.call_tool("call_tool", {"name": "s__start_daemon"})
        else:
            result = await client.call_tool("s__start_daemon", {})
        assert not result.is_error
        assert "`gadget0` was added" in result.meta["dev.toolcrib/changes"]  # pyright: ignore[reportOptionalSubscript]
        assert (await found("gadget42"))[0] == "s__gadget42"
        assert len(await found("gadget")) == 50
        assert await found("retired") == []
        assert script.walks[Kind.TOOLS] == walks + 1
        called = await client.call_tool("call_tool", {"name": "s__gadget42", "args": {"n": 1}})
        assert not called.is_error
        assert [each.name for each in (await client.list_tools()).tools] == before
        assert gateway.recorder.of(HostNotified) == []


@pytest.mark.parametrize("era", ERAS)
async def test_what_a_call_brought_is_found_while_the_call_goes_on(era: Era) -> None:
    script = Daemon(era, takes=9.0)
    async with searching({"s": script}) as gateway, anyio.create_task_group() as tasks:
        assert await hits(gateway, "gadget42") == []
        tasks.start_soon(gateway.call, "s__start_daemon")
        await script.changed.wait()
        await anyio.sleep(1)
        assert (await hits(gateway, "gadget42"))[0] == "s__gadget42"
        assert await hits(gateway, "retired") == []
        assert not (await gateway.call("s__gadget42", n=3)).get("isError")


@pytest.mark.duty("D3")
async def test_what_came_without_a_signal_is_found_by_the_next_search_that_needs_a_look() -> None:
    script = Daemon("modern", signal=False)
    async with searching({"s": script}) as gateway:
        assert await hits(gateway, "gadget42") == []
        await gateway.call("s__start_daemon")
        await anyio.sleep(2.1)
        assert (await hits(gateway, "gadget42"))[0] == "s__gadget42"


@pytest.mark.parametrize("query", ["gadget", "start"])
async def test_names_details_and_signatures_are_all_of_the_newest_list(query: str) -> None:
    script = ScriptedUpstream(FIRST)
    async with searching({"s": script}) as gateway:
        assert "start_daemon()" in await told(gateway, "search_tools", query="start")
        script.change([tool("start_daemon", gadget={"type": "integer"})])
        await anyio.sleep(2)
        assert "start_daemon(gadget" in await told(gateway, "search_tools", query=query)
        assert "gadget" in await told(gateway, "get_tool_details", names=["s__start_daemon"])
        assert await hits(gateway, "retired") == []
        gone = await told(gateway, "get_tool_details", names=["s__retired"])
        assert "inputSchema" not in gone


# ---- a server that is not there at the start ----


DOWN: Mapping[str, ToolcribError] = {
    "refused": UpstreamUnreachable("connection refused at 127.0.0.1:9"),
    "an exit": UpstreamUnreachable("the process exited with status 3"),
}


def late(reason: str = "refused") -> ScriptedUpstream:
    script = ScriptedUpstream([tool("forecast"), tool("radar")])
    script.faults.connect = DOWN[reason]
    return script


@pytest.mark.parametrize("reason", DOWN)
@pytest.mark.parametrize("away", [5.0, 60.0, 7_200.0])
async def test_a_server_that_is_away_at_the_start_is_found_once_it_is_there_and_until_then_told(
    away: float, reason: str
) -> None:
    script = late(reason)
    async with searching({"here": ScriptedUpstream([tool("stay")]), "late": script}) as gateway:
        listed = await gateway.names()
        why = f"Not reached: `late` ({DOWN[reason]})."
        assert why in await told(gateway, "search_tools", query="forecast")
        assert why in await told(gateway, "search_tools", query="stay")
        assert why in await told(gateway, "search_tools")
        details = await told(gateway, "get_tool_details", names=["late__forecast"])
        assert str(DOWN[reason]) in details
        await anyio.sleep(away)
        status = gateway.crib.catalogs().status("late")
        assert str(DOWN[reason]) in status.detail
        assert status.state in {"backoff", "slow_probe", "connecting"}
        attempts = script.connects
        assert 2 <= attempts <= 10 + away / 60
        script.faults.connect = None
        await anyio.sleep(400)
        assert script.connects == attempts + 1
        assert (await hits(gateway, "forecast"))[0] == "late__forecast"
        assert "Not reached" not in await told(gateway, "search_tools", query="stay")
        assert gateway.crib.catalogs().status("late").detail == ""
        assert await gateway.names() == listed


@pytest.mark.parametrize("on_demand", [True, False], ids=["on demand", "always there"])
async def test_enabling_a_server_that_is_away_tries_at_once(*, on_demand: bool) -> None:
    script = late()
    # Without a server on demand there is nothing to enable.
    scripts = {"late": script, "other": ScriptedUpstream([tool("stay")])}
    settings = {"other": server_settings("other", on_demand=True)}
    if on_demand:
        settings["late"] = server_settings("late", on_demand=True)
    async with searching(scripts, settings=settings) as gateway:
        assert "connection refused" in await told(gateway, "enable_server", server="late")
        await anyio.sleep(7_200)
        attempts = script.connects
        script.faults.connect = None
        text = await told(gateway, "enable_server", server="late")
        assert script.connects == attempts + 1
        assert "connection refused" not in text
        assert "late__forecast" in text
        assert (await hits(gateway, "forecast"))[0] == "late__forecast"


async def test_a_server_that_goes_away_keeps_its_tools_found_and_tells_why_calls_fail() -> None:
    script = ScriptedUpstream([tool("forecast")])
    async with searching({"late": script}) as gateway:
        assert await hits(gateway, "forecast") == ["late__forecast"]
        script.faults.connect = DOWN["refused"]
        script.drop()
        await anyio.sleep(5)
        assert await hits(gateway, "forecast") == ["late__forecast"]
        refusal = await gateway.refusal("late__forecast")
        assert refusal["code"] == "server_unavailable"
        assert "connection refused" in refusal["message"]
        script.faults.connect = None
        await anyio.sleep(60)
        assert not (await gateway.call("late__forecast")).get("isError")


# ---- by which words ----


def described(tools: Mapping[str, str]) -> ScriptedUpstream:
    return ScriptedUpstream([{**tool(name), "description": text} for name, text in tools.items()])


CHINESE = {
    "list_flights": "\u67e5\u8be2\u822a\u73ed\u65f6\u523b\u8868",
    "book_hotel": "\u9884\u8ba2\u9152\u5e97\u623f\u95f4",
    "convert_image": "\u8f6c\u6362PNG\u56fe\u7247\u683c\u5f0f",
    "pay_invoice": "\u652f\u4ed8\u53d1\u7968",
}
PARTS = {
    "drive_v3_sharedFolder_list": "Show them",
    "YAMLDecoder_run": "Run",
    "getSMTPQuota": "quota",
    "uploadToS3Bucket": "Puts it",
    "write_note": "note",
}
FORMS = {
    "list_webhooks": "List webhooks",
    "start_backup": "Start copying volumes",
    "remove_branch": "Deletes branches",
    "merge_policy": "Merges policies",
}
WORDS: Mapping[str, tuple[Mapping[str, str], Mapping[str, str]]] = {
    "Chinese": (
        CHINESE,
        {
            "\u822a\u73ed": "list_flights",
            "\u5e2e\u6211\u67e5\u4e00\u4e0b\u660e\u5929\u7684\u822a\u73ed": "list_flights",
            "\u8ba2\u9152\u5e97": "book_hotel",
            "\u9152\u5e97": "book_hotel",
            "\u8f6c\u6362png": "convert_image",
            "PNG": "convert_image",
            "\u53d1\u7968": "pay_invoice",
        },
    ),
    "parts of names": (
        PARTS,
        {
            "shared folder": "drive_v3_sharedFolder_list",
            "folders": "drive_v3_sharedFolder_list",
            "decoder": "YAMLDecoder_run",
            "yaml": "YAMLDecoder_run",
            "smtp quota": "getSMTPQuota",
            "s3 bucket": "uploadToS3Bucket",
        },
    ),
    "forms of words": (
        FORMS,
        {
            "webhook": "list_webhooks",
            "backups": "start_backup",
            "copy a volume": "start_backup",
            "removing a branch": "remove_branch",
            "deleted branches": "remove_branch",
            "policy merging": "merge_policy",
        },
    ),
}


@pytest.mark.parametrize("others", [0, 400], ids=["alone", "among many"])
@pytest.mark.parametrize("kind", WORDS)
async def test_the_tool_that_is_meant_comes_first(kind: str, others: int) -> None:
    tools, queries = WORDS[kind]
    crowd = described({f"task{n}_do": f"Does task {n} of the plan" for n in range(others)})
    async with searching({"s": described(tools), "crowd": crowd}) as gateway:
        first = {query: (await hits(gateway, query) or [""])[0] for query in queries}
        assert first == {query: f"s__{name}" for query, name in queries.items()}


@pytest.mark.parametrize("kind", WORDS)
async def test_words_that_a_change_brought_are_found_and_those_it_took_are_not(kind: str) -> None:
    tools, queries = WORDS[kind]
    script = ScriptedUpstream([tool("unrelated")])
    async with searching({"s": script}) as gateway:
        assert [await hits(gateway, query) for query in queries] == [[]] * len(queries)
        script.change(described(tools).items[Kind.TOOLS])
        await anyio.sleep(2)
        assert [(await hits(gateway, query))[0] for query in queries] == [
            f"s__{name}" for name in queries.values()
        ]
        script.change([tool("unrelated")])
        await anyio.sleep(2)
        assert [await hits(gateway, query) for query in queries] == [[]] * len(queries)
