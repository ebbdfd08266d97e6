"""One supervised connection: opened when wanted, watched while up.

A lost one is opened again, with backoff.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import anyio

from toolcrib.errors import (
    StoreUnreachable,
    ToolcribError,
    UpstreamRefused,
    UpstreamUnreachable,
)
from toolcrib.facts import ConnectionChanged, Finding
from toolcrib.ports import (
    ClientProfile,
    Clock,
    Connector,
    EraMemory,
    Observer,
    SnapshotStore,
    Upstream,
)
from toolcrib.settings import Limits, ServerSettings
from toolcrib.upstreams.backoff import Attempts
from toolcrib.upstreams.listeners import Fanout
from toolcrib.upstreams.turns import Turns

State = Literal["idle", "connecting", "ready", "backoff", "slow_probe", "closed"]

Answerer = Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""Answers what a handshake-era server asks of its client: (method, params) -> result."""

_log = logging.getLogger(__name__)

METHOD_NOT_FOUND = -32601

ERA_REFRESHED = 6 * 3600.0
"""Seconds after which the note of a server's era is written anew, though nothing in it changed."""


async def refuse_requests(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """The answerer where nobody is behind the question: there are no roots, all else is refused."""
    del params
    if method == "roots/list":
        return {"roots": []}
    raise UpstreamRefused(f"{method} is not supported by this client", rpc_code=METHOD_NOT_FOUND)


@dataclass(frozen=True, slots=True)
class Wiring:
    """What every supervised connection of a crib works with."""

    connector: Connector
    store: SnapshotStore
    """Keeps the eras of servers between starts."""
    clock: Clock
    observer: Observer
    limits: Limits = field(default_factory=Limits)


class Supervisor:
    """Keeps one connection to one server for one client profile.

    Lazy servers are connected when somebody asks for `ready`, eager ones from the start and again
    after each loss. One that was let go (`rest`) is connected when somebody asks. Whoever waits
    never cancels the attempt: it runs in the supervisor's own task.

    Args:
        server: The settings of the server.
        profile: What is declared to it.
        wiring: The ports it works with.
        note_key: Under which key of the store its era is remembered.
        answer: Answers what a handshake-era server asks of its client.
        connection: Which of the connections to that server it is, counted from 0.
        start_after: Seconds before the first attempt.
    """

    def __init__(
        self,
        server: ServerSettings,
        profile: ClientProfile,
        wiring: Wiring,
        *,
        note_key: str,
        answer: Answerer = refuse_requests,
        connection: int = 0,
        start_after: float = 0.0,
    ) -> None:
        self.server = server
        self._profile = profile
        self._connector = wiring.connector
        self._store = wiring.store
        self._clock = wiring.clock
        self._observer = wiring.observer
        self._note_key = note_key
        self._answer = answer
        self._connection = connection
        self._start_after = start_after
        self.fanout = Fanout(self._listener_failed)
        self.turns = Turns(server.id, wiring.limits)
        """Bounds the calls over this connection; taken by whoever forwards one."""
        self._state: State = "idle"
        self._upstream: Upstream | None = None
        self._trouble: ToolcribError | None = None
        self._attempts = Attempts()
        self._ended = 0
        self._stderr = ""
        self._used = wiring.clock.now().mono
        self._begun = float("inf")
        self._held = anyio.CancelScope()
        self._hurried = anyio.Event()
        self._wanted = anyio.Event()
        self._changed = anyio.Event()
        if server.connect == "eager":
            self._wanted.set()

    @property
    def state(self) -> State:
        """Where the connection stands."""
        return self._state

    @property
    def upstream(self) -> Upstream | None:
        """The live connection, or None."""
        up = self._upstream
        return None if up is None or up.closed else up

    @property
    def begun(self) -> float:
        """When the attempt to connect that is under way was begun, in monotonic seconds.

        Infinite where none is.
        """
        return self._begun

    @property
    def trouble(self) -> ToolcribError | None:
        """Why there is no connection: the last failure, or None."""
        return self._trouble

    @property
    def stderr(self) -> str:
        """The tail of what the server's process wrote to standard error, also after it ended."""
        return self._stderr if self._upstream is None else self._upstream.stderr

    def retune(self, server: ServerSettings) -> None:
        """Takes over settings that need no new connection, such as the pace of attempts."""
        self.server = server
        if server.connect == "eager" and not server.on_demand:
            self.want()

    def want(self) -> None:
        """Asks for a connection without waiting for it."""
        self._wanted.set()

    def hurry(self) -> None:
        """Asks for a connection, and begins an attempt that is put off at once."""
        self.want()
        if self._state in {"backoff", "slow_probe"}:
            self._become("connecting")
            self._hurried.set()

    def use(self) -> None:
        """Counts as a use of the connection, for `rest`."""
        self._used = self._clock.now().mono

    def rest(self, after: float) -> float:
        """Lets go of a connection that nobody used for so many seconds, until somebody asks again.

        Attempts to have one end, too. Not while a call is under way. Returns the seconds after
        which it is worth asking again.
        """
        if self.turns.under_way:
            self.use()
        left = self._used + after - self._clock.now().mono
        if left > 0:
            return left
        if self._wanted.is_set():
            self._wanted = anyio.Event()
        if self._state == "ready":
            self._upstream = None
            self._become("idle")
            self._held.cancel()
        return after

    async def ready(self) -> Upstream:
        """The live connection, waiting for an attempt that is under way or about to begin.

        Raises:
            UpstreamUnreachable: The server is between attempts, or was closed; or what the attempt
            itself raised.
        """
        while True:
            if (up := self.upstream) is not None:
                return up
            if self._state in {"backoff", "slow_probe", "closed"}:
                raise self._trouble or UpstreamUnreachable("not connected", server=self.server.id)
            self.want()
            ended = self._ended
            await self._changed.wait()
            if self._ended != ended and self._trouble is not None:
                raise self._trouble

    async def run(self) -> None:
        """Supervises until cancelled; the process group or session is ended on the way out."""
        try:
            await anyio.sleep(self._start_after)
            while True:
                await self._wanted.wait()
                delay = await self._attempt()
                if delay is None:
                    continue
                lazy = self.server.connect == "lazy"
                if lazy:
                    self._wanted = anyio.Event()
                if delay > 0:
                    with anyio.move_on_after(delay):
                        await self._hurried.wait()
                self._become("idle" if lazy or not self._wanted.is_set() else "connecting")
        finally:
            self._upstream = None
            self._become("closed")

    async def _attempt(self) -> float | None:
        """One connection from start to end; the seconds to wait before the next.

        None: it was let go, which is no failure.
        """
        self._held, self._hurried = anyio.CancelScope(), anyio.Event()
        self._begun = self._clock.now().mono
        self._become("connecting")
        up_since: float | None = None
        retry_after: float | None = None
        try:
            remembered = await self._recall()
            async with self._connector.connect(
                self.server, self._profile, self._signals(), remembered
            ) as upstream:
                up_since = self._clock.now().mono
                self._begun = float("inf")
                self._trouble = None
                self._upstream = upstream
                self._become("ready", era=upstream.facts.era)
                self.fanout.connected(upstream.facts)
                await self._remember(upstream, remembered)
                reason = "nobody used it"
                with self._held:
                    reason = await upstream.wait_closed()
                self._stderr = upstream.stderr
            if self._held.cancelled_caught:
                self.fanout.disconnected(reason)
                return None
            trouble: ToolcribError = UpstreamUnreachable(reason, server=self.server.id)
        except ToolcribError as error:
            trouble = error
            retry_after = error.details.get("retry_after")
        except Exception as error:  # noqa: BLE001 - what a server does costs its own tools only
            _log.exception("the connection to %s broke", self.server.id)
            detail = f"the connection broke us: {type(error).__name__}"
            trouble = UpstreamUnreachable(detail, server=self.server.id)
        self._begun = float("inf")
        now = self._clock.now().mono
        uptime = 0.0 if up_since is None else now - up_since
        self._attempts = self._attempts.after(uptime, self.server.reconnect)
        self._upstream = None
        self._trouble = trouble
        self._ended += 1
        delay = self._attempts.delay(self.server.reconnect, self._clock.lots(), retry_after)
        slow = self._attempts.slow(self.server.reconnect)
        self.fanout.disconnected(trouble.message)
        self._become("slow_probe" if slow else "backoff", detail=trouble.for_operator())
        return delay

    def _listener_failed(self, fault: Exception) -> None:
        detail = f"{type(fault).__name__} while hearing of a connection"
        self._observer.note(Finding(self.server.id, "listener_failed", detail))

    def _signals(self) -> "_Signals":
        return _Signals(self.fanout, self._answer)

    def _become(self, state: State, *, era: str = "", detail: str = "") -> None:
        changed = state != self._state
        self._state = state
        if changed:
            self._observer.note(
                ConnectionChanged(
                    self.server.id, state, era, detail, self._attempts.failed, self._connection
                )
            )
        self._changed.set()
        self._changed = anyio.Event()

    async def _recall(self) -> EraMemory | None:
        try:
            raw = await self._store.read_note(self._note_key)
        except StoreUnreachable:
            return None
        if raw is None:
            return None
        try:
            return EraMemory(**json.loads(raw))
        except (ValueError, TypeError):
            return None

    async def _remember(self, upstream: Upstream, remembered: EraMemory | None) -> None:
        era, version = upstream.facts.era, upstream.facts.protocol_version
        now = self._clock.now().wall
        if (
            remembered is not None
            and (remembered.era, remembered.protocol_version) == (era, version)
            and now - remembered.decided_at < ERA_REFRESHED
        ):
            return
        memory = {"era": era, "protocol_version": version, "decided_at": now}
        try:
            await self._store.write_note(self._note_key, json.dumps(memory).encode())
        except StoreUnreachable:
            return


class _Signals:
    """The Signals port of one attempt, in front of the fan-out."""

    def __init__(self, fanout: Fanout, answer: Answerer) -> None:
        self._answer = answer
        self.notified = fanout.notified
        self.stream_opened = fanout.stream_opened
        self.stream_lost = fanout.stream_lost
        self.stream_refused = fanout.stream_refused

    async def requested(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Answers what the server asks."""
        return await self._answer(method, params)
