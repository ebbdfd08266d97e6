"""A call through `call_tool` is what a direct call of the inner tool is."""

from collections.abc import Mapping
from typing import Any, cast

import anyio
import mcp_types as types
import pytest

from toolcrib.calls.call import Requester
from toolcrib.core.partition import ANONYMOUS
from toolcrib.core.snapshot import Kind
from toolcrib.facts import CallRefused
from toolcrib.ports import Era
from toolcrib.settings import (
    ApprovalRule,
    ApprovalSettings,
    GatewaySettings,
    Limits,
    ServerSettings,
    StdioLaunch,
)
from toolcrib.testing.chain import Hop
from toolcrib.testing.fake_discovery import META, FakeDiscovery
from toolcrib.testing.gateway_rig import GatewayRig, refused
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_gateway import HostEra, scripted_gateway

TOOLS = Kind.TOOLS
HOSTS: list[HostEra] = ["auto", "legacy"]
ERAS: list[Era] = ["modern", "handshake"]
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
STRING, INTEGER = {"type": "string"}, {"type": "integer"}
MIRRORING = tool("where", region={"type": "string", "x-mcp-header": "Region"})
ASKS: dict[str, Any] = {
    "message": "Which branch?",
    "requestedSchema": {"type": "object", "properties": {"branch": STRING}},
}


@pytest.fixture
def found() -> FakeDiscovery:
    return FakeDiscovery()


@pytest.fixture
def rig(found: FakeDiscovery) -> GatewayRig:
    rig = GatewayRig(discovery=found.over)
    rig.access.put("alpha", TOOLS, [tool("one", x=STRING), tool("two.dotted"), MIRRORING])
    return rig


def through(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"name": "call_tool", "arguments": {"name": name, "args": arguments}}


# ---- where it goes ----


async def test_it_goes_to_the_inner_tool_under_its_original_name(rig: GatewayRig) -> None:
    listed = rig.access.peek("alpha", TOOLS).snapshot
    assert listed is not None
    await rig.result("tools/call", through("alpha__one", x="y"))
    (request,) = rig.access.requests
    assert (request.server, request.method) == ("alpha", "tools/call")
    assert request.params == {"name": "one", "arguments": {"x": "y"}}


async def test_without_arguments_the_server_is_sent_none_and_with_empty_ones_these(
    rig: GatewayRig,
) -> None:
    await rig.result("tools/call", {"name": "call_tool", "arguments": {"name": "alpha__one"}})
    await rig.result("tools/call", through("alpha__one"))
    assert [it.params for it in rig.access.requests] == [
        {"name": "one"},
        {"name": "one", "arguments": {}},
    ]


async def test_the_trace_goes_on_and_nothing_else_of_the_hosts_meta(rig: GatewayRig) -> None:
    meta = {
        "traceparent": PARENT,
        "progressToken": 1,
        "dev.toolcrib/seen": {"contract": "of call_tool", "digest": "d"},
    }
    answer = await rig.result("tools/call", {**through("alpha__one", x="y"), "_meta": meta})
    assert not answer.get("isError")
    assert rig.access.requests[0].params["_meta"] == {"traceparent": PARENT}


@pytest.mark.duty("trap 40")
async def test_headers_for_the_server_are_made_from_the_inner_schema(rig: GatewayRig) -> None:
    await rig.result("tools/call", through("alpha__where", region="us"))
    context = rig.access.requests[0].context
    assert context is not None
    assert context.input_schema == MIRRORING["inputSchema"]


@pytest.mark.parametrize("region", ["us", "de", None])
async def test_headers_that_the_host_mirrors_are_not_held_to_the_inner_arguments(
    rig: GatewayRig, region: str | None
) -> None:
    headers = {} if region is None else {"mcp-param-region": region}
    exchange = await rig.ask("tools/call", through("alpha__where", region="us"), **headers)
    assert "error" not in exchange.message
    assert len(rig.access.requests) == 1


@pytest.mark.parametrize(("region", "passes"), [("us", True), (None, True), ("de", False)])
async def test_a_direct_call_of_a_deferred_tool_need_not_mirror_but_must_not_contradict(
    rig: GatewayRig, region: str | None, *, passes: bool
) -> None:
    headers = {} if region is None else {"mcp-param-region": region}
    call = {"name": "alpha__where", "arguments": {"region": "us"}}
    exchange = await rig.ask("tools/call", call, **headers)
    assert ("error" not in exchange.message) is passes
    assert len(rig.access.requests) == passes


# ---- what stops it ----


@pytest.mark.duty("trap 40")
async def test_arguments_that_do_not_fit_the_inner_tool_are_refused_in_its_name(
    rig: GatewayRig,
) -> None:
    told = refused(await rig.result("tools/call", through("alpha__one", x=1)))
    assert (told["code"], told["tool"], told["server"]) == ("bad_arguments", "alpha__one", "alpha")
    assert rig.access.requests == []
    assert [fact.name for fact in rig.recorder.of(CallRefused)] == ["one"]


async def test_an_unknown_name_is_answered_with_names_like_it(rig: GatewayRig) -> None:
    told = refused(await rig.result("tools/call", through("alpha__on")))
    assert (told["code"], told["tool"], told["retry"]) == (
        "bad_arguments",
        "alpha__on",
        "corrected",
    )
    assert told["details"]["near"][0] == "alpha__one"
    assert "`alpha__one`" in told["message"]


async def test_arguments_of_call_tool_that_do_not_fit_are_refused_in_its_own_name(
    rig: GatewayRig,
) -> None:
    told = refused(await rig.result("tools/call", {"name": "call_tool", "arguments": {"name": 3}}))
    assert (told["code"], told["tool"]) == ("bad_arguments", "call_tool")


@pytest.mark.parametrize("name", ["call_tool", "search_tools"])
async def test_it_calls_no_meta_tool(rig: GatewayRig, found: FakeDiscovery, name: str) -> None:
    told = refused(await rig.result("tools/call", through(name, query="x")))
    assert (told["code"], told["tool"]) == ("bad_arguments", "call_tool")
    assert found.meta.asked == rig.access.requests == []


async def test_what_the_server_is_to_be_asked_that_the_host_cannot_answer_is_an_error_of_its_own(
    rig: GatewayRig,
) -> None:
    questions = {"q": {"method": "elicitation/create", "params": ASKS}}
    rig.answer({"resultType": "input_required", "inputRequests": questions})
    error = await rig.error("tools/call", through("alpha__one", x="y"))
    assert error["code"] == -32021


async def test_a_state_that_is_none_of_ours_is_refused_as_for_a_direct_call(
    rig: GatewayRig,
) -> None:
    answers: dict[str, Any] = {"requestState": "forged", "inputResponses": {}}
    params = {**through("alpha__one", x="y"), **answers}
    assert (await rig.error("tools/call", params))["code"] == -32602
    assert rig.access.requests == []


async def test_a_name_that_a_search_showed_and_that_changed_is_not_called(
    rig: GatewayRig,
) -> None:
    snapshot = rig.access.peek("alpha", TOOLS).snapshot
    assert snapshot is not None
    shown = snapshot.get("one")
    assert shown is not None
    await rig.calls.ledger.saw(Requester(ANONYMOUS, "h"), "alpha", [shown])
    rig.access.put("alpha", TOOLS, [tool("one", x=INTEGER)])
    params = {**through("alpha__one", x="y"), "_meta": {"dev.toolcrib/handle": "h"}}
    told = refused(await rig.result("tools/call", params))
    assert (told["code"], told["tool"]) == ("schema_changed", "alpha__one")
    assert told["details"]["inputSchema"] == tool("one", x=INTEGER)["inputSchema"]
    assert rig.access.requests == []


# ---- rounds, progress, approval ----


class Asking(ScriptedUpstream):
    """A server whose tool asks for a branch, in the way of its era, and tells its progress."""

    def __init__(self, era: Era) -> None:
        super().__init__([tool("release", tag=STRING)], era=era, ttl_ms=60_000)
        self.heard: list[Any] = []
        self.on_call = self.release

    async def release(self, _: str, params: Mapping[str, Any]) -> dict[str, Any]:
        if self.era == "handshake":
            context = self.contexts[-1]
            assert context is not None
            assert context.ask is not None
            self.heard.append(await context.ask("elicitation/create", ASKS))
        elif "inputResponses" in params:
            self.heard += params["inputResponses"].values()
            assert params["requestState"] == "opaque"
        else:
            asked = {"q": {"method": "elicitation/create", "params": ASKS}}
            return {
                "resultType": "input_required",
                "inputRequests": asked,
                "requestState": "opaque",
            }
        return {"content": [{"type": "text", "text": "released"}], "resultType": "complete"}


async def says_main(_context: object, _params: object) -> Any:
    answer = {"action": "accept", "content": {"branch": "main"}}
    return types.ElicitResult.model_validate(answer)


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("era", ERAS)
async def test_what_the_inner_tool_asks_is_asked_and_answered_in_every_pair_of_eras(
    found: FakeDiscovery, host: HostEra, era: Era
) -> None:
    script = Asking(era)
    with anyio.fail_after(20):
        async with (
            scripted_gateway({"github": script}, discovery=found.scripted) as gateway,
            gateway.host(host, elicitation_callback=says_main) as client,
        ):
            arguments = {"name": "github__release", "args": {"tag": "v1"}}
            result = await client.call_tool("call_tool", arguments)
    assert not result.is_error
    assert script.heard == [{"action": "accept", "content": {"branch": "main"}}]


async def test_progress_of_the_inner_tool_reaches_whoever_called(found: FakeDiscovery) -> None:
    rig = GatewayRig(discovery=found.over)
    rig.access.put("alpha", TOOLS, [tool("one")])

    async def tell(request: Any) -> dict[str, Any]:
        await request.progress(1.0, 2.0, "half")
        return {"content": []}

    rig.access.answer = tell
    told: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    with anyio.fail_after(5):
        async with rig.in_memory() as client:
            await client.call_tool("call_tool", {"name": "alpha__one"}, progress_callback=note)
    assert told == [(1.0, 2.0, "half")]


@pytest.mark.duty("trap 40")
@pytest.mark.parametrize("name", ["wipe", "read"])
async def test_a_person_is_asked_about_the_inner_tool_by_its_own_annotations(
    found: FakeDiscovery, name: str
) -> None:
    destroys = {**tool("wipe"), "annotations": {"destructiveHint": True}}
    reads = {**tool("read"), "annotations": {"destructiveHint": False}}
    script = ScriptedUpstream([destroys, reads])
    rule = ApprovalRule("ask", annotations={"destructiveHint": True})
    asked: list[str] = []

    async def decline(_context: object, params: Any) -> Any:
        asked.append(params.message)
        return types.ElicitResult.model_validate({"action": "decline"})

    with anyio.fail_after(10):
        async with (
            scripted_gateway(
                {"s": script}, discovery=found.scripted, approval=ApprovalSettings((rule,))
            ) as gateway,
            gateway.host(elicitation_callback=decline) as client,
        ):
            result = await client.call_tool("call_tool", {"name": f"s__{name}"})
    if name == "read":
        assert (asked, result.is_error, len(script.calls)) == ([], False, 1)
    else:
        assert "wipe" in asked[0]
        assert script.calls == []
        told = cast("dict[str, Any]", result.structured_content)["error"]
        assert (told["code"], told["tool"]) == ("not_allowed", "s__wipe")


async def test_its_result_is_clipped_checked_and_stamped_as_that_of_a_direct_call(
    rig: GatewayRig,
) -> None:
    direct = await rig.call("alpha__one", x="y")
    assert await rig.result("tools/call", through("alpha__one", x="y")) == direct
    rig.answer({"content": "no list"})
    told = refused(await rig.result("tools/call", through("alpha__one", x="y")))
    assert (told["code"], told["tool"]) == ("result_invalid", "alpha__one")


async def test_a_large_result_is_refused_in_the_name_of_the_inner_tool(
    found: FakeDiscovery,
) -> None:
    rig = GatewayRig(limits=Limits(result_bytes=1_000), discovery=found.over)
    rig.access.put("alpha", TOOLS, [tool("one")])
    rig.answer({"content": [{"type": "text", "text": "x" * 2_000}]})
    told = refused(await rig.result("tools/call", through("alpha__one")))
    assert (told["code"], told["tool"]) == ("limit_exceeded", "alpha__one")


# ---- a toolcrib before a toolcrib ----


@pytest.mark.virtual_time
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("era", ERAS)
async def test_a_gateway_before_this_one_finds_and_calls_everything_through_meta_tools(
    found: FakeDiscovery, era: Era, host: HostEra
) -> None:
    script = ScriptedUpstream([tool("add", a=STRING), tool("stay")])
    async with scripted_gateway({"a": script}, discovery=found.scripted) as inner:
        hop = Hop(inner.gateway, era)
        verified = ServerSettings("inner", StdioLaunch("inner"), strategy="notify+verify")
        async with (
            scripted_gateway(
                {"inner": cast("ScriptedUpstream", hop)},
                settings={"inner": verified},
                gateway=GatewaySettings(exposure="full"),
            ) as outer,
            outer.host(host) as client,
        ):
            shown = [each.name for each in (await client.list_tools()).tools]
            assert sorted(shown) == sorted(f"inner__{name}" for name in META)
            found.meta.answer = {"content": [{"type": "text", "text": "a__add"}]}
            hits = await client.call_tool("inner__search_tools", {"query": "add"})
            assert cast("Any", hits.content[0]).text == "a__add"
            await anyio.sleep(300)
            walks = hop.count("tools/list")
            arguments = {"name": "a__add", "args": {"a": "x"}}
            assert not (await client.call_tool("inner__call_tool", arguments)).is_error
            assert script.calls == [("tools/call", {"name": "add", "arguments": {"a": "x"}})]
            script.change([tool("add", a=INTEGER), tool("stay"), tool("more")])
            await anyio.sleep(5)
            told = await client.call_tool("inner__call_tool", arguments)
            error = cast("dict[str, Any]", told.structured_content)["error"]
            assert (error["code"], error["tool"]) == ("schema_changed", "a__add")
            assert len(script.calls) == 1
            assert hop.count("tools/list") == walks
