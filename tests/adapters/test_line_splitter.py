"""Lines come out whole however the bytes were cut, and a long one never fills the memory."""

# pyright: reportPrivateUsage=false

from hypothesis import given
from hypothesis import strategies as st

from toolcrib.adapters.line_splitter import LineSplitter, LongLine


def lines_of(splitter: LineSplitter, chunks: list[bytes]) -> list[bytes | LongLine]:
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]
    rest = splitter.rest()
    return lines if rest is None else [*lines, rest]


def shape(line: bytes, limit: int) -> bytes | int:
    return line if len(line) <= limit else len(line)


@given(
    st.lists(st.binary(max_size=12) | st.sampled_from([b"\n", b"\n\n", b"ab\ncd"]), max_size=12),
    st.integers(min_value=1, max_value=20),
)
def test_lines_do_not_depend_on_how_the_stream_was_cut(chunks: list[bytes], limit: int) -> None:
    whole = b"".join(chunks)
    expected = [shape(line, limit) for line in whole.split(b"\n")]
    if expected[-1] == b"":
        expected.pop()
    found = [
        line.size if isinstance(line, LongLine) else line
        for line in lines_of(LineSplitter(limit), chunks)
    ]
    assert found == expected


def test_a_line_of_exactly_the_limit_is_kept_and_one_byte_more_is_not() -> None:
    splitter = LineSplitter(5)
    assert list(splitter.feed(b"12345\n123456\n1\n")) == [
        b"12345",
        LongLine(b"123456", b"123456", 6),
        b"1",
    ]


def test_a_long_line_keeps_its_ends_and_nothing_between() -> None:
    splitter = LineSplitter(1000)
    chunks = [b"head" + b"x" * 996, *([b"y" * 700] * 50), b"tail\nnext\n"]
    long_line, following = (line for chunk in chunks for line in splitter.feed(chunk))
    assert isinstance(long_line, LongLine)
    assert long_line.size == 1000 + 700 * 50 + 4
    assert long_line.head == b"head" + b"x" * 252
    assert long_line.tail == b"y" * 252 + b"tail"
    assert following == b"next"


def test_while_a_long_line_lasts_no_more_than_its_ends_are_held() -> None:
    splitter = LineSplitter(1000)
    held: list[int] = []
    for _ in range(100):
        assert list(splitter.feed(b"z" * 999)) == []
        held.append(len(splitter._begun) + len(splitter._tail))
    assert max(held) <= 1000 + 256
    assert held[-1] <= 512


def test_what_follows_the_last_line_feed_is_a_line_when_the_stream_ends() -> None:
    splitter = LineSplitter(10)
    assert list(splitter.feed(b"a\nb")) == [b"a"]
    assert splitter.rest() == b"b"
    assert splitter.rest() is None
