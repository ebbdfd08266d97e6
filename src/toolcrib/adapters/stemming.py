"""Stems of English words, by the Snowball stemmer (Porter's second one).

`snowballstemmer` is the pure Python output of the Snowball compiler: it runs wherever Python runs,
and a word is only worked out once.
"""

from importlib import import_module
from threading import Lock
from typing import Any, Final

_REMEMBERED: Final = 100_000
"""Stems that are kept; then all are forgotten and worked out anew."""
_LONGEST: Final = 40
"""Characters; longer words are their own stems."""


class EnglishStemmer:
    """A `ports.Stemmer`; words of other languages and scripts mostly stay as they are."""

    def __init__(self) -> None:
        self._stems: dict[str, str] = {}
        self._lock = Lock()
        library: Any = import_module("snowballstemmer")  # it has no types
        self._stemmer: Any = library.stemmer("english")

    def __call__(self, word: str) -> str:
        """The stem of a word in lower case; from any thread."""
        stem = self._stems.get(word)
        return self._worked_out(word) if stem is None else stem

    def _worked_out(self, word: str) -> str:
        if not word.isascii() or len(word) > _LONGEST:
            return word
        with self._lock:  # the library's stemmer keeps the word it works on in itself
            stem = str(self._stemmer.stemWord(word))
            if len(self._stems) >= _REMEMBERED:
                self._stems.clear()
            self._stems[word] = stem
        return stem
