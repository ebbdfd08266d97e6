"""What the wire asks of whoever answers hosts, and what it tells them about a request."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from toolcrib.core.partition import Principal
from toolcrib.ports import Ask
from toolcrib.protocol.eras import MODERN_VERSIONS
from toolcrib.wire.audience import Audience, Subscriber
from toolcrib.wire.jsonwire import Result
from toolcrib.wire.log_relay import LogRelay
from toolcrib.wire.progress import ProgressRelay

Notify = Callable[[str, Mapping[str, Any]], Awaitable[None]]
"""Sends one notification that belongs to a request, on that request's own stream."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who we say we are: for display only (MCP 2026-07-28, basic: serverInfo)."""

    name: str
    version: str
    title: str = ""
    instructions: str = ""

    def stamp(self) -> dict[str, Any]:
        """The `Implementation` object."""
        stamp = {"name": self.name, "version": self.version}
        return {**stamp, "title": self.title} if self.title else stamp


@dataclass(slots=True, eq=False)
class Standing:
    """What a host of a handshake revision has set for all its requests."""

    subscriber: Subscriber
    """What it is told of outside of requests."""
    log_level: str = ""
    """What it gave with `logging/setLevel`; empty: nothing yet."""


@dataclass(frozen=True, slots=True, eq=False)
class HostRequest:
    """One request of a host, after everything that is the wire's business was checked."""

    method: str
    params: Mapping[str, Any]
    """As received, `_meta` included; the shape fits the revision's schema."""
    id: str | int
    version: str
    """The protocol revision that this request is answered in."""
    principal: Principal
    notify: Notify
    capabilities: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What the host declared: with this request, or in its handshake."""
    headers: tuple[tuple[str, str], ...] | None = None
    """HTTP headers in lower case, of requests whose revision mirrors parameters in headers; else
    None."""
    progress: ProgressRelay | None = None
    """Where progress goes; None when the host gave no token."""
    ask: Ask | None = None
    """Asks the host while this request is under way, as the handshake revisions allow; None where
    it is asked by an `input_required` result (MCP 2026-07-28, multi round-trip requests)."""
    handle: str = ""
    """What tells this host from others of its principal: its connection, its session, or the
    `dev.toolcrib/handle` it sent. Empty: nothing does."""
    log_level: str = ""
    """From which level on it wants log messages of this request; empty: none."""
    heard: LogRelay | None = None
    """Where log messages of this request go; None when the host wants none."""
    standing: Standing | None = None
    """What the host set for all its requests; None where every request stands alone."""

    @property
    def modern(self) -> bool:
        """Whether the revision is stateless: every request carries its own envelope."""
        return self.version in MODERN_VERSIONS


class Service(Protocol):
    """Answers hosts: the gateway, or a registry of tools in this process."""

    @property
    def identity(self) -> Identity:
        """Who we say we are."""
        ...

    def capabilities(self) -> Mapping[str, Any]:
        """Our `ServerCapabilities`, the same for every host and in both eras."""
        ...

    def audience(self, principal: Principal) -> Audience:
        """Whom changes of that principal's listings, and of its resources, are announced to."""
        ...

    async def subscribe(self, principal: Principal, uri: str) -> None:
        """Have a resource watched, which somebody in the audience follows from now on.

        It goes on while somebody does. Called only where `capabilities` declare
        `resources.subscribe`. Raises `RpcFault` for a resource that nobody has, any `ToolcribError`
        for what stopped us.
        """
        ...

    def left(self, principal: Principal, handle: str) -> None:
        """The connection or session behind a handle is over; nobody comes under it again.

        Handles that hosts chose themselves outlive their connections and are not told of.
        """
        ...

    async def answer(self, request: HostRequest) -> Result:
        """The result of a list, call, read, get or complete request, in the shape of 2026-07-28.

        Shaping it for older revisions is the wire's business. Raises `RpcFault` for errors that are
        the host's, any `ToolcribError` for what stopped us.
        """
        ...
