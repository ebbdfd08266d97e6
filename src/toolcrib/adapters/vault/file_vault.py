"""A directory of encrypted files, one for each secret, whose key lies beside the configuration.

What this protects against: a backup, a synchronised folder or a diff that takes the directory
without the key; another user of the machine (mode 0600); a changed or swapped file, which is
noticed. What it does not protect against: any program that runs as this user, since it can read the
key as toolcrib does. An operating system keyring may do better.

One file for each secret, so that processes need no lock to write different ones, and damage costs
one login.
"""

import errno
import os
import secrets
import stat
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Final

import anyio.to_thread
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from toolcrib.adapters.vault.turns import take_turn
from toolcrib.errors import OperatorMustFix
from toolcrib.facts import Finding
from toolcrib.ports import Observer

__all__ = ["FileVault", "VaultUnusable"]

_MAGIC: Final = b"toolcrib-vault-1\n"
_NONCE: Final = 12
_MOST_BYTES: Final = 1024 * 1024
_ENDING: Final = ".sealed"


class VaultUnusable(OperatorMustFix):
    """The vault cannot be read or written; the message names the file and why."""

    code = "store_unreachable"


class FileVault:
    """Implements `ports.Vault` over a directory that is made at the first write."""

    def __init__(self, folder: Path, key: bytes, observer: Observer) -> None:
        self._folder = folder
        self._cipher = ChaCha20Poly1305(key)
        self._observer = observer

    def __repr__(self) -> str:
        return f"FileVault({str(self._folder)!r})"

    @property
    def where(self) -> str:
        """Where secrets are kept, and how well."""
        return (
            f"in encrypted files in {self._folder}, whose key lies beside your configuration: safe "
            "from other users and in backups of that folder alone, not from programs that run as "
            "you"
        )

    async def read(self, key: str) -> bytes | None:
        """The secret under a key.

        A file that cannot be decrypted is kept aside under another name and reported; then there
        is none.

        Raises:
            VaultUnusable: The file is there and cannot be read.
        """
        return await anyio.to_thread.run_sync(self._read, key)

    async def write(self, key: str, value: bytes | None) -> None:
        """Keep a secret, or forget it, in one step: nobody ever reads half of one.

        Raises:
            VaultUnusable: The directory cannot be written.
        """
        await anyio.to_thread.run_sync(self._write, key, value)

    def turn(self, key: str) -> AbstractAsyncContextManager[None]:
        """One at a time among all processes."""
        return take_turn(self._path(key).with_suffix(".turn"))

    def _path(self, key: str) -> Path:
        if not key.replace("-", "").isalnum() or not key.isascii():
            raise ValueError("a key of the vault has other characters than letters, digits, -")
        return self._folder / f"{key}{_ENDING}"

    def _read(self, key: str) -> bytes | None:
        path = self._path(key)
        try:
            sealed = _content(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unusable(path, error, "read") from None
        value = self._unsealed(key, sealed)
        if value is None:
            self._set_aside(path)
        return value

    def _unsealed(self, key: str, sealed: bytes) -> bytes | None:
        if not sealed.startswith(_MAGIC) or len(sealed) > _MOST_BYTES:
            return None
        nonce, rest = sealed[len(_MAGIC) :][:_NONCE], sealed[len(_MAGIC) + _NONCE :]
        try:
            return self._cipher.decrypt(nonce, rest, _MAGIC + key.encode())
        except (InvalidTag, ValueError):
            return None

    def _set_aside(self, path: Path) -> None:
        """Keep what cannot be read: the key that it was made with may come back."""
        aside = path.with_name(f"{path.name}.unreadable-{secrets.token_hex(4)}")
        with suppress(OSError):
            path.rename(aside)
            self._observer.note(
                Finding(
                    "",
                    "vault_unreadable",
                    f"a saved login cannot be decrypted, so it was kept aside as {aside}; it is "
                    "damaged, or the key beside the configuration was replaced: log in again",
                )
            )

    def _write(self, key: str, value: bytes | None) -> None:
        path = self._path(key)
        try:
            if value is None:
                path.unlink(missing_ok=True)
                return
            nonce = secrets.token_bytes(_NONCE)
            sealed = _MAGIC + nonce + self._cipher.encrypt(nonce, value, _MAGIC + key.encode())
            if len(sealed) > _MOST_BYTES:
                raise VaultUnusable(
                    f"the saved login {path} cannot be written: it has {len(sealed):,} bytes, and "
                    f"a file of the vault at most {_MOST_BYTES:,}",
                    remedy="ask the authorization server for smaller tokens",
                )
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _replace(path, sealed)
        except OSError as error:
            raise _unusable(path, error, "written") from None


def _content(path: Path) -> bytes:
    """What a file holds, and one byte more than it may at most.

    Raises `OSError` for anything but a regular file: a pipe there would make the reader wait.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        return file.read(_MOST_BYTES + 1)


def _replace(path: Path, content: bytes) -> None:
    """Put a whole file there in one step, readable by this user alone."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}.draft")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _unusable(path: Path, error: OSError, what: str) -> VaultUnusable:
    reason = error.strerror or type(error).__name__
    return VaultUnusable(
        f"the saved login {path} cannot be {what}: {reason}",
        remedy="let this user read and write that folder",
    )
