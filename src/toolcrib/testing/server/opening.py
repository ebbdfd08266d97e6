"""Brings a scripted server up in this event loop."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

from toolcrib.adapters.background import background
from toolcrib.settings import Launch
from toolcrib.testing.server.behaviour import Group
from toolcrib.testing.server.control import Controls, ServerWire
from toolcrib.testing.server.handle import Perform
from toolcrib.testing.server.http_wire import HttpWire
from toolcrib.testing.server.rulebook import Wire
from toolcrib.testing.server.script import Script
from toolcrib.testing.server.sse_wire import SseWire
from toolcrib.testing.server.stdio_wire import StdioWire

__all__ = ["open_here"]

_WIRES: Mapping[Wire, type[ServerWire]] = {"stdio": StdioWire, "http": HttpWire, "sse": SseWire}


@asynccontextmanager
async def open_here(wire: Wire, groups: Sequence[Group]) -> AsyncGenerator[tuple[Launch, Perform]]:
    """A server that is up while the context lasts: how to reach it, and what switches it."""
    script = Script(wire, groups)
    server = _WIRES[wire](script)
    async with background() as tasks:
        await server.open(tasks)
        yield server.launch, Controls(script, server).perform
