"""Protocol revisions, the two eras they form, and what counts as evidence for one of them.

Modern revisions carry version and capabilities in every request; handshake revisions open a
session with `initialize` (MCP 2026-07-28, versioning: terminology). A client of both eras sends
`server/discover` first and judges what comes back. Two rules decide every case below:

1. A recognised modern error or a discover result identifies a modern server; any other answer of
   the server itself identifies a handshake server, whatever its code (stdio and Streamable HTTP:
   backward compatibility).
2. What is no answer of the server is no evidence: an outage, a missing right, a limit, a time-out
   over HTTP. A stdio server that hangs or exits is started anew, and its answer to `initialize`
   decides.

A verdict for the handshake is remembered only once `initialize` was answered.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, assert_never

from toolcrib.core.jsontypes import described, is_array, is_object
from toolcrib.core.quoting import enumerated, quoted
from toolcrib.protocol.envelope import result_type_fault

Era = Literal["modern", "handshake"]
TransportKind = Literal["stdio", "http", "sse"]

MODERN_VERSIONS = ("2026-07-28",)
"""Newest first."""

HANDSHAKE_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Newest first; the first is the one we offer."""

HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION = -32020, -32021, -32022
MODERN_ERRORS = frozenset({HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION})
"""The JSON-RPC errors that only a modern server sends (MCP 2026-07-28, basic: error codes)."""

_NOT_AN_ENDPOINT = frozenset({400, 404, 405})
"""Statuses after which the old HTTP+SSE transport is worth a try."""

_REFUSED_SHAPE = _NOT_AN_ENDPOINT | {406, 415, 422}
"""Statuses with which servers of other shapes refuse a modern request."""

_NO_SUCCESS = 300


def era_of(version: str) -> Era:
    """The era of a revision.

    Raises:
        ValueError: for a revision we do not speak.
    """
    if version in MODERN_VERSIONS:
        return "modern"
    if version in HANDSHAKE_VERSIONS:
        return "handshake"
    ours = ", ".join(MODERN_VERSIONS + HANDSHAKE_VERSIONS)
    raise ValueError(f"{quoted(version)} is no protocol revision that we speak ({ours})")


@dataclass(frozen=True, slots=True)
class DiscoverAnswered:
    """`server/discover` had a result."""

    result: object


@dataclass(frozen=True, slots=True)
class ProbeError:
    """The request had an error for an answer, of JSON-RPC or of HTTP alone."""

    code: int | None
    """The JSON-RPC error code; None where the body is no JSON-RPC message."""
    data: object = None
    http_status: int | None = None
    """The HTTP status that carried it; None on stdio."""


@dataclass(frozen=True, slots=True)
class ProbeTimedOut:
    """Nothing came back in time."""


@dataclass(frozen=True, slots=True)
class ProbeExited:
    """The process ended, or the connection broke or was refused, before an answer came."""


@dataclass(frozen=True, slots=True)
class InitializeAnswered:
    """`initialize` had a result."""

    result: object


ProbeOutcome = DiscoverAnswered | ProbeError | ProbeTimedOut | ProbeExited
InitializeOutcome = InitializeAnswered | ProbeError | ProbeTimedOut | ProbeExited


@dataclass(frozen=True, slots=True)
class Modern:
    """The server is modern and speaks this revision with us."""

    version: str
    evidence: str


@dataclass(frozen=True, slots=True)
class RetryVersion:
    """The server wants to be asked again in this revision; `era_of` tells how."""

    version: str


@dataclass(frozen=True, slots=True)
class Handshake:
    """The server opens with `initialize`; after `judge_initialize`, it speaks `version`."""

    evidence: str
    version: str = HANDSHAKE_VERSIONS[0]


@dataclass(frozen=True, slots=True)
class RestartAsHandshake:
    """The process is of no use any more: start it anew and send `initialize` first."""

    evidence: str


@dataclass(frozen=True, slots=True)
class NoEvidence:
    """Nothing was learnt about the era: report the reason, try again later, remember nothing."""

    reason: str


@dataclass(frozen=True, slots=True)
class Incompatible:
    """The server told what it speaks, and we do not."""

    reason: str


Verdict = Modern | RetryVersion | Handshake | RestartAsHandshake | NoEvidence | Incompatible


def judge_probe(
    outcome: ProbeOutcome,
    *,
    transport: TransportKind,
    offered: str = MODERN_VERSIONS[0],
    again: bool = False,
) -> Verdict:
    """What the outcome of `server/discover`, sent in revision `offered`, says about the server.

    `again` says that the server named this revision itself when it refused a request.
    """
    match outcome:
        case DiscoverAnswered(result):
            return _judge_discovery(result, offered)
        case ProbeError():
            return _judge_error(outcome, offered, again=again)
        case ProbeTimedOut() if transport == "stdio":
            return RestartAsHandshake("silent at server/discover")
        case ProbeTimedOut() if transport == "sse":
            # The stream stands, and this transport exists in handshake revisions only.
            return Handshake("speaks HTTP+SSE")
        case ProbeTimedOut():
            return NoEvidence("no answer to server/discover in time")
        case ProbeExited():
            if transport == "stdio":
                return RestartAsHandshake("ended at server/discover")
            return NoEvidence("the connection failed at server/discover")
        case _:
            assert_never(outcome)


def judge_initialize(
    outcome: InitializeOutcome, *, offered: str = HANDSHAKE_VERSIONS[0]
) -> Verdict:
    """What the outcome of `initialize`, offering revision `offered`, says about the server.

    `RetryVersion` names a revision of either era: a server that refuses `initialize` and names
    modern revisions is modern, wherever the probe went (MCP 2026-07-28, versioning).
    """
    match outcome:
        case InitializeAnswered(result):
            version = result.get("protocolVersion") if is_object(result) else None
            if isinstance(version, str) and version in HANDSHAKE_VERSIONS:
                return Handshake("answered initialize", version)
            named = quoted(version) if isinstance(version, str) else "no revision"
            return Incompatible(f"answered initialize with {named}")
        case ProbeError():
            return _judge_refused_initialize(outcome, offered)
        case ProbeTimedOut():
            return NoEvidence("no answer to initialize in time")
        case ProbeExited():
            return NoEvidence("ended at initialize")
        case _:
            assert_never(outcome)


def mutual_version(data: object) -> str | None:
    """The modern revision to go on with after the data of a refused version; None without one.

    It may be the one that was refused: replicas behind one address do not change all at once (MCP
    2026-07-28, versioning: unsupported versions).
    """
    return _first_mutual(MODERN_VERSIONS, _supported(data) or ())


def suggests_http_sse(error: ProbeError) -> bool:
    """Whether a refused POST may mean that the URL is one of the old HTTP+SSE transport.

    MCP 2026-07-28, Streamable HTTP: HTTP+SSE transport (2024-11-05).
    """
    return error.http_status in _NOT_AN_ENDPOINT and error.code not in MODERN_ERRORS


def _judge_discovery(result: object, offered: str) -> Verdict:
    versions = (
        _supported({"supported": result.get("supportedVersions")}) if is_object(result) else None
    )
    if versions is None or not is_object(result):
        return Handshake("answered server/discover with something else")
    fault = result_type_fault("server/discover", result)
    if fault is not None:
        return Incompatible(f"breaks its revision: {fault}")
    mutual = offered if offered in versions else _first_mutual(MODERN_VERSIONS, versions)
    if mutual:
        return Modern(mutual, "answered server/discover")
    if _first_mutual(HANDSHAKE_VERSIONS, versions):
        return Handshake("server/discover names handshake revisions only")
    return Incompatible(f"speaks {_listed(versions)}")


def _judge_error(error: ProbeError, offered: str, *, again: bool) -> Verdict:
    if error.code == UNSUPPORTED_VERSION:
        return _judge_refused_version(error.data, offered, again=again)
    if error.code in MODERN_ERRORS:
        return Modern(offered, f"answered server/discover with {error.code}")
    if _is_no_answer(error.http_status):
        return NoEvidence(f"server/discover failed with HTTP {error.http_status}")
    if error.code is not None or error.http_status in _REFUSED_SHAPE:
        return Handshake(f"refused server/discover with {_named(error)}")
    return NoEvidence(f"server/discover had no JSON-RPC answer ({_named(error)})")


def _judge_refused_version(data: object, offered: str, *, again: bool) -> Verdict:
    versions = _supported(data)
    if versions is None:
        return Incompatible(f"refuses revision {offered} and names no other")
    if offered in versions and again:
        return Incompatible(f"refuses revision {offered} and claims to support it")
    mutual = mutual_version(data)
    if mutual:
        return RetryVersion(mutual)
    if _first_mutual(HANDSHAKE_VERSIONS, versions):
        return Handshake("names handshake revisions only")
    return Incompatible(f"speaks {_listed(versions)}")


def _judge_refused_initialize(error: ProbeError, offered: str) -> Verdict:
    others = (version for version in MODERN_VERSIONS + HANDSHAKE_VERSIONS if version != offered)
    mutual = _first_mutual(others, _supported(error.data) or ())
    if mutual:
        return RetryVersion(mutual)
    answered = error.code is not None and not _is_no_answer(error.http_status)
    if answered or error.code in MODERN_ERRORS:
        return Incompatible(f"refused initialize with {_named(error)}")
    return NoEvidence(f"initialize failed with {_named(error)}")


def _is_no_answer(status: int | None) -> bool:
    """Whether an HTTP status comes from an outage, a guard or an intermediary, and not from MCP."""
    return status is not None and status >= _NO_SUCCESS and status not in _REFUSED_SHAPE


def _supported(data: object) -> tuple[str, ...] | None:
    """The revisions an error or a result names; None where it names them in no readable way."""
    versions = data.get("supported") if is_object(data) else None
    if not is_array(versions) or not all(isinstance(version, str) for version in versions):
        return None
    return tuple(versions)


def _first_mutual(ours: Iterable[str], theirs: Iterable[str]) -> str | None:
    named = set(theirs)
    return next((version for version in ours if version in named), None)


def _listed(versions: tuple[str, ...]) -> str:
    return enumerated(map(quoted, versions)) or "no revision at all"


def _named(error: ProbeError) -> str:
    code = f"error {error.code}" if error.code is not None else ""
    status = f"HTTP {error.http_status}" if error.http_status is not None else ""
    return " in ".join(filter(None, (code, status))) or described(error.data)
