from typing import Any

import pytest

from toolcrib.core.invisible import escaped
from toolcrib.core.plain_sight import in_plain_sight

HIDDEN = "\u202e\u200b\u00ad\U000e0041\x1b\x07\x7f\u2066\ufeff\u2028\u2029\x85\ud800"


@pytest.mark.parametrize("character", list(HIDDEN))
def test_what_hides_or_acts_is_written_as_its_code(character: str) -> None:
    shown = in_plain_sight({"text": f"a{character}b", f"na{character}me": 1})
    assert character not in shown
    assert f"{ord(character):x}" in shown.lower()
    shown.encode()


def test_line_breaks_of_a_text_make_no_lines() -> None:
    assert in_plain_sight({"a": "x\ny: 2"}) == 'a: "x\\ny: 2"'
    assert in_plain_sight({"a\nb": 1}) == '"a\\\\nb": 1'.replace("\\\\n", "\\\\u000a")


def test_ordinary_writing_stays_as_it_is() -> None:
    words = "naïve 日本語 עברית 👩\u200d💻 ❤\ufe0f"
    assert words in in_plain_sight({"text": words})
    assert escaped(words) == words


def test_values_are_shown_member_by_member() -> None:
    shown = in_plain_sight({"path": "/srv", "n": 1, "deep": {"a": [True, None]}, "a b": ""})
    assert shown.startswith('path: "/srv"\nn: 1\ndeep: {\n  "a": [\n    true,\n    null\n')
    assert shown.endswith('\n"a b": ""')
    assert in_plain_sight({}) == "(none)"


def test_a_long_text_does_not_push_the_next_argument_out_of_sight() -> None:
    shown = in_plain_sight({"a": "x" * 1_000_000, "b": "secret move"})
    assert "(999,500 characters left out)" in shown
    assert shown.endswith('b: "secret move"')
    assert len(shown) < 1_000


def test_many_arguments_are_bounded_and_their_number_is_no_hiding_place() -> None:
    many = {f"a{n}": "y" * 400 for n in range(60)}
    shown = in_plain_sight(many)
    assert len(shown) < 7_000
    assert all(f"a{n}: " in shown for n in range(50))
    thousands = in_plain_sight({f"a{n}": n for n in range(5_000)})
    assert len(thousands) < 7_000
    assert thousands.startswith("(5,000 arguments in all")


def test_what_is_nested_without_end_is_shown_on_one_line() -> None:
    deep: Any = "end"
    for _ in range(5_000):
        deep = [deep]
    assert "characters left out" in in_plain_sight({"a": deep})
    for _ in range(50_000):
        deep = [deep]
    assert in_plain_sight({"a": deep}) == "a: (no JSON)"


def test_long_names_that_look_alike_hide_nothing() -> None:
    names = ["k" * 600 + end for end in "abc"]
    assert in_plain_sight({"o": dict.fromkeys(names, "here")}).count('"here"') == 3
    assert in_plain_sight(dict.fromkeys(names, "here")).count('"here"') == 3
