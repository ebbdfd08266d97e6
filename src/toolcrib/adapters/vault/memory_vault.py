"""A vault that ends with the process, for cribs that keep nothing on disk."""

from contextlib import AbstractAsyncContextManager

import anyio

__all__ = ["MemoryVault"]


class MemoryVault:
    """Implements `ports.Vault`."""

    def __init__(self) -> None:
        self._pages: dict[str, bytes] = {}
        self._turns: dict[str, anyio.Lock] = {}

    def __repr__(self) -> str:
        return "MemoryVault(***)"

    async def read(self, key: str) -> bytes | None:
        """The secret under a key."""
        return self._pages.get(key)

    async def write(self, key: str, value: bytes | None) -> None:
        """Keep a secret, or forget it."""
        if value is None:
            self._pages.pop(key, None)
        else:
            self._pages[key] = value

    def turn(self, key: str) -> AbstractAsyncContextManager[None]:
        """One at a time in this process."""
        return self._turns.setdefault(key, anyio.Lock())

    @property
    def where(self) -> str:
        """Where secrets are kept."""
        return "in memory, until this process ends"
