"""A gateway over catalogs that a test sets, and hosts of both eras in front of it."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Literal

import anyio
import anyio.abc
from mcp.client.client import Client
from mcp.shared.memory import create_client_server_memory_streams

from toolcrib.adapters.schema.checker import JsonSchemaChecker
from toolcrib.adapters.sealing import AesSealer
from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.calls.calling import Calling, Calls, Tools
from toolcrib.catalog.access import CatalogAccess
from toolcrib.config.keys import InstallationKey
from toolcrib.errors import ToolcribError
from toolcrib.gateway.discovering import GatewayDiscovery, undiscovered
from toolcrib.gateway.server import Gateway, Particulars
from toolcrib.ports import Observer
from toolcrib.settings import GatewaySettings, Limits, Settings
from toolcrib.testing.asgi_host import AsgiHost, Exchange
from toolcrib.testing.fake_access import FakeAccess, Request
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.virtual_clock import LoopClock

Era = Literal["legacy", "auto"]
"""The SDK's words for its client modes: the handshake, and the newest revision."""


class GatewayRig:
    """What a test of the gateway looks at and turns."""

    def __init__(
        self,
        settings: GatewaySettings = GatewaySettings(),  # noqa: B008 - frozen
        limits: Limits = Limits(),  # noqa: B008 - frozen
        particulars: Particulars = Particulars(),  # noqa: B008 - frozen
        *,
        discovery: Callable[[FakeAccess], GatewayDiscovery] = undiscovered,
    ) -> None:
        self.access = FakeAccess()
        discovered = discovery(self.access)
        self.recorder = Recorder()
        self.calls = calls_over(self.access, self.recorder, settings, limits)
        self.gateway = Gateway(
            lambda _principal: self.access,
            lambda _principal: self.calls,
            replace(settings, http=settings.http or ("127.0.0.1", 0)),
            limits,
            self.recorder,
            LoopClock(),
            particulars,
            discovery_for=lambda _principal: discovered,
        )

    @asynccontextmanager
    async def in_memory(self, mode: Era = "auto", **options: Any) -> AsyncGenerator[Client]:
        """A client of the SDK at the other end of a pair of streams, as over stdio."""

        @asynccontextmanager
        async def transport() -> AsyncGenerator[Any]:
            async with (
                create_client_server_memory_streams() as (client, server),
                anyio.create_task_group() as tasks,
            ):
                tasks.start_soon(self.gateway.serve_streams, *server)
                yield client
                tasks.cancel_scope.cancel()

        async with Client(transport(), mode=mode, cache=None, **options) as client:
            yield client

    @asynccontextmanager
    async def over_http(self, mode: Era = "auto", **options: Any) -> AsyncGenerator[Client]:
        """A client of the SDK over a loopback port."""
        async with self.listening() as url, Client(url, mode=mode, cache=None, **options) as client:
            yield client

    @asynccontextmanager
    async def listening(self) -> AsyncGenerator[str]:
        """The gateway on a loopback port; the URL of its MCP endpoint."""

        async def serve(*, task_status: anyio.abc.TaskStatus[int]) -> None:
            await self.gateway.serve_http(task_status=task_status)

        async with anyio.create_task_group() as tasks:
            port = await tasks.start(serve)
            yield f"http://127.0.0.1:{port}/mcp"
            tasks.cancel_scope.cancel()

    @asynccontextmanager
    async def asgi(self) -> AsyncGenerator[AsgiHost]:
        """A raw host of the gateway's application, without a network."""
        app = self.gateway.asgi_app()
        async with app.router.lifespan_context(app):
            yield AsgiHost(app)

    async def ask(self, method: str, params: Mapping[str, Any], **headers: str) -> Exchange:
        """One modern request over HTTP, to a gateway that lives for it alone."""
        async with self.asgi() as host:
            return await host.ask(**host.modern(method, params, **headers))

    async def result(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The result of one modern request."""
        return (await self.ask(method, params)).message["result"]

    async def error(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The error of one modern request."""
        return (await self.ask(method, params)).message["error"]

    async def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The result of one tool call."""
        return await self.result("tools/call", {"name": name, "arguments": arguments})

    async def refusal(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The error inside the result of a tool call that has to be refused."""
        return refused(await self.call(name, **arguments))

    def answer(self, answer: dict[str, Any] | ToolcribError) -> None:
        """Let every forwarded request end like this."""

        async def script(_request: Request) -> dict[str, Any]:
            if isinstance(answer, ToolcribError):
                raise answer
            return answer

        self.access.answer = script


def calls_over(
    access: CatalogAccess, observer: Observer, gateway: GatewaySettings, limits: Limits
) -> Calls:
    """What calls go through, over catalogs of a test and a memory of its own."""
    clock, keys = LoopClock(), InstallationKey(b"k" * 32)
    tools = Tools(
        checker=JsonSchemaChecker(limits),
        entries=MemoryStore(clock).entries,
        sealer=AesSealer(keys, clock),
        keys=keys,
        clock=clock,
        observer=observer,
    )
    settings = Settings(limits=limits, gateway=gateway)
    return Calling(settings, tools, run="rig", launch=lambda server: server).calls(access)


def refused(result: dict[str, Any]) -> dict[str, Any]:
    """The error inside the result of a tool call that has to be a refusal."""
    if result.get("isError") is not True:
        raise AssertionError(f"not refused: {result}")
    return result["structuredContent"]["error"]
