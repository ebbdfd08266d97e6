"""Who may speak to us over HTTP at all: `Host`, `Origin` and the size of what is sent.

A page of a stranger must not reach us through the browser of somebody who can (MCP 2026-07-28,
streamable HTTP: security; the attack is DNS rebinding). The checks hold on every bind address, the
wildcard included: there, too, a browser sends the stranger's name as `Host`, and its page as
`Origin`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, Final, cast
from urllib.parse import urlsplit

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})

DEFAULT_PORTS: Final = {"http": 80, "https": 443}

Headers = tuple[tuple[str, str], ...]
"""Header lines in the order received, names in lower case."""


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """Bounds of one request and of all together."""

    body_bytes: int = 4 * 1024 * 1024
    body_seconds: float = 30.0
    """How long a request's body may take to arrive."""
    header_lines: int = 100
    header_bytes: int = 32 * 1024
    sessions: int = 10_000
    """Handshake sessions that are open at one time."""
    sessions_per_peer: int = 100
    """Of these, the sessions of one client address. Behind a proxy all hosts share its address."""
    session_idle: float = 1_800.0
    """Seconds after which an unused handshake session is forgotten."""
    keepalive: float = 15.0
    """Seconds of silence after which a pending answer becomes a stream, with comments."""
    resumable_after: float = 0.25
    """Seconds after which a pending answer becomes a stream that its host may take up again after a
    break, where its revision has that (2025-11-25)."""
    stream_seconds: float = 300.0
    """After so many seconds such a stream is closed, and its host comes back for the rest."""
    retry_seconds: float = 1.0
    """How long it is told to wait before that."""
    replay_bytes: int = 1024 * 1024
    """What is kept of one unfinished stream for a host that comes back; the oldest goes first."""
    replays_bytes: int = 64 * 1024 * 1024
    """What is kept of all finished streams together."""
    replays_seconds: float = 60.0
    """How long a finished stream is kept."""


@dataclass(frozen=True, slots=True)
class Turned:
    """A request that is turned away unread: its status, and why in a sentence."""

    status: int
    reason: str


@dataclass(frozen=True, slots=True)
class Authority:
    """A host with an optional port, as in `Host` and in URLs."""

    host: str
    """Lower case, without brackets or a trailing dot."""
    port: int | None

    @classmethod
    def parse(cls, text: str) -> "Authority | None":
        """Read `name`, `name:port`, `1.2.3.4:port`, `[::1]:port`; None for anything else."""
        if not text or any(mark in text for mark in "/@?#\\ \t"):
            return None
        try:
            parts = urlsplit(f"//{text}")
            host, port = parts.hostname, parts.port
        except ValueError:
            return None
        return cls(host.rstrip("."), port) if host else None


@dataclass(frozen=True, slots=True)
class Guard:
    """Lets in configured names, loopback names, and the address that was really connected to."""

    hosts: frozenset[Authority]
    origins: frozenset[tuple[str, Authority]]
    limits: HttpLimits

    @classmethod
    def of(
        cls, hosts: Iterable[str], origins: Iterable[str], limits: HttpLimits | None = None
    ) -> "Guard":
        """Read configured hosts and origins; raises ValueError naming one that cannot be read."""
        named = {_host(text) for text in hosts}
        # Browsers leave the default port out of Host.
        bare = {Authority(a.host, None) for a in named if a.port in DEFAULT_PORTS.values()}
        allowed = frozenset(_origin(text) for text in origins)
        return cls(frozenset(named | bare), allowed, limits or HttpLimits())

    def turned(self, scope: Mapping[str, Any], headers: Headers) -> Turned | None:
        """Why the request is turned away; None when it may come in."""
        size = sum(len(name) + len(value) for name, value in headers)
        if len(headers) > self.limits.header_lines or size > self.limits.header_bytes:
            return Turned(431, "too many or too large header fields")
        hosts = [value for name, value in headers if name == "host"]
        host = Authority.parse(hosts[0]) if len(hosts) == 1 else None
        if host is None or not self._serves(host, scope):
            return Turned(421, "this Host is not served here; see allowed_hosts")
        origins = [value for name, value in headers if name == "origin"]
        if not all(self._trusts(origin, host, scope) for origin in origins):
            return Turned(403, "this Origin is not allowed; see allowed_origins")
        return None

    def _serves(self, host: Authority, scope: Mapping[str, Any]) -> bool:
        if host.host in LOOPBACK or host in self.hosts or Authority(host.host, None) in self.hosts:
            return True
        return _same_address(host.host, scope.get("server"))

    def _trusts(self, origin: str, host: Authority, scope: Mapping[str, Any]) -> bool:
        try:
            scheme, authority = _origin(origin)
        except ValueError:  # "null", for one: a sandboxed page, or a file
            return False
        if authority.host in LOOPBACK or (scheme, authority) in self.origins:
            return True
        ours = scope.get("scheme", "http")
        default = DEFAULT_PORTS.get(scheme)
        same_port = (authority.port or default) == (host.port or default)
        return scheme == ours and authority.host == host.host and same_port


def _host(text: str) -> Authority:
    authority = Authority.parse(text)
    if authority is None:
        raise ValueError(
            f"allowed_hosts: {text!r} is no host; write a name or an address, and a port or none"
        )
    return authority


def _origin(text: str) -> tuple[str, Authority]:
    scheme, separator, rest = text.partition("://")
    authority = Authority.parse(rest)
    if not separator or scheme.lower() not in DEFAULT_PORTS or authority is None:
        raise ValueError(
            f"allowed_origins: {text!r} is no origin; write one like https://example.com:8443"
        )
    scheme = scheme.lower()
    port = None if authority.port == DEFAULT_PORTS[scheme] else authority.port
    return scheme, Authority(authority.host, port)


def _same_address(host: str, server: object) -> bool:
    """Whether `Host` is the address this connection arrived at: no name, nothing to rebind."""
    if not isinstance(server, tuple | list) or not server:
        return False
    ours = cast("tuple[object, ...]", server)[0]
    try:
        return _plain_address(host) == _plain_address(str(ours))
    except ValueError:
        return False


def _plain_address(text: str) -> IPv4Address | IPv6Address:
    """An address without its zone, and not dressed up as one of the other family.

    A socket that is bound to all addresses of both families shows those of the older one so.
    """
    address = ip_address(text.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
