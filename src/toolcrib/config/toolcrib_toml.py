"""`toolcrib.toml`: what the files of hosts cannot say; unknown keys and wrong types are errors.

- `[gateway]`: `names`, `exposure`, `http`, `allowed_hosts`, `allowed_origins`, `relay`,
  `trace`, `icons`.
- `[approval]`, `[exposure]`, `[search]`, `[code]`, `[skills.<name>]`: see `approval_toml`,
  `exposure_toml`, `search_toml`, `code_toml`, `skills_toml`.
- `[store]`: `path`, a file, relative to the file that says so; `":memory:"` keeps nothing on disk.
- `[limits]`, `[waits]`, `[reconnect]`, `[dynamic]`: the fields of the settings of that name, in
  seconds, bytes and counts.
- `[servers.<id>]`: `connect`, `strategy`, `tools.allow`, `tools.deny`, `trust_public`, `stateful`,
  `on_demand`, `description`, `disabled`, `request_seconds`, `call_seconds`, `on_change`,
  `version_from`, `waits.*`, `reconnect.*`; and `command` or `url` with what belongs to them, where
  the server is in no other file. `oauth.*`: see `oauth_toml`.

It restricts what servers may do, so it fails closed: an error under `[servers.<id>]` costs that
server, an error at the top of the file, in `[approval]` or in a flow costs all of them. An error in
another table leaves the default of that key in place.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar, get_args

from toolcrib.config import typed
from toolcrib.config.approval_toml import read_approval
from toolcrib.config.code_toml import read_code, read_flows
from toolcrib.config.document import Node
from toolcrib.config.entry import LAUNCH_KEYS
from toolcrib.config.expansion import Scope
from toolcrib.config.exposure_toml import read_exposure
from toolcrib.config.fields import Fields
from toolcrib.config.http_address import parse_http_address
from toolcrib.config.kept_default import KeptDefault
from toolcrib.config.problem import Report
from toolcrib.config.search_toml import read_search
from toolcrib.core.naming import SHORTEST_LIMIT
from toolcrib.errors import ConfigError
from toolcrib.protocol.trust import IconPolicy
from toolcrib.protocol.version_source import parse_version_source
from toolcrib.settings import (
    ApprovalSettings,
    CodeSettings,
    Connect,
    DynamicSettings,
    Exposure,
    ExposureSettings,
    GatewaySettings,
    Limits,
    NameStyle,
    OnChange,
    Reconnect,
    Relayed,
    SearchSettings,
    StoreSettings,
    Strategy,
    ToolFilter,
    Waits,
)

_TABLES: Final = frozenset(
    {
        "gateway",
        "store",
        "limits",
        "waits",
        "reconnect",
        "approval",
        "exposure",
        "search",
        "dynamic",
        "code",
        "skills",
        "servers",
    }
)
GATEWAY_KEYS: Final = frozenset(
    {"names", "exposure", "http", "allowed_hosts", "allowed_origins", "relay", "trace", "icons"}
)
TUNING_KEYS: Final = frozenset(
    {
        "connect",
        "strategy",
        "tools",
        "trust_public",
        "stateful",
        "on_demand",
        "description",
        "request_seconds",
        "call_seconds",
        "waits",
        "reconnect",
        "on_change",
        "version_from",
    }
)
_DEFINING: Final = frozenset({"command", "url", "httpUrl", "serverUrl"})
_LIMITS_FROM_0: Final = frozenset(
    {"ttl_clamp", "queue_per_server", "stderr_bytes", "parked_calls", "kept_results"}
)
_WAITS_ABOVE_0: Final = frozenset(
    {"poll_base", "poll_max", "backoff_base", "backoff_max", "walks_per_minute"}
)
_WAITS_FROM_0: Final = frozenset(Waits.__dataclass_fields__) - _WAITS_ABOVE_0
_RECONNECT_FROM_0: Final = frozenset({"sustained"})
_NAME_LENGTHS: Final = range(SHORTEST_LIMIT, 129)
"""Longer names are no valid names of tools (MCP 2026-07-28, tools: tool names)."""
MEMORY: Final = ":memory:"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Wide:
    """What the file says beside its servers."""

    gateway: GatewaySettings
    limits: Limits
    waits: Waits
    reconnect: Reconnect
    store_path: str | None
    """None: not said; `":memory:"`: nothing on disk."""
    approval: ApprovalSettings
    exposure: ExposureSettings
    search: SearchSettings
    dynamic: DynamicSettings
    code: CodeSettings
    sound: bool
    """Whether the top of the file, its approval and its flows are understood: if not, they may
    restrict any server."""


def read_wide(root: Node, scope: Scope, report: Report) -> Wide:
    """Reads all but the servers."""
    tables = typed.members(root, _TABLES, report)
    servers = tables.get("servers")
    if servers is not None and not isinstance(servers.value, dict):
        report.error(servers, "is not a table", "write [servers.<id>]")
    approval = ApprovalSettings()
    if "approval" in tables:
        approval = read_approval(tables["approval"], report)
    flows = read_flows(tables["code"], report) if "code" in tables else ()
    sound = not report.failed
    path = None
    if "store" in tables:
        path = _store_path(tables["store"], scope, KeptDefault(report, StoreSettings(None)))

    def read(table: str, base: T, reader: Callable[[Node, Report], T]) -> T:
        return reader(tables[table], KeptDefault(report, base)) if table in tables else base

    waits, again, dynamic = Waits(), Reconnect(), DynamicSettings()
    return Wide(
        gateway=read("gateway", GatewaySettings(), _gateway),
        limits=read("limits", Limits(), _limits),
        waits=read("waits", waits, lambda node, it: _waits(node, waits, it)),
        reconnect=read("reconnect", again, lambda node, it: _reconnect(node, again, it)),
        store_path=path,
        approval=approval,
        exposure=read("exposure", ExposureSettings(), read_exposure),
        search=read("search", SearchSettings(), lambda node, it: read_search(node, scope, it)),
        dynamic=read("dynamic", dynamic, lambda node, it: typed.numbers(node, dynamic, it)),
        code=read("code", CodeSettings(flows=flows), lambda node, it: read_code(node, flows, it)),
        sound=sound,
    )


def defines_server(node: Node) -> bool:
    """Whether a `[servers.<id>]` launches a server itself, rather than tuning another file's."""
    return bool(node.table.keys() & _DEFINING)


def switched_off(node: Node) -> bool | None:
    """What `disabled` (or `enabled`) under `[servers.<id>]` says; None where it says nothing."""
    for key, means in (("disabled", True), ("enabled", False)):
        member = node.table.get(key)
        if member is not None and isinstance(member.value, bool):
            return member.value is means
    return None


def read_tuning(node: Node, wide: Wide, report: Report) -> dict[str, Any]:
    """The fields of `ServerSettings` that a `[servers.<id>]` sets, launch and switches apart."""
    given = typed.members(node, TUNING_KEYS | LAUNCH_KEYS, report)
    if not defines_server(node):
        _refuse_launch_keys(given, report)
    for switch in ("disabled", "enabled"):
        _flag(given, switch, report)
    found: dict[str, Any] = {
        "connect": _choice(given, "connect", get_args(Connect), report),
        "strategy": _choice(given, "strategy", get_args(Strategy), report),
        "trust_public": _flag(given, "trust_public", report),
        "stateful": _flag(given, "stateful", report),
        "on_demand": _flag(given, "on_demand", report),
        "description": typed.text(given["description"], report) if "description" in given else None,
        "tools": _filter(given["tools"], report) if "tools" in given else None,
        "waits": _waits(given["waits"], wide.waits, report) if "waits" in given else None,
        "reconnect": _reconnect(given["reconnect"], wide.reconnect, report)
        if "reconnect" in given
        else None,
        "request_seconds": _seconds(given, "request_seconds", report),
        "call_seconds": _seconds(given, "call_seconds", report),
        "on_change": _choice(given, "on_change", get_args(OnChange), report),
        "version_from": _version_from(given["version_from"], report)
        if "version_from" in given
        else None,
    }
    return {key: value for key, value in found.items() if value is not None}


def _waits(node: Node, base: Waits, report: Report) -> Waits:
    """The base with every wait that the table sets."""
    waits = typed.numbers(node, base, report, may_be_zero=_WAITS_FROM_0)
    ordered = [
        _in_order(node, "poll", waits.poll_base, waits.poll_max, report),
        _in_order(node, "backoff", waits.backoff_base, waits.backoff_max, report),
    ]
    return waits if all(ordered) else base


def _reconnect(node: Node, base: Reconnect, report: Report) -> Reconnect:
    """The base with every interval that the table sets."""
    reconnect = typed.numbers(node, base, report, may_be_zero=_RECONNECT_FROM_0)
    ordered = _in_order(node, "backoff", reconnect.backoff_base, reconnect.backoff_max, report)
    return reconnect if ordered else base


def _in_order(node: Node, name: str, base: float, largest: float, report: Report) -> bool:
    if base > largest:
        remedy = f"raise {name}_max or lower {name}_base"
        report.error(node, f"has {name}_base {base} above {name}_max {largest}", remedy)
    return base <= largest


def _limits(node: Node, report: Report) -> Limits:
    limits = typed.numbers(node, Limits(), report, may_be_zero=_LIMITS_FROM_0)
    if limits.name_length not in _NAME_LENGTHS:
        remedy = f"write {_NAME_LENGTHS[0]} to {_NAME_LENGTHS[-1]}"
        report.error(node.table["name_length"], f"is {limits.name_length}", remedy)
        return replace(limits, name_length=Limits().name_length)
    return limits


def _gateway(node: Node, report: Report) -> GatewaySettings:
    given = typed.members(node, GATEWAY_KEYS, report)
    found: dict[str, Any] = {
        "names": _choice(given, "names", get_args(NameStyle), report),
        "exposure": _choice(given, "exposure", get_args(Exposure), report),
        "icons": _choice(given, "icons", get_args(IconPolicy), report),
        "trace": _flag(given, "trace", report),
    }
    for key in ("allowed_hosts", "allowed_origins"):
        found[key] = typed.texts(given[key], report) if key in given else None
    if "relay" in given:
        found["relay"] = typed.choices(given["relay"], get_args(Relayed), report)
    if "http" in given:
        found["http"] = _http(given["http"], report)
    return GatewaySettings(**{key: value for key, value in found.items() if value is not None})


def _http(node: Node, report: Report) -> tuple[str, int] | None:
    text = typed.text(node, report)
    if text is None:
        return None
    try:
        return parse_http_address(text)
    except ConfigError as error:
        report.error(node, "is no HOST:PORT", error.remedy or "")
        return None


def _store_path(node: Node, scope: Scope, report: Report) -> str | None:
    given = typed.members(node, {"path"}, report)
    if "path" not in given:
        return None
    path = Fields(node, scope, report).text(given["path"], may_vanish=False)
    if path == "":
        report.error(given["path"], "is empty", f'name a file, or write "{MEMORY}"')
    if not path or path == MEMORY:
        return path or None
    if path.startswith("~/"):
        return str(Path(scope.home, path[2:]))
    return str(Path(node.file).parent / path)


def _filter(node: Node, report: Report) -> ToolFilter:
    given = typed.members(node, {"allow", "deny"}, report)
    allow = typed.texts(given["allow"], report) if "allow" in given else None
    deny = typed.texts(given["deny"], report) if "deny" in given else None
    return ToolFilter(ToolFilter().allow if allow is None else allow, deny or ())


def _version_from(node: Node, report: Report) -> str | None:
    text = typed.text(node, report)
    if text is not None and parse_version_source(text) is None:
        remedy = "write meta:KEY, header:NAME or tool:NAME#/json/pointer"
        report.error(node, "does not say where a version is", remedy)
        return None
    return text


def _choice(
    given: Mapping[str, Node], key: str, words: tuple[str, ...], report: Report
) -> str | None:
    return typed.choice(given[key], words, report) if key in given else None


def _flag(given: Mapping[str, Node], key: str, report: Report) -> bool | None:
    return typed.flag(given[key], report) if key in given else None


def _seconds(given: Mapping[str, Node], key: str, report: Report) -> float | None:
    return typed.number(given[key], report, whole=False, zero=False) if key in given else None


def _refuse_launch_keys(given: Mapping[str, Node], report: Report) -> None:
    for key in LAUNCH_KEYS - {"disabled", "enabled", "oauth"}:
        if key in given:
            remedy = "add command or url too, or change it in the file that launches the server"
            report.error(given[key], "launches nothing by itself", remedy)
