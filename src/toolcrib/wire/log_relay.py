"""Relaying log messages to a host: those it asked for, of its request, until that is answered."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from toolcrib.protocol.envelope import LOG_LEVELS
from toolcrib.wire.pace import Pace

LOGGED: Final = "notifications/message"

PER_SECOND: Final = 100
"""Messages of one request that are relayed per second; more are dropped, never delayed."""


class LogRelay:
    """A `ports.Heard` that tells a host.

    Args:
        level: From which level on it wants messages; one of `protocol.envelope.LOG_LEVELS`.
        notify: Sends a notification on the stream of the request.
    """

    def __init__(
        self, level: str, notify: Callable[[str, Mapping[str, Any]], Awaitable[None]]
    ) -> None:
        self._least = LOG_LEVELS.index(level)
        self._notify = notify
        self._open = True
        self._pace = Pace(PER_SECOND)

    async def __call__(self, method: str, params: Mapping[str, Any]) -> None:
        """Relay a log message of a level that is valid and wanted; drop everything else.

        What the message has beside level, logger and data was meant for us.
        """
        level, logger = params.get("level"), params.get("logger")
        wanted = method == LOGGED and level in LOG_LEVELS and LOG_LEVELS.index(level) >= self._least
        if not (self._open and wanted and "data" in params and self._pace.allows()):
            return
        named = {"logger": logger} if isinstance(logger, str) else {}
        await self._notify(LOGGED, {"level": level, **named, "data": params["data"]})

    def close(self) -> None:
        """Relay nothing from now on: the request is about to be answered."""
        self._open = False


def log_relay(
    level: str, notify: Callable[[str, Mapping[str, Any]], Awaitable[None]]
) -> LogRelay | None:
    """The relay for a host that wants messages from a level on; None for one that wants none."""
    return LogRelay(level, notify) if level in LOG_LEVELS else None
