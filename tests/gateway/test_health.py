"""The pages beside the endpoint."""

import json

import anyio
import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.errors import ConfigError, ToolcribBug
from toolcrib.gateway.health import Readiness
from toolcrib.gateway.server import Gateway, Particulars
from toolcrib.settings import GatewaySettings, Limits
from toolcrib.testing.asgi_host import BASE, AsgiHost
from toolcrib.testing.fake_access import FakeAccess
from toolcrib.testing.fake_service import host_request
from toolcrib.testing.gateway_rig import GatewayRig
from toolcrib.testing.virtual_clock import LoopClock

TOOLS = Kind.TOOLS
EVIL = {**BASE, "origin": "http://evil.example"}


def rig(*eager: str, seconds: float = 3.0) -> GatewayRig:
    made = GatewayRig(
        limits=Limits(start_seconds=seconds), particulars=Particulars(eager=lambda: eager)
    )
    for server in ("a", "b"):
        made.access.put(server, TOOLS, [])
    return made


async def get(host: AsgiHost, path: str) -> tuple[int, dict[str, object]]:
    answered = await host.ask("GET", path)
    return answered.status, json.loads(answered.body)


async def test_alive_as_long_as_anything_is_answered() -> None:
    async with rig().asgi() as host:
        assert await get(host, "/healthz") == (200, {"alive": True})


@pytest.mark.virtual_time
async def test_ready_once_every_eager_server_is() -> None:
    made = rig("a")
    made.access.states = {"a": "connecting", "b": "idle"}
    async with made.asgi() as host:
        status, body = await get(host, "/readyz")
        assert status == 503
        assert body == {
            "ready": False,
            "servers": [{"id": "a", "state": "connecting"}, {"id": "b", "state": "idle"}],
        }
        made.access.states["a"] = "ready"
        assert (await get(host, "/readyz"))[0] == 200


@pytest.mark.virtual_time
@pytest.mark.parametrize("state", ["connecting", "backoff", "slow_probe", "idle"])
async def test_ready_when_the_start_budget_is_over_whatever_the_servers_do(state: str) -> None:
    made = rig("a", "b", seconds=3.0)
    made.access.states = {"a": state, "b": state}
    async with made.asgi() as host:
        await anyio.sleep(2.9)
        assert (await get(host, "/readyz"))[0] == 503
        await anyio.sleep(0.2)
        assert (await get(host, "/readyz"))[0] == 200


async def test_nobody_waits_for_a_server_that_is_not_configured_any_more() -> None:
    async with rig("a", "removed").asgi() as host:
        assert (await get(host, "/readyz"))[0] == 200


async def test_no_failure_is_quoted_to_whoever_asks() -> None:
    made = rig("a")
    made.access.fail("a", TOOLS, "password hunter2 was refused")
    async with made.asgi() as host:
        answered = await host.ask("GET", "/readyz")
    assert b"hunter2" not in answered.body


async def test_metrics_are_shown_as_they_are_counted() -> None:
    counts = iter([b"toolcrib_walks_total 1\n", b"toolcrib_walks_total 2\n"])
    made = GatewayRig(particulars=Particulars(metrics=lambda: next(counts)))
    async with made.asgi() as host:
        first, second = [await host.ask("GET", "/metrics") for _ in range(2)]
    assert first.body == b"toolcrib_walks_total 1\n"
    assert second.body == b"toolcrib_walks_total 2\n"
    assert first.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"


async def test_without_a_metrics_source_there_is_no_such_page() -> None:
    async with GatewayRig().asgi() as host:
        assert (await host.ask("GET", "/metrics")).status == 404


@pytest.mark.parametrize("path", ["/mcp", "/healthz", "/readyz", "/metrics", "/nothing"])
async def test_no_page_is_served_to_a_stranger(path: str) -> None:
    async with GatewayRig(particulars=Particulars(metrics=lambda: b"x")).asgi() as host:
        assert (await host.ask("GET", path, headers=EVIL)).status == 403


async def test_configured_hosts_and_origins_are_let_in() -> None:
    settings = GatewaySettings(
        allowed_hosts=("crib.example",), allowed_origins=("https://app.example",)
    )
    headers = {**BASE, "host": "crib.example", "origin": "https://app.example"}
    async with GatewayRig(settings).asgi() as host:
        assert (await host.ask("GET", "/healthz", headers=headers)).status == 200


@pytest.mark.parametrize(
    ("settings", "limits", "named"),
    [
        (GatewaySettings(allowed_hosts=("http://x",)), Limits(), "allowed_hosts"),
        (GatewaySettings(allowed_origins=("x",)), Limits(), "allowed_origins"),
        (GatewaySettings(), Limits(name_length=10), "name_length"),
    ],
)
def test_a_configuration_that_cannot_be_meant_is_named(
    settings: GatewaySettings, limits: Limits, named: str
) -> None:
    with pytest.raises(ConfigError, match=named):
        GatewayRig(settings, limits).gateway.asgi_app()


async def test_a_body_is_limited_by_the_largest_arguments() -> None:
    made = GatewayRig(limits=Limits(argument_bytes=1_000))
    async with made.asgi() as host:
        large = host.modern("tools/call", {"name": "t", "arguments": {"a": "x" * 5_000}})
        assert (await host.ask(**large)).status == 413


async def test_a_gateway_that_does_not_run_says_so() -> None:
    with pytest.raises(ToolcribBug):
        await GatewayRig().gateway.answer(host_request("tools/list"))


async def test_nobody_is_sent_here_before_we_run() -> None:
    readiness = Readiness(FakeAccess(), tuple, 0.0)
    assert not readiness.is_ready()
    readiness.begin()
    assert readiness.is_ready()


async def test_http_without_an_address_is_a_configuration_error() -> None:
    rig = GatewayRig()
    gateway = Gateway(
        lambda _principal: rig.access,
        lambda _principal: rig.calls,
        GatewaySettings(),
        Limits(),
        rig.recorder,
        LoopClock(),
    )
    with pytest.raises(ConfigError, match="HTTP address"):
        await gateway.serve_http()
