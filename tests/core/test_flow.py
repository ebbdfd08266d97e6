"""What one server answered, on its way into a call of another."""

import pytest

from toolcrib.core.flow import Flow, flow_verdict
from toolcrib.settings import FlowRule

RULES = (
    FlowRule("crm", "mail", "deny"),
    FlowRule("crm", "*", "ask"),
    FlowRule("web*", "bank", "deny"),
    FlowRule("*", "log", "allow"),
)


@pytest.mark.parametrize(
    ("received", "target", "verdict"),
    [
        ((), "mail", None),
        (("crm",), "mail", Flow(("crm",), "mail", "deny")),
        (("crm",), "crm", None),
        (("crm",), "notes", Flow(("crm",), "notes", "ask")),
        (("web2",), "bank", Flow(("web2",), "bank", "deny")),
        (("web2",), "mail", None),
        (("crm",), "log", Flow(("crm",), "log", "ask")),
        (("notes",), "log", None),
    ],
)
def test_the_first_rule_that_fits_a_pair_decides(
    received: tuple[str, ...], target: str, verdict: Flow | None
) -> None:
    assert flow_verdict(RULES, received, target) == verdict


def test_of_several_servers_that_answered_the_strictest_rule_holds() -> None:
    rules = (FlowRule("a", "x", "ask"), FlowRule("b", "x", "deny"), FlowRule("c", "x", "allow"))
    assert flow_verdict(rules, ("c", "a"), "x") == Flow(("a",), "x", "ask")
    assert flow_verdict(rules, ("a", "b", "c"), "x") == Flow(("b",), "x", "deny")


def test_a_person_is_asked_about_every_server_that_takes_a_yes() -> None:
    rules = (FlowRule("*", "x", "ask"),)
    assert flow_verdict(rules, ("b", "x", "a"), "x") == Flow(("a", "b"), "x", "ask")


def test_without_rules_answers_may_go_anywhere() -> None:
    assert flow_verdict((), ("a", "b"), "c") is None
