"""What a server says in its errors, on its way to logs, listings and models."""

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import ErrorData

from toolcrib.adapters.http.outcome import Fault, HttpOutcome, join_outcome
from toolcrib.adapters.jsonrpc_line import BROKEN_MARK, LIMIT_MARK
from toolcrib.adapters.session.error_mapping import map_error
from toolcrib.errors import ResultInvalid, ToolcribError, UpstreamUnreachable

GIANT = "x" * 5_000_000
OUTCOMES = [
    None,
    HttpOutcome(401),
    HttpOutcome(429),
    HttpOutcome(400, from_server=True),
    HttpOutcome(200, fault="too_large"),
    HttpOutcome(200, fault="unreadable"),
    HttpOutcome(503),
]


def mapped(message: str, outcome: HttpOutcome | None, data: object = None) -> ToolcribError:
    error = ErrorData(code=-32000, message=message, data=data)
    if outcome is not None:
        error = join_outcome(error, outcome)
    caught = MCPError(error.code, error.message, error.data)
    return map_error(caught, server="s", http=outcome is not None)


@pytest.mark.parametrize("outcome", OUTCOMES, ids=repr)
def test_a_giant_message_is_cut_short_and_its_length_told(outcome: HttpOutcome | None) -> None:
    error = mapped(GIANT, outcome)
    for text in (error.message, error.for_model(), error.for_operator(), str(error)):
        assert len(text) < 2_500
        assert "(5,000,000 characters in all)" in text


@pytest.mark.parametrize("outcome", OUTCOMES, ids=repr)
def test_a_message_of_usual_length_stays_whole(outcome: HttpOutcome | None) -> None:
    message = "why\n" * 500
    assert mapped(message, outcome).message == message


def test_the_limit_that_a_remedy_names_is_one_word() -> None:
    assert mapped("m", None, {LIMIT_MARK: "line_bytes"}).remedy == "raise the limit `line_bytes`"
    remedy = mapped("m", None, {LIMIT_MARK: GIANT}).remedy
    assert remedy is not None
    assert len(remedy) < 100


@pytest.mark.parametrize(
    ("outcome", "data"),
    [(None, {BROKEN_MARK: True}), (HttpOutcome(200, fault="unreadable"), None)],
    ids=["stdio", "http"],
)
def test_an_answer_that_cannot_be_read_is_a_broken_result_on_every_transport(
    outcome: HttpOutcome | None, data: object
) -> None:
    error = mapped("m", outcome, data)
    assert type(error) is ResultInvalid
    assert error.details.get("http_status") == (outcome.status if outcome else None)


@pytest.mark.parametrize("fault", ["closed", "reset", "content_type", "accepted"])
def test_an_answer_that_did_not_come_is_no_broken_result(fault: Fault) -> None:
    assert type(mapped("m", HttpOutcome(200, fault=fault))) is UpstreamUnreachable
