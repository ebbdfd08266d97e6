"""Where a request goes."""

from dataclasses import dataclass

from toolcrib.core.snapshot import Item


@dataclass(frozen=True, slots=True)
class Target:
    """A server, and the name by which it knows what is asked for."""

    server: str
    key: str
    """The original name or URI."""
    item: Item | None = None
    """Its definition in the listing where the name was found; None: in none of today."""
