"""The endpoint itself: what is no request of ours, and which era a request belongs to."""

import json

import anyio
import pytest

from toolcrib.core.partition import ANONYMOUS
from toolcrib.testing.asgi_host import BASE, AsgiHost
from toolcrib.testing.fake_service import FakeService
from toolcrib.wire.http.entry import McpEndpoint
from toolcrib.wire.http.guard import Guard, HttpLimits
from toolcrib.wire.http.guarded import Guarded
from toolcrib.wire.kernel import Kernel


def endpoint(limits: HttpLimits | None = None) -> tuple[AsgiHost, FakeService]:
    service = FakeService()
    app = McpEndpoint(Kernel(service), limits or HttpLimits(), lambda _scope: ANONYMOUS)
    return AsgiHost(app), service


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "HEAD"])
async def test_other_methods_are_not_allowed(method: str) -> None:
    host, _ = endpoint()
    answered = await host.ask(method)
    assert answered.status == 405
    assert answered.headers["allow"] == "GET, POST, DELETE"


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
async def test_a_modern_host_may_only_post(method: str) -> None:
    host, _ = endpoint()
    headers = {**BASE, "mcp-protocol-version": "2026-07-28", "mcp-session-id": "x"}
    answered = await host.ask(method, headers=headers)
    assert (answered.status, answered.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("kind", ["", "text/plain", "application/jsonp", "multipart/form-data"])
async def test_only_json_is_taken(kind: str) -> None:
    host, service = endpoint()
    request = host.modern("tools/list", content_type=kind)
    assert (await host.ask(**request)).status == 415
    assert service.asked == []


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "Application/JSON"])
async def test_json_may_be_said_in_several_ways(kind: str) -> None:
    host, _ = endpoint()
    assert (await host.ask(**host.modern("tools/list", content_type=kind))).status == 200


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        ("", 406),
        ("application/json", 406),
        ("text/event-stream", 406),
        ("text/html, image/png", 406),
        ("*/*", 200),
        ("application/*, text/*;q=0.5", 200),
        ("text/event-stream;q=0.1 , application/json", 200),
    ],
)
async def test_both_forms_of_answer_have_to_be_acceptable(accept: str, status: int) -> None:
    host, _ = endpoint()
    assert (await host.ask(**host.modern("tools/list", accept=accept))).status == status


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"[" * 50_000, -32700),
        (b"[]", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]', -32600),
        (b'"text"', -32600),
        (b"{}", -32600),
        (b'{"jsonrpc":"2.0","id":1}', -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"m"}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"m"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"m"}', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"m"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":3}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":[]}', -32600),
        (b'{"jsonrpc":"2.0","method":3}', -32600),
    ],
)
@pytest.mark.parametrize("version", ["2026-07-28", ""], ids=["modern", "no version"])
async def test_a_body_that_is_no_message_is_refused(body: bytes, code: int, version: str) -> None:
    host, service = endpoint()
    answered = await host.ask(headers={**BASE, "mcp-protocol-version": version}, body=body)
    assert (answered.status, answered.message["error"]["code"]) == (400, code)
    assert answered.message["id"] is None
    assert service.asked == []


async def test_null_parameters_are_none() -> None:
    host, _ = endpoint()
    headers = {**BASE, "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list"}
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}'
    answered = await host.ask(headers=headers, body=body)
    assert answered.message["error"]["code"] == -32602


@pytest.mark.parametrize("declared", [True, False], ids=["declared", "not declared"])
async def test_a_body_over_the_limit_is_turned_away(*, declared: bool) -> None:
    host, service = endpoint(HttpLimits(body_bytes=1_000))
    request = host.modern("tools/call", {"name": "t", "arguments": {"a": "x" * 2_000}})
    body: bytes = request["body"]
    length = str(len(body)) if declared else ""
    headers = {**request["headers"], "content-length": length}
    answered = await host.ask(headers=headers, body=[body, b""])
    assert answered.status == 413
    assert b"1000 bytes" in answered.body
    assert answered.headers["connection"] == "close"
    assert service.asked == []


async def test_a_body_may_arrive_in_pieces() -> None:
    host, service = endpoint()
    request = host.modern("tools/call", {"name": "t"})
    body: bytes = request["body"]
    pieces = [body[i : i + 7] for i in range(0, len(body), 7)]
    assert (await host.ask(headers=request["headers"], body=pieces)).status == 200
    assert len(service.asked) == 1


@pytest.mark.virtual_time
async def test_a_body_that_never_arrives_is_not_waited_for() -> None:
    host, _ = endpoint()
    headers = {**BASE, "mcp-protocol-version": "2026-07-28"}
    with anyio.fail_after(60):
        assert (await host.ask(headers=headers, body=[])).status == 408


async def test_a_host_that_hangs_up_before_its_request_is_complete_gets_nothing() -> None:
    host, service = endpoint()
    async with host.exchange(headers=BASE, body=[]) as exchange:
        exchange.hang_up()
        with anyio.fail_after(5):
            await exchange.ended.wait()
    assert exchange.status == 0
    assert service.asked == []


async def test_the_envelope_makes_a_request_modern_whatever_its_header_says() -> None:
    host, _ = endpoint()
    for version in ("", "2025-11-25"):
        request = host.modern("tools/list", mcp_protocol_version=version)
        answered = await host.ask(**request)
        assert answered.message["error"]["code"] == -32020


async def test_initialize_opens_a_session_even_with_an_envelope() -> None:
    host, _ = endpoint()
    request = host.modern("tools/list", mcp_protocol_version="")
    message = json.loads(request["body"])
    client = {"name": "h", "version": "1"}
    message["method"] = "initialize"
    message["params"] |= {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    answered = await host.ask(headers=BASE, body=json.dumps(message).encode())
    assert answered.message["result"]["protocolVersion"] == "2025-06-18"


async def test_no_request_passes_the_guard_whatever_its_path() -> None:
    passed: list[str] = []

    async def app(scope: object, _receive: object, _send: object) -> None:
        passed.append(str(scope))

    host = AsgiHost(Guarded(app, Guard.of((), ())))
    evil = {**BASE, "origin": "http://evil.example"}
    for path in ("/mcp", "/metrics", "/"):
        answered = await host.ask("GET", path, headers=evil)
        assert answered.status == 403
        assert b"allowed_origins" in answered.body
    assert (await host.ask("GET", headers={**BASE, "host": "evil.example"})).status == 421
    assert passed == []
    await host.ask("GET", headers=BASE)
    assert len(passed) == 1
