"""Exact counts: of what, and what is said where the library is missing."""

import sys

import pytest

from toolcrib.adapters.quicktok_counter import QuicktokCounter
from toolcrib.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("hello world", 2), ("\u540d\u524d", 1), ("<|endoftext|>", 7), ("a\ud800b", 3)],
    ids=["empty", "words", "ideographs", "special", "surrogate"],
)
def test_o200k_tokens_are_counted(text: str, tokens: int) -> None:
    counter = QuicktokCounter()
    assert (counter.count(text), counter.name, counter.exact) == (tokens, "o200k", True)


def test_a_missing_library_is_named_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "quicktok", None)
    with pytest.raises(ConfigError) as told:
        QuicktokCounter()
    assert "toolcrib[tokens]" in told.value.for_operator()
