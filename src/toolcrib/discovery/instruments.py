"""What tools are found and counted with, as it is handed in."""

from collections.abc import Callable
from dataclasses import dataclass

from toolcrib.ports import (
    Embedder,
    PatternEngine,
    SmallModel,
    Stemmer,
    TokenCounter,
    VectorIndex,
    VectorStore,
)


@dataclass(frozen=True, slots=True)
class Meaning:
    """What tools are searched by meaning with."""

    embedder: Embedder
    vectors: VectorStore
    index: Callable[[], VectorIndex]
    """Makes one that is empty."""


@dataclass(frozen=True, slots=True)
class Instruments:
    """The ports that tools are found and counted with."""

    stem: Stemmer
    patterns: PatternEngine
    counter: TokenCounter
    meaning: Meaning | None = None
    """None: there is no embedder, and tools are found by their words."""
    model: SmallModel | None = None
    """Chooses among hits, where one is configured."""
