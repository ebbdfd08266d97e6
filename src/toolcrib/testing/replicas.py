"""Gateways over one store, each opened and closed when a test says so, in any order."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.abc import TaskGroup, TaskStatus

from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.testing.scripted import ScriptedUpstream
from toolcrib.testing.scripted_gateway import ScriptedGateway, scripted_gateway
from toolcrib.testing.virtual_clock import LoopClock


class Replicas:
    """Opens gateways over the same scripts; `replicas` gives one.

    Args:
        tasks: Each gateway lives in a task of its own there.
        scripts: By server id.
        options: As `scripted_gateway` takes them.
    """

    def __init__(
        self, tasks: TaskGroup, scripts: Mapping[str, ScriptedUpstream], options: Mapping[str, Any]
    ) -> None:
        self.store = MemoryStore(LoopClock())
        """What survives them."""
        self._tasks = tasks
        self._scripts = scripts
        self._options = options
        self._open: dict[ScriptedGateway, tuple[anyio.Event, anyio.Event]] = {}

    async def open(self) -> ScriptedGateway:
        """One more gateway; it is running, and has connected to nothing yet."""
        made: ScriptedGateway = await self._tasks.start(self._serve)
        return made

    async def close(self, gateway: ScriptedGateway) -> None:
        """Ends one, as a process ends, and waits until its connections are gone."""
        leave, gone = self._open[gateway]
        leave.set()
        await gone.wait()

    async def close_all(self) -> None:
        """Ends those that are left."""
        for gateway in tuple(self._open):
            await self.close(gateway)

    async def _serve(self, *, task_status: TaskStatus[ScriptedGateway]) -> None:
        leave, gone = anyio.Event(), anyio.Event()
        served = scripted_gateway(self._scripts, store=self.store, **self._options)
        async with served as gateway:
            self._open[gateway] = leave, gone
            task_status.started(gateway)
            await leave.wait()
        del self._open[gateway]
        gone.set()


@asynccontextmanager
async def replicas(
    scripts: Mapping[str, ScriptedUpstream], **options: Any
) -> AsyncGenerator[Replicas]:
    """Gateways over these scripts and one new store; on leaving all of them are closed.

    Args:
        scripts: By server id.
        options: As `scripted_gateway` takes them, `store` apart.
    """
    async with anyio.create_task_group() as tasks:
        made = Replicas(tasks, scripts, options)
        yield made
        await made.close_all()
