"""What a scripted server has seen so far: counts, and the last messages as they came."""

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import anyio

__all__ = ["Counts", "Heard", "Tally"]

_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class Counts:
    """What arrived since the server was made. What never arrived counts as 0 in the mappings."""

    connects: int = 0
    """Processes that started, or TCP connections that were accepted."""
    live: int = 0
    """How many of them are up."""
    sessions: int = 0
    """Handshakes completed."""
    streams: int = 0
    """Streams of signals opened: by GET, or by a listen that was acknowledged."""
    open_streams: int = 0
    """How many of them are open."""
    requests: Counter[str] = field(default_factory=Counter[str])
    """By JSON-RPC method; `GET` and `DELETE` count too."""
    walks: Counter[str] = field(default_factory=Counter[str])
    """List requests without a cursor, by `tools`, `prompts`, `resources`, `templates`."""
    calls: Counter[str] = field(default_factory=Counter[str])
    """`tools/call`, by the name of the tool."""
    notifications: Counter[str] = field(default_factory=Counter[str])
    """By JSON-RPC method."""
    gave_up: int = 0
    """Requests whose client cancelled them, or went away, before they were answered."""
    unreadable: int = 0
    """What came and was no JSON-RPC message."""

    @property
    def all_requests(self) -> int:
        """JSON-RPC requests of every method, GET and DELETE apart."""
        return sum(n for method, n in self.requests.items() if method not in {"GET", "DELETE"})


@dataclass(frozen=True, slots=True)
class Heard:
    """One message of the client, or one GET or DELETE, as it came."""

    method: str
    """"" for an answer to a request of ours."""
    message: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The whole JSON-RPC message; empty for GET and DELETE."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """HTTP headers, their names in lower case; empty on stdio."""
    pid: int | None = None
    """On stdio, the process that read it."""


class Tally:
    """Counts, and wakes whoever waits for a count to change."""

    def __init__(self) -> None:
        self._counts = Counts()
        self._heard: deque[Heard] = deque(maxlen=_KEPT)
        self._revision = 0
        self._changed = anyio.Event()

    @property
    def revision(self) -> int:
        """Grows with every change."""
        return self._revision

    def counts(self) -> Counts:
        """A copy that stays as it is."""
        now = self._counts
        return replace(
            now,
            requests=Counter(now.requests),
            walks=Counter(now.walks),
            calls=Counter(now.calls),
            notifications=Counter(now.notifications),
        )

    def heard(self) -> tuple[Heard, ...]:
        """The last ten thousand messages, the newest last."""
        return tuple(self._heard)

    async def wait_beyond(self, revision: int) -> None:
        """Wait until something was counted after that revision."""
        while self._revision <= revision:
            await self._changed.wait()

    def keep(self, message: Heard) -> None:
        """Keep a message."""
        self._heard.append(message)

    def add(self, **amounts: int) -> None:
        """Add to single counts, such as `live=-1`."""
        fields = {name: getattr(self._counts, name) + n for name, n in amounts.items()}
        self._counts = replace(self._counts, **fields)
        self._wake()

    def count(self, group: str, name: str) -> int:
        """Count one more in a mapping, such as `walks`; the count it has now."""
        counter: Counter[str] = getattr(self._counts, group)
        counter[name] += 1
        self._wake()
        return counter[name]

    def _wake(self) -> None:
        self._revision += 1
        self._changed.set()
        self._changed = anyio.Event()
