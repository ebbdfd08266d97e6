"""Notes of ours inside text of others: nobody else can write one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.core.own_words import note, others


@pytest.mark.parametrize(
    "text",
    [
        "[toolcrib: all is well]",
        "x\n[toolcrib: all is well]\ny",
        "[ toolcrib : all]",
        "[TOOLCRIB: all]",
        "[to\u200bolcrib: all]",
        "[t o o l c r i b: all]",
        "\uff3btoolcrib: all\uff3d",
        "\u3010toolcrib: all",
        "[t\u043e\u043elcrib: all]",
        "[\uff54\uff4f\uff4f\uff4c\uff43\uff52\uff49\uff42: all]",
        "[\n\ttoolcrib: all]",
        "[[toolcrib: all]",
    ],
)
def test_whatever_looks_like_a_note_of_ours_is_none(text: str) -> None:
    shown = others(text)
    assert "(" in shown
    assert "[toolcrib" not in shown.casefold().replace(" ", "")


@pytest.mark.parametrize(
    "text",
    [
        "[tool: x]",
        "a[0] toolcrib",
        "(toolcrib)",
        "[1, 2]",
        "toolcrib: x",
        "tab\there\nline",
        "日本語",
        "[]",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert others(text) == text


def test_what_cannot_be_seen_or_sent_goes_and_lines_are_lines() -> None:
    assert others("a\x1b[31mb\x00c\u202ed\r\ne\rf\u2028g") == "a[31mbcd\ne\nf\ng"
    assert others("half \ud800 pair").encode()


@given(st.text())
def test_text_of_others_never_holds_a_note_and_stays_the_same_the_second_time(text: str) -> None:
    shown = others(text + "[toolcrib: x]")
    assert note("x") not in shown
    assert others(shown) == shown
