"""Running an application under uvicorn so that it ends well: streams first, then the rest."""

import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

import anyio
import uvicorn
from anyio.abc import TaskStatus
from starlette.types import ASGIApp

from toolcrib.errors import ConfigError
from toolcrib.wire.ending import until_cancelled
from toolcrib.wire.http.head_patience import PatientProtocol

GRACE: Final = 5
"""Seconds that requests in progress get when the server ends."""

KEEP_ALIVE: Final = 75
"""Seconds for which an idle connection is kept for its host."""

BACKLOG: Final = 2_048
"""Connections that may wait to be accepted."""

HEADER_ROOM: Final = 64 * 1024
"""Bytes of headers that are read before the parser gives up; the guard turns away less than that,
and says why."""


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_end: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_end = on_end

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Streams of announcements never end by themselves, and uvicorn waits for every answer.
        self._on_end()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        # Signals are the business of whoever runs the process, which has servers of its own to end.
        yield


async def serve_app(
    make: Callable[[], ASGIApp],
    host: str,
    port: int,
    *,
    on_end: Callable[[], None],
    task_status: TaskStatus[int] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Serve until cancelled, and end gracefully then.

    Args:
        make: Makes the ASGI application, once the address is ours: what it starts is not started
            for nothing.
        host: Name or address to bind.
        port: Port to bind; 0 takes a free one.
        on_end: Called before open answers are waited for.
        task_status: Told the port once connections are accepted.

    Raises:
        ConfigError: when the address cannot be bound.
    """
    listener = bound(host, port)
    try:
        app = make()
    except BaseException:
        listener.close()
        raise
    config = uvicorn.Config(
        app,
        http=PatientProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=GRACE,
        h11_max_incomplete_event_size=HEADER_ROOM,
    )
    server = _Server(config, on_end)

    async def run() -> None:
        await server.serve(sockets=[listener])

    async def wind_down(ended: anyio.Event) -> None:
        server.should_exit = True
        await ended.wait()

    task_status.started(listener.getsockname()[1])
    await until_cancelled(run, wind_down)


def bound(host: str, port: int) -> socket.socket:
    """A listening TCP socket; raises `ConfigError` when there can be none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol has to be said: only then does the event loop switch Nagle's algorithm off, which
    # holds every answer back for 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise ConfigError(
            f"cannot listen on {host}:{port}: {error.strerror or error}",
            remedy="choose another HOST:PORT, or end what has this one",
        ) from error
    return listener
