"""Frozen records of everything that can be configured.

Nobody reads them from a file here: they are handed around.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Strategy = Literal["auto", "notify", "poll", "notify+verify", "always"]
"""When to walk (DESIGN section 5): `auto` listens where the server acknowledges a stream and polls
where not.
"""

Connect = Literal["lazy", "eager"]
NameStyle = Literal["qualified", "plain"]
Exposure = Literal["auto", "full", "search", "code"]
HttpTransport = Literal["auto", "streamable", "sse"]


class Secret:
    """A string that never shows itself: not in a repr, a log, an error or a pickle.

    Ask for it by name.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The string itself, for the one place that must send it."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(
            self._value.encode(), other._value.encode()
        )

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a Secret cannot be pickled")


def _no_secrets() -> Mapping[str, Secret]:
    return {}


@dataclass(frozen=True, slots=True)
class StdioLaunch:
    """A server that is a process of ours."""

    command: str
    args: tuple[str, ...] = field(default=(), repr=False)
    """Out of the repr: real configurations pass keys as arguments."""
    env: Mapping[str, Secret] = field(default_factory=_no_secrets)
    """Added to the few variables a child inherits; values may be secrets, so all are."""
    cwd: str | None = None

    @property
    def credentialed(self) -> bool:
        """Whether the process is given variables, any of which may be a credential."""
        return bool(self.env)


@dataclass(frozen=True, slots=True)
class HttpLaunch:
    """A server reached by URL."""

    url: Secret
    """Kept secret as a whole: query strings and user parts of real configurations hold keys."""
    headers: Mapping[str, Secret] = field(default_factory=_no_secrets)
    transport: HttpTransport = "auto"
    """`auto` tries Streamable HTTP and falls back to HTTP+SSE on 400, 404 or 405 without a modern
    body.
    """

    @property
    def credentialed(self) -> bool:
        """Whether requests carry a credential.

        Then a `public` listing is not believed without configuration.
        """
        names = {name.lower() for name in self.headers}
        return bool(
            names & {"authorization", "cookie", "proxy-authorization"}
            or any("key" in n or "token" in n for n in names)
        )


Launch = StdioLaunch | HttpLaunch


def launch_digest(secret: bytes, launch: Launch) -> str:
    """The keyed digest of everything that decides which server answers.

    It has 32 hex digits and tells nothing.
    """
    if isinstance(launch, StdioLaunch):
        parts: list[object] = [
            "stdio",
            launch.command,
            list(launch.args),
            sorted((k, v.reveal()) for k, v in launch.env.items()),
            launch.cwd,
        ]
    else:
        headers = sorted((k.lower(), v.reveal()) for k, v in launch.headers.items())
        parts = ["http", launch.url.reveal(), headers, launch.transport]
    message = json.dumps(parts, ensure_ascii=True, separators=(",", ":")).encode()
    return hmac.new(secret, message, hashlib.sha256).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Limits:
    """Every bound of DESIGN section 10 that concerns catalogs and calls.

    Each error names its setting.
    """

    walk_pages: int = 1_000
    """Pages of one walk."""
    walk_items: int = 50_000
    """Definitions in one walk."""
    walk_bytes: int = 64 * 1024 * 1024
    """Bytes of one walk, all pages together."""
    walk_seconds: float = 60.0
    """Seconds for one walk."""
    request_seconds: float = 20.0
    """Seconds for one list request; a server may have its own."""
    call_seconds: float = 120.0
    """Absolute maximum of one forwarded call, in spite of progress."""
    start_seconds: float = 3.0
    """Start budget for all servers together; then what is there is served."""
    argument_bytes: int = 1024 * 1024
    """The arguments of one call, as JSON."""
    result_bytes: int = 8 * 1024 * 1024
    """The result of one call, as JSON."""
    definition_bytes: int = 1024 * 1024
    """One whole definition of a tool, prompt, resource or template, as JSON."""
    schema_depth: int = 64
    """How deep the schema of a tool may be nested."""
    schema_bytes: int = 256 * 1024
    """The schema of a tool, as JSON."""
    line_bytes: int = 16 * 1024 * 1024
    """One line of a stdio server."""
    ttl_clamp: float = 86_400.0
    """Seconds for which a listing counts as fresh at most, whatever its server says."""
    calls_per_server: int = 32
    """Calls under way at one server at a time."""
    queue_per_server: int = 256
    """Calls that may wait for their turn behind them."""
    name_length: int = 48
    """Characters of an exposed name: hosts add a prefix, and model APIs stop at 64."""
    stderr_bytes: int = 64 * 1024
    """The tail of a server's stderr that is kept for diagnosis."""


@dataclass(frozen=True, slots=True)
class Waits:
    """How long readers wait and how often walks begin, in seconds (DESIGN section 5)."""

    min_interval: float = 2.0
    """A listing that nothing invalidated is not walked again within this time."""
    list_wait: float = 1.0
    """How long a listing waits for a newer catalog where an older one is held."""
    cold_wait: float = 3.0
    """How long a listing waits where nothing is held."""
    admit_wait: float = 0.5
    """How long a call waits for a catalog that is being refreshed."""
    admit_max_age: float = 60.0
    """Up to this age a catalog that nothing invalidated is called from without a walk."""
    max_stale: float = 86_400.0
    """Calls from a catalog older than this are refused."""
    max_stale_list: float = 86_400.0
    """A catalog older than this is not listed."""
    debounce: float = 0.025
    """How long signals are collected before a walk answers them."""
    recheck: float = 0.25
    """When to walk again after a signal whose walk found nothing new."""
    confirm: float = 0.5
    """When to walk again after a listing that shrank by more than half."""
    settle_window: float = 10.0
    """How long after a connect or warm start a shrunken listing is confirmed before it is
    published.
    """
    poll_base: float = 60.0
    """Shortest interval of polling, where a server sends no signals."""
    poll_max: float = 600.0
    """Longest interval of polling, where nothing changes."""
    walks_per_minute: int = 10
    """Cap for a server that signals on each of our walks."""
    backoff_base: float = 0.5
    """Pause after the first failed walk."""
    backoff_max: float = 60.0
    """Longest pause after failed walks."""
    wanted_for: float = 900.0
    """Polling goes on this long after the last reader, and while somebody subscribes."""


@dataclass(frozen=True, slots=True)
class Reconnect:
    """Supervision of one connection, in seconds."""

    backoff_base: float = 0.5
    """Pause after the first failure."""
    backoff_max: float = 60.0
    """Longest pause, until attempts are given up."""
    slow_probe: float = 300.0
    """Interval of attempts once `give_up_after` attempts in a row failed."""
    give_up_after: int = 8
    """Failed attempts in a row after which only slow probing goes on."""
    sustained: float = 30.0
    """Uptime after which the backoff starts anew; a good handshake alone does not reset it."""
    probe_timeout: float = 5.0
    """How long a stdio server may be silent at the era probe before it is started anew."""


@dataclass(frozen=True, slots=True)
class ToolFilter:
    """Allow and deny of one server's tools by shell pattern over original names; deny wins."""

    allow: tuple[str, ...] = ("*",)
    """Tools to show."""
    deny: tuple[str, ...] = ()
    """Tools to hide, although they are allowed."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """One configured server."""

    id: str
    launch: Launch
    connect: Connect = "eager"
    """`eager`: at the start and after each loss; `lazy`: when somebody asks."""
    strategy: Strategy = "auto"
    """When to walk."""
    tools: ToolFilter = ToolFilter()
    trust_public: bool = False
    """Believe `cacheScope: public` although the listing was fetched with a credential."""
    stateful: bool = False
    """The server keeps state between calls: principals do not share a connection to it."""
    disabled: bool = False
    """Whether the server is left out."""
    waits: Waits = Waits()
    reconnect: Reconnect = Reconnect()
    request_seconds: float | None = None
    """Seconds for one list request of this server; without it, those of the limits."""
    source: str = ""
    """The file and line that configured it, for messages."""


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """How the crib shows itself to hosts."""

    names: NameStyle = "qualified"
    """`qualified`: `server__tool`; `plain`: the names of the servers themselves."""
    exposure: Exposure = "full"
    """What the model sees; `full` is the one there is so far, and what `auto` means."""
    http: tuple[str, int] | None = None
    """Where HTTP is served; without it, standard streams are."""
    allowed_hosts: tuple[str, ...] = ()
    """Further `Host` values that are accepted, such as `crib.example.com:443`."""
    allowed_origins: tuple[str, ...] = ()
    """Further `Origin` values that are accepted, such as `https://app.example.com`."""


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where snapshots are kept."""

    path: str | None = None
    """The SQLite file; None: in memory only."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The whole configuration of one crib."""

    servers: tuple[ServerSettings, ...] = ()
    limits: Limits = Limits()
    gateway: GatewaySettings = GatewaySettings()
    store: StoreSettings = StoreSettings()

    def __post_init__(self) -> None:
        ids = [server.id for server in self.servers]
        if len(set(ids)) != len(ids):
            raise ValueError("server ids must be unique")
