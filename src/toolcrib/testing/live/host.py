"""Hosts without a library, in front of a gateway that is a process."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import anyio

from toolcrib.settings import HttpLaunch, Secret
from toolcrib.testing.live.gateway import LiveGateway
from toolcrib.testing.live.room import Room
from toolcrib.testing.raw_client import RawHttp, RawPipe, raw_http, raw_pipe

__all__ = ["http_host", "stdio_host"]

_FAREWELL: Final = 30.0
"""Seconds a gateway has to end its servers once its host is gone."""


@asynccontextmanager
async def stdio_host(room: Room, *options: str | Path) -> AsyncGenerator[RawPipe]:
    """A host that starts a gateway on stdio, and in the end closes its input and waits for it."""
    async with raw_pipe(room.launch("serve", *options)) as pipe:
        try:
            yield pipe
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(_FAREWELL):
                await pipe.stdin.aclose()
                await pipe.process.wait()


@asynccontextmanager
async def http_host(gateway: LiveGateway) -> AsyncGenerator[RawHttp]:
    """A host of a gateway over HTTP, with a connection for each request."""
    async with raw_http(HttpLaunch(Secret(gateway.url))) as http:
        yield http
