"""Where a trace stands goes on from `run_code` to the calls of its program, as from any call."""

from typing import Any

import pytest

from toolcrib.calls.call import Requester
from toolcrib.settings import (
    ApprovalRule,
    ApprovalSettings,
    CodeSettings,
    GatewaySettings,
    Language,
)
from toolcrib.testing.coded_server import CodedServer, CodingHost, answering, coded
from toolcrib.testing.fake_service import host_request
from toolcrib.testing.scripted import tool

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
LATER = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"
SENT = {
    "traceparent": PARENT,
    "tracestate": "vendor=1",
    "baggage": "who=alice",
    "progressToken": 7,
    "x": 1,
}
KEPT = {"traceparent": PARENT, "tracestate": "vendor=1"}
BOTH = CodeSettings(languages=("python", "typescript"))
CODE: dict[Language, str] = {
    "python": (
        "import asyncio, toolcrib\nfrom s import echo\n"
        "await asyncio.gather(echo(n=1), toolcrib.call('s', 'echo', {'n': 2}))\nawait echo(n=3)"
    ),
    "typescript": (
        'import { call } from "toolcrib";\nimport { echo } from "s";\n'
        'await Promise.all([echo({ n: 1 }), call("s", "echo", { n: 2 })]);\nawait echo({ n: 3 });'
    ),
}


async def run(host: CodingHost, meta: dict[str, Any], code: str, language: Language) -> None:
    arguments = {"code": code, "language": language}
    params = {"name": "run_code", "arguments": arguments, "_meta": meta}
    result = await host.gateway.gateway.answer(host_request("tools/call", params))
    assert isinstance(result, dict)
    assert not result.get("isError"), result


def heard(server: CodedServer) -> list[Any]:
    """`_meta` of what it was called with."""
    return [params.get("_meta") for _, params in server.calls]


@pytest.mark.parametrize("language", ["python", "typescript"])
async def test_every_call_of_a_program_is_in_the_trace_of_its_request(language: Language) -> None:
    server = CodedServer({}, tool("echo", n={"type": "integer"}))
    async with coded({"s": server}, code=BOTH) as (host, gateway):
        direct = {"name": "s__echo", "arguments": {"n": 0}, "_meta": SENT}
        await gateway.gateway.answer(host_request("tools/call", direct))
        await run(host, SENT, CODE[language], language)
    assert heard(server) == [KEPT] * 4


@pytest.mark.parametrize(
    "meta", [{}, {"traceparent": "x"}, {"tracestate": "a=1"}, {"traceparent": [PARENT]}]
)
async def test_what_is_no_trace_context_does_not_go_on(meta: dict[str, Any]) -> None:
    server = CodedServer({}, tool("echo", n={"type": "integer"}))
    async with coded({"s": server}) as (host, _):
        await run(host, meta, CODE["python"], "python")
    assert heard(server) == [None] * 3


async def test_where_traces_do_not_go_on_those_of_programs_do_not_either() -> None:
    server = CodedServer({}, tool("echo", n={"type": "integer"}))
    shown = GatewaySettings(exposure="code", trace=False)
    async with coded({"s": server}, gateway=shown) as (host, _):
        await run(host, SENT, CODE["python"], "python")
    assert heard(server) == [None] * 3


@pytest.mark.parametrize("language", ["python", "typescript"])
async def test_a_program_that_goes_on_is_in_the_trace_of_the_request_that_brought_the_answer(
    language: Language,
) -> None:
    server = CodedServer({}, tool("read"), tool("wipe"))
    code = {
        "python": "from s import read, wipe\nawait read()\nawait wipe()\nawait read()",
        "typescript": (
            'import { read, wipe } from "s";\nawait read();\nawait wipe();\nawait read();'
        ),
    }[language]
    rules = ApprovalSettings((ApprovalRule("ask", tools=("wipe",)),))
    settings = CodeSettings(languages=(language,))
    async with coded({"s": server}, code=settings, approval=rules) as (host, _):
        first = await host.run(code, _meta={"traceparent": PARENT})
        yes = {"action": "accept", "content": {"answer": "yes, for this program"}}
        await host.run(code, **answering(first, yes), _meta={"traceparent": LATER})
    assert [it["traceparent"] for it in heard(server)] == [PARENT, LATER, LATER]


async def test_whoever_uses_the_library_says_where_a_trace_stands_and_calls_carry_it() -> None:
    server, who = CodedServer({}, tool("echo")), Requester(trace=KEPT)
    async with coded({"s": server}) as (_, gateway):
        crib = gateway.crib
        await crib.catalogs().reach()
        await crib.call(("s", "echo"), {}, requester=who)
        await crib.run("from s import echo\nawait echo()", requester=who)
        await crib.call(("s", "echo"), {})
    assert heard(server) == [KEPT, KEPT, None]
