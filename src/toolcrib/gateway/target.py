"""Where a request goes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """A server, and the name by which it knows what is asked for."""

    server: str
    key: str
    """The original name or URI."""
