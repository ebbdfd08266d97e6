"""Other people's text in our sentences cannot break out of them."""

from hypothesis import given
from hypothesis import strategies as st

from toolcrib.core.quoting import clipped, enumerated, excerpt, has_surrogates, literal, quoted


@given(st.text(st.characters()), st.integers(2, 80))
def test_a_clipped_text_is_one_short_line_that_any_terminal_may_print(
    text: str, limit: int
) -> None:
    line = clipped(text, limit)
    assert len(line) <= limit
    assert not set(line) & set("\n\r\x1b\x00`\u202e\u2028\u200b")
    assert line.encode().decode() == line


@given(st.text(st.characters(max_codepoint=0x7F)), st.integers(2, 80))
def test_plain_text_is_clipped_as_any_other_is(text: str, limit: int) -> None:
    # A letter that is no ASCII is looked at character by character.
    assert clipped(text, limit + 1)[: limit - 1] == clipped(f"é{text}", limit + 2)[1:limit]


@given(st.text(st.characters()), st.integers(0, 80))
def test_an_excerpt_says_how_much_there_is(text: str, limit: int) -> None:
    shown = excerpt(text, limit)
    assert shown.startswith(text[:limit])
    if len(text) <= limit:
        assert shown == text
    else:
        assert shown[limit:] == f"… ({len(text)} characters in all)"


def test_an_excerpt_is_short_by_itself() -> None:
    assert len(excerpt("x" * 5_000_000)) < 2_100
    assert excerpt("x" * 5_000_000).endswith("(5,000,000 characters in all)")


def test_values_are_quoted_as_json_and_strings_as_themselves() -> None:
    assert [literal(x) for x in (1, True, None, "a", "")] == [
        "`1`",
        "`true`",
        "`null`",
        "`a`",
        "the empty string",
    ]
    assert quoted("a`b") == "`a'b`"
    assert len(literal({"a": "x" * 1000})) == 62
    assert literal(float("nan")) == "`NaN`"


@given(st.lists(st.text(min_size=1, max_size=50), max_size=40), st.integers(0, 300))
def test_an_enumeration_fits_its_room_and_counts_the_rest(words: list[str], room: int) -> None:
    text = enumerated(words, room)
    assert len(text) <= room + 52 + 20
    assert bool(text) == bool(words)


@given(st.text(st.characters()))
def test_surrogates_are_found_exactly_where_no_utf8_form_exists(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        assert has_surrogates(text)
    else:
        assert not has_surrogates(text)
