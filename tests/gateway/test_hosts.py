"""When hosts are told that a listing changed."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import anyio
import pytest

from toolcrib.catalog.access import PublishedChange
from toolcrib.core.snapshot import Kind
from toolcrib.facts import HostNotified
from toolcrib.gateway.hosts import AT_ONCE, COALESCE, Announcer
from toolcrib.gateway.listing import Naming
from toolcrib.gateway.listings import Listings
from toolcrib.settings import NameStyle
from toolcrib.testing.fake_access import FakeAccess
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.scripted import tool
from toolcrib.testing.virtual_clock import LoopClock
from toolcrib.wire.audience import Audience, Due, Topic

TOOLS = Kind.TOOLS
pytestmark = pytest.mark.virtual_time


class Rig:
    def __init__(self, style: NameStyle = "qualified", **servers: list[str]) -> None:
        self.access = FakeAccess()
        for server, names in servers.items():
            self.access.put(server, TOOLS, [tool(name) for name in names])
        self.recorder = Recorder()
        self.audience = Audience()
        self.told: list[Due] = []
        clock = LoopClock()
        self.listings = Listings(self.access, Naming(style, 48), clock, self.recorder)
        self.announcer = Announcer(self.listings, self.audience, clock, self.recorder)

        def published(change: PublishedChange) -> None:
            self.listings.changed(change.kind)
            self.announcer.changed(change.kind)

        self.access.on_published(published)

    async def list_tools(self) -> None:
        listing, _ = await self.listings.answer(TOOLS, modern=True)
        self.announcer.shown(TOOLS, listing.digest)

    @asynccontextmanager
    async def announcing(self) -> AsyncGenerator[Callable[[], int]]:
        """A host that listens; the yielded function counts what it was told since the last look."""
        subscriber = self.audience.join(Topic)

        async def hear() -> None:
            while (topic := await subscriber.next()) is not None:
                self.told.append(topic)

        def heard() -> int:
            count = len(self.told)
            self.told.clear()
            return count

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.announcer.run)
            tasks.start_soon(hear)
            yield heard
            tasks.cancel_scope.cancel()


@pytest.fixture
def rig() -> Rig:
    return Rig(a=["t"])


async def test_a_change_of_content_is_told_once(rig: Rig) -> None:
    async with rig.announcing() as heard:
        await rig.list_tools()
        await anyio.sleep(1)
        assert heard() == 0
        rig.access.put("a", TOOLS, [tool("t"), tool("u")])
        await anyio.sleep(1)
        assert heard() == 1
        assert rig.recorder.of(HostNotified) == [HostNotified("tools")]


async def test_a_host_that_never_listed_is_told_too(rig: Rig) -> None:
    async with rig.announcing() as heard:
        await anyio.sleep(1)
        assert heard() == 0
        rig.access.put("a", TOOLS, [tool("u")])
        await anyio.sleep(1)
        assert heard() == 1


async def test_renewals_of_the_same_content_are_not_told(rig: Rig) -> None:
    async with rig.announcing() as heard:
        await rig.list_tools()
        for ttl in range(10):
            rig.access.put("a", TOOLS, [tool("t")], ttl=ttl)
            await anyio.sleep(1)
        assert heard() == 0


async def test_a_change_that_hosts_cannot_see_is_not_told() -> None:
    rig = Rig("plain", a=["same"], b=["same"])
    async with rig.announcing() as heard:
        await rig.list_tools()
        rig.access.put("b", TOOLS, [{**tool("same"), "description": "changed"}])
        await anyio.sleep(1)
        assert heard() == 0


async def test_a_burst_is_told_once(rig: Rig) -> None:
    async with rig.announcing() as heard:
        await rig.list_tools()
        for turn in range(1_000):
            rig.access.put("a", TOOLS, [tool(f"t{turn}")])
        await anyio.sleep(1)
        assert heard() == 1


async def test_changes_that_follow_each_other_closely_are_told_once(rig: Rig) -> None:
    async with rig.announcing() as heard:
        await rig.list_tools()
        for turn in range(4):
            rig.access.put("a", TOOLS, [tool(f"t{turn}")])
            await anyio.sleep(COALESCE / 5)
        await anyio.sleep(1)
        assert heard() == 1


async def test_a_change_that_was_undone_before_anybody_saw_it_is_not_told(rig: Rig) -> None:
    async with rig.announcing() as heard:
        await rig.list_tools()
        rig.access.put("a", TOOLS, [tool("u")])
        rig.access.put("a", TOOLS, [tool("t")])
        await anyio.sleep(1)
        assert heard() == 0


async def test_a_change_that_was_undone_after_somebody_saw_it_is_told(rig: Rig) -> None:
    async with rig.announcing() as heard:
        await rig.list_tools()
        rig.access.put("a", TOOLS, [tool("u")])
        await rig.list_tools()
        rig.access.put("a", TOOLS, [tool("t")])
        await anyio.sleep(1)
        assert heard() == 1


async def test_a_host_that_was_shown_an_older_listing_late_is_told_again(rig: Rig) -> None:
    async with rig.announcing() as heard:
        old, _ = await rig.listings.answer(TOOLS, modern=True)
        rig.access.put("a", TOOLS, [tool("u")])
        await anyio.sleep(1)
        assert heard() == 1
        rig.announcer.shown(TOOLS, old.digest)
        await anyio.sleep(1)
        assert heard() == 1


async def test_a_withdrawn_and_a_removed_catalog_are_told(rig: Rig) -> None:
    async with rig.announcing() as heard:
        await rig.list_tools()
        rig.access.fail("a", TOOLS, "not permitted any more")
        await anyio.sleep(1)
        assert heard() == 1
        rig.access.put("a", TOOLS, [tool("t")])
        await anyio.sleep(1)
        assert heard() == 1
        rig.access.remove("a")
        await anyio.sleep(1)
        assert heard() == 1


@pytest.mark.parametrize(
    ("kind", "topic"),
    [
        (Kind.PROMPTS, Topic.PROMPTS),
        (Kind.RESOURCES, Topic.RESOURCES),
        (Kind.TEMPLATES, Topic.RESOURCES),
    ],
)
async def test_each_kind_is_told_under_its_own_name(rig: Rig, kind: Kind, topic: Topic) -> None:
    async with rig.announcing():
        rig.access.put("a", kind, [{kind.key: "x://{y}", "name": "n"}])
        await anyio.sleep(1)
        assert rig.told == [topic]


async def test_many_hosts_are_not_all_told_at_one_moment(rig: Rig) -> None:
    moments: set[float] = set()
    subscribers = [rig.audience.join(Topic) for _ in range(AT_ONCE * 4)]

    async def hear(number: int) -> None:
        await subscribers[number].next()
        moments.add(anyio.current_time())

    async with rig.announcing(), anyio.create_task_group() as tasks:
        for number in range(len(subscribers)):
            tasks.start_soon(hear, number)
        rig.access.put("a", TOOLS, [tool("u")])
    assert len(moments) == 4
