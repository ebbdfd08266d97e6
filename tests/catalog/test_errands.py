import anyio
import pytest

from toolcrib.catalog.errands import Errands

pytestmark = pytest.mark.virtual_time


class Work:
    """A piece of work that notes how far it came."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    async def __call__(self) -> None:
        self.steps.append("begun")
        try:
            await anyio.sleep(10)
            self.steps.append("done")
        except anyio.get_cancelled_exc_class():
            self.steps.append("called off")
            raise


async def test_work_runs_in_the_task_group_and_whoever_sent_it_need_not_wait() -> None:
    work = Work()
    async with anyio.create_task_group() as tasks:
        with anyio.move_on_after(1):
            Errands(tasks).send(work)
            await anyio.sleep_forever()
    assert work.steps == ["begun", "done"]


async def test_one_piece_can_be_called_off_alone() -> None:
    one, other = Work(), Work()
    async with anyio.create_task_group() as tasks:
        errands = Errands(tasks)
        scope = errands.send(one)
        errands.send(other)
        await anyio.sleep(1)
        scope.cancel()
    assert one.steps == ["begun", "called off"]
    assert other.steps == ["begun", "done"]


async def test_closing_calls_off_what_runs_and_what_has_not_begun_and_takes_nothing_more() -> None:
    running, sent, late = Work(), Work(), Work()
    async with anyio.create_task_group() as tasks:
        errands = Errands(tasks)
        errands.send(running)
        await anyio.sleep(1)
        errands.send(sent)
        errands.close()
        errands.send(late)
        errands.close()
        assert errands.closed
    assert running.steps == ["begun", "called off"]
    assert "done" not in sent.steps
    assert late.steps == []


async def test_work_that_closes_its_own_errands_ends_quietly() -> None:
    after: list[str] = []
    async with anyio.create_task_group() as tasks:
        errands = Errands(tasks)

        async def closing() -> None:
            errands.close()
            after.append("still here")
            await anyio.sleep(1)
            after.append("not any more")

        errands.send(closing)
    assert after == ["still here"]


async def test_an_error_of_the_work_is_not_hidden() -> None:
    async def failing() -> None:
        raise KeyError("mine")

    with pytest.raises(ExceptionGroup) as raised:
        async with anyio.create_task_group() as tasks:
            Errands(tasks).send(failing)
    assert isinstance(raised.value.exceptions[0], KeyError)
