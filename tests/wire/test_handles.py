"""What tells one host from others of its principal."""

import anyio
import pytest

from toolcrib.core.partition import ANONYMOUS, LOCAL
from toolcrib.testing.asgi_host import BASE, AsgiHost
from toolcrib.testing.fake_service import FakeService
from toolcrib.testing.stream_host import enveloped, stream_host
from toolcrib.wire.http.entry import McpEndpoint
from toolcrib.wire.http.guard import HttpLimits
from toolcrib.wire.kernel import Kernel

CALL = {"name": "t"}
KEY = "dev.toolcrib/handle"
GOOD = ["a" * 16, "Az09._~-Az09._~-", "x" * 128]
BAD = [
    "a" * 15,
    "x" * 129,
    "a" * 16 + ":",
    "a" * 16 + "\n",
    "ä" * 16,
    " " * 16,
    3,
    None,
    ["a" * 16],
]


@pytest.fixture
def service() -> FakeService:
    return FakeService()


def http(service: FakeService, limits: HttpLimits | None = None) -> AsgiHost:
    endpoint = McpEndpoint(Kernel(service), limits or HttpLimits(), lambda _scope: ANONYMOUS)
    return AsgiHost(endpoint)


async def on_streams(service: FakeService, handle: object = None, *, modern: bool = True) -> str:
    call = {**CALL, "_meta": {KEY: handle}} if handle is not None else CALL
    with anyio.fail_after(5):
        async with stream_host(Kernel(service)) as host:
            if not modern:
                await host.initialize()
            for number in (1, 2):
                await host.ask(number, "tools/call", enveloped(call) if modern else call)
    first, second = (request.handle for request in service.asked[-2:])
    assert first == second
    return first


@pytest.mark.parametrize("modern", [True, False], ids=["modern", "handshake"])
async def test_each_connection_has_a_handle_of_its_own(
    service: FakeService, *, modern: bool
) -> None:
    handles = {await on_streams(service, modern=modern) for _ in range(5)}
    assert len(handles) == 5
    assert all(handle.startswith("connection:") and len(handle) > 30 for handle in handles)


@pytest.mark.parametrize("handle", GOOD)
async def test_a_modern_host_may_name_itself(service: FakeService, handle: str) -> None:
    assert await on_streams(service, handle) == handle
    host = http(service)
    await host.ask(**host.modern("tools/call", {**CALL, "_meta": {KEY: handle}}))
    assert service.asked[-1].handle == handle


@pytest.mark.parametrize("handle", BAD, ids=repr)
async def test_a_name_that_will_not_do_is_as_good_as_none(
    service: FakeService, handle: object
) -> None:
    assert (await on_streams(service, handle)).startswith("connection:")
    host = http(service)
    answered = await host.ask(**host.modern("tools/call", {**CALL, "_meta": {KEY: handle}}))
    assert answered.status == 200
    assert service.asked[-1].handle == ""


async def test_a_session_is_told_from_others_without_its_id_being_told(
    service: FakeService,
) -> None:
    host = http(service)
    sessions = [await host.initialize() for _ in range(3)]
    for session in sessions * 2:
        await host.ask(**host.handshake("tools/call", CALL, session=session))
    handles = [request.handle for request in service.asked]
    assert handles[:3] == handles[3:]
    assert len(set(handles)) == 3
    assert not any(session in handle for session in sessions for handle in handles)


async def test_a_handshake_host_cannot_take_the_name_of_another(service: FakeService) -> None:
    host = http(service)
    session = await host.initialize()
    call = {**CALL, "_meta": {KEY: GOOD[0]}}
    await host.ask(**host.handshake("tools/call", call, session=session))
    assert service.asked[-1].handle.startswith("session:")
    assert (await on_streams(service, GOOD[0], modern=False)).startswith("connection:")


@pytest.mark.parametrize("modern", [True, False], ids=["modern", "handshake"])
async def test_the_end_of_a_connection_is_told_under_its_own_handle(
    service: FakeService, *, modern: bool
) -> None:
    first = await on_streams(service, modern=modern)
    assert service.gone == [(LOCAL, first)]
    second = await on_streams(service, GOOD[0])
    assert [handle for _, handle in service.gone if handle == second] == []
    assert len(service.gone) == 2


async def test_the_end_of_a_session_is_told_once_however_it_ends(service: FakeService) -> None:
    host = http(service, HttpLimits(sessions=2))
    sessions = [await host.initialize() for _ in range(2)]
    for session in sessions:
        await host.ask(**host.handshake("tools/call", CALL, session=session))
    first, second = (request.handle for request in service.asked)
    assert service.gone == []
    for _ in range(2):
        await host.ask("DELETE", headers={**BASE, "mcp-session-id": sessions[0]})
    assert service.gone == [(ANONYMOUS, first)]
    for _ in range(2):
        await host.initialize()
    assert service.gone == [(ANONYMOUS, first), (ANONYMOUS, second)]
