"""What is blotted: configured secrets, and not the words that diagnoses are made of."""

import pytest

from toolcrib.adapters.redaction import BLOT, Redaction
from toolcrib.settings import Secret


@pytest.mark.parametrize("word", ["handshake", "production", "Development", "localhost", "modern"])
def test_ordinary_words_stay_although_they_are_configured(word: str) -> None:
    text = f"era found: {word.lower()} ({word})"
    assert Redaction([Secret(word)])(text) == text


@pytest.mark.parametrize("secret", ["hunter2hunter2", "s3cr3t-1", "handshake-7f3a", "correcthorse"])
def test_a_secret_is_blotted(secret: str) -> None:
    assert Redaction([Secret(secret)])(f"using {secret}.") == f"using {BLOT}."
