"""What a hostile host may send is answered with an error, and the next request with a result."""

import json
from typing import Any

import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.testing.asgi_host import BASE
from toolcrib.testing.gateway_rig import GatewayRig
from toolcrib.testing.scripted import tool


@pytest.fixture
def rig() -> GatewayRig:
    rig = GatewayRig()
    rig.access.put("alpha", Kind.TOOLS, [tool("one")])
    return rig


BODIES: list[tuple[str, bytes]] = [
    ("empty", b""),
    ("null", b"null"),
    ("batch", b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]'),
    ("deep", b"[" * 100_000),
    ("closed-deep", b"[" * 5_000 + b"]" * 5_000),
    ("utf-16", '{"jsonrpc":"2.0"}'.encode("utf-16")),
    ("binary", bytes(range(256))),
    ("no-method", b'{"jsonrpc":"2.0","id":1}'),
    ("list-params", b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}'),
    ("giant-id", b'{"jsonrpc":"2.0","id":' + b"9" * 5_000 + b',"method":"ping"}'),
    *(
        (f"id-{bad}", f'{{"jsonrpc":"2.0","id":{bad},"method":"ping"}}'.encode())
        for bad in ("null", "true", "1.5", "{}", "[]", "NaN", "1e999")
    ),
]


@pytest.mark.parametrize("body", [body for _, body in BODIES], ids=[name for name, _ in BODIES])
async def test_a_body_that_is_no_request_is_refused_and_the_next_one_served(
    rig: GatewayRig, body: bytes
) -> None:
    async with rig.asgi() as host:
        refused = await host.ask(headers=BASE, body=body)
        assert refused.status == 400
        assert refused.message["error"]["code"] in {-32700, -32600}
        served = await host.ask(**host.modern("tools/list", {}))
        assert [it["name"] for it in served.message["result"]["tools"]] == ["alpha__one"]


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "evil.example", "origin": "http://evil.example"},
        {"host": "127.1"},
        {"host": "10.0.0.1"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1@evil.example"},
        {"origin": "http://localhost.evil.example"},
    ],
    ids=str,
)
async def test_a_page_of_a_stranger_reaches_nothing(
    rig: GatewayRig, headers: dict[str, str]
) -> None:
    async with rig.asgi() as host:
        for path in ("/mcp", "/healthz", "/readyz"):
            answered = await host.ask("GET", path, headers={**BASE, **headers})
            assert answered.status in {403, 421}


@pytest.mark.parametrize(
    "name",
    ["../alpha__one", "alpha__one\n", "ALPHA__ONE", "alpha__", "__one", "x" * 20_000],
    ids=lambda name: ascii(name)[:20],
)
async def test_a_name_that_is_nearly_a_tool_is_none(rig: GatewayRig, name: str) -> None:
    error = await rig.error("tools/call", {"name": name})
    assert error["code"] == -32602
    assert len(error["message"]) < 300
    assert "\n" not in error["message"]


@pytest.mark.parametrize("cursor", ["", "x", "\u202e"], ids=ascii)
async def test_a_cursor_that_nobody_gave_is_refused(rig: GatewayRig, cursor: str) -> None:
    assert (await rig.error("tools/list", {"cursor": cursor}))["code"] == -32602


@pytest.mark.parametrize(
    "uri", ["file:///etc/passwd", "toolcrib://server/nobody/x", "toolcrib://server/../x"]
)
async def test_a_uri_that_no_server_has_is_asked_of_nobody(rig: GatewayRig, uri: str) -> None:
    rig.access.put("beta", Kind.RESOURCES, [{"uri": "own://1", "name": "own"}])
    assert (await rig.error("resources/read", {"uri": uri}))["code"] == -32602
    assert not rig.access.requests


async def test_arguments_beyond_the_limit_are_refused_by_its_name(rig: GatewayRig) -> None:
    refusal = await rig.refusal("alpha__one", text="x" * 1_200_000)
    assert refusal["code"] == "limit_exceeded"
    assert "argument_bytes" in refusal["message"]
    assert not rig.access.requests


async def test_deep_arguments_arrive_as_they_are(rig: GatewayRig) -> None:
    deep: Any = 1
    for _ in range(400):
        deep = [deep]
    rig.answer({"content": []})
    await rig.call("alpha__one", deep=deep)
    (request,) = rig.access.requests
    assert json.dumps(request.params["arguments"]["deep"]) == json.dumps(deep)


async def test_a_guessed_session_is_not_open(rig: GatewayRig) -> None:
    async with rig.asgi() as host:
        session = await host.initialize()
        for guess in (f"{session[:-1]}~", session.upper() + "0", "0"):
            headers = {**BASE, "mcp-session-id": guess}
            body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
            assert (await host.ask(headers=headers, body=body)).status == 404
