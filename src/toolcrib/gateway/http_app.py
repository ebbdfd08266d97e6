"""The HTTP application of the gateway: the MCP endpoint, and the pages beside it."""

from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route

from toolcrib.catalog.access import CatalogAccess
from toolcrib.core.partition import ANONYMOUS
from toolcrib.errors import ConfigError
from toolcrib.gateway.health import Readiness, alive, metrics_page
from toolcrib.settings import GatewaySettings, Limits
from toolcrib.wire.http.entry import McpEndpoint
from toolcrib.wire.http.guard import Guard, HttpLimits
from toolcrib.wire.http.guarded import Guarded
from toolcrib.wire.kernel import Kernel

BODY_OVER_ARGUMENTS: Final = 4
"""How many times as large as the largest arguments a request may be: escapes make JSON longer."""


def http_app(
    kernel: Kernel,
    access: CatalogAccess,
    settings: GatewaySettings,
    limits: Limits,
    *,
    eager: Callable[[], Collection[str]],
    metrics: Callable[[], bytes] | None,
    running: Callable[[], AbstractAsyncContextManager[None]],
) -> Starlette:
    """`/mcp`, `/healthz`, `/readyz` and, where there are figures, `/metrics`.

    Raises:
        ConfigError: for an allowed host or origin that cannot be read.
    """
    guard = _guard(settings, limits)
    readiness = Readiness(access, eager, limits.start_seconds)
    routes = [
        Route("/mcp", McpEndpoint(kernel, guard.limits, lambda _scope: ANONYMOUS)),
        Route("/healthz", alive, methods=["GET"]),
        Route("/readyz", readiness.page, methods=["GET"]),
    ]
    if metrics is not None:
        routes.append(Route("/metrics", metrics_page(metrics), methods=["GET"]))

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
        async with running():
            readiness.begin()
            yield

    guarded = Middleware(Guarded, guard=guard)
    return Starlette(routes=routes, middleware=[guarded], lifespan=lifespan)


def _guard(settings: GatewaySettings, limits: Limits) -> Guard:
    bounds = HttpLimits(
        body_bytes=limits.argument_bytes * BODY_OVER_ARGUMENTS,
        stream_seconds=limits.stream_seconds,
    )
    try:
        return Guard.of(settings.allowed_hosts, settings.allowed_origins, bounds)
    except ValueError as error:
        raise ConfigError(str(error)) from error
