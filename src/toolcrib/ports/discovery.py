"""What finding tools takes from outside: words, tokens, vectors, a small model."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

Stemmer = Callable[[str], str]
"""The stem of one word in lower case; pure, and quick for a word that was asked before."""


PatternEngine = Callable[[str], Callable[[str], bool]]
"""Compiles a regular expression to whether a text contains it, in any case of letters.

Its time grows with the text only, whatever the pattern. Raises `ValueError` for a pattern that it
does not take; the message says why and what to write, and completes "the pattern is refused: ".
"""


class TokenCounter(Protocol):
    """Counts the tokens of texts."""

    @property
    def name(self) -> str:
        """What is counted, such as `o200k` or `characters`, for people."""
        ...

    @property
    def exact(self) -> bool:
        """Whether a count is what the model's own tokenizer would count."""
        ...

    def count(self, text: str) -> int:
        """The tokens of a text; 0 for the empty one."""
        ...


class Embedder(Protocol):
    """Turns texts into vectors, so that texts of like meaning lie close together."""

    @property
    def mark(self) -> str:
        """Equal for vectors that may be compared: the model and its version."""
        ...

    @property
    def dimensions(self) -> int:
        """Numbers of one vector."""
        ...

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """One vector for each text, as 32-bit little-endian floats of length 1.

        Blocks, and may be called from several threads; call it off the event loop.
        """
        ...


class VectorIndex(Protocol):
    """Holds vectors in groups, and compares one with all of them.

    Used on one thread; the work for many vectors is in what may go to another one.
    """

    def prepared(
        self, group: str, rows: Sequence[bytes], names: Sequence[bytes] = ()
    ) -> Callable[[], None]:
        """Work out what is compared; the answer puts it, quickly, in the place of the group's.

        On any thread; what it answers, as all else, on the one that the index is used on.

        With `names`, one for each row, a row is pulled a little to the vector of its name and to
        the middle of its group, and has length 1 again (`core.search.fusion` says how much).
        """
        ...

    def drop(self, group: str) -> None:
        """Forget a group; one that is not there is no error."""
        ...

    def comparison(
        self, query: bytes, parts: Sequence[bytes] = ()
    ) -> Callable[[], Mapping[str, Sequence[float]]]:
        """What tells, on any thread, the cosine of the query with each vector that is there now.

        By group, in the order they were given. Of a group that is replaced or dropped before it is
        done it may say anything. With `parts`, the vectors of its sentences, a share of it is the
        cosine of the best of them.
        """
        ...


class VectorStore(Protocol):
    """Keeps vectors by what they were made from; shared like snapshots are.

    Raises `StoreUnreachable`, and then nothing is changed as far as anybody can tell.
    """

    async def get(self, mark: str, keys: Sequence[str]) -> dict[str, bytes]:
        """Those of the vectors that are kept, by key."""
        ...

    async def put(self, mark: str, rows: Mapping[str, bytes]) -> None:
        """Keep vectors; beyond its bound the ones that were used least recently are dropped."""
        ...


class SmallModel(Protocol):
    """A language model that answers one short question."""

    async def complete(
        self, instructions: str, question: str, *, most_tokens: int, timeout: float
    ) -> str:
        """The text of its answer, as it came.

        Raises:
            ToolcribError: It cannot be reached, refused, or took longer than `timeout` seconds.
        """
        ...
