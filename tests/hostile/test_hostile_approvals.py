"""What a hostile model writes as arguments, so that a person says yes or nobody is asked."""

from typing import Any

import pytest

from toolcrib.core.approval import Allowed, AskFirst, Denied, decide
from toolcrib.core.plain_sight import in_plain_sight
from toolcrib.settings import ApprovalRule
from toolcrib.testing.approval_desk import tool

MANY = 1_000_000
SECRET_PATHS = {"path": "/etc/*"}


def flooded() -> list[tuple[str, Any]]:
    return [
        ("numbers", [0] * MANY),
        ("arrays", [[]] * MANY),
        ("objects", [{"a": 1}] * MANY),
        ("members", {f"k{n}": n for n in range(100_000)}),
        ("a row in rows", [[[[0] * MANY]]]),
    ]


@pytest.mark.parametrize("value", [it for _, it in flooded()], ids=[name for name, _ in flooded()])
def test_a_row_without_end_is_shown_by_its_beginning_and_its_length(value: Any) -> None:
    shown = in_plain_sight({"a": value, "b": "secret move"})
    assert "in all" in shown
    assert 'b: "secret move"' in shown
    assert len(shown) < 6_100


def test_arguments_without_end_are_counted_where_nobody_can_push_it_out_of_sight() -> None:
    shown = in_plain_sight({**{f"a{n}": "" for n in range(200_000)}, "command": "rm -rf /"})
    assert shown.startswith("(200,001 arguments in all, of which the first are shown)")
    imitated = in_plain_sight({"(2 arguments in all)": 1})
    assert imitated.startswith('"(2')


def test_names_that_look_alike_on_every_level_take_no_endless_time() -> None:
    # Each level was copied twice: 32 of them took longer than anybody waits.
    nested: Any = "innermost"
    for _ in range(31):
        nested = {"k" * 600 + "a": nested, "k" * 600 + "b": "beside"}
    shown = in_plain_sight({"o": nested}, room=100_000)
    assert shown.count('"beside"') == 31
    assert '"innermost"' in shown


def test_a_member_that_is_called_like_an_omission_stays_in_sight() -> None:
    value = {"…": "here", **{f"k{n}": n for n in range(10_000)}}
    shown = in_plain_sight({"a": value})
    assert '"…": "here"' in shown
    assert "in all)" in shown


@pytest.mark.parametrize("filler", ["", 0, {"a": 1}, [], None, 0.5])
def test_what_is_denied_cannot_be_hidden_in_a_row_without_end(filler: Any) -> None:
    rules = [ApprovalRule("deny", arguments=SECRET_PATHS)]
    given = {"path": [*[filler] * 300_000, "/etc/passwd"]}
    assert isinstance(decide(rules, "allow", "files", tool(), given), Denied)
    rules = [ApprovalRule("ask", arguments=SECRET_PATHS)]
    assert isinstance(decide(rules, "allow", "files", tool(), given), AskFirst)


def test_what_is_allowed_is_not_allowed_in_a_row_without_end() -> None:
    rules = [ApprovalRule("allow", arguments={"path": "/srv/*"})]
    few, many = {"path": ["/srv/a"] * 1_900}, {"path": ["/srv/a"] * 300_000}
    assert isinstance(decide(rules, "deny", "files", tool(), few), Allowed)
    assert isinstance(decide(rules, "deny", "files", tool(), many), Denied)


@pytest.mark.parametrize(
    "path",
    [["/etc/passwd"], [[["/etc/passwd"]]], ["/srv/a", "/etc/passwd"], "/etc/passwd", "/etc/\n/x"],
)
def test_a_denied_path_is_denied_in_every_shape(path: Any) -> None:
    rules = [ApprovalRule("allow"), ApprovalRule("deny", arguments=SECRET_PATHS)]
    assert isinstance(decide(rules, "allow", "files", tool(), {"path": path}), Denied)
