"""The guard as ASGI middleware, so that no page of ours is served past it."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from toolcrib.wire.http.guard import Guard
from toolcrib.wire.http.reply import Receive, Send, header_lines, turn_away

Scope = MutableMapping[str, Any]


class Guarded:
    """Turns away whom the guard does; everything else reaches the application."""

    def __init__(
        self, app: Callable[[Scope, Receive, Send], Awaitable[None]], guard: Guard
    ) -> None:
        self._app = app
        self._guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection; only HTTP requests can be turned away."""
        turned = None
        if scope["type"] == "http":
            turned = self._guard.turned(scope, header_lines(scope))
        if turned is None:
            await self._app(scope, receive, send)
        else:
            await turn_away(send, turned)
