"""The pages beside the MCP endpoint: alive, ready for requests, and what was counted."""

from collections.abc import Awaitable, Callable, Collection
from typing import Final

import anyio
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from toolcrib.catalog.access import CatalogAccess

EXPOSITION: Final = "text/plain; version=0.0.4; charset=utf-8"
"""Media type of the Prometheus text format."""

Page = Callable[[Request], Awaitable[Response]]


class Readiness:
    """Ready once every eager server is, or once the start budget is over."""

    def __init__(
        self, access: CatalogAccess, eager: Callable[[], Collection[str]], budget: float
    ) -> None:
        self._access = access
        self._eager = eager
        self._budget = budget
        self._began: float | None = None

    def begin(self) -> None:
        """Start counting the budget."""
        self._began = anyio.current_time()

    def is_ready(self) -> bool:
        """Whether hosts should be sent here."""
        if self._began is None:
            return False
        if anyio.current_time() - self._began >= self._budget:
            return True
        known = set(self._access.server_ids())
        return all(self._access.status(s).state == "ready" for s in self._eager() if s in known)

    async def page(self, _request: Request) -> Response:
        """200 or 503, with the state of every server; no failure is quoted to whoever asks."""
        ready = self.is_ready()
        servers = [
            {"id": server, "state": self._access.status(server).state}
            for server in self._access.server_ids()
        ]
        return JSONResponse({"ready": ready, "servers": servers}, 200 if ready else 503)


async def alive(_request: Request) -> Response:
    """200 as long as the process can answer at all."""
    return JSONResponse({"alive": True})


def metrics_page(expose: Callable[[], bytes]) -> Page:
    """The page that shows what `expose` counts."""

    async def page(_request: Request) -> Response:
        return Response(expose(), media_type=EXPOSITION)

    return page
