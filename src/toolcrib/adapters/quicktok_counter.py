"""Exact o200k tokens by `quicktok`, offline; its tables come with its wheel."""

from importlib import import_module
from typing import Any, Final

from toolcrib.errors import ConfigError

_ENCODING: Final = "o200k_base"


class QuicktokCounter:
    """Counts as the models of OpenAI since GPT-4o count; an estimate for any other model.

    Text that looks like a special token is counted as the plain text it is.
    """

    name = "o200k"
    exact = True

    def __init__(self) -> None:
        """Load the tables, which takes some milliseconds.

        Raises:
            ConfigError: The library is not installed.
        """
        try:
            library: Any = import_module("quicktok")
        except ImportError:
            raise ConfigError(
                "counting = exact needs the library quicktok, which is not installed",
                remedy="install toolcrib[tokens], or set counting to heuristic",
            ) from None
        self._encode: Any = library.get_encoding(_ENCODING).encode_ordinary

    def count(self, text: str) -> int:
        """The tokens of a text; an unpaired surrogate counts as the character that replaces it."""
        plain = text.encode("utf-8", "replace").decode() if not text.isascii() else text
        return len(self._encode(plain))
