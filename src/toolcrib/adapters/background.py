"""A task group for context managers: what the body raises leaves it as it is, in no group."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup


@asynccontextmanager
async def background() -> AsyncGenerator[TaskGroup]:
    """Run tasks beside the body and cancel them when it ends.

    The tasks must contain their own failures. A plain task group would wrap every error of the
    body, so that a caller who writes `except AuthRequired` around a connection would miss it.
    Nothing is awaited before the body begins: a caller may rely on that to leave no gap in which a
    cancellation could lose what it holds.
    """
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        try:
            yield tasks
        except Exception as error:  # noqa: BLE001 - carried out of the group and raised below
            failure = error
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
