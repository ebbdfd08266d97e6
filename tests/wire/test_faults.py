"""Errors on the wire: only codes that mean something, and nothing of our inside."""

import logging

import pytest

from toolcrib.calls.results.refusal import refusal
from toolcrib.errors import (
    AuthRequired,
    CatalogTooOld,
    RequestTimedOut,
    ToolcribError,
    ToolGone,
    UpstreamRefused,
)
from toolcrib.wire.faults import (
    RpcFault,
    fault_of,
    invalid_params,
    invalid_request,
    method_not_found,
)


def test_an_unforeseen_exception_is_an_internal_error_that_quotes_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR):
        fault = fault_of(KeyError("the secret"))
    assert fault.as_error() == {"code": -32603, "message": "Internal error"}
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    "error", [CatalogTooOld("old", server="a"), AuthRequired("who", server="a")]
)
def test_what_stopped_us_is_told_with_its_stable_code(error: ToolcribError) -> None:
    assert fault_of(error).as_error() == {
        "code": -32603,
        "message": error.message,
        "data": {"error": {"code": error.code, "message": error.message, "server": "a"}},
    }


def test_a_fault_stays_what_it_is() -> None:
    fault = invalid_params("no", {"uri": "x"})
    assert fault_of(fault) is fault


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (RpcFault(-32700, ""), 400),
        (invalid_request(""), 400),
        (invalid_params(""), 400),
        (RpcFault(-32020, ""), 400),
        (RpcFault(-32022, ""), 400),
        (method_not_found("x"), 404),
        (RpcFault(-32603, ""), 200),
    ],
)
def test_each_code_has_its_http_status(fault: RpcFault, status: int) -> None:
    assert fault.http_status == status


def test_a_refusal_is_a_result_that_a_model_can_act_on() -> None:
    error = ToolGone("gone", server="alpha", details={"since": 3})
    assert refusal(error, "alpha__one") == {
        "content": [{"type": "text", "text": "gone"}],
        "structuredContent": {
            "error": {
                "code": "tool_gone",
                "message": "gone",
                "server": "alpha",
                "tool": "alpha__one",
                "retry": "no",
                "details": {"since": 3},
            }
        },
        "isError": True,
    }


@pytest.mark.parametrize(
    ("error", "retry"),
    [
        (CatalogTooOld("x"), "later"),
        (RequestTimedOut("x"), "no"),
        (UpstreamRefused("x", rpc_code=1), "no"),
    ],
)
def test_a_refusal_says_whether_to_call_again(error: ToolcribError, retry: str) -> None:
    assert refusal(error, "t")["structuredContent"]["error"]["retry"] == retry
