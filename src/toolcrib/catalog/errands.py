"""Work that a keeper sends out: it runs in the crib's task group and ends with the keeper."""

from collections.abc import Awaitable, Callable

import anyio
from anyio.abc import TaskGroup


class Errands:
    """Starts work in somebody else's task group and can call all of it off."""

    def __init__(self, tasks: TaskGroup) -> None:
        self._tasks = tasks
        self._scopes: set[anyio.CancelScope] = set()
        self.closed = False
        """Whether all was called off."""

    def send(self, work: Callable[[], Awaitable[None]]) -> anyio.CancelScope:
        """Starts the work, unless all was called off; the scope calls off this piece alone."""
        scope = anyio.CancelScope()
        if not self.closed:
            self._scopes.add(scope)
            self._tasks.start_soon(self._run, work, scope)
        return scope

    def close(self) -> None:
        """Calls off everything under way and takes nothing more."""
        self.closed = True
        for scope in tuple(self._scopes):
            scope.cancel()

    async def _run(self, work: Callable[[], Awaitable[None]], scope: anyio.CancelScope) -> None:
        try:
            with scope:
                await work()
        finally:
            self._scopes.discard(scope)
