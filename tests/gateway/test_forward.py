"""Calls, reads, gets and completions on their way to a server and back."""

import json
from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from toolcrib.core.snapshot import Kind, Scope
from toolcrib.errors import (
    AuthRequired,
    RequestTimedOut,
    ToolcribError,
    UpstreamRefused,
    UpstreamUnreachable,
)
from toolcrib.facts import CallRefused
from toolcrib.gateway.server import Particulars
from toolcrib.settings import Limits
from toolcrib.testing.asgi_host import AsgiHost, Exchange
from toolcrib.testing.fake_access import Request, echo
from toolcrib.testing.gateway_rig import GatewayRig
from toolcrib.testing.scripted import tool

TOOLS, PROMPTS, RESOURCES, TEMPLATES = Kind.TOOLS, Kind.PROMPTS, Kind.RESOURCES, Kind.TEMPLATES


@pytest.fixture
def rig() -> GatewayRig:
    rig = GatewayRig()
    rig.access.put("alpha", TOOLS, [tool("one"), tool("two.dotted")])
    rig.access.put("beta", TOOLS, [tool("one")])
    rig.access.put("beta", PROMPTS, [{"name": "ask me"}])
    rig.access.put("alpha", RESOURCES, [{"uri": "file:///a", "name": "a"}])
    rig.access.put("beta", RESOURCES, [{"uri": "file:///a", "name": "a"}])
    rig.access.put("beta", TEMPLATES, [{"uriTemplate": "db://{table}", "name": "t"}])
    return rig


async def ask(rig: GatewayRig, method: str, params: Mapping[str, Any], **headers: str) -> Exchange:
    """One modern request in a gateway of its own life."""
    async with rig.asgi() as host:
        return await host.ask(**host.modern(method, params, **headers))


async def result(rig: GatewayRig, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    return (await ask(rig, method, params)).message["result"]


async def error(rig: GatewayRig, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    return (await ask(rig, method, params)).message["error"]


async def called(rig: GatewayRig, name: str = "alpha__one", **arguments: Any) -> dict[str, Any]:
    return await result(rig, "tools/call", {"name": name, "arguments": arguments})


def refused(answer: dict[str, Any]) -> dict[str, Any]:
    assert answer["isError"] is True
    return answer["structuredContent"]["error"]


def answers(rig: GatewayRig, answer: dict[str, Any] | ToolcribError) -> None:
    """Let every forwarded request end like this."""

    async def script(_request: Request) -> dict[str, Any]:
        if isinstance(answer, ToolcribError):
            raise answer
        return answer

    rig.access.answer = script


# ---- tools/call ----


@pytest.mark.parametrize("key", ["one", "two.dotted"])
async def test_a_call_goes_to_its_server_under_the_original_name(rig: GatewayRig, key: str) -> None:
    async with rig.asgi() as host:
        listed = (await host.ask(**host.modern("tools/list"))).message["result"]["tools"]
        name = next(t["name"] for t in listed if t["name"].startswith(f"alpha__{key[:3]}"))
        await host.ask(**host.modern("tools/call", {"name": name, "arguments": {"x": [1, None]}}))
    (request,) = rig.access.requests
    assert request.server == "alpha"
    assert request.method == "tools/call"
    assert request.params == {"name": key, "arguments": {"x": [1, None]}}


@pytest.mark.parametrize("arguments", [{}, None], ids=["empty", "null"])
async def test_arguments_are_passed_as_given_and_absent_ones_stay_absent(
    rig: GatewayRig, arguments: dict[str, Any] | None
) -> None:
    await result(rig, "tools/call", {"name": "alpha__one", "arguments": arguments})
    await result(rig, "tools/call", {"name": "alpha__one"})
    first, second = rig.access.requests
    assert first.params == (
        {"name": "one", "arguments": {}} if arguments == {} else {"name": "one"}
    )
    assert second.params == {"name": "one"}


async def test_of_the_hosts_meta_only_the_trace_context_goes_on(rig: GatewayRig) -> None:
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    meta = {
        "traceparent": parent,
        "tracestate": "vendor=1",
        "baggage": "user=secret",
        "progressToken": 2,
        "io.modelcontextprotocol/logLevel": "debug",
        "dev.toolcrib/seen": {"contract": "x"},
        "vendor.example/private": 1,
    }
    await result(rig, "tools/call", {"name": "alpha__one", "_meta": meta})
    (request,) = rig.access.requests
    assert request.params["_meta"] == {"traceparent": parent, "tracestate": "vendor=1"}


@pytest.mark.parametrize(
    "parent",
    [
        "garbage",
        "00-XYZ7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\n",
        3,
        None,
    ],
    ids=repr,
)
async def test_a_trace_context_that_is_none_is_not_passed(rig: GatewayRig, parent: object) -> None:
    meta = {"traceparent": parent, "tracestate": "vendor=1"}
    await result(rig, "tools/call", {"name": "alpha__one", "_meta": meta})
    assert "_meta" not in rig.access.requests[0].params


async def test_equal_progress_tokens_of_two_hosts_never_mix(rig: GatewayRig) -> None:
    release = anyio.Event()

    async def work(request: Request) -> dict[str, Any]:
        assert request.progress is not None
        await request.progress(1.0, None, request.server)
        await release.wait()
        return {"content": []}

    rig.access.answer = work
    async with rig.asgi() as host:
        calls = [
            host.modern("tools/call", {"name": f"{server}__one", "_meta": {"progressToken": 2}})
            for server in ("alpha", "beta")
        ]
        with anyio.fail_after(5):
            async with host.exchange(**calls[0]) as first, host.exchange(**calls[1]) as second:
                await first.wait_messages(1)
                await second.wait_messages(1)
                release.set()
                await first.ended.wait()
                await second.ended.wait()
    heard = [[m["params"]["message"] for m in e.messages[:-1]] for e in (first, second)]
    assert heard == [["alpha"], ["beta"]]


async def test_hanging_up_cancels_the_request_at_the_server(rig: GatewayRig) -> None:
    reached, cancelled = anyio.Event(), anyio.Event()

    async def wait(_request: Request) -> dict[str, Any]:
        reached.set()
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()
        return {}

    rig.access.answer = wait
    with anyio.fail_after(5):
        async with rig.asgi() as host:
            call = host.modern("tools/call", {"name": "alpha__one"})
            async with host.exchange(**call) as exchange:
                await reached.wait()
                exchange.hang_up()
                await cancelled.wait()


RAW: list[dict[str, Any]] = [
    {"content": [], "structuredContent": None},
    {"content": [], "structuredContent": [1, {"a": None}]},
    {"content": [], "structuredContent": 0},
    {"content": [{"type": "future", "x": 1}], "x-vendor": {"b": 1, "a": 2}, "isError": False},
    {"content": [{"type": "image", "data": "AA==", "mimeType": "image/png", "annotations": {}}]},
    {"content": [], "_meta": {"vendor.example/x": [1]}},
]


@pytest.mark.parametrize("raw", RAW, ids=[str(number) for number in range(len(RAW))])
async def test_a_result_reaches_a_modern_host_as_the_server_gave_it(
    rig: GatewayRig, raw: dict[str, Any]
) -> None:
    answers(rig, raw)
    answer = await called(rig)
    meta = answer.pop("_meta")
    assert meta.pop("io.modelcontextprotocol/serverInfo")["name"] == "toolcrib"
    assert meta == raw.get("_meta", {})
    assert answer.pop("resultType") == "complete"
    assert answer == {key: value for key, value in raw.items() if key != "_meta"}


async def test_structured_content_alone_is_a_result_too(rig: GatewayRig) -> None:
    answers(rig, {"structuredContent": {"a": 1}})
    assert (await called(rig))["content"] == []


@pytest.mark.parametrize(
    "raw",
    [
        {},
        {"content": None},
        {"content": "text"},
        {"content": [1]},
        {"content": {}},
        {"content": [], "resultType": "input_required", "requestState": "x"},
        {"content": [], "resultType": "task"},
        {"content": [], "resultType": None},
    ],
    ids=str,
)
async def test_a_result_that_is_none_is_refused_for_the_server(
    rig: GatewayRig, raw: dict[str, Any]
) -> None:
    answers(rig, raw)
    told = refused(await called(rig))
    assert (told["code"], told["server"]) == ("server_unavailable", "alpha")


async def test_a_result_over_the_limit_is_refused_with_the_setting() -> None:
    rig = GatewayRig(limits=Limits(result_bytes=1_000))
    rig.access.put("alpha", TOOLS, [tool("one")])
    answers(rig, {"content": [{"type": "text", "text": "x" * 2_000}]})
    told = refused(await called(rig))
    assert told["code"] == "limit_exceeded"
    assert "result_bytes" in told["message"]


async def test_arguments_over_the_limit_are_refused_and_not_sent() -> None:
    rig = GatewayRig(limits=Limits(argument_bytes=1_000))
    rig.access.put("alpha", TOOLS, [tool("one")])
    told = refused(await called(rig, text="x" * 1_000))
    assert told["code"] == "limit_exceeded"
    assert "argument_bytes" in told["message"]
    assert rig.access.requests == []
    assert rig.recorder.of(CallRefused) == [CallRefused("", "alpha__one", "limit_exceeded")]


# ---- names that are not there ----


async def test_an_unknown_tool_is_invalid_params_after_one_refresh(rig: GatewayRig) -> None:
    answered = await ask(rig, "tools/call", {"name": "alpha__ome"})
    assert answered.status == 400
    told = answered.message["error"]
    assert told["code"] == -32602
    assert "alpha__one" in told["message"]
    assert rig.access.reads[TOOLS] == 1
    assert rig.access.requests == []


async def test_a_tool_that_the_refresh_finds_is_called(rig: GatewayRig) -> None:
    async def appear(kind: Kind) -> None:
        rig.access.on_read = None
        rig.access.put("gamma", kind, [tool("new")])

    rig.access.on_read = appear
    await called(rig, "gamma__new")
    assert rig.access.requests[0].server == "gamma"


async def test_a_tool_that_was_there_once_is_gone_and_not_called(rig: GatewayRig) -> None:
    async with rig.asgi() as host:
        await host.ask(**host.modern("tools/list"))
        rig.access.put("alpha", TOOLS, [tool("uno")])
        answered = await host.ask(**host.modern("tools/call", {"name": "alpha__one"}))
    told = refused(answered.message["result"])
    assert (told["code"], told["server"], told["tool"]) == ("tool_gone", "alpha", "alpha__one")
    assert told["retry"] == "no"
    assert rig.access.requests == []
    assert rig.recorder.of(CallRefused) == [CallRefused("alpha", "alpha__one", "tool_gone")]


async def test_a_tool_of_a_removed_server_is_gone(rig: GatewayRig) -> None:
    async with rig.asgi() as host:
        await host.ask(**host.modern("tools/list"))
        rig.access.remove("alpha")
        answered = await host.ask(**host.modern("tools/call", {"name": "alpha__one"}))
    assert refused(answered.message["result"])["code"] == "tool_gone"


async def test_a_tool_whose_catalog_was_lost_is_not_called_gone(rig: GatewayRig) -> None:
    async with rig.asgi() as host:
        await host.ask(**host.modern("tools/list"))
        rig.access.fail("alpha", TOOLS, "no answer")
        answered = await host.ask(**host.modern("tools/call", {"name": "alpha__one"}))
    told = refused(answered.message["result"])
    assert (told["code"], told["retry"]) == ("refresh_failed", "later")
    assert "no answer" in told["message"]


async def test_a_catalog_beyond_its_age_is_refreshed_once_and_then_refused() -> None:
    limits = {"alpha": 100.0, "beta": 1_000.0}
    rig = GatewayRig(particulars=Particulars(max_stale=lambda server: limits[server]))
    for server in limits:
        rig.access.put(server, TOOLS, [tool("one")])
        rig.access.age(server, TOOLS, 500.0)
    told = refused(await called(rig, "alpha__one"))
    assert (told["code"], told["server"]) == ("catalog_too_old", "alpha")
    assert "500" in told["message"]
    assert rig.access.walks == {"alpha": 1}
    assert rig.access.requests == []
    assert "isError" not in await called(rig, "beta__one")


async def test_a_stale_catalog_within_its_age_is_called_from(rig: GatewayRig) -> None:
    rig.access.age("alpha", TOOLS, 3_600.0)
    assert "isError" not in await called(rig)


async def test_a_call_with_a_state_that_nobody_gave_is_refused(rig: GatewayRig) -> None:
    extras: list[dict[str, Any]] = [{"requestState": "x"}, {"inputResponses": {}}]
    for extra in extras:
        told = await error(rig, "tools/call", {"name": "alpha__one", **extra})
        assert told["code"] == -32602
    assert rig.access.requests == []


# ---- mirrored headers ----

MIRRORING = tool("where", region={"type": "string", "x-mcp-header": "Region"})


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"mcp_param_region": "us"}, 200),
        ({"mcp_param_region": "eu"}, 400),
        ({}, 400),
        ({"mcp_param_region": "us", "mcp_param_other": "x"}, 200),
    ],
)
async def test_mirrored_headers_have_to_agree_with_the_arguments(
    rig: GatewayRig, headers: dict[str, str], status: int
) -> None:
    rig.access.put("alpha", TOOLS, [MIRRORING])
    call = {"name": "alpha__where", "arguments": {"region": "us"}}
    answered = await ask(rig, "tools/call", call, **headers)
    assert answered.status == status
    if status == 400:
        assert answered.message["error"]["code"] == -32020
        assert rig.access.requests == []


async def test_headers_are_checked_although_the_tool_was_only_found_by_the_refresh(
    rig: GatewayRig,
) -> None:
    async def appear(kind: Kind) -> None:
        rig.access.on_read = None
        rig.access.put("gamma", kind, [MIRRORING])

    rig.access.on_read = appear
    call = {"name": "gamma__where", "arguments": {"region": "us"}}
    answered = await ask(rig, "tools/call", call, mcp_param_region="eu")
    assert answered.message["error"]["code"] == -32020
    assert rig.access.requests == []


async def test_headers_are_checked_while_the_server_is_down(rig: GatewayRig) -> None:
    rig.access.put("alpha", TOOLS, [MIRRORING])
    rig.access.age("alpha", TOOLS, 60.0)
    call = {"name": "alpha__where", "arguments": {"region": "us"}}
    answered = await ask(rig, "tools/call", call, mcp_param_region="eu")
    assert (answered.status, answered.message["error"]["code"]) == (400, -32020)


# ---- what servers say when they refuse ----


@pytest.mark.parametrize(
    ("failure", "code", "retry"),
    [
        (UpstreamUnreachable("alpha hung up", server="alpha"), "server_unavailable", "later"),
        (RequestTimedOut("no answer", server="alpha"), "timeout", "no"),
        (AuthRequired("sign in", server="alpha"), "auth_required", "no"),
    ],
)
async def test_what_stopped_a_call_is_told_to_the_model(
    rig: GatewayRig, failure: ToolcribError, code: str, retry: str
) -> None:
    answers(rig, failure)
    told = refused(await called(rig))
    assert (told["code"], told["retry"], told["server"]) == (code, retry, "alpha")


FOREIGN_CODES = [-32700, -32600, -32601, -32602, -32603, -32000, -32002, -32020, -32021, -32022,
                 -32042, -32055, -32099, 0, 1, -1, 123456]  # fmt: skip


@pytest.mark.parametrize("code", FOREIGN_CODES)
async def test_a_servers_error_of_a_call_is_a_result_and_no_error_of_ours(
    rig: GatewayRig, code: int
) -> None:
    answers(rig, UpstreamRefused("the text", rpc_code=code, data={"supported": ["1999"]}))
    told = refused(await called(rig))
    assert told["code"] == "server_error"
    assert told["server"] == "alpha"
    assert "alpha" in told["message"]
    assert "1999" not in json.dumps(told)


@pytest.mark.parametrize("code", FOREIGN_CODES)
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("prompts/get", {"name": "beta__ask_me"}),
        ("resources/read", {"uri": "file:///a"}),
        ("completion/complete", {"ref": {"type": "ref/resource", "uri": "db://{table}"},
                                 "argument": {"name": "table", "value": ""}}),
    ],
)  # fmt: skip
async def test_no_code_that_speaks_of_another_hop_leaves_us(
    rig: GatewayRig, method: str, params: dict[str, Any], code: int
) -> None:
    answers(rig, UpstreamRefused("the text", rpc_code=code, data={"supported": ["1999"]}))
    if method == "prompts/get":
        params = {"name": await prompt_name(rig)}
    told = await error(rig, method, params)
    assert told["code"] in {-32602, -32603} or not -32768 <= told["code"] <= -32000
    assert "1999" not in json.dumps(told)


async def prompt_name(rig: GatewayRig) -> str:
    return (await result(rig, "prompts/list", {}))["prompts"][0]["name"]


@pytest.mark.parametrize(
    ("answer", "contradicted"),
    [
        (UpstreamRefused("Unknown tool: one", rpc_code=-32602), True),
        (UpstreamRefused("no", rpc_code=-32601), True),
        (UpstreamRefused("boom", rpc_code=-32603), False),
        ({"content": [{"type": "text", "text": "Unknown tool: one"}], "isError": True}, True),
        ({"content": [{"type": "text", "text": "Tool one not found"}], "isError": True}, True),
        ({"content": [{"type": "text", "text": "Unknown tool: one"}]}, False),
        ({"content": [{"type": "text", "text": "file not found"}], "isError": True}, False),
        ({"content": [{"type": "text", "text": "one not found " * 90}], "isError": True}, False),
        ({"content": [{"type": "image"}], "isError": True}, False),
    ],
    ids=str,
)
async def test_a_server_that_denies_a_tool_we_hold_has_its_catalog_invalidated(
    rig: GatewayRig, answer: dict[str, Any] | ToolcribError, *, contradicted: bool
) -> None:
    answers(rig, answer)
    await called(rig)
    invalidated = [(server, kind) for server, kind, _ in rig.access.invalidated]
    assert invalidated == ([("alpha", TOOLS)] if contradicted else [])


# ---- resources ----


async def read(host: AsgiHost, uri: str) -> dict[str, Any]:
    return (await host.ask(**host.modern("resources/read", {"uri": uri}))).message


@pytest.mark.parametrize(
    ("uri", "server", "original"),
    [
        ("file:///a", "alpha", "file:///a"),
        ("toolcrib://server/beta/file:///a", "beta", "file:///a"),
        ("toolcrib://server/alpha/file:///a", "alpha", "file:///a"),
        ("toolcrib://server/alpha/unlisted://x", "alpha", "unlisted://x"),
        ("db://users", "beta", "db://users"),
    ],
)
async def test_a_resource_is_read_from_the_server_that_has_it(
    rig: GatewayRig, uri: str, server: str, original: str
) -> None:
    async with rig.asgi() as host:
        answer = (await read(host, uri))["result"]
    (request,) = rig.access.requests
    assert (request.server, request.params) == (server, {"uri": original})
    assert answer["resultType"] == "complete"


async def test_what_is_read_names_itself_as_the_host_asked_for_it(rig: GatewayRig) -> None:
    async with rig.asgi() as host:
        for uri in ("file:///a", "toolcrib://server/beta/file:///a"):
            (content,) = (await read(host, uri))["result"]["contents"]
            assert content["uri"] == uri


@pytest.mark.parametrize("uri", ["file:///b", "toolcrib://server/gone/file:///a", "db://a/b"])
async def test_a_resource_that_nobody_has_is_invalid_params_with_its_uri(
    rig: GatewayRig, uri: str
) -> None:
    told = await error(rig, "resources/read", {"uri": uri})
    assert (told["code"], told["data"]) == (-32602, {"uri": uri})
    assert rig.access.requests == []


@pytest.mark.parametrize("code", [-32002, -32602])
async def test_a_resource_that_its_server_misses_is_told_with_the_hosts_uri(
    rig: GatewayRig, code: int
) -> None:
    answers(rig, UpstreamRefused("missing", rpc_code=code))
    told = await error(rig, "resources/read", {"uri": "toolcrib://server/beta/file:///a"})
    assert told["code"] == -32602
    assert told["data"] == {"uri": "toolcrib://server/beta/file:///a"}
    assert [entry[:2] for entry in rig.access.invalidated] == [("beta", RESOURCES)]


async def test_the_only_server_with_resources_is_asked_for_what_no_listing_has() -> None:
    rig = GatewayRig()
    rig.access.put("alpha", TOOLS, [tool("one")])
    rig.access.put("beta", TOOLS, [tool("one")])
    rig.access.capabilities = {"alpha": {"tools": {}}, "beta": {"resources": {}}}
    await result(rig, "resources/read", {"uri": "unlisted://x"})
    assert rig.access.requests[0].server == "beta"


@pytest.mark.parametrize(
    ("scope", "hints", "expected"),
    [
        (Scope.PUBLIC, {"ttlMs": 500, "cacheScope": "public"}, (500, "public")),
        (Scope.PRIVATE, {"ttlMs": 500, "cacheScope": "public"}, (500, "private")),
        (Scope.PUBLIC, {"ttlMs": 500, "cacheScope": "private"}, (500, "private")),
        (Scope.PUBLIC, {}, (0, "private")),
        (Scope.PUBLIC, {"ttlMs": -3, "cacheScope": "tenant"}, (0, "private")),
        (Scope.PUBLIC, {"ttlMs": 10**15}, (86_400_000, "private")),
    ],
)
async def test_hints_of_a_read_are_kept_as_far_as_the_catalog_may_be_shared(
    rig: GatewayRig, scope: Scope, hints: dict[str, Any], expected: tuple[int, str]
) -> None:
    rig.access.put("alpha", RESOURCES, [{"uri": "file:///a", "name": "a"}], scope=scope)
    answers(rig, {"contents": [], **hints})
    answer = await result(rig, "resources/read", {"uri": "file:///a"})
    assert (answer["ttlMs"], answer["cacheScope"]) == expected


async def test_links_lead_back_to_the_server_that_gave_them(rig: GatewayRig) -> None:
    def link(uri: str) -> dict[str, Any]:
        return {"type": "resource_link", "uri": uri, "name": "n"}

    embedded = {"type": "resource", "resource": {"uri": "file:///a", "text": "t"}}
    answers(rig, {"content": [link("file:///a"), link("new://x"), embedded, {"type": "text"}]})
    async with rig.asgi() as host:
        call = host.modern("tools/call", {"name": "beta__one"})
        content = (await host.ask(**call)).message["result"]["content"]
        rig.access.answer = echo
        ours, fresh = content[0]["uri"], content[1]["uri"]
        assert (ours, fresh) == ("toolcrib://server/beta/file:///a", "new://x")
        assert content[2]["resource"] == {"uri": ours, "text": "t"}
        assert content[3] == {"type": "text"}
        await read(host, ours)
        await read(host, fresh)
    asked = [(r.server, r.params["uri"]) for r in rig.access.requests[1:]]
    assert asked == [("beta", "file:///a"), ("beta", "new://x")]


async def test_two_servers_that_link_to_one_unlisted_uri_are_told_apart(rig: GatewayRig) -> None:
    answers(rig, {"content": [{"type": "resource_link", "uri": "new://x", "name": "n"}]})
    async with rig.asgi() as host:
        shown = [
            (await host.ask(**host.modern("tools/call", {"name": f"{server}__one"}))).message[
                "result"
            ]["content"][0]["uri"]
            for server in ("alpha", "beta", "alpha")
        ]
    assert shown == ["new://x", "toolcrib://server/beta/new://x", "new://x"]


# ---- prompts and completion ----


async def test_a_prompt_is_got_under_its_original_name(rig: GatewayRig) -> None:
    name = await prompt_name(rig)
    assert name != "ask me"
    await result(rig, "prompts/get", {"name": name, "arguments": {"a": "1"}})
    (request,) = rig.access.requests
    assert (request.server, request.method) == ("beta", "prompts/get")
    assert request.params == {"name": "ask me", "arguments": {"a": "1"}}


async def test_links_in_prompts_lead_back_too(rig: GatewayRig) -> None:
    link = {"type": "resource_link", "uri": "file:///a", "name": "n"}
    answers(rig, {"messages": [{"role": "user", "content": link}, {"role": "user"}]})
    messages = (await result(rig, "prompts/get", {"name": await prompt_name(rig)}))["messages"]
    assert messages[0]["content"]["uri"] == "toolcrib://server/beta/file:///a"
    assert messages[1] == {"role": "user"}


async def test_an_unknown_and_a_vanished_prompt_are_invalid_params(rig: GatewayRig) -> None:
    assert (await error(rig, "prompts/get", {"name": "beta__never"}))["code"] == -32602
    async with rig.asgi() as host:
        listed = (await host.ask(**host.modern("prompts/list"))).message["result"]["prompts"]
        rig.access.put("beta", PROMPTS, [])
        gone = host.modern("prompts/get", {"name": listed[0]["name"]})
        told = (await host.ask(**gone)).message["error"]
    assert told["code"] == -32602
    assert "any more" in told["message"]
    assert rig.access.requests == []


ARGUMENT = {"name": "a", "value": "b"}


@pytest.mark.parametrize(
    ("uri", "server", "original"),
    [
        ("db://{table}", "beta", "db://{table}"),
        ("file:///a", "alpha", "file:///a"),
        ("toolcrib://server/beta/file:///a", "beta", "file:///a"),
        ("toolcrib://server/alpha/x://{y}", "alpha", "x://{y}"),
    ],
)
async def test_a_completion_of_a_resource_goes_to_its_server(
    rig: GatewayRig, uri: str, server: str, original: str
) -> None:
    context = {"arguments": {"z": "1"}}
    params = {
        "ref": {"type": "ref/resource", "uri": uri},
        "argument": ARGUMENT,
        "context": context,
    }
    await result(rig, "completion/complete", params)
    (request,) = rig.access.requests
    assert request.server == server
    assert request.params == {
        "ref": {"type": "ref/resource", "uri": original},
        "argument": ARGUMENT,
        "context": context,
    }


async def test_a_completion_of_a_prompt_goes_to_its_server(rig: GatewayRig) -> None:
    ref = {"type": "ref/prompt", "name": await prompt_name(rig)}
    answer = await result(rig, "completion/complete", {"ref": ref, "argument": ARGUMENT})
    assert rig.access.requests[0].params["ref"] == {"type": "ref/prompt", "name": "ask me"}
    assert len(answer["completion"]["values"]) == 1


@pytest.mark.parametrize(
    "ref",
    [{"type": "ref/prompt", "name": "nobody"}, {"type": "ref/resource", "uri": "nobody://x"}],
)
async def test_a_completion_of_what_nobody_has_is_invalid_params(
    rig: GatewayRig, ref: dict[str, str]
) -> None:
    params = {"ref": ref, "argument": ARGUMENT}
    assert (await error(rig, "completion/complete", params))["code"] == -32602


async def test_a_server_that_completes_nothing_is_not_asked(rig: GatewayRig) -> None:
    rig.access.capabilities["beta"] = {"resources": {}, "prompts": {}}
    ref = {"type": "ref/resource", "uri": "db://{table}"}
    answer = await result(rig, "completion/complete", {"ref": ref, "argument": ARGUMENT})
    assert answer["completion"] == {"values": []}
    assert rig.access.requests == []


@pytest.mark.parametrize(
    ("method", "params", "raw"),
    [
        ("resources/read", {"uri": "file:///a"}, {"contents": 3}),
        ("resources/read", {"uri": "file:///a"}, {"contents": ["x"]}),
        ("completion/complete", {"ref": {"type": "ref/resource", "uri": "db://{table}"},
                                 "argument": ARGUMENT}, {}),
    ],
)  # fmt: skip
async def test_an_unreadable_answer_is_an_internal_error_that_names_the_server(
    rig: GatewayRig, method: str, params: dict[str, Any], raw: dict[str, Any]
) -> None:
    answers(rig, raw)
    told = await error(rig, method, params)
    assert told["code"] == -32603
    assert told["data"]["error"]["code"] == "server_unavailable"
