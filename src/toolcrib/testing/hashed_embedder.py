"""An embedder that needs no model: texts that share words lie close together."""

import hashlib
import math
import re
import threading
from array import array
from collections.abc import Sequence

_WORD = re.compile(r"\w+")


class HashedEmbedder:
    """Implements `Embedder`: each word is one direction, drawn from a hash of it.

    Args:
        mark: What it is called; vectors of another mark are no vectors of this one.
        dimensions: Numbers of a vector.
        alike: Words that mean the same as another: they get its direction.
    """

    def __init__(
        self,
        mark: str = "hashed words",
        *,
        dimensions: int = 64,
        alike: dict[str, str] | None = None,
    ) -> None:
        self._mark = mark
        self._dimensions = dimensions
        self._alike = alike or {}
        self._lock = threading.Lock()
        self.texts: list[str] = []
        """Every text that was embedded, in order."""
        self.broken: Exception | None = None
        """Raised instead of an answer, while there is one."""

    @property
    def mark(self) -> str:
        """As it was made."""
        return self._mark

    @property
    def dimensions(self) -> int:
        """As it was made."""
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """The sum of the directions of the words of each text, of length 1."""
        with self._lock:
            if self.broken is not None:
                raise self.broken
            self.texts += texts
        return [self._embedded(text) for text in texts]

    def _embedded(self, text: str) -> bytes:
        total = [0.0] * self._dimensions
        words: list[str] = _WORD.findall(text.lower()) or [""]
        for word in words:
            for at, number in enumerate(self._direction(self._alike.get(word, word))):
                total[at] += number
        length = math.hypot(*total) or 1.0
        return array("f", [number / length for number in total]).tobytes()

    def _direction(self, word: str) -> list[float]:
        stream = hashlib.shake_256(word.encode("utf-8", "surrogatepass")).digest(self._dimensions)
        return [byte / 127.5 - 1.0 for byte in stream]
