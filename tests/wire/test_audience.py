"""Who is told of changes, and that nobody's backlog grows."""

import anyio
import pytest

from toolcrib.errors import LimitExceeded
from toolcrib.wire.audience import Audience, Due, Topic


async def test_a_subscriber_is_told_only_what_it_asked_for() -> None:
    subscriber = Audience().join([Topic.TOOLS])
    assert not subscriber.tell(Topic.PROMPTS)
    assert subscriber.tell(Topic.TOOLS)
    with anyio.fail_after(5):
        assert await subscriber.next() is Topic.TOOLS


async def test_ten_thousand_changes_nobody_reads_are_one_per_topic() -> None:
    subscriber = Audience().join(Topic)
    for _ in range(10_000):
        for topic in Topic:
            subscriber.tell(topic)
    subscriber.end()
    with anyio.fail_after(5):
        told = [await subscriber.next() for _ in range(4)]
    assert told == [*Topic, None]


async def test_what_is_due_is_told_before_the_end() -> None:
    audience = Audience()
    subscriber = audience.join(Topic)
    subscriber.tell(Topic.RESOURCES)
    audience.close()
    with anyio.fail_after(5):
        assert await subscriber.next() is Topic.RESOURCES
        assert await subscriber.next() is None


async def test_a_waiting_subscriber_wakes_for_a_change_and_for_the_end() -> None:
    audience = Audience()
    subscriber = audience.join(Topic)
    heard: list[Due | None] = []

    async def listen() -> None:
        while heard[-1:] != [None]:
            heard.append(await subscriber.next())

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen)
            await anyio.wait_all_tasks_blocked()
            subscriber.tell(Topic.TOOLS)
            await anyio.wait_all_tasks_blocked()
            assert heard == [Topic.TOOLS]
            audience.close()
    assert heard == [Topic.TOOLS, None]


async def test_nothing_is_told_after_the_end() -> None:
    audience = Audience()
    subscriber = audience.join(Topic)
    subscriber.end()
    assert not subscriber.tell(Topic.TOOLS)
    audience.close()
    with anyio.fail_after(5):
        assert await audience.join(Topic).next() is None


def test_streams_are_limited_and_a_place_is_free_once_one_leaves() -> None:
    audience = Audience(limit=2)
    first = audience.join(Topic)
    audience.join(Topic)
    with pytest.raises(LimitExceeded, match="limit 2"):
        audience.join(Topic)
    first.leave()
    first.leave()
    audience.join(Topic)
    assert len(audience) == 2
