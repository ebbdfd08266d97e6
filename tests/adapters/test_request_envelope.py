"""What goes with one request: its capabilities, its headers, and the judgement of its result."""

from contextlib import suppress
from typing import Any

import anyio
import pytest

from toolcrib.errors import BadArguments, ResultInvalid, UpstreamRefused, UpstreamUnreachable
from toolcrib.facts import Finding
from toolcrib.ports import RequestContext, ServerFacts
from toolcrib.protocol.headers import decode_value
from toolcrib.testing.connected import ASKABLE, PAIRS, connected
from toolcrib.testing.scripted_server import Answer, Content, Fail, tool
from toolcrib.testing.session_rig import Message, Peer, open_rig

CALL = "tools/call"
MODERN = ServerFacts("modern", "2026-07-28", {"tools": {}})
HANDSHAKE = ServerFacts("handshake", "2025-11-25", {"tools": {}})
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
VERSION = "io.modelcontextprotocol/protocolVersion"
CALLED: dict[str, Any] = {"name": "slow", "arguments": {}}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "where": {
            "type": "object",
            "properties": {"dry": {"type": "boolean", "x-mcp-header": "Dry"}},
        },
    },
}


async def echo(peer: Peer, message: Message) -> None:
    peer.answer(message, resultType="complete")


# ---- capabilities ----


@pytest.mark.duty(15)
async def test_a_modern_request_declares_what_its_own_caller_can_be_asked() -> None:
    declared: list[dict[str, Any] | None] = [{"elicitation": {"form": {}}}, {}, None]
    async with open_rig(echo, profile=ASKABLE) as rig:
        rig.session.adopt(MODERN)
        with anyio.fail_after(5):
            for one in declared:
                await rig.session.request(CALL, {}, context=RequestContext(capabilities=one))
            await rig.session.request(CALL, {})
    sent = [one["params"]["_meta"][CAPABILITIES] for one in rig.peer.received]
    everything = dict(ASKABLE.capabilities)
    assert sent == [{"elicitation": {"form": {}}}, {}, everything, everything]


async def test_a_handshake_request_says_nothing_of_its_caller() -> None:
    async with open_rig(echo, http=True, profile=ASKABLE) as rig:
        rig.session.adopt(HANDSHAKE)
        with anyio.fail_after(5):
            context = RequestContext({"roots": {}}, input_schema=SCHEMA)
            await rig.session.request(
                CALL, {"name": "x", "arguments": {"region": "eu"}}, context=context
            )
    assert rig.peer.received[0]["params"] == {"name": "x", "arguments": {"region": "eu"}}
    assert rig.peer.headers == [{"MCP-Protocol-Version": "2025-11-25"}]


# ---- mirrored parameters ----


@pytest.mark.duty(18)
async def test_parameters_are_mirrored_by_a_connection_that_never_listed() -> None:
    arguments = {
        "region": " größe ",
        "count": 2**53 - 1,
        "where": {"dry": False},
        "free": "=?base64?x?=",
    }
    schema = {**SCHEMA, "properties": {**SCHEMA["properties"], "free": _mirror("Free")}}
    with anyio.fail_after(10):
        async with connected("http", "modern") as peer:
            params = {"name": "slow", "arguments": arguments}
            context = RequestContext(input_schema=schema)
            await peer.upstream.request(CALL, params, context=context)
            assert (await peer.server.counts()).walks["tools"] == 0
            (heard,) = await peer.server.heard(CALL)
    mirrored = {k: v for k, v in heard.headers.items() if k.startswith("mcp-param-")}
    assert mirrored == {
        "mcp-param-region": "=?base64?IGdyw7bDn2Ug?=",
        "mcp-param-count": "9007199254740991",
        "mcp-param-dry": "false",
        "mcp-param-free": "=?base64?PT9iYXNlNjQ/eD89?=",
    }
    assert heard.headers["mcp-name"] == "slow"
    assert heard.message["params"]["arguments"] == arguments, "the body stays as it was"


def _mirror(name: str) -> dict[str, Any]:
    return {"type": "string", "x-mcp-header": name}


@pytest.mark.duty(18)
@pytest.mark.parametrize("arguments", [{}, {"region": None}, {"where": {}}, {"where": None}])
async def test_what_is_absent_or_null_is_not_mirrored(arguments: dict[str, Any]) -> None:
    async with open_rig(echo, http=True) as rig:
        rig.session.adopt(MODERN)
        with anyio.fail_after(5):
            context = RequestContext(input_schema=SCHEMA)
            await rig.session.request(CALL, {"name": "x", "arguments": arguments}, context=context)
    assert [name for name in rig.peer.headers[0] or {} if name.startswith("Mcp-Param-")] == []


@pytest.mark.duty(18)
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"count": 2**60}, "`count`"),
        ({"count": -(2**53)}, "`count`"),
        ({"region": "\ud800"}, "`region`"),
    ],
)
async def test_an_argument_that_fits_in_no_header_is_named_and_nothing_is_sent(
    arguments: dict[str, Any], named: str
) -> None:
    async with open_rig(echo, http=True) as rig:
        rig.session.adopt(MODERN)
        context = RequestContext(input_schema=SCHEMA)
        with anyio.fail_after(5), pytest.raises(BadArguments, match=named):
            await rig.session.request(CALL, {"name": "x", "arguments": arguments}, context=context)
        assert rig.peer.received == []
        assert not rig.session.closed


@pytest.mark.duty(18)
async def test_nothing_is_mirrored_where_there_is_no_http() -> None:
    async with open_rig(echo) as rig:
        rig.session.adopt(MODERN)
        with anyio.fail_after(5):
            context = RequestContext(input_schema=SCHEMA)
            params = {"name": "x", "arguments": {"count": 2**60}}
            await rig.session.request(CALL, params, context=context)
    assert rig.peer.headers == [None]


# ---- the type of a result ----

METHODS = [
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "completion/complete",
    "tools/call",
    "prompts/get",
    "resources/read",
    "vendor/thing",
]
ASKING = METHODS[5:8]


async def result_of(facts: ServerFacts, method: str, **result: Any) -> dict[str, Any]:
    async def behave(peer: Peer, message: Message) -> None:
        peer.answer(message, **result)

    async with open_rig(behave) as rig:
        rig.session.adopt(facts)
        try:
            with anyio.fail_after(5):
                return await rig.session.request(method, {"name": "x"})
        finally:
            assert not rig.session.closed, "a broken result costs its request alone"


@pytest.mark.duty(23)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["weird", "task", "", None, 5])
async def test_an_unknown_result_type_is_refused_whatever_was_asked(
    method: str, kind: object
) -> None:
    with pytest.raises(ResultInvalid, match=f"the result of {method} has resultType"):
        await result_of(MODERN, method, resultType=kind, tools=[])


@pytest.mark.duty(23)
@pytest.mark.parametrize("method", METHODS)
async def test_input_is_required_only_where_the_revision_lets_a_server_ask(method: str) -> None:
    asked: dict[str, Any] = {
        "resultType": "input_required",
        "inputRequests": {"a": {}},
        "requestState": "s",
    }
    if method in ASKING:
        assert await result_of(MODERN, method, **asked) == asked
    else:
        with pytest.raises(ResultInvalid):
            await result_of(MODERN, method, **asked)


@pytest.mark.duty(23)
@pytest.mark.parametrize("method", METHODS)
async def test_a_handshake_result_has_no_type_and_none_is_looked_for(method: str) -> None:
    assert await result_of(HANDSHAKE, method, a=1) == {"a": 1}
    assert await result_of(HANDSHAKE, method, resultType="weird") == {"resultType": "weird"}


@pytest.mark.duty(23)
async def test_a_modern_result_without_a_type_is_complete_and_is_reported_once() -> None:
    async def behave(peer: Peer, message: Message) -> None:
        peer.answer(message, content=[])

    async with open_rig(behave) as rig:
        rig.session.adopt(MODERN)
        with anyio.fail_after(5):
            for method in ("tools/list", CALL, "prompts/get"):
                assert await rig.session.request(method, {"name": "x"}) == {"content": []}
    assert rig.facts.of(Finding) == [
        Finding("rig", "result_type_missing", "first in the result of tools/call")
    ]


@pytest.mark.duty(23)
@pytest.mark.parametrize("wire", ["stdio", "http"])
async def test_a_result_of_an_unknown_type_is_refused_on_every_wire(wire: Any) -> None:
    with anyio.fail_after(10):
        async with connected(wire, "modern") as peer:
            await peer.server.on(CALL, Answer({"resultType": "task", "taskId": "1"}), times=1)
            with pytest.raises(ResultInvalid, match="`task`"):
                await peer.upstream.request(CALL, CALLED)
            assert (await peer.upstream.request(CALL, CALLED))["resultType"] == "complete"


# ---- the codes of the revision ----


@pytest.mark.duty(16)
@pytest.mark.parametrize(("wire", "era"), PAIRS)
@pytest.mark.parametrize("code", [-32020, -32021])
async def test_a_code_of_the_revision_is_handed_on_with_its_data_and_ends_nothing(
    wire: Any, era: Any, code: int
) -> None:
    data: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
    with anyio.fail_after(10):
        async with connected(wire, era) as peer:
            await peer.server.on(CALL, Fail(code, "why", data), times=1)
            with pytest.raises(UpstreamRefused) as caught:
                await peer.upstream.request(CALL, CALLED)
            assert (caught.value.rpc_code, caught.value.data) == (code, data)
            assert "content" in await peer.upstream.request(CALL, CALLED)


@pytest.mark.duty(16)
@pytest.mark.parametrize("wire", ["stdio", "http"])
async def test_a_revision_that_is_refused_in_mid_life_and_named_is_tried_once_more(
    wire: Any,
) -> None:
    refusal = Fail(-32022, "unsupported", {"supported": ["2099-01-01", "2026-07-28"]})
    with anyio.fail_after(10):
        async with connected(wire, "modern") as peer:
            await peer.server.on(CALL, refusal, times=1)
            result = await peer.upstream.request(CALL, CALLED)
            assert result["content"][0]["text"] == "slow()"
            first, second = await peer.server.heard(CALL)
            assert first.message["id"] != second.message["id"]
            await peer.server.on(CALL, refusal)
            with pytest.raises(UpstreamUnreachable, match="no longer speaks"):
                await peer.upstream.request(CALL, CALLED)
            assert peer.upstream.closed, "the next connection finds out what it speaks"


@pytest.mark.duty(16)
async def test_another_revision_that_both_speak_is_gone_on_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("toolcrib.protocol.eras.MODERN_VERSIONS", ("2026-07-28", "2026-09-09"))

    async def behave(peer: Peer, message: Message) -> None:
        if message["params"]["_meta"][VERSION] == "2026-07-28":
            peer.refuse(message, -32022, data={"supported": ["2026-09-09"]})
        else:
            peer.answer(message, resultType="complete")

    async with open_rig(behave, http=True) as rig:
        rig.session.adopt(MODERN)
        with anyio.fail_after(5):
            await rig.session.request(CALL, {"name": "x"})
            await rig.session.request(CALL, {"name": "x"})
        assert rig.session.facts.protocol_version == "2026-09-09"
        versions = [(headers or {})["MCP-Protocol-Version"] for headers in rig.peer.headers]
    assert versions == ["2026-07-28", "2026-09-09", "2026-09-09"]


@pytest.mark.parametrize("data", [None, {"supported": ["2025-11-25"]}, {"supported": 5}])
async def test_a_revision_without_a_mutual_one_ends_the_connection(data: object) -> None:
    async def behave(peer: Peer, message: Message) -> None:
        peer.refuse(message, -32022, "unsupported", data=data)

    async with open_rig(behave) as rig:
        rig.session.adopt(MODERN)
        with anyio.fail_after(5), pytest.raises(UpstreamUnreachable, match="no longer speaks"):
            await rig.session.request(CALL, {"name": "x"})
        assert len(rig.peer.received) == 1


async def test_a_listing_keeps_what_it_is_though_a_tool_is_called_like_a_member() -> None:
    with anyio.fail_after(10):
        async with connected("http", "modern", Content(tools=[tool("resultType")])) as peer:
            listed = await peer.upstream.request("tools/list")
            assert listed["tools"][0]["name"] == "resultType"


# ---- every request of a session ----

NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


@pytest.mark.duty(15)
@pytest.mark.parametrize(("wire", "era"), PAIRS)
async def test_every_request_carries_the_envelope_of_its_era_and_headers_agree_with_it(
    wire: Any, era: Any
) -> None:
    asked: list[tuple[str, dict[str, Any]]] = [
        ("tools/list", {}),
        ("tools/list", {"cursor": "2"}),
        ("prompts/list", {}),
        ("resources/templates/list", {}),
        (CALL, CALLED),
        ("prompts/get", {"name": "größe\n", "arguments": {}}),
        ("resources/read", {"uri": "file:///a b"}),
        ("completion/complete", {"argument": {"value": "x"}}),
    ]
    with anyio.fail_after(10):
        async with connected(wire, era) as peer:
            for method, params in asked:
                with suppress(UpstreamRefused):
                    await peer.upstream.request(method, params)
            heard = [one for one in await peer.server.heard() if "id" in one.message]
    assert {one.method for one in heard} >= {method for method, _ in asked}
    ids = [one.message["id"] for one in heard]
    assert len(set(map(str, ids))) == len(ids)
    for one in heard:
        meta: dict[str, Any] = one.message.get("params", {}).get("_meta", {})
        if era == "modern":
            assert meta[VERSION] == "2026-07-28"
            assert meta[CAPABILITIES] == dict(ASKABLE.capabilities)
            assert meta["io.modelcontextprotocol/clientInfo"] == {"name": "rig", "version": "9"}
        elif one.method != "server/discover":
            assert meta == {}
        if wire == "http" and (era == "modern" or one.method == "server/discover"):
            assert one.headers["mcp-protocol-version"] == meta[VERSION]
            assert one.headers["mcp-method"] == one.method
            name = one.message["params"].get(NAMES.get(one.method, ""))
            sent = one.headers.get("mcp-name")
            assert (None if sent is None else decode_value(sent)) == name
        elif wire == "http" and one.method != "initialize":
            assert one.headers["mcp-protocol-version"] == "2025-11-25"
            assert one.headers["mcp-session-id"]
            assert "mcp-method" not in one.headers
