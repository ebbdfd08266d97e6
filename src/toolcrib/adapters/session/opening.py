"""Opens a session over the transport that a launch asks for; its era is not known yet."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import assert_never

from mcp.shared.exceptions import MCPError

from toolcrib.adapters.background import background
from toolcrib.adapters.http.sse_transport import open_sse
from toolcrib.adapters.http.transport import open_streamable_http
from toolcrib.adapters.http.version_header import version_header
from toolcrib.adapters.session.attempt import Attempt
from toolcrib.adapters.session.error_mapping import map_error
from toolcrib.adapters.session.inbound import Source
from toolcrib.adapters.session.session import Session, Sink, Transport
from toolcrib.adapters.stdio.transport import open_stdio
from toolcrib.adapters.stream_watch import StreamWatch
from toolcrib.errors import ConfigError
from toolcrib.protocol.eras import TransportKind
from toolcrib.settings import HttpLaunch, StdioLaunch


@asynccontextmanager
async def open_session(
    attempt: Attempt, kind: TransportKind, watch: StreamWatch
) -> AsyncGenerator[Session]:
    """A session that can send requests; leaving ends it and its transport.

    Raises:
        ConfigError: The command, directory, URL, headers or proxy cannot be used.
        UpstreamUnreachable, AuthRequired, RateLimited: HTTP+SSE only, which dials on opening.
    """
    try:
        async with _transport(attempt, kind, watch) as (source, sink, facts), background() as tasks:
            session = Session(attempt, source, sink, facts)
            await tasks.start(session.run)
            yield session
    except MCPError as error:
        raise map_error(error, server=attempt.server.id, http=True) from None


def _transport(
    attempt: Attempt, kind: TransportKind, watch: StreamWatch
) -> AbstractAsyncContextManager[tuple[Source, Sink, Transport]]:
    launch, limits = attempt.server.launch, attempt.limits
    match kind:
        case "stdio" if isinstance(launch, StdioLaunch):
            server = attempt.server.id
            return open_stdio(launch, server=server, limits=limits, observer=attempt.observer)
        case "http" if isinstance(launch, HttpLaunch):
            lots = attempt.clock.lots
            return open_streamable_http(
                launch,
                limits=limits,
                watch=watch,
                lots=lots,
                authoriser=attempt.authoriser,
                version_header=version_header(attempt.server.version_from),
            )
        case "sse" if isinstance(launch, HttpLaunch):
            return open_sse(launch, limits=limits, watch=watch, authoriser=attempt.authoriser)
        case "stdio" | "http" | "sse":
            raise ConfigError(f"a launch of this kind has no transport {kind!r}")
        case _:
            assert_never(kind)
