"""Which era a server belongs to, by evidence."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.protocol.eras import (
    HANDSHAKE_VERSIONS,
    MODERN_ERRORS,
    MODERN_VERSIONS,
    DiscoverAnswered,
    Handshake,
    Incompatible,
    InitializeAnswered,
    Modern,
    NoEvidence,
    ProbeError,
    ProbeExited,
    ProbeTimedOut,
    RestartAsHandshake,
    RetryVersion,
    Verdict,
    era_of,
    judge_initialize,
    judge_probe,
    mutual_version,
    suggests_http_sse,
)

MODERN = MODERN_VERSIONS[0]
TRANSPORTS = ["stdio", "http", "sse"]


def test_every_revision_has_one_era() -> None:
    assert era_of("2026-07-28") == "modern"
    assert {era_of(version) for version in HANDSHAKE_VERSIONS} == {"handshake"}
    assert not set(MODERN_VERSIONS) & set(HANDSHAKE_VERSIONS)
    assert list(HANDSHAKE_VERSIONS) == sorted(HANDSHAKE_VERSIONS, reverse=True)


@pytest.mark.parametrize("version", ["", "2027-01-01", "zzz", "2025-11-25 "])
def test_an_unknown_revision_has_none(version: str) -> None:
    with pytest.raises(ValueError, match="no protocol revision"):
        era_of(version)


def discover(*versions: Any) -> DiscoverAnswered:
    return DiscoverAnswered({"supportedVersions": list(versions), "capabilities": {}})


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize(
    ("outcome", "kind", "version"),
    [
        (discover(MODERN), Modern, MODERN),
        (discover("2099-01-01", MODERN, "2025-11-25"), Modern, MODERN),
        (discover("2025-11-25", "2025-06-18"), Handshake, None),
        (discover("2099-01-01"), Incompatible, None),
        (discover(), Incompatible, None),
        (DiscoverAnswered({}), Handshake, None),
        (DiscoverAnswered({"supportedVersions": MODERN}), Handshake, None),
        (DiscoverAnswered({"supportedVersions": [5]}), Handshake, None),
        (DiscoverAnswered({"tools": []}), Handshake, None),
        (DiscoverAnswered(None), Handshake, None),
        (DiscoverAnswered([MODERN]), Handshake, None),
    ],
    ids=str,
)
def test_an_answer_to_discover_is_judged_by_the_revisions_it_names(
    transport: Any, outcome: DiscoverAnswered, kind: type[Verdict], version: str | None
) -> None:
    verdict = judge_probe(outcome, transport=transport)
    assert type(verdict) is kind
    assert version is None or isinstance(verdict, Modern)
    assert not isinstance(verdict, Modern) or verdict.version == version


@pytest.mark.duty(16)
@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("status", [None, 200, 400, 404, 401, 503])
@pytest.mark.parametrize("code", sorted(MODERN_ERRORS - {-32022}))
def test_a_modern_error_means_modern_wherever_it_comes(
    transport: Any, status: int | None, code: int
) -> None:
    verdict = judge_probe(ProbeError(code, http_status=status), transport=transport)
    assert isinstance(verdict, Modern)
    assert verdict.version == MODERN


def refused_version(data: Any, **more: Any) -> Verdict:
    return judge_probe(ProbeError(-32022, data, 400), transport="http", **more)


def test_a_refused_revision_is_retried_with_a_mutual_one_or_told() -> None:
    assert refused_version({"supported": [MODERN]}, offered="2099-01-01") == RetryVersion(MODERN)
    assert isinstance(refused_version({"supported": ["2025-11-25"]}), Handshake)
    verdict = refused_version({"supported": ["2099-01-01", "2098-01-01"]})
    assert isinstance(verdict, Incompatible)
    assert "2098-01-01" in verdict.reason


@pytest.mark.parametrize("data", [None, {}, {"supported": MODERN}, {"supported": [1]}, "x", []])
def test_a_refusal_that_names_nothing_readable_never_becomes_a_handshake(data: Any) -> None:
    assert isinstance(refused_version(data), Incompatible)


def test_a_server_that_contradicts_itself_is_asked_once_more_and_no_more() -> None:
    data = {"supported": [MODERN]}
    assert refused_version(data) == RetryVersion(MODERN)
    error = ProbeError(-32022, data)
    assert isinstance(judge_probe(error, transport="http", again=True), Incompatible)


@pytest.mark.parametrize("kind", ["weird", "task", "input_required", None, 5])
def test_a_discovery_of_a_type_that_does_not_exist_breaks_the_revision(kind: object) -> None:
    result = {"supportedVersions": [MODERN], "resultType": kind}
    assert isinstance(judge_probe(DiscoverAnswered(result), transport="http"), Incompatible)


@pytest.mark.parametrize(
    ("data", "version"),
    [
        ({"supported": [MODERN, "2099-01-01"]}, MODERN),
        ({"supported": ["2025-11-25"]}, None),
        ({"supported": []}, None),
        ({"supported": "2026-07-28"}, None),
        ({"supported": [MODERN, 5]}, None),
        (None, None),
    ],
)
def test_a_mutual_version_is_a_modern_one_that_both_name(data: object, version: str | None) -> None:
    assert mutual_version(data) == version


@pytest.mark.parametrize("transport", ["http", "sse"])
@pytest.mark.parametrize(
    "status", [301, 307, 401, 402, 403, 407, 408, 429, 500, 502, 503, 504, 520]
)
@pytest.mark.parametrize("code", [None, -32601, -32603, -32000, -32001])
def test_an_outage_or_a_missing_right_is_no_evidence(
    transport: Any, status: int, code: int | None
) -> None:
    verdict = judge_probe(ProbeError(code, http_status=status), transport=transport)
    assert isinstance(verdict, NoEvidence)
    assert str(status) in verdict.reason


@pytest.mark.parametrize("status", [400, 404, 405, 406, 415, 422])
@pytest.mark.parametrize("code", [None, -32600, -32601, -32602, -32000])
def test_a_refusal_without_a_modern_error_means_handshake(status: int, code: int | None) -> None:
    assert isinstance(judge_probe(ProbeError(code, None, status), transport="http"), Handshake)


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize(
    "code", [-32601, -32602, -32600, -32603, -32700, -32000, -32002, 0, 1, 404]
)
@pytest.mark.parametrize("status", [None, 200])
def test_any_other_json_rpc_error_means_handshake_whatever_its_code(
    transport: Any, code: int, status: int | None
) -> None:
    assert isinstance(judge_probe(ProbeError(code, None, status), transport=transport), Handshake)


@pytest.mark.parametrize("status", [200, 204])
def test_an_answer_that_is_no_message_is_no_evidence(status: int) -> None:
    assert isinstance(judge_probe(ProbeError(None, None, status), transport="http"), NoEvidence)


@pytest.mark.parametrize(
    ("outcome", "transport", "kind"),
    [
        (ProbeTimedOut(), "stdio", RestartAsHandshake),
        (ProbeTimedOut(), "http", NoEvidence),
        (ProbeTimedOut(), "sse", Handshake),
        (ProbeExited(), "stdio", RestartAsHandshake),
        (ProbeExited(), "http", NoEvidence),
        (ProbeExited(), "sse", NoEvidence),
    ],
    ids=str,
)
def test_silence_and_exit_mean_what_their_transport_makes_of_them(
    outcome: Any, transport: Any, kind: type[Verdict]
) -> None:
    assert type(judge_probe(outcome, transport=transport)) is kind


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ProbeError(-32601), "error -32601"),
        (ProbeError(-32601, None, 404), "error -32601 in HTTP 404"),
        (ProbeError(None, None, 405), "HTTP 405"),
    ],
    ids=str,
)
def test_the_evidence_says_what_was_seen(error: ProbeError, words: str) -> None:
    verdict = judge_probe(error, transport="http")
    assert isinstance(verdict, Handshake)
    assert verdict.evidence == f"refused server/discover with {words}"


CODES = st.none() | st.integers(-33000, 1000) | st.sampled_from(sorted(MODERN_ERRORS))
DATA = st.none() | st.fixed_dictionaries(
    {"supported": st.lists(st.sampled_from([MODERN, "2025-11-25", "2099-01-01", ""]), max_size=3)}
)


@given(CODES, DATA, st.none() | st.integers(200, 599), st.sampled_from(TRANSPORTS))
def test_no_error_is_without_a_verdict_and_no_modern_error_without_its_era(
    code: int | None, data: Any, status: int | None, transport: Any
) -> None:
    verdict = judge_probe(ProbeError(code, data, status), transport=transport)
    if code in MODERN_ERRORS - {-32022}:
        assert isinstance(verdict, Modern)
    elif code == -32022:
        assert isinstance(verdict, Handshake | Incompatible | RetryVersion)
    elif status is not None and (status >= 500 or status in (401, 403, 429)):
        assert isinstance(verdict, NoEvidence)
    else:
        assert isinstance(verdict, Handshake | NoEvidence)


# --------------------------------------------------------------------------- initialize


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_an_answer_to_initialize_settles_the_revision(version: str) -> None:
    verdict = judge_initialize(InitializeAnswered({"protocolVersion": version}))
    assert verdict == Handshake("answered initialize", version)


@pytest.mark.parametrize(
    "result", [{"protocolVersion": MODERN}, {"protocolVersion": "x"}, {}, None, 5]
)
def test_an_answer_in_no_handshake_revision_is_incompatible(result: Any) -> None:
    assert isinstance(judge_initialize(InitializeAnswered(result)), Incompatible)


def test_a_refusal_of_initialize_that_names_revisions_is_followed() -> None:
    slow = ProbeError(-32022, {"supported": [MODERN]})
    assert judge_initialize(slow) == RetryVersion(MODERN)
    both = ProbeError(-32602, {"supported": ["2025-06-18", MODERN]}, 400)
    assert judge_initialize(both) == RetryVersion(MODERN)
    older = ProbeError(-32602, {"supported": ["2024-11-05", "2025-03-26"]})
    assert judge_initialize(older) == RetryVersion("2025-03-26")
    contradiction = ProbeError(-32602, {"supported": ["2025-11-25"]})
    assert isinstance(judge_initialize(contradiction), Incompatible)


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (ProbeError(-32601), Incompatible),
        (ProbeError(-32022, {"supported": ["2099-01-01"]}), Incompatible),
        (ProbeError(-32020, None, 503), Incompatible),
        (ProbeError(-32600, None, 400), Incompatible),
        (ProbeError(None, None, 503), NoEvidence),
        (ProbeError(-32603, None, 500), NoEvidence),
        (ProbeError(None, None, 401), NoEvidence),
        (ProbeError(None, None, 404), NoEvidence),
        (ProbeTimedOut(), NoEvidence),
        (ProbeExited(), NoEvidence),
    ],
    ids=str,
)
def test_a_failed_initialize_is_told_apart_from_an_outage(
    outcome: Any, kind: type[Verdict]
) -> None:
    assert type(judge_initialize(outcome)) is kind


@pytest.mark.parametrize(
    ("error", "suggests"),
    [
        (ProbeError(None, None, 400), True),
        (ProbeError(None, None, 404), True),
        (ProbeError(None, None, 405), True),
        (ProbeError(-32600, None, 400), True),
        (ProbeError(-32022, None, 400), False),
        (ProbeError(-32020, None, 400), False),
        (ProbeError(None, None, 401), False),
        (ProbeError(None, None, 503), False),
        (ProbeError(None, None, 200), False),
        (ProbeError(None), False),
    ],
    ids=str,
)
def test_the_old_transport_is_tried_only_where_no_modern_endpoint_answered(
    error: ProbeError, *, suggests: bool
) -> None:
    assert suggests_http_sse(error) == suggests
