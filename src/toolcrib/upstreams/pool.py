"""Which connection serves whom.

One per server and capability class, and per principal where the server keeps state.
"""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio
from anyio.abc import TaskGroup

from toolcrib.core.partition import Principal
from toolcrib.ports import ClientProfile, Clock, Connector, Keys, Observer, SnapshotStore
from toolcrib.settings import Limits, ServerSettings
from toolcrib.upstreams.supervisor import Answerer, Supervisor, Wiring, refuse_requests

HEAD_START = 0.1
"""Seconds that the first host has, before connections start, to be answered from the store."""

SPACING = 0.01
"""Seconds between the starts of two connections."""


@dataclass(frozen=True, slots=True)
class Seat:
    """What separates connections: two callers with the same seat share one."""

    server: str
    launch: str
    """The launch digest: a server that is configured anew gets new connections."""
    principal: Principal | None
    """None where the server is stateless and all principals share."""
    capabilities: tuple[str, ...]


class Pool:
    """Opens and shares supervised connections; they live in the task group it is given."""

    def __init__(
        self,
        tasks: TaskGroup,
        *,
        connector: Connector,
        store: SnapshotStore,
        keys: Keys,
        clock: Clock,
        observer: Observer,
        limits: Limits | None = None,
    ) -> None:
        self._wiring = Wiring(connector, store, clock, observer, limits or Limits())
        self._keys = keys
        self._clock = clock
        self._tasks = tasks
        self._opened: Counter[str] = Counter()
        self._next_start = clock.now().mono + HEAD_START - SPACING
        self._seats: dict[Seat, tuple[Supervisor, anyio.CancelScope, anyio.Event]] = {}

    def seat(self, server: ServerSettings, principal: Principal, profile: ClientProfile) -> Seat:
        """The seat of a caller at a server."""
        return Seat(
            server.id,
            self._keys.launch_digest(server.launch),
            principal if server.stateful else None,
            profile.capability_class,
        )

    def supervisor(
        self,
        server: ServerSettings,
        principal: Principal,
        profile: ClientProfile,
        answer: Answerer = refuse_requests,
    ) -> Supervisor:
        """The supervised connection of that seat, made if there is none yet."""
        seat = self.seat(server, principal, profile)
        found = self._seats.get(seat)
        if found is not None:
            return found[0]
        supervisor = Supervisor(
            server,
            profile,
            self._wiring,
            note_key=f"era:{seat.launch}",
            answer=answer,
            connection=self._opened[server.id],
            start_after=self._turn(),
        )
        self._opened[server.id] += 1
        scope, done = anyio.CancelScope(), anyio.Event()
        self._seats[seat] = (supervisor, scope, done)
        self._tasks.start_soon(_supervise, supervisor.run, scope, done)
        return supervisor

    def _turn(self) -> float:
        """Seconds until the next new connection may start.

        Starting a process holds the event loop for some milliseconds; thirty at once would keep the
        first host waiting, although it could be answered from the store.
        """
        now = self._clock.now().mono
        self._next_start = max(now, self._next_start + SPACING)
        return self._next_start - now

    async def close(self, *supervisors: Supervisor) -> None:
        """Ends connections side by side, and waits until their processes or sessions are gone.

        From the first moment on nobody is given one of them any more.
        """
        ending: list[anyio.Event] = []
        for seat, (candidate, scope, done) in list(self._seats.items()):
            if candidate in supervisors:
                del self._seats[seat]
                scope.cancel()
                ending.append(done)
        for done in ending:
            await done.wait()

    def __len__(self) -> int:
        return len(self._seats)


async def _supervise(
    run: Callable[[], Awaitable[None]], scope: anyio.CancelScope, done: anyio.Event
) -> None:
    try:
        with scope:
            await run()
    finally:
        done.set()
