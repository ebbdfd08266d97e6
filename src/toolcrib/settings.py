"""Frozen records of everything that can be configured.

Nobody reads them from a file here: they are handed around.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from toolcrib.protocol.trust import IconPolicy

Strategy = Literal["auto", "notify", "poll", "notify+verify", "always"]
"""When to walk (DESIGN section 5): `auto` listens where the server acknowledges a stream and polls
where not.
"""

OnChange = Literal["publish", "ask"]
ApprovalVerdict = Literal["allow", "deny", "ask"]
Remember = Literal["call", "run", "principal"]
Relayed = Literal["elicitation", "sampling", "roots", "logging"]
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
class OAuthSettings:
    """How tokens for a server are had, where it wants OAuth (MCP 2026-07-28, authorization)."""

    grant: Literal["authorization_code", "client_credentials"] = "authorization_code"
    """A person logs in (`authorization_code`), or the client itself does (`client_credentials`)."""
    client_id: str | None = None
    """A client registered by hand; without it, metadata documents or dynamic registration are used,
    as the authorization server offers them."""
    client_secret: Secret | None = None
    """Its secret, if it has one; sent in the way that the authorization server offers."""
    private_key: Secret | None = None
    """PEM, for `private_key_jwt` with client credentials."""
    issuer: str | None = None
    """The one authorization server that may be used; needed with client credentials, which would
    else go to whichever one the MCP server names."""
    client_metadata_url: str | None = None
    """Where our Client ID Metadata Document is served, if it is."""
    scopes: tuple[str, ...] = ()
    """Empty: what the server's challenge or metadata asks for."""
    redirect_port: int = 0
    """Port of the loopback address that the browser returns to; 0: a free one."""
    insecure: bool = False
    """Let the MCP server, metadata and token endpoints be plain http or on private addresses. Where
    the MCP server itself is on a loopback address, loopback addresses may in any case."""

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """What of it is secret."""
        return tuple(one for one in (self.client_secret, self.private_key) if one is not None)


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
    oauth: OAuthSettings | None = None
    """None: no token is asked for; a 401 then says how to configure one."""

    @property
    def credentialed(self) -> bool:
        """Whether requests carry a credential.

        Then a `public` listing is not believed without configuration.
        """
        names = {name.lower() for name in self.headers}
        return bool(
            self.oauth is not None
            or names & {"authorization", "cookie", "proxy-authorization"}
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
        if launch.oauth is not None:
            parts += [launch.oauth.grant, launch.oauth.client_id, launch.oauth.issuer]
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
    """Calls under way at one server at a time; those that wait for a person are counted apart."""
    queue_per_server: int = 256
    """Calls that may wait for their turn behind them."""
    name_length: int = 48
    """Characters of an exposed name: hosts add a prefix, and model APIs stop at 64."""
    stderr_bytes: int = 64 * 1024
    """The tail of a server's stderr that is kept for diagnosis."""
    clip_bytes: int = 64 * 1024
    """What a model is shown of one result; the rest is kept under a handle."""
    rounds: int = 10
    """How often one call may ask for input (MCP 2026-07-28, multi round-trip requests)."""
    state_seconds: float = 900.0
    """How long a question to a person, and the state sealed with it, stays good."""
    parked_calls: int = 100
    """Calls that stay open at handshake-era servers while a person is asked. One caller may have a
    quarter of them, all anonymous callers three quarters. Up to as many of one server leave their
    turn to others meanwhile."""
    ledger_entries: int = 5_000
    """Tools of which is remembered what one principal or handle saw."""
    handles: int = 100
    """Handles of one principal that are remembered."""
    kept_results: int = 100
    """Clipped results of one principal that can still be read as a whole."""
    kept_seconds: float = 3_600.0
    """How long they can."""
    stream_seconds: float = 300.0
    """How long a stream of events to a host of a handshake revision stays open, before the host is
    asked to come back for the rest (MCP 2025-11-25, transports: resumability)."""
    schema_work: int = 100_000
    """Steps of one check against a schema, estimated beforehand; above it the server decides."""


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
    call_seconds: float | None = None
    """Seconds that a call, a read or a prompt of this server may take altogether, however much
    progress it tells; without it, those of the limits."""
    on_change: OnChange = "publish"
    """`ask`: a changed or new definition is kept out until a person has seen its difference."""
    version_from: str = ""
    """Where the server itself publishes a version whose change invalidates its catalogs:
    `meta:KEY` (a member of results' `_meta`), `header:NAME`, or `tool:NAME#POINTER` (a JSON pointer
    into the structured result of a tool of its own)."""
    source: str = ""
    """The file and line that configured it, for messages."""


def _no_hints() -> Mapping[str, bool]:
    return {}


def _no_patterns() -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """One rule about calls; shell patterns over original names."""

    verdict: ApprovalVerdict
    servers: tuple[str, ...] = ("*",)
    tools: tuple[str, ...] = ("*",)
    annotations: Mapping[str, bool] = field(default_factory=_no_hints)
    """Hints of the tool that must be so, such as `destructiveHint`; one that is absent counts as
    the specification says. Hints come from the server, so such a rule never allows."""
    arguments: Mapping[str, str] = field(default_factory=_no_patterns)
    """Patterns that arguments must match, by dotted path, such as `{"path": "/etc/*"}`."""
    remember: Remember = "call"
    """How long a yes is good: for this call, for this run of the process, or for the principal."""
    seconds: float = 86_400.0
    """When a yes for the principal expires."""
    source: str = ""
    """The file and line of the rule, for messages."""


@dataclass(frozen=True, slots=True)
class ApprovalSettings:
    """Which calls a person is asked about: the first rule that matches decides, deny apart.

    A matching `deny` always wins, wherever it stands.
    """

    rules: tuple[ApprovalRule, ...] = ()
    otherwise: ApprovalVerdict = "allow"


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
    relay: tuple[Relayed, ...] = ("elicitation", "logging")
    """What servers may ask hosts for, or tell them, through us; sampling and roots only where they
    are named here."""
    trace: bool = True
    """Whether the trace context of a host's request (`traceparent` and `tracestate`) goes on to
    the server."""
    icons: IconPolicy = "drop"
    """What becomes of the icons of servers: `drop` leaves them out; `data` keeps small PNG and JPEG
    images that are there as a whole; `pass` keeps all, whose addresses then hosts may fetch."""


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where snapshots are kept."""

    path: str | None = None
    """The SQLite file; None: in memory only."""
    vault: str | None = None
    """The folder of encrypted logins; None: in memory only."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The whole configuration of one crib."""

    servers: tuple[ServerSettings, ...] = ()
    limits: Limits = Limits()
    gateway: GatewaySettings = GatewaySettings()
    store: StoreSettings = StoreSettings()
    approval: ApprovalSettings = ApprovalSettings()

    def __post_init__(self) -> None:
        ids = [server.id for server in self.servers]
        if len(set(ids)) != len(ids):
            raise ValueError("server ids must be unique")
