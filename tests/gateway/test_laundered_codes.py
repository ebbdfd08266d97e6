"""Every error code that a server may send, on every method, to hosts of both eras.

A code speaks about one hop: none of a server's may leave that would speak about ours (MCP
2026-07-28, basic: error codes).
"""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import pytest

from toolcrib.adapters.connector import McpConnector
from toolcrib.adapters.system_clock import SystemClock
from toolcrib.core.snapshot import Kind
from toolcrib.errors import ToolcribError, UpstreamRefused
from toolcrib.settings import HttpLaunch, Limits, Secret, ServerSettings
from toolcrib.testing.asgi_host import AsgiHost
from toolcrib.testing.gateway_rig import GatewayRig
from toolcrib.testing.raw_http import RawExchange, serve_raw_http
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_gateway import ScriptedGateway, scripted_gateway
from toolcrib.wire.faults import RpcFault, fault_of

RESERVED = range(-32768, -31999)
STANDARD = [-32700, *range(-32603, -32599)]
OURS = {-32602, -32603}
"""What a server's refusal may become where it has to be a JSON-RPC error."""
CODES = [
    *STANDARD,
    *range(-32099, -31999),
    *(-32768, -32100, -31999, -31000, -1, 0, 1, 42, 404, 2**31 - 1, -(2**31), 2**31, 2**70),
]
ODD: list[Any] = [1.5, -32022.0, "-32022", "EBADCODE", True, False, None, -(2**70), 1e300]
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
NEEDED: dict[str, Any] = {"elicitation": {"form": {}}}
DATA: dict[str, Any] = {
    "supported": ["1999-01-01"],
    "requiredCapabilities": {"tasks": {}},
    "secret": "4711",
}

METHODS: dict[str, dict[str, Any]] = {
    "tools/call": {"name": "alpha__one", "arguments": {}},
    "prompts/get": {"name": "alpha__ask"},
    "resources/read": {"uri": "x://1"},
    "completion/complete": {
        "ref": {"type": "ref/prompt", "name": "alpha__ask"},
        "argument": {"name": "a", "value": ""},
    },
}
ERAS = ["modern", "handshake"]


def served() -> GatewayRig:
    rig = GatewayRig()
    rig.access.put("alpha", Kind.TOOLS, [tool("one")])
    rig.access.put("alpha", Kind.PROMPTS, [{"name": "ask"}])
    rig.access.put("alpha", Kind.RESOURCES, [{"uri": "x://1", "name": "x"}])
    return rig


Asking = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]


@asynccontextmanager
async def asking(rig: GatewayRig, method: str, era: str) -> AsyncGenerator[Asking]:
    """Sends one request of a host of that era, again and again; the whole response."""
    async with rig.asgi() as host:
        session = await host.initialize() if era == "handshake" else ""

        async def ask(params: Mapping[str, Any]) -> dict[str, Any]:
            return await response(host, method, params, session)

        yield ask


async def response(
    host: AsgiHost, method: str, params: Mapping[str, Any], session: str
) -> dict[str, Any]:
    if session:
        request = host.handshake(method, params, session=session)
    else:
        request = host.modern(method, params)
    return (await host.ask(**request)).message


def check(answered: Mapping[str, Any], code: object, method: str) -> None:
    told = json.dumps(answered)
    assert "1999-01-01" not in told
    assert "4711" not in told
    if method == "tools/call":
        assert answered["result"]["isError"] is True
        return
    left = answered["error"]["code"]
    assert type(left) is int
    assert left in OURS or (left == code and left not in RESERVED)


@pytest.mark.duty(36)
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("method", METHODS)
async def test_no_code_of_a_server_leaves_that_speaks_of_our_hop(method: str, era: str) -> None:
    rig = served()
    with anyio.fail_after(60):
        async with asking(rig, method, era) as ask:
            for code in [*CODES, *ODD]:
                rig.answer(UpstreamRefused("the text", rpc_code=cast("int", code), data=DATA))
                check(await ask(METHODS[method]), code, method)


@pytest.mark.duty(36)
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("method", ["tools/call", "prompts/get", "resources/read"])
async def test_a_missing_capability_is_told_only_of_a_host_that_lacks_it(
    method: str, era: str
) -> None:
    rig = served()
    needed: dict[str, Any] = {"requiredCapabilities": NEEDED}
    rig.answer(UpstreamRefused("ask first", rpc_code=-32021, data=needed))
    with anyio.fail_after(10):
        async with asking(rig, method, era) as ask:
            lacks = await ask(METHODS[method])
            if era == "modern":
                assert lacks["error"]["code"] == -32021
                assert lacks["error"]["data"] == needed
                able = {**METHODS[method], "_meta": {CAPABILITIES: NEEDED}}
                check(await ask(able), -32021, method)
            elif method == "tools/call":
                assert lacks["result"]["isError"] is True
            else:
                assert lacks["error"]["code"] == -32603


@pytest.mark.parametrize("method", ["tools/call", "prompts/get", "resources/read"])
@pytest.mark.parametrize(
    "required",
    [None, {}, [], "elicitation", {"tasks": {}}, {"experimental": {"x": {}}}, {"elicitation": 1}],
    ids=str,
)
async def test_a_capability_that_nobody_could_declare_is_never_told_as_missing(
    method: str, required: object
) -> None:
    rig = served()
    data = {"requiredCapabilities": required}
    rig.answer(UpstreamRefused("ask first", rpc_code=-32021, data=data))
    async with asking(rig, method, "modern") as ask:
        check(await ask(METHODS[method]), -32021, method)


# ---------------------------------------------------------------- the same over a real wire


class Refuser:
    """A modern server over HTTP that lists one of each, and refuses with any code at all."""

    def __init__(self) -> None:
        self.code: Any = 0
        self.refused = 0

    async def __call__(self, request: RawExchange) -> None:
        if request.method != "POST":
            await request.reply(405)
            return
        message = request.message
        if "id" not in message:
            await request.reply(202)
            return
        hints = {"resultType": "complete", "ttlMs": 60_000, "cacheScope": "private"}
        declared: dict[str, Any] = {
            name: {} for name in ("tools", "prompts", "resources", "completions")
        }
        results: dict[str, dict[str, Any]] = {
            "server/discover": {
                "supportedVersions": ["2026-07-28"],
                "capabilities": declared,
                "serverInfo": {"name": "refuser", "version": "1"},
            },
            "tools/list": {"tools": [tool("one")]},
            "prompts/list": {"prompts": [{"name": "ask"}]},
            "resources/list": {"resources": [{"uri": "x://1", "name": "x"}]},
            "resources/templates/list": {"resourceTemplates": []},
        }
        method = message["method"]
        if method in results:
            await request.answer(result={**hints, **results[method]})
        elif method in METHODS:
            self.refused += 1
            await request.answer(error={"code": self.code, "message": "the text", "data": DATA})
        else:
            await request.answer(error={"code": -32601, "message": "no"}, status=404)


@asynccontextmanager
async def refusing() -> AsyncGenerator[tuple[Refuser, ScriptedGateway]]:
    refuser = Refuser()
    connector = McpConnector(limits=Limits(), observer=Recorder(), clock=SystemClock())
    async with serve_raw_http(refuser) as server:
        launch = HttpLaunch(Secret(server.url))
        async with scripted_gateway(
            {"alpha": cast("ScriptedUpstream", connector)},
            settings={"alpha": ServerSettings("alpha", launch)},
        ) as gateway:
            yield refuser, gateway


@pytest.mark.duty(36)
@pytest.mark.parametrize("method", METHODS)
async def test_so_it_is_over_the_wire_whatever_a_code_is_made_of(method: str) -> None:
    codes: list[Any] = [
        *STANDARD,
        -32000,
        -32002,
        -32020,
        -32021,
        -32022,
        -32042,
        -32055,
        7,
        2**40,
        *ODD,
        [],
        {},
    ]
    with anyio.fail_after(30):
        for code in codes:
            # One gateway for each: a code of its own revision may end the connection.
            async with refusing() as (refuser, gateway):
                refuser.code = code
                check(await answered(gateway, method), code, method)
                assert refuser.refused > 0


async def answered(gateway: ScriptedGateway, method: str) -> dict[str, Any]:
    """What a host is told, whatever came of its request."""
    try:
        return {"result": await gateway.ask(method, METHODS[method])}
    except (RpcFault, ToolcribError) as error:
        return {"error": fault_of(error).as_error()}
