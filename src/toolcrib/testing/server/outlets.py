"""The ways by which signals reach clients: pipes, GET streams, listens; and how they end."""

from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

import anyio

from toolcrib.core.snapshot import Kind
from toolcrib.testing.server.revision import SUBSCRIPTION_ID
from toolcrib.testing.server.tally import Tally

__all__ = ["Outlet", "Outlets", "Send", "cancelled", "changed"]

Send = Callable[[Mapping[str, Any], int], Awaitable[None]]
"""Writes a message so many times over."""

_NO_SUBSCRIPTION = object()


def changed(kind: Kind, subscription: object = _NO_SUBSCRIPTION) -> dict[str, Any]:
    """The notification that a list changed; under the id of a listen where it belongs to one."""
    method = f"notifications/{kind.capability}/list_changed"
    if subscription is _NO_SUBSCRIPTION:
        return {"jsonrpc": "2.0", "method": method}
    params = {"_meta": {SUBSCRIPTION_ID: subscription}}
    return {"jsonrpc": "2.0", "method": method, "params": params}


def cancelled(request_id: object) -> dict[str, Any]:
    """How a server ends a request that it will not answer (MCP 2026-07-28, cancellation)."""
    params = {"requestId": request_id, "reason": "scripted"}
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}


class Outlet:
    """One way to one client."""

    def __init__(
        self,
        send: Send,
        *,
        of: frozenset[str] | None = None,
        subscription: object = _NO_SUBSCRIPTION,
        mute: bool = False,
    ) -> None:
        self._send = send
        self._of = frozenset[str]() if mute else of
        self._subscription = subscription
        self._ended = anyio.Event()
        self.graceful = False
        """How it ended: with a farewell, where the wire has one."""

    async def signal(self, kind: Kind, count: int) -> None:
        """Send `list_changed` so many times, where this outlet carries that kind."""
        if self._of is None or kind.capability in self._of:
            await self._send(changed(kind, self._subscription), count)

    def end(self, *, graceful: bool = False) -> None:
        """Whoever keeps it open lets it go."""
        self.graceful = graceful
        self._ended.set()

    async def wait_ended(self) -> None:
        """Wait for `end`."""
        await self._ended.wait()


class Outlets:
    """All outlets that are open."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._open: dict[Outlet, bool] = {}

    @contextmanager
    def opened(self, outlet: Outlet, *, stream: bool = True) -> Generator[None]:
        """Signals reach this outlet while the context lasts.

        A stream is counted and can be dropped; a pipe is none.
        """
        if stream:
            self._tally.add(streams=1, open_streams=1)
        self._open[outlet] = stream
        try:
            yield
        finally:
            del self._open[outlet]
            if stream:
                self._tally.add(open_streams=-1)

    async def signal(self, kind: Kind, count: int) -> None:
        """Send `list_changed` to everybody who listens to that kind."""
        for outlet in tuple(self._open):
            await outlet.signal(kind, count)

    def drop(self, *, graceful: bool) -> None:
        """End every open stream."""
        for outlet, stream in self._open.items():
            if stream:
                outlet.end(graceful=graceful)
