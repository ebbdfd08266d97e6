"""Under a real server on a loopback port: connections, and an end that tells hosts."""

import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from anyio.abc import TaskStatus
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route

from toolcrib.core.partition import ANONYMOUS
from toolcrib.errors import ConfigError
from toolcrib.testing.asgi_host import AsgiHost
from toolcrib.testing.fake_service import FakeService
from toolcrib.wire.http import head_patience
from toolcrib.wire.http.entry import McpEndpoint
from toolcrib.wire.http.guard import Guard, HttpLimits
from toolcrib.wire.http.guarded import Guarded
from toolcrib.wire.http.serving import bound, serve_app
from toolcrib.wire.jsonwire import Result
from toolcrib.wire.kernel import Kernel
from toolcrib.wire.service import HostRequest

HALF = b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nx-never: "


def application(service: FakeService) -> Starlette:
    endpoint = McpEndpoint(Kernel(service), HttpLimits(), lambda _scope: ANONYMOUS)
    guarded = Middleware(Guarded, guard=Guard.of((), ()))
    return Starlette(routes=[Route("/mcp", endpoint)], middleware=[guarded])


class Served:
    """A server on a loopback port, and a client for it."""

    def __init__(self, url: str, client: httpx2.AsyncClient, stop: anyio.CancelScope) -> None:
        self.url = url
        self.client = client
        self.stop = stop

    def modern(
        self, method: str, params: dict[str, Any] | None = None, **headers: str
    ) -> dict[str, Any]:
        """A POST of a modern request, as arguments of the client."""
        request = AsgiHost(application(FakeService())).modern(method, params, host="", **headers)
        lines = {name: value for name, value in request["headers"].items() if value}
        return {"url": self.url, "headers": lines, "content": request["body"]}


@asynccontextmanager
async def serving(service: FakeService, host: str = "127.0.0.1") -> AsyncGenerator[Served]:
    """A server that ends gracefully when `stop` is cancelled, or with the context."""

    async def run(*, task_status: TaskStatus[int]) -> None:
        end = service.audience(ANONYMOUS).close
        with stop:
            await serve_app(make, host, 0, on_end=end, task_status=task_status)

    def make() -> Starlette:
        return application(service)

    stop = anyio.CancelScope()
    async with anyio.create_task_group() as tasks:
        port = await tasks.start(run)
        name = "[::1]" if ":" in host else "127.0.0.1"
        async with httpx2.AsyncClient(timeout=60) as client:
            yield Served(f"http://{name}:{port}/mcp", client, stop)
        stop.cancel()


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


ALL = "0.0.0.0"  # noqa: S104 - the bind address under test
NEEDS_IPV6 = pytest.mark.skipif(not has_ipv6(), reason="no IPv6 here")
IPV6, ALL_OF_BOTH = (pytest.param(address, marks=NEEDS_IPV6) for address in ("::1", "::"))


@pytest.mark.duty(22)
@pytest.mark.parametrize("address", ["127.0.0.1", ALL, IPV6, ALL_OF_BOTH])
async def test_hosts_are_served_and_strangers_turned_away_on_every_bind_address(
    address: str,
) -> None:
    service = FakeService()
    with anyio.fail_after(10):
        async with serving(service, address) as served:
            good = await served.client.post(**served.modern("tools/list"))
            evil = await served.client.post(
                **served.modern("tools/list", origin="http://evil.example")
            )
            rebound = served.modern("tools/list")
            rebound["headers"]["host"] = "evil.example:80"
            misdirected = await served.client.post(**rebound)
    assert (good.status_code, evil.status_code, misdirected.status_code) == (200, 403, 421)
    assert len(service.asked) == 1


@NEEDS_IPV6
async def test_a_socket_of_both_families_serves_the_older_one_and_its_strangers_get_nothing() -> (
    None
):
    service = FakeService()
    with anyio.fail_after(10):
        async with serving(service, "::") as served:
            port = httpx2.URL(served.url).port
            request = served.modern("tools/list")
            request["url"] = f"http://127.0.0.1:{port}/mcp"
            good = await served.client.post(**request)
            request["headers"]["host"] = "evil.example"
            evil = await served.client.post(**request)
    assert (good.status_code, evil.status_code) == (200, 421)
    assert len(service.asked) == 1


async def test_headers_beyond_the_limit_are_turned_away() -> None:
    with anyio.fail_after(10):
        async with serving(FakeService()) as served:
            large = served.modern("tools/list", x_large="x" * 40_000)
            many = served.modern("tools/list")
            many["headers"] |= {f"x-{number}": "1" for number in range(120)}
            assert (await served.client.post(**large)).status_code == 431
            assert (await served.client.post(**many)).status_code == 431


@pytest.mark.parametrize(
    ("before", "begun"),
    [(b"", b""), (b"", HALF), (b"GET /none HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n", HALF)],
    ids=["nothing", "half a head", "half of the second head"],
)
async def test_a_head_that_never_ends_costs_its_connection(
    before: bytes, begun: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(head_patience, "HEAD_SECONDS", 0.05)
    with anyio.fail_after(5):
        async with serving(FakeService()) as served:
            port = httpx2.URL(served.url).port or 0
            async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                if before:
                    await stream.send(before)
                    await stream.receive()
                await stream.send(begun)
                assert [chunk async for chunk in stream] == []


async def test_a_request_may_take_longer_than_its_head(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head_patience, "HEAD_SECONDS", 0.02)

    async def slow(_request: HostRequest) -> Result:
        await anyio.sleep(0.1)
        return {"content": []}

    service = FakeService()
    service.script = slow
    with anyio.fail_after(5):
        async with serving(service) as served:
            answered = await served.client.post(**served.modern("tools/call", {"name": "t"}))
    assert answered.status_code == 200


@pytest.mark.duty(34)
async def test_closing_the_connection_cancels_the_request() -> None:
    service = FakeService()

    async def wait(_request: HostRequest) -> Result:
        await anyio.sleep_forever()
        return {}

    service.script = wait
    with anyio.fail_after(10):
        async with serving(service) as served, anyio.create_task_group() as tasks:
            call = served.modern("tools/call", {"name": "t"})

            async def ask() -> None:
                await served.client.post(**call)

            tasks.start_soon(ask)
            await service.reached.wait()
            tasks.cancel_scope.cancel()
        assert service.cancelled == ["tools/call"]


@pytest.mark.duty(29)
async def test_an_open_subscription_is_answered_when_the_server_ends() -> None:
    service = FakeService()
    params = {"notifications": {"toolsListChanged": True}}
    with anyio.fail_after(10):
        async with serving(service) as served:
            request = served.modern("subscriptions/listen", params)
            async with served.client.stream("POST", **request) as stream:
                lines = stream.aiter_lines()
                first = [await anext(lines) for _ in range(3)]
                served.stop.cancel()
                rest = [line async for line in lines]
    assert "acknowledged" in first[1]
    assert '"resultType":"complete"' in "".join(rest)


async def test_a_request_in_progress_is_finished_when_the_server_ends() -> None:
    service = FakeService()
    go = anyio.Event()

    async def work(_request: HostRequest) -> Result:
        await go.wait()
        return {"content": [{"type": "text", "text": "done"}]}

    service.script = work
    answers: list[httpx2.Response] = []
    with anyio.fail_after(60):
        async with serving(service) as served, anyio.create_task_group() as tasks:
            call = served.modern("tools/call", {"name": "t"})

            async def ask() -> None:
                answers.append(await served.client.post(**call))

            tasks.start_soon(ask)
            await service.reached.wait()
            served.stop.cancel()
            await anyio.wait_all_tasks_blocked()
            go.set()
    assert "done" in answers[0].text


def test_the_event_loop_is_told_that_it_may_switch_nagle_off() -> None:
    # asyncio does so only for sockets that say they are TCP; answers take 40 ms where it does not
    with bound("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


async def test_an_address_that_is_taken_is_a_configuration_error() -> None:
    def make() -> Starlette:
        pytest.fail("made for an address that is not ours")

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"127.0.0.1:{port}") as raised:
            await serve_app(make, "127.0.0.1", port, on_end=lambda: None)
    assert raised.value.remedy is not None
    assert "--http" not in raised.value.remedy, "the address may come from elsewhere"


async def test_an_application_that_cannot_be_made_leaves_its_address_free() -> None:
    def make() -> Starlette:
        raise ConfigError("no such origin")

    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    with pytest.raises(ConfigError, match="no such origin"):
        await serve_app(make, "127.0.0.1", port, on_end=lambda: None)
    with bound("127.0.0.1", port) as listener:
        assert listener.getsockname()[1] == port
