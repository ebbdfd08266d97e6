"""Letters of other scripts that pass for Latin ones, so that words can be compared as they look."""

from typing import Final

_TABLE: Final = str.maketrans(
    "аеорсухѕіјԁԛԝһкαορυνικ",
    "aeopcyxsijdqwhkaopuvik",
)


def as_it_looks(text: str) -> str:
    """The text with lookalikes replaced, character for character, so that places stay the same."""
    return text if text.isascii() else text.translate(_TABLE)
