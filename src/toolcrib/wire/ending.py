"""Being cancelled without breaking off: what is being said is said to its end first."""

from collections.abc import Awaitable, Callable

import anyio


async def until_cancelled(
    work: Callable[[], Awaitable[None]], wind_down: Callable[[anyio.Event], Awaitable[None]]
) -> None:
    """Run `work`; a cancellation runs `wind_down` first, and cancels `work` after that.

    `wind_down` is given an event that is set when `work` has ended. It must bound its own time.
    """
    ended = anyio.Event()
    scope = anyio.CancelScope(shield=True)

    async def run() -> None:
        try:
            with scope:
                await work()
        finally:
            ended.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        try:
            await ended.wait()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await wind_down(ended)
            scope.cancel()
            raise
