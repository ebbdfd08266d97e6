"""Patterns of searchers cannot run away, and what is refused says why."""

import pytest

from toolcrib.adapters.linear_patterns import LONGEST, linear_pattern


@pytest.mark.parametrize(
    ("pattern", "there", "elsewhere"),
    [
        ("get_.*_status", "GET_http_STATUS", "status_get"),
        ("^list", "listAll", "all_list"),
        (r"\bpod\b", "a pod.", "podcast"),
        ("a|b{2}", "xbbx", "xbx"),
        ("[0-9]{3}", "x123", "x12"),
        ("天气", "查询天气", "气天"),
        ("", "anything", None),
    ],
    ids=["any case", "anchor", "boundary", "either", "class", "chinese", "empty"],
)
def test_a_pattern_is_found_where_it_occurs(
    pattern: str, there: str, elsewhere: str | None
) -> None:
    occurs = linear_pattern(pattern)
    assert occurs(there)
    assert elsewhere is None or not occurs(elsewhere)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(", "brackets"),
        ("[a", "brackets"),
        ("*", "no regular expression"),
        ("(?=x)", "look-around"),
        ("(?<!x)y", "look-around"),
        (r"(a)\1", "back references"),
        ("x" * (LONGEST + 1), "characters"),
        ("(x{100}){100}", "repeats too much"),
        ("x{5000}", "repeats too much"),
        ("(.*a.{30}){20}", "repeats too much"),
    ],
)
def test_a_pattern_that_the_engine_does_not_take_is_refused_with_the_reason(
    pattern: str, why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        linear_pattern(pattern)


def test_a_text_of_the_longest_size_may_be_searched_for_as_it_is() -> None:
    assert linear_pattern("x" * LONGEST)("x" * LONGEST)


@pytest.mark.parametrize("pattern", ["(a+)+$", "^(a|a)*$", "(a*)*b", "(.*)*(.*)*x$", "(a|aa)+$"])
def test_patterns_that_are_catastrophic_elsewhere_are_answered(pattern: str) -> None:
    assert linear_pattern(pattern)("a" * 5_000 + "!") is False
