"""What a server is sent for a call: the arguments, the headers of its schema, and nothing of us."""

import json
from collections.abc import Mapping
from typing import Any

import anyio
import mcp_types as types
import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.ports import Era
from toolcrib.protocol.headers import decode_value
from toolcrib.settings import GatewaySettings, Reconnect, ServerSettings
from toolcrib.testing.fake_service import host_request
from toolcrib.testing.scripted_gateway import HostEra, ServedGateway
from toolcrib.testing.scripted_server import (
    Answer,
    Change,
    Content,
    Delay,
    Fail,
    Pages,
    Profile,
    Progress,
    ScriptedServer,
    scripted_http,
    scripted_stdio,
    tool,
)
from toolcrib.testing.server.rulebook import Wire
from toolcrib.testing.stream_host import enveloped, stream_host
from toolcrib.testing.wired_gateway import wired_gateway
from toolcrib.wire.faults import RpcFault
from toolcrib.wire.kernel import Kernel

OPEN = {"stdio": scripted_stdio, "http": scripted_http}
PROFILES: Mapping[Era, Profile] = {
    "modern": Profile(),
    "handshake": Profile(modern=(), event_answers=True),
}
WIRES = pytest.mark.parametrize("wire", ["stdio", "http"])
ERAS = pytest.mark.parametrize("era", ["modern", "handshake"])
HOSTS = pytest.mark.parametrize("host", ["legacy", "auto"])
QUICK = Reconnect(backoff_base=0.02)


def configured(server: ScriptedServer[Any]) -> ServerSettings:
    return server.settings("s", reconnect=QUICK)


async def arguments_of(server: ScriptedServer[Any]) -> list[Any]:
    heard = await server.heard("tools/call")
    return [one.message["params"].get("arguments") for one in heard]


# ---- arguments ----

ARGUMENTS: Mapping[str, dict[str, Any]] = {
    "an envelope inside": {
        "tool_name": "Reload",
        "toolset_name": "Level",
        "arguments": {"map": "a/b", "deep": {"arguments": [{"name": "x"}]}},
    },
    "words of the protocol": {
        "name": "n",
        "method": "tools/call",
        "_meta": {"progressToken": 1, "dev.toolcrib/seen": {"contract": "c"}},
        "requestState": "s",
        "inputResponses": {"a": {}},
        "cursor": "",
        "jsonrpc": "1.0",
    },
    "words of ours": {"server": "s", "tool": "t", "args": {"a": None}, "reason": "because"},
    "one letter": {"q": "x"},
    "nothing": {},
    "odd values": {
        "": None,
        "a b": [[], {}, 0, -0.5, 10**30, True],
        "\u00fc\U0001f600\u2028": '\u0000\t\\"',
        "__proto__": {"constructor": 1},
    },
}


@HOSTS
@ERAS
@WIRES
async def test_arguments_arrive_as_they_were_given_and_alone(
    wire: Wire, era: Era, host: HostEra
) -> None:
    with anyio.fail_after(20):
        async with (
            OPEN[wire](Content(tools=[tool("call_tool")]), PROFILES[era]) as server,
            wired_gateway(configured(server)) as gateway,
            gateway.host(host) as client,
        ):
            for arguments in ARGUMENTS.values():
                assert not (await client.call_tool("s__call_tool", arguments)).is_error
                assert await gateway.crib.call("s__call_tool", arguments)
            heard = await server.heard("tools/call")
    given = [arguments for arguments in ARGUMENTS.values() for _ in range(2)]
    received = [one.message["params"]["arguments"] for one in heard]
    assert [json.dumps(one) for one in received] == [json.dumps(one) for one in given]
    for one in heard:
        params = one.message["params"]
        assert params["name"] == "call_tool"
        keys = params.keys() - {"_meta"}
        assert keys == {"name", "arguments"}
        meta = params.get("_meta", {})
        assert not [key for key in meta if key.startswith("dev.toolcrib/")]
        if era == "handshake":
            assert meta.keys() <= {"progressToken"}, "an older server may refuse what it misses"


# ---- mirrored parameters ----

REGION = {"type": "string", "x-mcp-header": "Region"}
LIFETIMES = pytest.mark.parametrize("ttl_ms", [0, 1, 3_600_000, None, -5], ids=str)


@LIFETIMES
@pytest.mark.parametrize("way", ["directly", "call_tool"])
@pytest.mark.parametrize("region", ["eu-central-1", " s p a c e ", "größe", "=?base64?YQ==?="])
async def test_headers_come_from_the_newest_schema_however_old_it_is(
    ttl_ms: int | None, region: str, way: str
) -> None:
    given = {"region": region, "other": "x"}
    searching = GatewaySettings(exposure="search")
    content = Content(tools=[tool("t", region=REGION, other={"type": "string"})])
    pages = Pages(without=["ttlMs"]) if ttl_ms is None else Pages(ttl_ms=ttl_ms)
    with anyio.fail_after(10):
        async with (
            scripted_http(content, pages) as server,
            wired_gateway(configured(server), gateway=searching) as gateway,
        ):
            await gateway.names()
            await anyio.sleep(0.01)  # a ttl of a millisecond is over
            if way == "directly":
                result = await gateway.call("s__t", **given)
            else:
                result = await gateway.ask(
                    "tools/call", {"name": way, "arguments": {"name": "s__t", "args": given}}
                )
            assert not result.get("isError")
            (heard,) = await server.heard("tools/call")
    assert heard.message["params"]["arguments"] == given
    mirrored = {name for name in heard.headers if name.startswith("mcp-param-")}
    assert mirrored == {"mcp-param-region"}
    assert decode_value(heard.headers["mcp-param-region"]) == region


@pytest.mark.parametrize("saw", [True, False], ids=["saw the old", "saw nothing"])
@pytest.mark.parametrize(
    ("before", "after", "mirrored"),
    [
        ({"type": "string"}, REGION, {"mcp-param-region"}),
        (REGION, {**REGION, "x-mcp-header": "Zone"}, {"mcp-param-zone"}),
        (REGION, {"type": "string"}, set[str]()),
    ],
    ids=["new", "renamed", "gone"],
)
async def test_a_mismatch_of_headers_is_one_listing_and_one_more_try(
    before: dict[str, Any], after: dict[str, Any], mirrored: set[str], *, saw: bool
) -> None:
    with anyio.fail_after(10):
        async with (
            scripted_http(Content(tools=[tool("t", region=before), tool("u")])) as server,
            wired_gateway(configured(server)) as gateway,
        ):
            if saw:
                await gateway.names()
            await gateway.crib.catalogs().read(Kind.TOOLS)
            walks = (await server.counts()).walks["tools"]
            changed = Change(Content(tools=[tool("t", region=after), tool("u")]))
            await server.on("tools/call", changed, Fail(-32020, "headers"), times=1)
            result = await gateway.call("s__t", region="eu")
            heard = await server.heard("tools/call")
            assert (await server.counts()).walks["tools"] - walks == 1
    if saw:
        # A changed mark is a changed contract.
        assert result["structuredContent"]["error"]["code"] == "schema_changed"
        assert len(heard) == 1
        return
    assert not result.get("isError")
    assert len(heard) == 2
    sent = {name for name in heard[1].headers if name.startswith("mcp-param-")}
    assert sent == mirrored


async def test_a_mismatch_that_no_listing_explains_is_tried_once_more_and_told() -> None:
    with anyio.fail_after(10):
        async with (
            scripted_http(Content(tools=[tool("t", region=REGION)])) as server,
            wired_gateway(configured(server)) as gateway,
        ):
            await gateway.names()
            await server.on("tools/call", Fail(-32020, "headers"), times=1)
            assert not (await gateway.call("s__t", region="eu")).get("isError")
            one, two = await server.heard("tools/call")
            assert one.message["id"] != two.message["id"]
            assert one.headers["mcp-param-region"] == two.headers["mcp-param-region"] == "eu"
            await server.on("tools/call", Fail(-32020, "headers"))
            refused = await gateway.refusal("s__t")
            assert refused["code"] == "server_error"
            assert "-32020" not in json.dumps(refused)
            assert len(await server.heard("tools/call")) <= 4


BAD_MARKS: Mapping[str, dict[str, Any]] = {
    "on a number": {"a": {"type": "number", "x-mcp-header": "A"}},
    "on an object": {"a": {"type": "object", "x-mcp-header": "A"}},
    "without a type": {"a": {"x-mcp-header": "A"}},
    "no token": {"a": {"type": "string", "x-mcp-header": "two words"}},
    "empty": {"a": {"type": "string", "x-mcp-header": ""}},
    "no text": {"a": {"type": "string", "x-mcp-header": 7}},
    "a line break": {"a": {"type": "string", "x-mcp-header": "A\r\nEvil: 1"}},
    "in a list": {"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}},
    "twice": {
        "a": {"type": "string", "x-mcp-header": "A"},
        "b": {"type": "string", "x-mcp-header": "a"},
    },
}


@pytest.mark.duty(19)
@pytest.mark.parametrize("wire", ["stdio", "http"])
async def test_tools_with_bad_marks_are_named_and_cost_nobody_else(wire: Wire) -> None:
    bad = [tool(f"bad{n}", **properties) for n, properties in enumerate(BAD_MARKS.values())]
    good = [tool("good", a=REGION), tool("plain")]
    with anyio.fail_after(10):
        async with (
            OPEN[wire](Content(tools=[*bad, *good]), Pages(size=3)) as server,
            wired_gateway(configured(server)) as gateway,
        ):
            assert await gateway.names() == ["s__good", "s__plain"]
            snapshot = gateway.crib.catalogs().peek("s", Kind.TOOLS).snapshot
            assert snapshot is not None
            out = {each.key: each for each in snapshot.quarantined}
            assert sorted(out) == [definition["name"] for definition in bad]
            assert {each.reason for each in out.values()} == {"invalid_header_annotation"}
            assert all("properties" in each.detail for each in out.values())
            assert not (await gateway.call("s__good", a="eu")).get("isError")
            assert await arguments_of(server) == [{"a": "eu"}]


# ---- rounds ----

STATES: Mapping[str, str | None] = {
    "base64 of json": "eyJuIjogIlx1MDBmYyJ9",
    "nul, space, line feed": "a\u0000 \n",
    "carriage return": "\r\nx: y\r\n",
    "escapes": '\\u00e9"\\\\/',
    "beyond the plane": "\U0001f511\u202e\ufeff",
    "empty": "",
    "long": "x" * 100_000,
    "absent": None,
}
QUESTION: Mapping[str, Any] = {
    "method": "elicitation/create",
    "params": {
        "message": "Which?",
        "requestedSchema": {"type": "object", "properties": {"b": {"type": "string"}}},
    },
}
ANSWER: Mapping[str, Any] = {"action": "accept", "content": {"b": "main"}}


def asking(state: str | None) -> Answer:
    held = {} if state is None else {"requestState": state}
    return Answer({"resultType": "input_required", "inputRequests": {"q": QUESTION}, **held})


@WIRES
@HOSTS
async def test_a_state_comes_back_to_its_server_as_it_was_under_a_new_id(
    wire: Wire, host: HostEra
) -> None:
    async def answer(_context: object, _params: object) -> Any:
        return types.ElicitResult.model_validate(ANSWER)

    with anyio.fail_after(20):
        async with (
            OPEN[wire](Content(tools=[tool("t")])) as server,
            wired_gateway(configured(server)) as gateway,
            gateway.host(host, elicitation_callback=answer) as client,
        ):
            for state in STATES.values():
                await server.on("tools/call", asking(state), times=1)
                assert not (await client.call_tool("s__t", {"a": 1})).is_error
            heard = [one.message for one in await server.heard("tools/call")]
    ids = [message["id"] for message in heard]
    assert len(set(ids)) == len(ids) == 2 * len(STATES)
    for state, one, two in zip(STATES.values(), heard[::2], heard[1::2], strict=True):
        assert not {"requestState", "inputResponses"} & one["params"].keys()
        assert two["params"]["inputResponses"] == {"q": ANSWER}
        assert two["params"].get("requestState") == state
        assert ("requestState" in two["params"]) is (state is not None)
        assert one["params"]["arguments"] == two["params"]["arguments"] == {"a": 1}


@WIRES
async def test_no_host_sees_a_servers_state_or_may_bring_another(wire: Wire) -> None:
    state = "of the server alone"
    with anyio.fail_after(10):
        async with (
            OPEN[wire](Content(tools=[tool("t")])) as server,
            wired_gateway(configured(server)) as gateway,
        ):
            await server.on("tools/call", asking(state), times=1)
            asked = await _asked(gateway, {})
            sealed = asked["requestState"]
            assert state not in json.dumps(asked)
            for forged in (state, sealed[:-4], sealed + "AAAA", sealed.swapcase(), ""):
                brought = {"inputResponses": {"q": ANSWER}, "requestState": forged}
                with pytest.raises(RpcFault) as refused:
                    await _asked(gateway, brought)
                assert refused.value.code == -32602
            assert len(await server.heard("tools/call")) == 1


async def _asked(gateway: ServedGateway, more: Mapping[str, Any]) -> dict[str, Any]:
    params = {"name": "s__t", "arguments": {"a": 1}, **more}
    request = host_request("tools/call", params, capabilities={"elicitation": {"form": {}}})
    result = await gateway.gateway.answer(request)
    assert isinstance(result, dict)
    return result


# ---- two hosts ----


@pytest.mark.duty(35)
@ERAS
@WIRES
@pytest.mark.parametrize("token", [1, "t"], ids=repr)
async def test_two_hosts_with_equal_ids_and_tokens_get_their_own(
    wire: Wire, era: Era, token: str | int
) -> None:
    names = ["one", "two"]
    with anyio.fail_after(20):
        async with (
            OPEN[wire](Content(tools=[tool(name) for name in names]), PROFILES[era]) as server,
            wired_gateway(configured(server)) as gateway,
            stream_host(Kernel(gateway.gateway)) as first,
            stream_host(Kernel(gateway.gateway)) as second,
        ):
            await gateway.names()
            for name in names:
                steps = [Progress(1, 2, name), Delay(0.02), Progress(2, 2, name), Delay(0.02)]
                await server.on(f"tools/call:{name}", *steps)
            hosts = dict(zip(names, (first, second), strict=True))
            for name, host in hosts.items():
                params = {"name": f"s__{name}", "arguments": {}, "_meta": {"progressToken": token}}
                await host.send("tools/call", enveloped(params), id=7)
            for host in hosts.values():
                await host.response(7)
            calls = await server.heard("tools/call")
    for name, host in hosts.items():
        *told, answer = host.heard
        assert answer["result"]["content"][0]["text"].startswith(f"{name}(")
        steps = [one["params"] for one in told if one["method"] == "notifications/progress"]
        assert [one["progressToken"] for one in steps] == [token] * len(steps)
        assert {one["message"] for one in steps} == {name}
        assert [one["progress"] for one in steps] == sorted({one["progress"] for one in steps})
    tokens = {str(one.message["params"]["_meta"]["progressToken"]) for one in calls}
    assert len(tokens) == len(names)
