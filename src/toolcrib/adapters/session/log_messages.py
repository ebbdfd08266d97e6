"""Log messages of a server: asked for in the way of its era, brought to the request they are of.

Logging is deprecated in MCP 2026-07-28, where each request names its own level, and was a setting
of the whole session before (MCP 2025-11-25, logging).
"""

from collections.abc import Awaitable, Callable, Mapping
from contextvars import Context
from typing import Any, Final

from toolcrib.adapters.session.under_way import Requests, UnderWay
from toolcrib.errors import ToolcribError
from toolcrib.ports import RequestContext, ServerFacts
from toolcrib.protocol.envelope import LOG_LEVELS

LOGGED: Final = "notifications/message"


class LogMessages:
    """Hands each log message to the request it belongs to.

    On a stream of its own, that is the request of the stream. Elsewhere it is told only where all
    calls under way are for one listener: a message may hold what another caller sent. What cannot
    be placed is dropped and reported once. A message below the level that its request asked for is
    dropped: a session has one level for all.
    """

    def __init__(self, requests: Requests, complain: Callable[[str, str], None]) -> None:
        self._requests = requests
        self._complain = complain

    def take(self, params: Mapping[str, Any], context: Context | None) -> None:
        """Take a message that arrived in a context."""
        request = self._requests.in_context(context)
        found = [request] if request is not None else self._requests.alike(_may_log, _listener)
        if found is None:
            self._complain("log_message_unplaced", "several callers are served at once")
            return
        for request in found:
            if request.hearing is not None and self._is_wanted(params, request.context):
                request.hearing.noted(LOGGED, params)
                return

    @staticmethod
    def _is_wanted(params: Mapping[str, Any], context: RequestContext) -> bool:
        return context.heard is not None and _rank(params.get("level")) >= _rank(context.log_level)


class SessionLevel:
    """The level of a handshake-era session: the most talkative that any request wanted so far.

    It is never made less talkative again: what one request wants less, another may still want.
    """

    def __init__(self, send: Callable[[str], Awaitable[object]]) -> None:
        self._send = send
        self._rank = len(LOG_LEVELS)
        self._refused = False

    async def want(self, level: str, facts: ServerFacts) -> None:
        """See to it that the server logs from this level on, if it logs at all."""
        if self._refused or facts.era != "handshake" or "logging" not in facts.capabilities:
            return
        if level not in LOG_LEVELS or _rank(level) >= self._rank:
            return
        before, self._rank = self._rank, _rank(level)
        sent = False
        try:
            await self._send(level)
            sent = True
        except ToolcribError:
            # Nobody's call fails for want of log messages, and none asks in vain again.
            sent = self._refused = True
        finally:
            if not sent:
                self._rank = before


def _rank(level: object) -> int:
    """How severe a level is; what is no level counts as the least severe."""
    return LOG_LEVELS.index(level) if isinstance(level, str) and level in LOG_LEVELS else 0


def _may_log(request: UnderWay) -> bool:
    return request.may_log


def _listener(context: RequestContext) -> object:
    return context.heard
