"""Ending on cancellation, in order."""

import anyio
import pytest

from toolcrib.wire.ending import until_cancelled

pytestmark = pytest.mark.virtual_time


class Story(list[str]):
    """What happened, in order."""

    def __init__(self, *, ends_when_asked: bool) -> None:
        super().__init__()
        self._asked = anyio.Event()
        self._ends_when_asked = ends_when_asked

    async def work(self) -> None:
        self.append("begun")
        try:
            await self._asked.wait()
            self.append("ended")
        except anyio.get_cancelled_exc_class():
            self.append("broken off")
            raise

    async def wind_down(self, ended: anyio.Event) -> None:
        self.append("winding down")
        if self._ends_when_asked:
            self._asked.set()
        with anyio.move_on_after(3):
            await ended.wait()
        self.append("wound down")


async def cancelled_after(seconds: float, story: Story) -> bool:
    with anyio.move_on_after(seconds) as scope:
        await until_cancelled(story.work, story.wind_down)
    return scope.cancelled_caught


async def test_work_that_ends_when_asked_is_not_broken_off() -> None:
    story = Story(ends_when_asked=True)
    assert await cancelled_after(1, story)
    assert story == ["begun", "winding down", "ended", "wound down"]


async def test_work_that_does_not_end_in_time_is_broken_off() -> None:
    story = Story(ends_when_asked=False)
    assert await cancelled_after(1, story)
    assert story == ["begun", "winding down", "wound down", "broken off"]


async def test_work_that_ends_by_itself_is_not_wound_down() -> None:
    wound: list[anyio.Event] = []

    async def work() -> None:
        await anyio.sleep(1)

    async def wind_down(ended: anyio.Event) -> None:
        wound.append(ended)

    await until_cancelled(work, wind_down)
    assert wound == []


async def test_an_error_of_the_work_is_raised() -> None:
    async def fail() -> None:
        raise ValueError("no")

    async def wind_down(ended: anyio.Event) -> None:
        assert ended.is_set()

    with pytest.raises(ExceptionGroup) as raised:
        await until_cancelled(fail, wind_down)
    assert raised.group_contains(ValueError, match="no")
