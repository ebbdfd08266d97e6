"""What HTTP said of a request, kept in an error and taken out again; waits and remedies in it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import ErrorData

from toolcrib.adapters.http.faults import describe_fault
from toolcrib.adapters.http.outcome import HttpOutcome, join_outcome, split_outcome
from toolcrib.adapters.http.server_error import ErrorFilter
from toolcrib.adapters.http.status import (
    describe_status,
    may_pass,
    own_error,
    parse_retry_after,
    status_error,
)
from toolcrib.adapters.stream_watch import HTTP_OUTCOME
from toolcrib.settings import HttpLaunch
from toolcrib.testing.http_rig import launch_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OUTCOMES = st.builds(
    HttpOutcome,
    status=st.none() | st.integers(100, 599),
    fault=st.sampled_from([None, "reset", "dns", "too_large"]),
    challenge=st.none() | st.text(),
    retry_after=st.none() | st.floats(0, 1e6),
    from_server=st.booleans(),
)


@given(data=JSON, outcome=OUTCOMES)
def test_what_is_joined_is_split_again(data: object, outcome: HttpOutcome) -> None:
    joined = join_outcome(ErrorData(code=-1, message="m", data=data), outcome)
    assert (joined.code, joined.message) == (-1, "m")
    assert split_outcome(json.loads(json.dumps(joined.data))) == (outcome, data or _none_of(data))


def _none_of(data: object) -> object:
    """An empty object comes back as no data: the key that was added was its only one."""
    return None if data == {} else data


@given(data=JSON)
def test_data_without_an_outcome_is_left_alone(data: object) -> None:
    assert split_outcome(data) == (None, data)


@pytest.mark.parametrize("forged", [1, None, [], "x"])
def test_an_outcome_that_is_no_object_counts_as_none(forged: object) -> None:
    assert split_outcome({HTTP_OUTCOME: forged, "a": 1}) == (None, {"a": 1})


def test_only_faults_before_the_request_went_out_are_safe_to_repeat() -> None:
    assert HttpOutcome(fault="dns").never_sent
    assert HttpOutcome(fault="tls").never_sent
    assert not HttpOutcome(fault="reset").never_sent
    assert not HttpOutcome(status=503).never_sent
    assert not HttpOutcome(status=200, fault="tls").never_sent


DATE = "Wed, 05 Aug 2026 10:00:00 GMT"


@pytest.mark.parametrize(
    ("value", "date", "seconds"),
    [
        (None, DATE, None),
        ("3", None, 3.0),
        (" 120 ", None, 120.0),
        ("0", None, 0.0),
        ("-3", None, None),
        ("1.5", None, None),
        ("\u0663", None, None),
        ("soon", DATE, None),
        ("86400", None, 86_400.0),
        ("86401", None, 86_400.0),
        pytest.param("9" * 4_000, None, 86_400.0, id="more digits than a float can have"),
        ("Fri, 31 Dec 9999 23:59:59 GMT", DATE, 86_400.0),
        ("Wed, 05 Aug 2026 10:01:30 +9999999999", DATE, None),
        ("Wed, 05 Aug 2026 10:01:30 GMT", DATE, 90.0),
        ("Wed, 05 Aug 2026 09:00:00 GMT", DATE, 0.0),
        ("Wednesday, 05-Aug-26 10:00:10 GMT", DATE, 10.0),
        ("Wed, 05 Aug 2026 10:01:30 GMT", None, None),
        ("Wed, 05 Aug 2026 10:01:30 GMT", "yesterday", None),
    ],
)
def test_a_retry_after_is_read_in_both_forms(
    value: str | None, date: str | None, seconds: float | None
) -> None:
    assert parse_retry_after(value, date) == seconds


@pytest.mark.parametrize(
    "body",
    [b"", b"no", b"[]", b"1", b'{"error":"x"}', b'{"error":{"code":"a"}}', b"[" * 99_999, b"\xff"],
)
def test_a_body_without_a_json_rpc_error_has_none(body: bytes) -> None:
    assert own_error(body) is None


def test_an_own_error_is_found_although_the_envelope_is_wrong() -> None:
    body = b'{"error":{"code":-32600,"message":"m","data":1}}'
    assert own_error(body) == ErrorData(code=-32600, message="m", data=1)


@pytest.mark.parametrize("key", ["dev.toolcrib/http", "dev.toolcrib/limit", "dev.toolcrib/broken"])
def test_a_server_cannot_forge_a_mark_of_ours_in_an_answer_that_is_no_success(key: str) -> None:
    error = {"code": -1, "message": "m", "data": {key: {"status": 401}, "a": 1}}
    own = own_error(json.dumps({"error": error}).encode())
    assert own == ErrorData(code=-1, message="m", data={"a": 1})


def test_a_challenge_is_kept_as_received_but_not_without_end() -> None:
    challenge = 'Bearer resource_metadata="https://x/.well-known", scope="a b"'
    outcome, _ = split_outcome(status_error(401, {"www-authenticate": challenge}, None).data)
    assert outcome == HttpOutcome(401, challenge=challenge)
    outcome, _ = split_outcome(status_error(401, {"www-authenticate": "x" * 9_999}, None).data)
    assert outcome is not None
    assert outcome.challenge == "x" * 4_096


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 421, 429, 451, 500, 503, 599])
def test_each_status_is_told_with_something_to_do(status: int) -> None:
    text = describe_status(status)
    assert text.startswith(f"the server answered HTTP {status}")
    assert len(text.partition("; ")[2]) > 20


def test_a_wait_that_the_server_asks_for_is_told() -> None:
    assert "asking to wait 2.5 s" in describe_status(503, 2.5)


def test_an_endless_wait_is_told_as_a_day() -> None:
    headers = {"retry-after": "9" * 4_000}
    error = status_error(503, headers, None)
    outcome, _ = split_outcome(error.data)
    assert outcome == HttpOutcome(503, retry_after=86_400.0)
    assert "asking to wait 86400 s" in error.message


def test_a_detail_stands_between_what_happened_and_what_to_do() -> None:
    plain, detailed = describe_fault("dns"), describe_fault("dns", "x")
    assert detailed == plain.replace("; ", " (x); ")


def test_only_trouble_that_may_pass_is_asked_again() -> None:
    assert [s for s in (400, 404, 405, 408, 409, 429, 500, 501, 503) if may_pass(s)] == [
        408,
        409,
        429,
        500,
        503,
    ]


QUOTABLE = "s3cret-value-0042"


@pytest.mark.parametrize(
    "launch",
    [
        launch_of("http://h/", authorization=f"Bearer {QUOTABLE}"),
        launch_of("http://h/", x_api=QUOTABLE),
        launch_of(f"http://u:{QUOTABLE}@h/"),
        launch_of(f"http://h/{QUOTABLE}/mcp"),
        launch_of(f"http://h/mcp?key={QUOTABLE}"),
    ],
    ids=["token", "header", "password", "path", "query"],
)
def test_whatever_a_server_quotes_of_the_launch_is_blotted(launch: HttpLaunch) -> None:
    errors = ErrorFilter(launch)
    quoted = f"bad {QUOTABLE}!"
    cleaned = errors.clean(ErrorData(code=-1, message=quoted, data={"a": [{"q": quoted, "n": 1}]}))
    assert cleaned == ErrorData(
        code=-1, message="bad ***!", data={"a": [{"q": "bad ***!", "n": 1}]}
    )
    assert QUOTABLE not in repr(errors)


def test_an_error_that_quotes_nothing_stays_as_it_is() -> None:
    errors = ErrorFilter(launch_of("https://example.com/v1/mcp", accept_language="en"))
    error = ErrorData(code=-1, message="v1 mcp en\nline", data={"path": "/v1/mcp", "x": "\ud800"})
    assert errors.clean(error) == error


def test_data_that_nests_too_deeply_is_left_out() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    errors = ErrorFilter(launch_of("https://example.com/"))
    assert errors.clean(ErrorData(code=-1, message="m", data=deep)).data is None
