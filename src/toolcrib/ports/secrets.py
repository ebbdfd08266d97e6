"""The key of an installation, and what is kept or sealed with it."""

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from toolcrib.settings import Launch


class Keys(Protocol):
    """The secret of this installation, from which keyed digests are made."""

    def secret(self) -> bytes:
        """At least 32 random bytes, the same for every process that shares a store."""
        ...

    def launch_digest(self, launch: Launch) -> str:
        """The keyed digest of a launch."""
        ...

    def derived(self, purpose: str) -> bytes:
        """32 bytes for one purpose alone, from which nothing about the secret can be told."""
        ...


class Sealer(Protocol):
    """Makes texts that only this installation can make and read, and that expire."""

    def seal(self, value: bytes, *, bound: bytes, lifetime: float) -> str:
        """A text with the value inside, encrypted, good for so long with the same `bound`."""
        ...

    def unseal(self, text: str, *, bound: bytes) -> bytes | None:
        """The value; None for a text that is foreign, changed, bound otherwise, or expired."""
        ...


class Vault(Protocol):
    """Keeps secrets of upstreams (OAuth tokens, client registrations) at rest, encrypted."""

    async def read(self, key: str) -> bytes | None:
        """The secret under a key; None when there is none, or it cannot be read any more."""
        ...

    async def write(self, key: str, value: bytes | None) -> None:
        """Keep a secret, or forget it."""
        ...

    def turn(self, key: str) -> AbstractAsyncContextManager[None]:
        """One at a time among all that share the vault, processes too; waits some seconds at most.

        A refresh token that two use at once may cost both the login.
        """
        ...

    @property
    def where(self) -> str:
        """Where secrets are kept, in words for a person."""
        ...
