"""Calls on their way to a server and back."""

from typing import Any

import anyio
import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.facts import CallRefused
from toolcrib.gateway import forward
from toolcrib.settings import Limits
from toolcrib.testing.fake_access import Request
from toolcrib.testing.gateway_rig import GatewayRig
from toolcrib.testing.scripted import tool

TOOLS = Kind.TOOLS


@pytest.mark.duty(28)
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
    await rig.result("tools/call", {"name": "alpha__one", "arguments": arguments})
    await rig.result("tools/call", {"name": "alpha__one"})
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
        "dev.toolcrib/seen": {"digest": "x"},
        "vendor.example/private": 1,
    }
    await rig.result("tools/call", {"name": "alpha__one", "_meta": meta})
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
    await rig.result("tools/call", {"name": "alpha__one", "_meta": meta})
    assert "_meta" not in rig.access.requests[0].params


@pytest.mark.duty(35)
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


@pytest.mark.duty(34)
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
    {"content": [{"type": "audio", "data": "/+8=", "mimeType": "audio/wav"}]},
    {"content": [{"type": "resource", "resource": {"uri": "x://1", "blob": "/+8=\n"}}]},
    {
        "content": [{"type": "text", "text": "cut \ud83d"}],
        "structuredContent": {"\udc00": "\ud800"},
    },
    {"content": [{"type": "text", "text": '{"n": 1}'}], "structuredContent": {"n": 1}},
    {"content": [], "_meta": {"vendor.example/x": [1]}},
]


@pytest.mark.parametrize("raw", RAW, ids=[str(number) for number in range(len(RAW))])
async def test_a_result_reaches_a_modern_host_as_the_server_gave_it(
    rig: GatewayRig, raw: dict[str, Any]
) -> None:
    rig.answer(raw)
    answer = await rig.call("alpha__one")
    meta = answer.pop("_meta")
    assert meta.pop("io.modelcontextprotocol/serverInfo")["name"] == "toolcrib"
    assert meta.pop("dev.toolcrib/digest")
    assert meta == raw.get("_meta", {})
    assert answer.pop("resultType") == "complete"
    assert answer == {key: value for key, value in raw.items() if key != "_meta"}


async def test_structured_content_alone_is_a_result_too(rig: GatewayRig) -> None:
    rig.answer({"structuredContent": {"a": 1}})
    assert (await rig.call("alpha__one"))["content"] == []


@pytest.mark.parametrize(
    "raw",
    [
        {},
        {"content": None},
        {"content": "text"},
        {"content": [1]},
        {"content": {}},
        {"content": [], "resultType": "task"},
        {"content": [], "resultType": None},
    ],
    ids=str,
)
async def test_a_result_that_is_none_is_refused_for_the_server(
    rig: GatewayRig, raw: dict[str, Any]
) -> None:
    rig.answer(raw)
    told = await rig.refusal("alpha__one")
    assert (told["code"], told["server"], told["retry"]) == ("result_invalid", "alpha", "no")


async def test_a_result_over_the_limit_is_refused_with_the_setting() -> None:
    rig = GatewayRig(limits=Limits(result_bytes=1_000))
    rig.access.put("alpha", TOOLS, [tool("one")])
    rig.answer({"content": [{"type": "text", "text": "x" * 2_000}]})
    told = await rig.refusal("alpha__one")
    assert told["code"] == "limit_exceeded"
    assert "result_bytes" in told["message"]


async def test_arguments_over_the_limit_are_refused_and_not_sent() -> None:
    rig = GatewayRig(limits=Limits(argument_bytes=1_000))
    rig.access.put("alpha", TOOLS, [tool("one")])
    told = await rig.refusal("alpha__one", text="x" * 1_000)
    assert told["code"] == "limit_exceeded"
    assert "argument_bytes" in told["message"]
    assert rig.access.requests == []
    assert rig.recorder.of(CallRefused) == [CallRefused("alpha", "one", "limit_exceeded")]


MIRRORING = tool("where", region={"type": "string", "x-mcp-header": "Region"})


@pytest.mark.duty(20)
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
    answered = await rig.ask("tools/call", call, **headers)
    assert answered.status == status
    if status == 400:
        assert answered.message["error"]["code"] == -32020
        assert rig.access.requests == []


@pytest.mark.duty(20)
async def test_headers_are_checked_although_the_tool_was_only_found_by_the_refresh(
    rig: GatewayRig,
) -> None:
    async def appear(kind: Kind) -> None:
        rig.access.on_read = None
        rig.access.put("gamma", kind, [MIRRORING])

    rig.access.on_read = appear
    call = {"name": "gamma__where", "arguments": {"region": "us"}}
    answered = await rig.ask("tools/call", call, mcp_param_region="eu")
    assert answered.message["error"]["code"] == -32020
    assert rig.access.requests == []


@pytest.mark.duty(20)
async def test_headers_are_checked_while_the_server_is_down(rig: GatewayRig) -> None:
    rig.access.put("alpha", TOOLS, [MIRRORING])
    rig.access.age("alpha", TOOLS, 60.0)
    call = {"name": "alpha__where", "arguments": {"region": "us"}}
    answered = await rig.ask("tools/call", call, mcp_param_region="eu")
    assert (answered.status, answered.message["error"]["code"]) == (400, -32020)


async def test_what_is_remembered_of_mirroring_is_bounded(
    rig: GatewayRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forward, "MIRRORING_KEPT", 1)
    rig.access.put("alpha", TOOLS, [MIRRORING, tool("plain")])
    async with rig.asgi() as host:
        for _ in range(2):
            wrong = {"name": "alpha__where", "arguments": {"region": "us"}}
            refused_call = await host.ask(**host.modern("tools/call", wrong))
            assert refused_call.message["error"]["code"] == -32020
            plain = host.modern("tools/call", {"name": "alpha__plain"})
            assert "result" in (await host.ask(**plain)).message
