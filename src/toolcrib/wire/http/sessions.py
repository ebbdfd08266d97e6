"""Handshake sessions over HTTP: who they belong to, how many there are, when they are forgotten."""

import secrets
from dataclasses import dataclass, field

import anyio

from toolcrib.core.partition import Principal
from toolcrib.errors import LimitExceeded
from toolcrib.wire.audience import Audience, Subscriber, Topic
from toolcrib.wire.handshake import Agreed
from toolcrib.wire.http.guard import HttpLimits


@dataclass(slots=True, eq=False)
class Session:
    """One host after its handshake. The id is no credential: it is good for its principal only."""

    id: str
    agreed: Agreed
    principal: Principal
    subscriber: Subscriber
    """What the host still has to be told, also while no stream of it is open."""
    in_flight: dict[str | int, anyio.CancelScope] = field(
        default_factory=dict[str | int, anyio.CancelScope]
    )
    carrier: anyio.CancelScope | None = None
    """The one stream that announcements go out on: the newest."""
    holds: int = 0
    """Exchanges that are going on."""
    used_at: float = 0.0
    """When the last exchange ended, on the event loop's clock."""

    def end(self) -> None:
        """Cancel what is going on and tell the host nothing any more."""
        self.subscriber.leave()
        for scope in (*self.in_flight.values(), self.carrier):
            if scope is not None:
                scope.cancel()


class Sessions:
    """All open sessions of this process."""

    def __init__(self, limits: HttpLimits) -> None:
        self._limits = limits
        self._open: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._open)

    def start(self, agreed: Agreed, principal: Principal, audience: Audience) -> Session:
        """A new session; raises `LimitExceeded` when there are too many."""
        now = anyio.current_time()
        if len(self._open) >= self._limits.sessions:
            self._forget_idle(now)
        if len(self._open) >= self._limits.sessions:
            raise LimitExceeded(f"too many open sessions (limit {self._limits.sessions})")
        session = Session(
            secrets.token_urlsafe(24), agreed, principal, audience.join(Topic), used_at=now
        )
        self._open[session.id] = session
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
        self._open.pop(session.id, None)
        session.end()

    def _is_idle(self, session: Session, now: float) -> bool:
        return not session.holds and now - session.used_at > self._limits.session_idle

    def _forget_idle(self, now: float) -> None:
        for session in [s for s in self._open.values() if self._is_idle(s, now)]:
            self.end(session)
