"""Allow, deny and views: pure, case-sensitive, and denial wins."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.core.partition import ANONYMOUS, LOCAL, Principal
from toolcrib.core.policy import ANY, View, allowed, visible


@pytest.mark.parametrize(
    ("allow", "deny", "name", "verdict"),
    [
        (ANY, (), "anything", True),
        ((), (), "anything", False),
        (("read_*",), (), "read_file", True),
        (("read_*",), (), "Read_file", False),
        (("read_*",), (), "unread_file", False),
        (ANY, ("*_secret",), "read_secret", False),
        (("read_secret",), ("read_secret",), "read_secret", False),
        (("a?c",), (), "abc", True),
        (("a?c",), (), "abbc", False),
        (("[ab]x",), (), "bx", True),
        (("[!ab]x",), (), "bx", False),
        (("a.b",), (), "axb", False),
        (("*",), (), "line\nbreak", True),
        (("x", "y"), (), "y", True),
        (ANY, ("x", "y"), "y", False),
        (("a[b]",), (), "a[b]", False),
        (("a[[]b]",), (), "a[b]", True),
    ],
)
def test_patterns_decide_and_denial_wins(
    allow: tuple[str, ...], deny: tuple[str, ...], name: str, *, verdict: bool
) -> None:
    assert allowed(allow, deny, name) == verdict


@given(st.text(), st.lists(st.text(st.sampled_from("ab*?"), max_size=4)).map(tuple))
def test_a_denial_can_only_take_away(name: str, deny: tuple[str, ...]) -> None:
    assert not allowed(ANY, deny, name) or allowed(ANY, (), name)
    assert not allowed(("*",), (*deny, "*"), name)


ANNA = Principal("https://idp", "anna", scopes=("read", "write"), tenant="blue")
BERT = Principal("https://idp", "bert", scopes=("read",), tenant="red")


def test_without_views_everybody_sees_everything() -> None:
    assert all(visible((), who, "s", "t") for who in (ANNA, BERT, LOCAL, ANONYMOUS))


def test_a_view_shows_to_its_group_what_it_allows() -> None:
    views = [View(tenants=("blue",), allow=("read_*",)), View(tenants=("red",), servers=("mail",))]
    assert visible(views, ANNA, "files", "read_x")
    assert not visible(views, ANNA, "files", "write_x")
    assert visible(views, BERT, "mail", "write_x")
    assert not visible(views, BERT, "files", "read_x")
    assert not visible(views, ANONYMOUS, "files", "read_x")


def test_a_group_needs_all_of_its_scopes() -> None:
    views = [View(scopes=frozenset({"read", "write"}))]
    assert visible(views, ANNA, "s", "t")
    assert not visible(views, BERT, "s", "t")


def test_a_denial_in_any_view_of_mine_wins_and_others_do_not_touch_me() -> None:
    views = [View(), View(subjects=("bert",), deny=("drop_*",))]
    assert visible(views, ANNA, "db", "drop_table")
    assert not visible(views, BERT, "db", "drop_table")
    assert visible(views, BERT, "db", "read_table")


@given(st.permutations([View(), View(deny=("a*",)), View(tenants=("blue",), allow=("b*",))]))
def test_the_order_of_views_does_not_matter(views: list[View]) -> None:
    assert not visible(views, ANNA, "s", "ab")
    assert visible(views, ANNA, "s", "bc")
