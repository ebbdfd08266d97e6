"""Which connection serves whom: one per server, principal where the server keeps state, and
capability class.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio
from anyio.abc import TaskGroup

from toolcrib.core.partition import Principal
from toolcrib.ports import ClientProfile, Clock, Connector, Keys, Observer, SnapshotStore
from toolcrib.settings import ServerSettings
from toolcrib.upstreams.supervisor import Answerer, Supervisor, refuse_requests


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
    ) -> None:
        self._connector = connector
        self._store = store
        self._keys = keys
        self._clock = clock
        self._observer = observer
        self._tasks = tasks
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
            connector=self._connector,
            store=self._store,
            note_key=f"era:{seat.launch}",
            clock=self._clock,
            observer=self._observer,
            answer=answer,
        )
        scope, done = anyio.CancelScope(), anyio.Event()
        self._seats[seat] = (supervisor, scope, done)
        self._tasks.start_soon(_supervise, supervisor.run, scope, done)
        return supervisor

    async def close(self, supervisor: Supervisor) -> None:
        """Ends a connection and waits until its process or session is gone."""
        for seat, (candidate, scope, done) in list(self._seats.items()):
            if candidate is supervisor:
                del self._seats[seat]
                scope.cancel()
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
