"""Small values that expire."""

from collections.abc import Mapping
from typing import Protocol


class EntryStore(Protocol):
    """Keeps small values with an expiry, per space and owner, bounded; shared like snapshots are.

    Owners are keyed digests, never names. Raises `StoreUnreachable`, and then nothing is changed as
    far as anybody can tell. What has expired is never seen again.
    """

    async def get(self, space: str, owner: str, key: str) -> bytes | None:
        """The value under a key; None when there is none."""
        ...

    async def entries(self, space: str, owner: str) -> dict[str, bytes]:
        """Everything of an owner, by key, the least recently written first."""
        ...

    async def put(
        self,
        space: str,
        owner: str,
        values: Mapping[str, bytes],
        *,
        lifetime: float,
        most: int,
    ) -> None:
        """Keep values for `lifetime` seconds.

        Beyond `most` entries of this owner the least recently written are dropped.

        Raises:
            LimitExceeded: A value is larger than a store takes (16 MiB).
        """
        ...

    async def add(
        self, space: str, owner: str, key: str, value: bytes, *, lifetime: float, most: int
    ) -> bool:
        """Keep a value where the key is free, as one step; whether it was."""
        ...

    async def take(self, space: str, owner: str, key: str) -> bytes | None:
        """The value, and nobody gets it again: of those who take at once, one gets it."""
        ...

    async def drop(self, space: str, owner: str, key: str | None = None) -> int:
        """Forget a key, or everything of an owner; how many there were."""
        ...
