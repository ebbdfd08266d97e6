"""The encrypted files of `FileVault`, with their key in the operating system's keyring.

Only the key is in the keyring. Whole logins are too large for one entry of Windows' (2,560 bytes),
and each entry more is one more question that some keyrings ask a person.

`keyring` is an extra and no dependency: it brings eight more packages on Linux, most gateways run
where there is no keyring to speak to, and where there is one it may ask a person, who may be away.
"""

import importlib
import logging
import secrets
from base64 import b64decode, b64encode
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Final, Protocol, cast

import anyio
import anyio.to_thread

from toolcrib.adapters.vault.file_vault import FileVault, VaultUnusable
from toolcrib.adapters.vault.turns import take_turn
from toolcrib.ports import Observer

__all__ = ["KeyringBackend", "KeyringVault", "find_keyring"]

_SERVICE: Final = "toolcrib"
_ENTRY: Final = "vault key"
_KEY_BYTES: Final = 32
_SECONDS: Final = 30.0
"""A locked keyring asks a person; nobody may be there."""

_log = logging.getLogger(__name__)


class KeyringBackend(Protocol):
    """What is used of a backend of `keyring`."""

    @property
    def priority(self) -> float:
        """From 1 on it is fit for use."""
        ...

    def get_password(self, service: str, username: str) -> str | None:
        """The entry, if there is one."""
        ...

    def set_password(self, service: str, username: str, password: str) -> None:
        """Keep an entry."""
        ...


def find_keyring() -> KeyringBackend | None:
    """The backend for this user; None where the package, or one that is fit for use, is missing."""
    try:
        keyring = importlib.import_module("keyring")
        backend = cast("KeyringBackend", keyring.get_keyring())
        fit = float(backend.priority) >= 1
    except Exception as error:  # noqa: BLE001 - backends fail in ways of their own; files remain
        _log.debug("no keyring: %s", type(error).__name__)
        return None
    return backend if fit else None


class KeyringVault:
    """Implements `ports.Vault`. The key is fetched at the first use, and made at the very first."""

    def __init__(self, folder: Path, backend: KeyringBackend, observer: Observer) -> None:
        self._folder = folder
        self._backend = backend
        self._observer = observer
        self._files: FileVault | None = None
        self._lock = anyio.Lock()

    def __repr__(self) -> str:
        return f"KeyringVault({str(self._folder)!r})"

    @property
    def where(self) -> str:
        """Where secrets are kept, and how well."""
        return (
            f"in encrypted files in {self._folder}, whose key is in this system's keyring: safe "
            "while the keyring is locked, and from programs that it does not admit"
        )

    async def read(self, key: str) -> bytes | None:
        """As `FileVault.read`; raises `VaultUnusable` also where the keyring gives no key."""
        return await (await self._opened()).read(key)

    async def write(self, key: str, value: bytes | None) -> None:
        """As `FileVault.write`; raises `VaultUnusable` also where the keyring gives no key."""
        await (await self._opened()).write(key, value)

    def turn(self, key: str) -> AbstractAsyncContextManager[None]:
        """One at a time among all processes."""
        return take_turn(self._folder / f"{key}.turn")

    async def _opened(self) -> FileVault:
        async with self._lock:
            if self._files is None:
                found = None
                with anyio.move_on_after(_SECONDS):
                    found = await anyio.to_thread.run_sync(self._key, abandon_on_cancel=True)
                if found is None:
                    raise VaultUnusable(
                        "this system's keyring does not give the key of saved logins",
                        remedy="unlock it and let toolcrib use it",
                    )
                self._files = FileVault(self._folder, found, self._observer)
            return self._files

    def _key(self) -> bytes | None:
        """The key; None where the keyring fails, or holds something else under our name.

        What is written is read again: of two processes that make it at once, one wins.
        """
        try:
            text = self._backend.get_password(_SERVICE, _ENTRY)
            if text is None:
                made = b64encode(secrets.token_bytes(_KEY_BYTES)).decode()
                self._backend.set_password(_SERVICE, _ENTRY, made)
                text = self._backend.get_password(_SERVICE, _ENTRY)
        except Exception as error:  # noqa: BLE001 - backends fail in ways of their own
            _log.debug("the keyring fails: %s", type(error).__name__)
            return None
        with suppress(ValueError):
            key = b64decode(text or "", validate=True)
            return key if len(key) == _KEY_BYTES else None
        return None
