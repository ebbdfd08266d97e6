"""Handshake sessions over HTTP: who they belong to, how many there are, when they are forgotten."""

import secrets
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import sha256

import anyio

from toolcrib.core.partition import Principal
from toolcrib.errors import LimitExceeded
from toolcrib.wire.audience import Audience, Topic
from toolcrib.wire.handshake import Agreed
from toolcrib.wire.http.asked import Asked
from toolcrib.wire.http.guard import HttpLimits
from toolcrib.wire.http.resumable import ResumableReply, Shelf
from toolcrib.wire.service import Standing


@dataclass(slots=True, eq=False)
class Session:
    """One host after its handshake. The id is no credential: it is good for its principal only."""

    id: str
    agreed: Agreed
    principal: Principal
    peer: str
    """The address of the client that opened it."""
    standing: Standing
    """What the host set, and what it still has to be told, also while no stream of it is open."""
    in_flight: dict[str | int, anyio.CancelScope] = field(
        default_factory=dict[str | int, anyio.CancelScope]
    )
    asked: Asked = field(default_factory=Asked)
    """What the host was asked and has not answered."""
    streams: dict[str, ResumableReply] = field(default_factory=dict[str, ResumableReply])
    """Answers that the host may come back for, by the name of their stream."""
    carrier: anyio.CancelScope | None = None
    """The one stream that announcements go out on: the newest."""
    holds: int = 0
    """Exchanges that are going on."""
    used_at: float = 0.0
    """When the last exchange ended, on the event loop's clock."""

    @property
    def handle(self) -> str:
        """What tells this host from others, and cannot be used to speak for it."""
        return f"session:{sha256(self.id.encode()).hexdigest()[:32]}"

    def end(self) -> None:
        """Cancel what is going on and tell the host nothing any more."""
        self.standing.subscriber.leave()
        for scope in (*self.in_flight.values(), self.carrier):
            if scope is not None:
                scope.cancel()


class Sessions:
    """All open sessions of this process.

    Args:
        limits: How many, and how long they may go unused.
        left: Hears the principal and the handle of each that ends.
    """

    def __init__(self, limits: HttpLimits, left: Callable[[Principal, str], None]) -> None:
        self._limits = limits
        self._left = left
        self._open: dict[str, Session] = {}
        self._opened_by = Counter[str]()
        self.shelf = Shelf(limits)
        """The finished streams that hosts may still come back for."""

    def __len__(self) -> int:
        return len(self._open)

    def start(self, agreed: Agreed, principal: Principal, audience: Audience, peer: str) -> Session:
        """A new session.

        Where there are too many, of all or of one client, the one that was left unused for longest
        ends for it: hosts that never say goodbye must not lock out the others. Its host meets a 404
        and opens another. Raises `LimitExceeded` when all of them are in use.
        """
        limits = self._limits
        if self._opened_by[peer] >= limits.sessions_per_peer:
            own = (session for session in self._open.values() if session.peer == peer)
            self._make_room(own, f"sessions of this client (limit {limits.sessions_per_peer})")
        if len(self._open) >= limits.sessions:
            self._make_room(self._open.values(), f"sessions (limit {limits.sessions})")
        session = Session(
            secrets.token_urlsafe(24),
            agreed,
            principal,
            peer,
            Standing(audience.join(Topic)),
            used_at=anyio.current_time(),
        )
        self._open[session.id] = session
        self._opened_by[peer] += 1
        return session

    def find(self, session_id: str, principal: Principal) -> Session | None:
        """The session of that id, if it is open, not idle for too long, and this principal's."""
        session = self._open.get(session_id)
        if session is None or session.principal != principal:
            return None
        if self._is_idle(session, anyio.current_time()):
            self.end(session)
            return None
        return session

    def end(self, session: Session) -> None:
        """Forget a session; idempotent."""
        if self._open.pop(session.id, None) is not None:
            self._opened_by[session.peer] -= 1
            if not self._opened_by[session.peer]:
                del self._opened_by[session.peer]
            self._left(session.principal, session.handle)
        self.shelf.clear(session.streams)
        session.end()

    def _is_idle(self, session: Session, now: float) -> bool:
        return not session.holds and now - session.used_at > self._limits.session_idle

    def _make_room(self, sessions: Iterable[Session], what: str) -> None:
        unused = (session for session in sessions if not session.holds)
        idlest = min(unused, key=lambda session: session.used_at, default=None)
        if idlest is None:
            raise LimitExceeded(f"too many open {what}, and all are in use")
        self.end(idlest)
