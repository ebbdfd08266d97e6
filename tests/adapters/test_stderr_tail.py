"""The end of stderr is bounded, clean, and free of what was configured as secret."""

# pyright: reportPrivateUsage=false

import pytest

from toolcrib.adapters.redaction import Redaction
from toolcrib.adapters.stdio.stderr_tail import StderrTail
from toolcrib.settings import Secret

KEY = "sk-live-0123456789"


def tail(limit: int = 1000, *secrets: str) -> StderrTail:
    return StderrTail(limit, Redaction([Secret(value) for value in secrets]))


def test_only_the_last_bytes_are_kept_in_whole_lines() -> None:
    kept = tail(100)
    for number in range(1000):
        kept.feed(f"line {number}\n".encode())
        assert len(kept._kept) <= 200 + 10
    assert len(kept.text) <= 100
    assert kept.text.startswith("line ")
    assert kept.text.endswith("line 999\n")


def test_a_short_stream_is_kept_from_its_first_byte() -> None:
    kept = tail(100)
    kept.feed(b"no newline yet")
    assert kept.text == "no newline yet"


def test_nothing_is_kept_where_the_limit_is_zero() -> None:
    kept = tail(0)
    kept.feed(b"words\n")
    assert kept.text == ""
    assert kept.telling_line == ""


@pytest.mark.parametrize("cut", range(len(KEY) + 1))
def test_a_secret_is_blotted_wherever_the_chunks_were_cut(cut: int) -> None:
    kept = tail(1000, KEY)
    line = f"auth failed for {KEY}\n".encode()
    kept.feed(line[: 16 + cut])
    kept.feed(line[16 + cut :])
    assert kept.text == "auth failed for ***\n"
    assert kept.telling_line == "auth failed for ***"


@pytest.mark.parametrize("size", range(60, 100))
def test_no_part_of_a_secret_survives_at_the_front(size: int) -> None:
    kept = tail(size, KEY)
    kept.feed(b"x" * 300)
    kept.feed(KEY.encode())
    kept.feed(b"y" * (size - 8))
    assert not any(KEY[start:] in kept.text for start in range(len(KEY) - 3))


def test_one_line_of_a_secret_with_several_is_blotted_too() -> None:
    pem = "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\n-----END KEY-----"
    kept = tail(1000, pem)
    kept.feed(b"line 2 is MIIEvQIBADANBgkq\n")
    assert kept.text == "line 2 is ***\n"


def test_short_values_are_words_and_stay() -> None:
    kept = tail(1000, "1", "true", "prod")
    kept.feed(b"1 true prod\n")
    assert kept.text == "1 true prod\n"


def test_the_longer_of_two_secrets_is_blotted_first() -> None:
    kept = tail(1000, "secret", "secret-and-more")
    kept.feed(b"secret-and-more\n")
    assert kept.text == "***\n"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"\x1b[31mred\x1b[0m\n", "red\n"),
        (b"\x1b]0;title\x07text\n", "text\n"),
        (b"\x1b]8;;http://x\x1b\\link\n", "link\n"),
        (b"bell\x07 back\x08 nul\x00\n", "bell back nul\n"),
        (b"\x1bcreset\n", "reset\n"),
        (b"\x1b[2J\x1b[H\n", "\n"),
        ("c1\u009b31m\n".encode(), "c131m\n"),
        (b"tab\tstays\n", "tab\tstays\n"),
        (b"bad \xff byte\n", "bad � byte\n"),
    ],
)
def test_nothing_can_steer_the_operators_terminal(raw: bytes, shown: str) -> None:
    kept = tail()
    kept.feed(raw)
    assert kept.text == shown


def test_the_telling_line_is_clipped() -> None:
    kept = tail(5000)
    kept.feed(b"first\n" + b"z" * 1000 + b"\n  \n\n")
    assert kept.telling_line == "z" * 299 + "…"


def test_an_excerpt_is_one_clean_line() -> None:
    redaction = Redaction([Secret(KEY)])
    assert redaction.excerpt(f"\n\x1b[1m using {KEY}\nmore", 100) == "using ***"
    assert redaction.excerpt("x" * 50, 10) == "x" * 9 + "…"
    assert redaction.excerpt("\n\n", 10) == ""
