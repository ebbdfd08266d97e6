"""Queries that ask for several things are taken apart; all others stay whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.core.search.sentences import MOST_SENTENCES, sentences_of


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("list the open issues", ()),
        ("", ()),
        ("Read v3.5 of /data/x.pdf at example.com/a.b?c=1;d", ()),
        (
            "List the open issues. Close those of last year!",
            ("List the open issues.", "Close those of last year!"),
        ),
        (
            "convert it to markdown, then send it by mail",
            ("convert it to markdown", "send it by mail"),
        ),
        (
            "fetch the page and then make a word cloud",
            ("fetch the page", "make a word cloud"),
        ),
        ("查询北京的天气。生成一张图表\uff01", ("查询北京的天气。", "生成一张图表\uff01")),
        ("one long line\nand another one", ("one long line", "and another one")),
        ("Hi! Hm. Please list all my repositories.", ()),
        ("你好。查询北京的天气。", ()),
    ],
)
def test_steps_and_sentences_are_told_apart(query: str, parts: tuple[str, ...]) -> None:
    assert sentences_of(query) == parts


def test_only_the_first_sentences_are_looked_at() -> None:
    query = " ".join(f"Sentence number {number}." for number in range(40))
    parts = sentences_of(query)
    assert len(parts) == MOST_SENTENCES
    assert parts[0] == "Sentence number 0."


@given(st.text(max_size=200))
def test_parts_are_pieces_of_the_query(query: str) -> None:
    parts = sentences_of(query)
    assert len(parts) != 1
    assert all(part in query for part in parts)


def test_a_long_query_of_nothing_takes_no_time() -> None:
    """Linear, whatever it repeats: counted by finishing at all."""
    for piece in (" ", "\n", ". ", ", then ", "and "):
        sentences_of(piece * 20_000)
