"""docs/glossary.md: its words are in order, said in a line each, and used on other pages."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = ROOT / "docs/glossary.md"
LINES = [line for line in GLOSSARY.read_text().splitlines() if line.startswith("| ")][1:]
WORDS: dict[str, str] = dict(line.strip("| ").split(" | ", 1) for line in LINES)
OTHERS = " ".join(
    path.read_text()
    for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    if path != GLOSSARY
)
ASKED = {"o200k", "principal", "handle", "contract", "generation", "walk", "era", "partition"}


def test_the_words_are_in_order_and_none_is_there_twice() -> None:
    assert [*WORDS] == sorted(WORDS)
    assert len(WORDS) == len(LINES)
    assert {*WORDS} >= {*ASKED, "exposure"}


@pytest.mark.parametrize("word", WORDS)
def test_a_word_is_used_elsewhere(word: str) -> None:
    assert re.search(rf"\b{re.escape(word)}(?:s|es|ed)?\b", OTHERS, re.IGNORECASE)
    assert WORDS[word].endswith(".")
