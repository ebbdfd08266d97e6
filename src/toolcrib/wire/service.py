"""What the wire asks of whoever answers hosts, and what it tells them about a request."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from toolcrib.core.partition import Principal
from toolcrib.protocol.eras import MODERN_VERSIONS
from toolcrib.wire.audience import Audience
from toolcrib.wire.jsonwire import Result
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
        """Whom changes of that principal's listings are announced to."""
        ...

    async def answer(self, request: HostRequest) -> Result:
        """The result of a list, call, read, get or complete request, in the shape of 2026-07-28.

        Shaping it for older revisions is the wire's business. Raises `RpcFault` for errors that are
        the host's, any `ToolcribError` for what stopped us.
        """
        ...
