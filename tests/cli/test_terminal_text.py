"""Foreign words on a terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.cli.json_text import json_text
from toolcrib.cli.terminal_text import ago, clipped, one_line, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain [bold]words[/bold] :smile:", "plain [bold]words[/bold] :smile:"),
        ("two\nlines\r\nthree", "two\nlines\nthree"),
        ("a\tb", "a   b"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("\u202eevil\u2066", "\\u202eevil\\u2066"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("half \ud800", "half \\ud800"),
        ("tag \U000e0041", "tag \\U000e0041"),
        ("back\rover", "back\\rover"),
        ("grün 日本 🎉", "grün 日本 🎉"),
    ],
)
def test_what_does_not_print_shows_as_its_escape(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_nothing_invisible_is_left(text: str) -> None:
    assert all(line.isprintable() for line in visible(text).split("\n"))
    assert one_line(text).isprintable()
    assert clipped(text, 20).isprintable()
    assert len(clipped(text, 20)) <= 20
    assert all(line.isprintable() for line in json_text({"t": text}).plain.split("\n"))


def test_a_line_break_in_a_name_starts_no_line() -> None:
    assert one_line("a\n- b") == "a\\n- b"


def test_long_texts_are_cut_with_a_mark() -> None:
    assert clipped("one  two\nthree", 100) == "one two three"
    assert clipped("abcdef", 6) == "abcdef"
    assert clipped("abcdefg", 6) == "abcde…"
    assert len(clipped("x" * 1_000_000, 10)) == 10


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, "-"),
        (0.2, "0 s"),
        (59, "59 s"),
        (60, "1 min"),
        (3_600, "1 h"),
        (90_000, "1 d"),
        (259_200, "3 d"),
    ],
)
def test_ages_have_one_unit(seconds: float | None, shown: str) -> None:
    assert ago(seconds) == shown
