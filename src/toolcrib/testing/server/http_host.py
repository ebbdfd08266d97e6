"""A scripted server's port: connections come in by the rules, and it can be down for a while."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup

from toolcrib.testing.server.actions import Drop, Exit, Hang
from toolcrib.testing.server.http_server import HttpRequest, HttpServer
from toolcrib.testing.server.script import Script
from toolcrib.testing.server.serving import attend

__all__ = ["HttpHost"]


class HttpHost(ABC):
    """What both HTTP transports share."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._server = HttpServer(self._serve, admit=self._admit)
        self._tasks: TaskGroup | None = None

    def url(self, path: str) -> str:
        """The address of a path; the port stays the same over stops and starts."""
        return f"http://127.0.0.1:{self._server.port}{path}"

    async def open(self, tasks: TaskGroup) -> None:
        """Begin to listen."""
        self._tasks = tasks
        await self._server.start(tasks)

    async def start(self) -> None:
        """Listen again."""
        if self._tasks is not None:
            await self._server.start(self._tasks)

    async def stop(self) -> None:
        """Listen no more, and cut every connection."""
        await self._server.stop()

    def down(self) -> None:
        """The same, from within a connection."""
        self._server.interrupt()

    async def drop(self) -> None:
        """Cut every connection."""
        self._server.drop()
        await anyio.lowlevel.checkpoint()

    @abstractmethod
    async def _serve(self, http: HttpRequest) -> None:
        """Serve one HTTP request."""

    @asynccontextmanager
    async def _admit(self) -> AsyncGenerator[bool]:
        self._script.tally.add(connects=1, live=1)
        try:
            yield await self._let_in()
        finally:
            self._script.tally.add(live=-1)

    async def _let_in(self) -> bool:
        match await attend(self._script, self._script.rules.take("connect", request=False)):
            case Drop():
                return False
            case Exit():
                self.down()
                return False
            case Hang():
                await anyio.sleep_forever()
                return False
            case _:
                return True
