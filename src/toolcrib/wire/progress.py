"""Relaying progress to a host: its own token, increasing values, nothing after the answer."""

import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from toolcrib.core.jsontypes import is_object
from toolcrib.protocol.envelope import PROGRESS_TOKEN_KEY
from toolcrib.wire.pace import Pace

PER_SECOND: Final = 50
"""Notifications of one request that are relayed per second; more are dropped, never delayed."""


class ProgressRelay:
    """A `ports.Progress` that tells a host (MCP 2026-07-28, progress).

    Upstream tokens never pass: two hosts may use equal tokens, and each upstream request has one of
    its own.
    """

    def __init__(
        self, token: str | int, notify: Callable[[str, Mapping[str, Any]], Awaitable[None]]
    ) -> None:
        self._token = token
        self._notify = notify
        self._highest = -math.inf
        self._open = True
        self._pace = Pace(PER_SECOND)

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Relay one step, if it is ahead of the last, not too fast, and before the answer."""
        if not (self._open and math.isfinite(progress) and progress > self._highest):
            return
        if not self._pace.allows():
            return
        self._highest = progress
        params: dict[str, Any] = {"progressToken": self._token, "progress": progress}
        if total is not None and math.isfinite(total):
            params["total"] = total
        if message is not None:
            params["message"] = message
        await self._notify("notifications/progress", params)

    def close(self) -> None:
        """Relay nothing from now on: the request is about to be answered."""
        self._open = False


def progress_token(params: Mapping[str, Any]) -> str | int | None:
    """The token a host gave with its request; a boolean is none."""
    meta = params.get("_meta")
    token = meta.get(PROGRESS_TOKEN_KEY) if is_object(meta) else None
    return token if isinstance(token, str | int) and not isinstance(token, bool) else None
