"""The ports: what the rooms ask of the outside world, as Protocols and nothing else.

Adapters implement them, `compose` hands them in. Each docstring is the contract that the suites in
`toolcrib.testing` check.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from toolcrib.core.freshness.record import Answer, Caller, Published, Ticket
from toolcrib.core.instant import Instant
from toolcrib.core.jsontypes import is_object
from toolcrib.facts import Fact
from toolcrib.settings import Launch, ServerSettings

Era = Literal["modern", "handshake"]


class Clock(Protocol):
    """Time and chance; the only source of both."""

    def now(self) -> Instant:
        """This moment."""
        ...

    def lots(self) -> float:
        """A number in [0, 1)."""
        ...


class Observer(Protocol):
    """Takes facts. Must not block or raise; may drop."""

    def note(self, fact: Fact) -> None:
        """Take one fact."""
        ...


class SnapshotStore(Protocol):
    """Keeps the records of catalogs, one per PID.

    The operations are those of `core.freshness.operations`.
    Each operation is one step: it runs the pure function on the current record and keeps what it
    returns, or it raises `StoreUnreachable` and nothing is changed as far as anybody can tell.
    Answers never come out of the order in which the store decided.
    """

    @property
    def remote(self) -> bool:
        """Whether an operation costs a round trip.

        Then a listing should look inside the request.
        """
        ...

    async def look(self, pid: str, caller: Caller) -> Answer:
        """LOOK: what the record says, and nothing changes."""
        ...

    async def invalidate(self, pid: str, caller: Caller) -> Answer:
        """INVALIDATE: a change was signalled."""
        ...

    async def begin(
        self, pid: str, caller: Caller, *, force: bool = False, regranted: bool = False
    ) -> Answer:
        """BEGIN: ask for a walk; the answer carries the ticket, or says why there is none."""
        ...

    async def renew(self, pid: str, caller: Caller, ticket: Ticket) -> Answer:
        """RENEW: keep the lease of a walk under way."""
        ...

    async def release(self, pid: str, caller: Caller, ticket: Ticket) -> Answer:
        """RELEASE: give the lease of a failed walk back."""
        ...

    async def publish(
        self, pid: str, caller: Caller, ticket: Ticket, candidate: Published
    ) -> Answer:
        """PUBLISH: replace the snapshot, if the walk is the newest and not dirty."""
        ...

    async def revoke(self, pid: str, caller: Caller) -> Answer:
        """REVOKE: withdraw the catalog, and void every walk begun before."""
        ...

    async def read_note(self, key: str) -> bytes | None:
        """A small remembered value, such as the era of a server; None when there is none."""
        ...

    async def write_note(self, key: str, value: bytes | None) -> None:
        """Remember a small value (64 KiB at most), or forget it."""
        ...


class InvalidationBus(Protocol):
    """Says `look again` to other replicas and processes; it may lose, double and delay."""

    async def publish(self, pid: str) -> None:
        """Tell everybody else that the record of this PID may have changed."""
        ...

    def subscribe(self, listener: Callable[[str | None], None]) -> Callable[[], None]:
        """Call `listener(pid)` for each hint, `listener(None)` after a gap.

        The answer ends that, however often it is called.
        """
        ...


@dataclass(frozen=True, slots=True)
class ClientProfile:
    """What we declare to an upstream on behalf of whoever is served: the capability class."""

    capabilities: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """ClientCapabilities as JSON, such as `{"elicitation": {"form": {}}}`."""
    name: str = "toolcrib"
    version: str = "0"

    @property
    def capability_class(self) -> tuple[str, ...]:
        """The dimension of the partition: sorted flat names.

        Such as `("elicitation.form", "roots")`.
        """
        names: set[str] = set()
        for key, value in self.capabilities.items():
            inner = [f"{key}.{sub}" for sub in value] if is_object(value) and value else [key]
            names.update(inner)
        return tuple(sorted(names))


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What a connected server said of itself.

    For display and capability checks only, never for trust.
    """

    era: Era
    protocol_version: str
    capabilities: Mapping[str, Any]
    name: str = ""
    version: str = ""
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class EraMemory:
    """What is remembered of a server between starts."""

    era: Era
    protocol_version: str
    decided_at: float
    """Seconds since the epoch."""


Progress = Callable[[float, float | None, str | None], Awaitable[None]]

Ask = Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""Has a question of a server answered: (method, params) -> result, raw on both sides.

Methods are `elicitation/create`, `sampling/createMessage` and `roots/list`. Raises
`UpstreamRefused` to answer with that error.
"""

Heard = Callable[[str, Mapping[str, Any]], Awaitable[None]]
"""Takes a notification that belongs to one request, such as `notifications/message`."""


@dataclass(frozen=True, slots=True, eq=False)
class RequestContext:
    """What goes with one request to a server beside its parameters."""

    capabilities: Mapping[str, Any] | None = None
    """What whoever is behind this request can be asked, as `ClientCapabilities`; None: what the
    connection's profile says. Connections of the handshake revisions declared theirs for good."""
    input_schema: object = None
    """For `tools/call`: the input schema in the newest snapshot, from which parameters are mirrored
    into HTTP headers."""
    ask: Ask | None = None
    """Answers what a handshake-era server asks while this request is under way."""
    heard: Heard | None = None
    """Takes log messages that belong to this request."""
    log_level: str = ""
    """From which level on log messages are wanted; empty: none are."""
    caller: object = None
    """Who is behind this request: equal for requests of one caller, never for those of two.

    Where many requests share a pipe, it tells whom a question or a log message may be for. None:
    nothing is known, and only requests with equal `ask` or `heard` count as of one caller.
    """


class Upstream(Protocol):
    """One live connection to one server, in one era, with one client profile.

    Every failure is a `ToolcribError`: `UpstreamRefused` for a JSON-RPC error of the server (with
    HTTP status, challenge and Retry-After where there were any), `AuthRequired` for 401 and 403,
    `RateLimited` for 429, `RequestTimedOut` after `timeout`, `ResultInvalid` for an answer that
    came and cannot be read, `UpstreamUnreachable` for everything that broke the transport.
    """

    @property
    def facts(self) -> ServerFacts:
        """What the server said of itself when it was connected."""
        ...

    @property
    def closed(self) -> bool:
        """Whether the connection is over; requests then raise `UpstreamUnreachable` at once."""
        ...

    @property
    def stderr(self) -> str:
        """The tail of what a process wrote to standard error; empty for other transports."""
        ...

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        progress: Progress | None = None,
        headers: Mapping[str, str] | None = None,
        context: RequestContext | None = None,
    ) -> dict[str, Any]:
        """Send a request under an id of our own and return the raw result, whatever its shape.

        Time in which `context.ask` is being answered does not count into `timeout`.

        The envelope of the era (`_meta` keys and HTTP headers of MCP 2026-07-28, or the negotiated
        version header) is added here; cancelling the caller cancels the request upstream in the way
        of its era and transport.
        """
        ...

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification; a broken connection is no error."""
        ...

    async def wait_closed(self) -> str:
        """Wait until the connection is over; the reason, in one sentence."""
        ...


class Signals(Protocol):
    """Where a connection tells what it hears.

    Called on the event loop, in receive order; must not block.
    """

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """A notification arrived, declared or not.

        It came on a listen stream, the GET stream, a request's stream or a pipe.
        """
        ...

    def stream_opened(self) -> None:
        """Change signals flow from now on: an acknowledged listen, an open GET stream, a pipe."""
        ...

    def stream_lost(self) -> None:
        """A stream of signals broke; what came in between is lost.

        The connection opens it again, with backoff.
        """
        ...

    def stream_refused(self) -> None:
        """The server offers no change signals on this connection."""
        ...

    async def requested(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """A handshake-era server asks something of us; answers the raw result.

        Such as `elicitation/create` or `roots/list`. Raise `UpstreamRefused` to answer with that
        error.
        """
        ...


class Connector(Protocol):
    """Opens connections.

    One call is one attempt: it starts the process or dials, finds the era, and is ready.
    """

    def connect(
        self,
        server: ServerSettings,
        profile: ClientProfile,
        signals: Signals,
        remembered: EraMemory | None,
    ) -> AbstractAsyncContextManager[Upstream]:
        """A connection that lives as long as the context.

        Leaving it always ends the process group or the session.

        Raises, on entering: `UpstreamUnreachable`, `RequestTimedOut`, `AuthRequired`,
        `RateLimited`, `IncompatibleServer`, `ConfigError`.
        """
        ...


class Keys(Protocol):
    """The secret of this installation, from which keyed digests are made."""

    def secret(self) -> bytes:
        """At least 32 random bytes, the same for every process that shares a store."""
        ...

    def launch_digest(self, launch: Launch) -> str:
        """The keyed digest of a launch."""
        ...

    def derived(self, purpose: str) -> bytes:
        """32 bytes for one purpose alone, from which nothing about the secret can be told."""
        ...


@dataclass(frozen=True, slots=True)
class SchemaFault:
    """One place where a value does not fit its schema."""

    where: str
    """The place in the value, such as `filter.tags[2]`; empty for the whole."""
    what: str
    """What is wrong and what is allowed, in a sentence that quotes at most a short value."""


@dataclass(frozen=True, slots=True)
class Unchecked:
    """The value was not checked: the other side has to decide."""

    reason: str
    """In a sentence: a reference that leads nowhere, an unknown dialect, too much work."""


class SchemaChecker(Protocol):
    """Checks values against JSON Schemas (2020-12 where the schema names no dialect)."""

    def check(
        self, schema: object, value: object, *, mark: str
    ) -> tuple[SchemaFault, ...] | Unchecked:
        """Where the value does not fit: nothing, or the first few faults.

        Never fetches anything, never takes longer or more memory than its limits say, never raises
        for a strange schema or value.

        Args:
            schema: As received.
            value: JSON, as parsed.
            mark: Equal for equal schemas, different for others (a contract and the name of the
                member will do; a contract alone covers both schemas of a tool): what was
                compiled is kept under it.
        """
        ...


class EntryStore(Protocol):
    """Keeps small values with an expiry, per space and owner, bounded; shared like snapshots are.

    Owners are keyed digests, never names. Raises `StoreUnreachable`, and then nothing is changed as
    far as anybody can tell. What has expired is never seen again.
    """

    async def get(self, space: str, owner: str, key: str) -> bytes | None:
        """The value under a key; None when there is none."""
        ...

    async def entries(self, space: str, owner: str) -> dict[str, bytes]:
        """Everything of an owner, by key, the least recently written first."""
        ...

    async def put(
        self,
        space: str,
        owner: str,
        values: Mapping[str, bytes],
        *,
        lifetime: float,
        most: int,
    ) -> None:
        """Keep values for `lifetime` seconds.

        Beyond `most` entries of this owner the least recently written are dropped.

        Raises:
            LimitExceeded: A value is larger than a store takes (16 MiB).
        """
        ...

    async def add(
        self, space: str, owner: str, key: str, value: bytes, *, lifetime: float, most: int
    ) -> bool:
        """Keep a value where the key is free, as one step; whether it was."""
        ...

    async def take(self, space: str, owner: str, key: str) -> bytes | None:
        """The value, and nobody gets it again: of those who take at once, one gets it."""
        ...

    async def drop(self, space: str, owner: str, key: str | None = None) -> int:
        """Forget a key, or everything of an owner; how many there were."""
        ...


class Sealer(Protocol):
    """Makes texts that only this installation can make and read, and that expire."""

    def seal(self, value: bytes, *, bound: bytes, lifetime: float) -> str:
        """A text with the value inside, encrypted, good for so long with the same `bound`."""
        ...

    def unseal(self, text: str, *, bound: bytes) -> bytes | None:
        """The value; None for a text that is foreign, changed, bound otherwise, or expired."""
        ...


class Vault(Protocol):
    """Keeps secrets of upstreams (OAuth tokens, client registrations) at rest, encrypted."""

    async def read(self, key: str) -> bytes | None:
        """The secret under a key; None when there is none, or it cannot be read any more."""
        ...

    async def write(self, key: str, value: bytes | None) -> None:
        """Keep a secret, or forget it."""
        ...

    def turn(self, key: str) -> AbstractAsyncContextManager[None]:
        """One at a time among all that share the vault, processes too; waits some seconds at most.

        A refresh token that two use at once may cost both the login.
        """
        ...

    @property
    def where(self) -> str:
        """Where secrets are kept, in words for a person."""
        ...
