"""What can be done to a scripted server while it runs, by name."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from toolcrib.core.snapshot import Kind
from toolcrib.testing.server.actions import Action
from toolcrib.testing.server.behaviour import Group
from toolcrib.testing.server.http_wire import HttpWire
from toolcrib.testing.server.script import Script
from toolcrib.testing.server.sse_wire import SseWire
from toolcrib.testing.server.stdio_wire import ProcessSeen, StdioWire
from toolcrib.testing.server.tally import Counts, Heard

__all__ = ["Controls", "Operation", "ServerWire"]

ServerWire = StdioWire | HttpWire | SseWire
Operation = Callable[..., Awaitable[Any]]


class Controls:
    """The operations on one server."""

    def __init__(self, script: Script, wire: ServerWire) -> None:
        self._script = script
        self._wire = wire
        self.operations: Mapping[str, Operation] = {
            "calm": self._calm,
            "counts": self._counts,
            "drop": wire.drop,
            "drop_streams": self._drop_streams,
            "forget_sessions": self._forget_sessions,
            "heard": self._heard,
            "on": self._on,
            "processes": self._processes,
            "set": self._set,
            "signal": self._signal,
            "start": wire.start,
            "stop": wire.stop,
        }
        """By name, with keyword arguments."""

    async def perform(self, operation: str, **arguments: Any) -> Any:
        """Carry out one of the operations.

        Raises `ValueError` for one that there is not, for arguments that do not fit, and for what
        this wire cannot.
        """
        if operation not in self.operations:
            names = ", ".join(self.operations)
            raise ValueError(f"there is no operation {operation!r}; there are {names}")
        try:
            return await self.operations[operation](**arguments)
        except TypeError as error:
            raise ValueError(f"{operation}: {error}") from error

    async def _set(self, groups: Sequence[Group]) -> None:
        for group in groups:
            self._script.set(group)

    async def _on(
        self, event: str, actions: Sequence[Action], times: int | None = None, skip: int = 0
    ) -> None:
        self._script.rules.add(event, actions, times=times, skip=skip)

    async def _calm(self) -> None:
        self._script.rules.clear()

    async def _signal(self, kind: Kind, count: int = 1, *, unasked: bool = False) -> None:
        if not unasked:
            await self._script.outlets.signal(kind, count)
        elif isinstance(self._wire, StdioWire):
            await self._wire.signal_unasked(kind, count)
        else:
            raise ValueError("over HTTP only a rule can signal unasked: on the answer of a request")

    async def _drop_streams(self, *, graceful: bool = False) -> None:
        self._script.outlets.drop(graceful=graceful)

    async def _forget_sessions(self) -> None:
        match self._wire:
            case HttpWire() as wire:
                await wire.forget_sessions()
            case _:
                raise ValueError(f"there are no sessions to forget on {self._script.wire}")

    async def _counts(self, after: int | None = None) -> tuple[int, Counts]:
        """The counts and their revision; with `after`, only once there is a newer one."""
        if after is not None:
            await self._script.tally.wait_beyond(after)
        return self._script.tally.revision, self._script.tally.counts()

    async def _heard(self) -> tuple[Heard, ...]:
        return self._script.tally.heard()

    async def _processes(self) -> tuple[ProcessSeen, ...]:
        return tuple(self._wire.seen) if isinstance(self._wire, StdioWire) else ()
