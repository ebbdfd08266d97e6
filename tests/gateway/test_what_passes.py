"""What of a request reaches servers, and what of an answer reaches hosts: docs/relaying.md."""

import base64
import json
from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from toolcrib.adapters.connector import McpConnector
from toolcrib.adapters.system_clock import SystemClock
from toolcrib.core.snapshot import Kind
from toolcrib.protocol.trust import IconPolicy
from toolcrib.settings import GatewaySettings, Limits, ServerSettings
from toolcrib.testing.chain import listening
from toolcrib.testing.gateway_rig import GatewayRig
from toolcrib.testing.http_rig import launch_of
from toolcrib.testing.raw_client import RawHttp, enveloped, headers_of, raw_http
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.scripted import ScriptedUpstream
from toolcrib.testing.scripted_gateway import scripted_gateway
from toolcrib.testing.scripted_server import Content, Profile, scripted_http, tool

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
CANARY = "canary-4711"
SHAPES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "tools/call": ({"name": "alpha__one"}, {"content": []}),
    "prompts/get": ({"name": "alpha__ask"}, {"messages": []}),
    "resources/read": ({"uri": "x://1"}, {"contents": []}),
    "completion/complete": (
        {
            "ref": {"type": "ref/prompt", "name": "alpha__ask"},
            "argument": {"name": "a", "value": ""},
        },
        {"completion": {"values": []}},
    ),
}


def served(settings: GatewaySettings = GatewaySettings()) -> GatewayRig:  # noqa: B008 - frozen
    rig = GatewayRig(settings)
    rig.access.put("alpha", Kind.TOOLS, [tool("one")])
    rig.access.put("alpha", Kind.PROMPTS, [{"name": "ask"}])
    rig.access.put("alpha", Kind.RESOURCES, [{"uri": "x://1", "name": "x"}])
    return rig


# ---------------------------------------------------------------- `_meta`


@pytest.mark.parametrize("trace", [True, False])
@pytest.mark.parametrize("method", SHAPES)
async def test_of_a_hosts_meta_the_trace_context_goes_on_if_policy_lets_it(
    method: str, *, trace: bool
) -> None:
    rig = served(GatewaySettings(trace=trace))
    params, shape = SHAPES[method]
    rig.answer(shape)
    meta = {
        "traceparent": PARENT,
        "tracestate": "a=1",
        "baggage": CANARY,
        "progressToken": CANARY,
        "io.modelcontextprotocol/logLevel": "debug",
        "io.modelcontextprotocol/related-task": {"taskId": CANARY},
        "vendor.example/private": CANARY,
        "dev.toolcrib/handle": CANARY,
        "dev.toolcrib/seen": {"digest": CANARY},
    }
    await rig.result(method, {**params, "_meta": meta})
    (request,) = rig.access.requests
    sent = {"traceparent": PARENT, "tracestate": "a=1"} if trace else None
    assert request.params.get("_meta") == sent
    assert CANARY not in json.dumps(request.params)


OF_THE_HOP: dict[str, Any] = {
    "progressToken": 1,
    "io.modelcontextprotocol/serverInfo": {"name": "evil", "version": "1"},
    "io.modelcontextprotocol/subscriptionId": "s",
    "io.modelcontextprotocol/protocolVersion": "1999-01-01",
    "io.modelcontextprotocol/clientInfo": {"name": "evil", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {"roots": {}},
    "io.modelcontextprotocol/logLevel": "debug",
    "io.modelcontextprotocol/related-task": {"taskId": "t"},
    "dev.toolcrib/digest": "forged",
    "dev.toolcrib/version": "forged",
    "dev.toolcrib/changes": ["forged"],
}
KEPT: dict[str, Any] = {
    "vendor.example/x": [1, {"a": None}],
    "io.modelcontextprotocol/future": 1,
    "traceparent": PARENT,
    "plain": "y",
}


@pytest.mark.parametrize("era", ["auto", "legacy"])
@pytest.mark.parametrize("method", SHAPES)
async def test_of_a_results_meta_all_passes_but_what_speaks_of_another_hop(
    method: str, era: str
) -> None:
    rig = served()
    params, shape = SHAPES[method]
    rig.answer({**shape, "_meta": {**OF_THE_HOP, **KEPT}})
    async with rig.asgi() as host:
        if era == "auto":
            message = (await host.ask(**host.modern(method, params))).message
        else:
            session = await host.initialize()
            message = (await host.ask(**host.handshake(method, params, session=session))).message
    meta = message["result"]["_meta"]
    info = meta.pop("io.modelcontextprotocol/serverInfo", None)
    assert (info is None) is (era == "legacy")
    assert info is None or info["name"] != "evil"
    assert meta.pop("dev.toolcrib/digest", "") != "forged"
    assert meta == KEPT


@pytest.mark.parametrize("kind", list(Kind))
async def test_so_it_is_with_definitions(kind: Kind) -> None:
    rig = GatewayRig()
    entry = {**tool("one"), "uri": "x://1", "uriTemplate": "x://{a}"}
    rig.access.put("alpha", kind, [{**entry, "_meta": {**OF_THE_HOP, **KEPT}}])
    (listed,) = (await rig.result(kind.method, {}))[kind.field]
    assert listed["_meta"].pop("dev.toolcrib/contract", "") != "forged"
    assert listed["_meta"] == KEPT


# ---------------------------------------------------------------- headers


@pytest.mark.parametrize("era", ["modern", "handshake"])
@pytest.mark.parametrize("upstream", ["modern", "handshake"])
async def test_no_header_of_a_host_reaches_a_server(era: str, upstream: str) -> None:
    headers = {
        "authorization": f"Bearer {CANARY}",
        "cookie": f"a={CANARY}",
        "x-api-key": CANARY,
        "x-forwarded-for": CANARY,
        "mcp-param-region": CANARY,
        "traceparent": CANARY,
        "user-agent": CANARY,
        "proxy-authorization": CANARY,
        "last-event-id": CANARY,
    }
    profile = Profile() if upstream == "modern" else Profile(modern=())
    settings = GatewaySettings(http=("127.0.0.1", 0))
    connector: Any = McpConnector(limits=Limits(), observer=Recorder(), clock=SystemClock())
    with anyio.fail_after(20):
        async with (
            scripted_http(Content(tools=[tool("one")]), profile) as server,
            scripted_gateway(
                {"alpha": connector},
                settings={"alpha": server.settings("alpha")},
                gateway=settings,
            ) as gateway,
            listening(gateway.gateway) as url,
            raw_http(launch_of(url)) as host,
        ):
            if era == "handshake":
                await host.shake_hands()
            asked: dict[str, Any] = {
                "tools/list": {},
                "tools/call": {"name": "alpha__one", "arguments": {}},
            }
            for method, params in asked.items():
                answered = await sent(host, method, params, headers, modern=era == "modern")
                assert answered["result"]
            heard = await server.heard()
            assert any(each.method == "tools/call" for each in heard)
            for each in heard:
                assert CANARY not in json.dumps([dict(each.headers), dict(each.message)])


async def sent(
    host: RawHttp, method: str, params: Mapping[str, Any], headers: dict[str, str], *, modern: bool
) -> dict[str, Any]:
    message = host.request(method, enveloped(params) if modern else params)
    own = headers_of(message) if modern else {}
    answered = await host.post(message, {**headers, **own})
    text = answered.text
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line[:6] == "data: "]
    return json.loads(lines[-1] if lines else text)


# ---------------------------------------------------------------- icons and links

PNG = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n0000").decode()
ICONS = [{"src": "https://track.example/i.png"}, {"src": PNG}]
SHOWN: dict[IconPolicy, list[Any] | None] = {"drop": None, "data": [ICONS[1]], "pass": ICONS}


@pytest.mark.parametrize("policy", SHOWN)
@pytest.mark.parametrize("kind", list(Kind))
async def test_icons_of_definitions_go_by_policy(kind: Kind, policy: IconPolicy) -> None:
    rig = GatewayRig(GatewaySettings(icons=policy))
    entry = {**tool("one"), "uri": "x://1", "uriTemplate": "x://{a}", "icons": ICONS}
    rig.access.put("alpha", kind, [entry])
    (listed,) = (await rig.result(kind.method, {}))[kind.field]
    assert listed.get("icons") == SHOWN[policy]


@pytest.mark.parametrize("policy", SHOWN)
@pytest.mark.parametrize("method", ["tools/call", "prompts/get"])
async def test_so_do_icons_of_links(method: str, policy: IconPolicy) -> None:
    link = {"type": "resource_link", "uri": "file:///a", "name": "a", "icons": ICONS}
    (shown,) = await shown_of(method, link, GatewaySettings(icons=policy))
    assert shown.get("icons") == SHOWN[policy]
    assert shown["uri"] == "file:///a"


async def shown_of(
    method: str,
    block: dict[str, Any],
    settings: GatewaySettings = GatewaySettings(),  # noqa: B008 - frozen
) -> list[dict[str, Any]]:
    rig = served(settings)
    params, _ = SHAPES[method]
    if method == "tools/call":
        rig.answer({"content": [block]})
        return (await rig.result(method, params))["content"]
    rig.answer({"messages": [{"role": "user", "content": block}]})
    return [message["content"] for message in (await rig.result(method, params))["messages"]]


@pytest.mark.parametrize("method", ["tools/call", "prompts/get"])
@pytest.mark.parametrize("uri", ["javascript:alert(1)", "data:text/html,x", "vbscript:x"])
async def test_a_link_that_runs_is_a_text_that_says_so(method: str, uri: str) -> None:
    (shown,) = await shown_of(method, {"type": "resource_link", "uri": uri, "name": "a"})
    assert shown["type"] == "text"
    assert uri not in json.dumps(shown)
    assert "left out" in shown["text"]


@pytest.mark.parametrize("method", ["tools/call", "prompts/get"])
@pytest.mark.parametrize("uri", ["file:///etc/passwd", "https://x.example/a", "note://1"])
async def test_a_link_that_names_a_resource_passes_as_it_is(method: str, uri: str) -> None:
    link = {"type": "resource_link", "uri": uri, "name": "a", "_meta": {"x": 1}}
    assert await shown_of(method, link) == [link]


async def test_a_link_without_a_uri_in_a_prompt_breaks_nothing() -> None:
    block = {"type": "resource_link", "name": "a"}
    assert await shown_of("prompts/get", block) == [block]


# ---------------------------------------------------------------- extensions


def tasked(support: object) -> dict[str, Any]:
    return {**tool("slow"), "execution": {"taskSupport": support}}


@pytest.mark.parametrize("era", ["auto", "legacy"])
@pytest.mark.parametrize("support", ["required", "optional", "forbidden", "future"])
async def test_marks_of_tasks_and_apps_are_taken_out_of_tools(support: str, era: str) -> None:
    meta = {"ui": {"resourceUri": "ui://x"}, "ui/resourceUri": "ui://x", "uix": 1}
    script = ScriptedUpstream([{**tasked(support), "_meta": meta}])
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()
        async with gateway.host("auto" if era == "auto" else "legacy") as client:
            (listed,) = (await client.list_tools()).tools
            assert listed.execution is None
            assert listed.meta is not None
            assert listed.meta.keys() - {"dev.toolcrib/contract"} == {"uix"}


async def test_a_tool_that_runs_only_as_a_task_is_listed_and_refused_unsent() -> None:
    script = ScriptedUpstream([tasked("required")])
    async with scripted_gateway({"s": script}) as gateway:
        assert await gateway.names() == ["s__slow"]
        told = await gateway.refusal("s__slow")
        assert (told["code"], told["retry"]) == ("not_allowed", "no")
        assert "task" in told["message"]
        assert script.calls == []


@pytest.mark.parametrize("support", ["optional", "forbidden", "future", 3, None])
async def test_any_other_tool_is_called_without_a_task(support: object) -> None:
    script = ScriptedUpstream([tasked(support)])
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()
        params = {"name": "s__slow", "arguments": {}, "task": {"ttl": 60_000}}
        assert not (await gateway.ask("tools/call", params)).get("isError")
        assert script.calls == [("tools/call", {"name": "slow", "arguments": {}})]


@pytest.mark.parametrize(
    "result",
    [
        {"resultType": "task", "task": {"taskId": "t"}},
        {"task": {"taskId": "t", "status": "working", "createdAt": "now", "ttl": 1}},
    ],
    ids=["modern", "handshake"],
)
async def test_a_task_in_place_of_a_result_is_a_broken_result(result: dict[str, Any]) -> None:
    rig = served()
    rig.answer(result)
    told = await rig.refusal("alpha__one")
    assert (told["code"], told["retry"]) == ("result_invalid", "no")


@pytest.mark.parametrize("method", ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel"])
@pytest.mark.parametrize("era", ["modern", "handshake"])
async def test_methods_of_tasks_are_not_served(method: str, era: str) -> None:
    rig = served()
    async with rig.asgi() as host:
        if era == "modern":
            request = host.modern(method, {"taskId": "t"})
        else:
            request = host.handshake(method, {"taskId": "t"}, session=await host.initialize())
        assert (await host.ask(**request)).message["error"]["code"] == -32601
    assert rig.access.requests == []


async def test_neither_extension_is_declared_to_hosts_or_servers() -> None:
    async with scripted_gateway({"s": ScriptedUpstream([tool("t")])}) as gateway:
        declared = gateway.gateway.capabilities()
        assert not {"tasks", "extensions", "experimental"} & declared.keys()
        profile = gateway.crib._holdings._profile  # pyright: ignore[reportPrivateUsage]
        assert not {"tasks", "extensions", "experimental"} & profile.capabilities.keys()


async def test_word_of_tasks_from_a_server_goes_nowhere() -> None:
    script = ScriptedUpstream([tool("t")])
    heard: list[Any] = []

    async def listen(message: Any) -> None:
        heard.append(message)

    async with (
        scripted_gateway({"s": script}) as gateway,
        gateway.host("legacy", message_handler=listen) as client,
    ):
        await client.list_tools()
        script.notify("notifications/tasks/status", {"taskId": "t", "status": "completed"})
        assert not (await client.call_tool("s__t", {})).is_error
    assert heard == []


# ---------------------------------------------------------------- time


@pytest.mark.virtual_time
@pytest.mark.parametrize(("own", "seconds"), [(None, 40.0), (7.0, 7.0), (90.0, 90.0)])
async def test_a_call_has_the_time_of_its_server_and_is_told_to_have_acted_perhaps(
    own: float | None, seconds: float
) -> None:
    script = ScriptedUpstream([tool("t")])

    async def hang(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        await anyio.sleep_forever()
        raise AssertionError

    script.on_call = hang
    settings = ServerSettings("s", launch_of("http://s.example"), call_seconds=own)
    limits = Limits(call_seconds=40.0)
    async with scripted_gateway({"s": script}, settings={"s": settings}, limits=limits) as gateway:
        await gateway.names()
        began = anyio.current_time()
        told = await gateway.refusal("s__t")
        assert anyio.current_time() - began == pytest.approx(seconds)
        assert (told["code"], told["retry"]) == ("timeout", "no")
        assert "may have acted" in told["message"]
