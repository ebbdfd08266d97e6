"""Updates of single resources, from the servers that have them to the hosts that follow them."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from toolcrib.catalog.resource_news import ResourceNews
from toolcrib.core.snapshot import Kind
from toolcrib.errors import UpstreamRefused, UpstreamUnreachable
from toolcrib.gateway.resource_updates import ResourceUpdates
from toolcrib.gateway.target import Target
from toolcrib.gateway.uris import qualified
from toolcrib.ports import Era
from toolcrib.testing.fake_access import FakeAccess, Request
from toolcrib.wire.audience import Audience, Subscriber
from toolcrib.wire.faults import RpcFault, invalid_params

pytestmark = pytest.mark.virtual_time

ERAS = pytest.mark.parametrize("era", ["handshake", "modern"])
OWN = qualified("s", "a:1")
OTHERS = qualified("t", "a:1")


class Rig:
    """One server `s`, which watches what begins with `a:`, and one host."""

    def __init__(self, era: Era) -> None:
        self.access = FakeAccess()
        self.access.put("s", Kind.RESOURCES, [])
        self.access.eras["s"] = era
        self.access.capabilities["s"] = {"resources": {"subscribe": True}}
        self.access.answer = self.answer
        self.audience = Audience()
        self.updates = ResourceUpdates(self.access, self.find, self.audience)
        self.host: Subscriber = self.audience.join(())
        self.trouble: Exception | None = None
        self.silent = False
        self.ending = anyio.Event()
        self.open = 0

    async def find(self, uri: str) -> Target:
        if uri == OWN:
            return Target("s", "a:1")
        if uri == OTHERS:
            return Target("t", "a:1")
        if uri.startswith("x:"):
            raise invalid_params("Resource not found")
        return Target("s", uri)

    async def answer(self, request: Request) -> dict[str, Any]:
        if self.trouble is not None:
            raise self.trouble
        if request.method != "subscriptions/listen":
            return {}
        asked = request.params["notifications"]["resourceSubscriptions"]
        if not self.silent:
            self.tell("acknowledged", *(uri for uri in asked if uri.startswith("a:")))
        self.open += 1
        try:
            await self.ending.wait()
        finally:
            self.open -= 1
        return {}

    def tell(self, what: Any, *uris: str) -> None:
        self.access.resources.tell(ResourceNews("s", what, uris))

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        with anyio.fail_after(1_000):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self.updates.run)
                yield
                tasks.cancel_scope.cancel()

    async def subscribe(self, uri: str, host: Subscriber | None = None) -> None:
        """As the wire does it."""
        host = host or self.host
        host.follow(uri)
        try:
            await self.updates.subscribe(uri)
        except BaseException:
            host.unfollow(uri)
            raise

    def asked(self) -> list[tuple[str, Any]]:
        told = [(r.method, r.params) for r in self.access.requests]
        self.access.requests.clear()
        return [
            (m, p["uri"] if "uri" in p else p["notifications"]["resourceSubscriptions"])
            for m, p in told
        ]

    async def heard(self, host: Subscriber | None = None) -> list[str]:
        """What is due to the host."""
        found: list[str] = []
        with anyio.move_on_after(0.001):
            while (due := await (host or self.host).next()) is not None:
                found.append(due.params["uri"])
        return found


@pytest.fixture
def rig(era: Era) -> Rig:
    return Rig(era)


@ERAS
async def test_an_update_reaches_whoever_follows_the_resource(rig: Rig) -> None:
    other = rig.audience.join(())
    async with rig.running():
        await rig.subscribe("a:1")
        await rig.subscribe("a:2", other)
        rig.tell("updated", "a:1")
        rig.tell("updated", "a:9")
        assert await rig.heard() == ["a:1"]
        assert await rig.heard(other) == []


@ERAS
async def test_the_host_hears_the_uri_that_it_named(rig: Rig) -> None:
    async with rig.running():
        await rig.subscribe(OWN)
        rig.tell("updated", "a:1")
        rig.tell("updated", "a:1/part")
        assert await rig.heard() == [OWN, qualified("s", "a:1/part")]


@ERAS
async def test_a_part_is_told_to_who_follows_the_whole_and_a_neighbour_is_not(rig: Rig) -> None:
    async with rig.running():
        await rig.subscribe("a:dir")
        for uri in ("a:dir/one", "a:dir2", "a:di", "a:dir#two"):
            rig.tell("updated", uri)
        assert await rig.heard() == ["a:dir/one", "a:dir#two"]


@ERAS
async def test_of_two_servers_with_one_uri_each_speaks_of_its_own(rig: Rig) -> None:
    rig.access.put("t", Kind.RESOURCES, [])
    rig.access.eras["t"] = "handshake"
    rig.access.capabilities["t"] = {"resources": {"subscribe": True}}
    async with rig.running():
        await rig.subscribe("a:1")
        await rig.subscribe(OTHERS)
        rig.access.resources.tell(ResourceNews("t", "updated", ("a:1",)))
        assert await rig.heard() == [OTHERS]
        rig.tell("updated", "a:1")
        assert await rig.heard() == ["a:1"]


async def test_a_handshake_server_is_asked_once_per_resource_and_told_when_nobody_is_left() -> None:
    rig = Rig("handshake")
    other = rig.audience.join(())
    async with rig.running():
        await rig.subscribe("a:1")
        await rig.subscribe("a:1", other)
        assert rig.asked() == [("resources/subscribe", "a:1")]
        rig.host.unfollow("a:1")
        await anyio.sleep(1)
        assert rig.asked() == []
        other.leave()
        await anyio.sleep(1)
        assert rig.asked() == [("resources/unsubscribe", "a:1")]
        rig.tell("updated", "a:1")
        assert await rig.heard() == []


async def test_a_modern_server_has_one_stream_for_all_and_the_new_one_comes_first() -> None:
    rig = Rig("modern")
    async with rig.running():
        await rig.subscribe("a:1")
        await rig.subscribe("a:2")
        await anyio.sleep(1)
        assert rig.asked() == [
            ("subscriptions/listen", ["a:1"]),
            ("subscriptions/listen", ["a:1", "a:2"]),
        ]
        assert rig.open == 1
        rig.host.leave()
        await anyio.sleep(1)
        assert rig.open == 0
        assert rig.asked() == []


async def test_what_a_modern_server_does_not_acknowledge_is_refused_and_the_rest_stays() -> None:
    rig = Rig("modern")
    async with rig.running():
        await rig.subscribe("a:1")
        with pytest.raises(RpcFault) as raised:
            await rig.subscribe("b:1")
        assert raised.value.code == -32602
        await anyio.sleep(1)
        rig.tell("updated", "a:1")
        assert await rig.heard() == ["a:1"]
        assert rig.open == 1


async def test_a_modern_server_that_acknowledges_nothing_in_time_is_refused() -> None:
    rig = Rig("modern")
    rig.silent = True
    async with rig.running():
        with pytest.raises(RpcFault):
            await rig.subscribe("a:1")
        await anyio.sleep(1)
        assert rig.open == 0


@ERAS
async def test_a_new_connection_is_asked_again_and_what_may_have_been_missed_is_told(
    rig: Rig,
) -> None:
    async with rig.running():
        await rig.subscribe("a:1")
        before = rig.asked()
        rig.tell("connected")
        await anyio.sleep(1)
        assert rig.asked() == before
        assert await rig.heard() == ["a:1"]


async def test_a_stream_that_ends_is_opened_again_after_a_pause_that_grows() -> None:
    rig = Rig("modern")
    async with rig.running():
        await rig.subscribe("a:1")
        rig.asked()
        for pause in (1.0, 2.0, 4.0):
            ending, rig.ending = rig.ending, anyio.Event()
            ending.set()
            await anyio.sleep(pause - 0.1)
            assert rig.asked() == []
            await anyio.sleep(0.2)
            assert len(rig.asked()) == 1
        rig.tell("updated", "a:1")
        assert await rig.heard() == ["a:1"]


@ERAS
async def test_a_refusal_of_the_server_is_told_with_its_name(rig: Rig) -> None:
    rig.trouble = UpstreamRefused("no such thing", rpc_code=-32002, server="s")
    async with rig.running():
        with pytest.raises(RpcFault, match="no such thing") as raised:
            await rig.subscribe("a:1")
        assert raised.value.code == -32602
        assert raised.value.data == {"uri": "a:1", "server": "s"}
        assert not rig.audience.follows()


@ERAS
async def test_a_server_that_is_away_is_an_error_and_a_later_try_succeeds(rig: Rig) -> None:
    rig.trouble = UpstreamUnreachable("away", server="s")
    async with rig.running():
        with pytest.raises(UpstreamUnreachable):
            await rig.subscribe("a:1")
        rig.trouble = None
        await rig.subscribe("a:1")
        rig.tell("updated", "a:1")
        assert await rig.heard() == ["a:1"]


@ERAS
async def test_what_could_not_be_renewed_after_a_break_is_tried_again(rig: Rig) -> None:
    async with rig.running():
        await rig.subscribe("a:1")
        rig.trouble = UpstreamUnreachable("away", server="s")
        rig.tell("connected")
        await anyio.sleep(0.5)
        rig.trouble = None
        rig.asked()
        await anyio.sleep(10)
        assert len(rig.asked()) == 1


@ERAS
async def test_a_server_that_watches_nothing_is_not_asked(rig: Rig) -> None:
    rig.access.capabilities["s"] = {"resources": {"listChanged": True}}
    async with rig.running():
        with pytest.raises(RpcFault) as raised:
            await rig.subscribe("a:1")
        assert raised.value.code == -32602
        assert rig.asked() == []


@ERAS
async def test_a_resource_that_nobody_has_is_refused(rig: Rig) -> None:
    async with rig.running():
        with pytest.raises(RpcFault, match="Resource not found"):
            await rig.subscribe("x:1")
        assert rig.asked() == []


@ERAS
async def test_a_server_that_was_taken_away_is_asked_nothing_and_breaks_nothing(rig: Rig) -> None:
    async with rig.running():
        await rig.subscribe("a:1")
        rig.access.remove("s")
        rig.host.leave()
        await anyio.sleep(1)
        rig.access.put("s", Kind.RESOURCES, [])
        await rig.subscribe("a:2", rig.audience.join(()))


@ERAS
async def test_who_has_left_hears_nothing(rig: Rig) -> None:
    async with rig.running():
        await rig.subscribe("a:1")
        rig.updates.leave()
        rig.updates.leave()
        rig.tell("updated", "a:1")
        assert await rig.heard() == []
