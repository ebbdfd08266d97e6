"""The secret of this installation, from which every keyed digest is made: one small file.

Whoever reads it can tell which of two configurations a digest belongs to, and nothing more; no
credential is in it.
"""

import hmac
import os
import secrets
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from toolcrib.config.locations import key_path
from toolcrib.config.problem import Problem
from toolcrib.config.regular_file import open_regular
from toolcrib.settings import Launch, launch_digest

KEY_BYTES: Final = 32


class InstallationKey:
    """Makes keyed digests (the port `Keys`)."""

    def __init__(self, secret: bytes) -> None:
        if len(secret) < KEY_BYTES:
            raise ValueError(f"a key needs at least {KEY_BYTES} bytes")
        self._secret = secret

    def __repr__(self) -> str:
        return "InstallationKey(***)"

    def secret(self) -> bytes:
        """The secret itself."""
        return self._secret

    def derived(self, purpose: str) -> bytes:
        """32 bytes for one purpose alone."""
        return hmac.new(self._secret, f"toolcrib {purpose}".encode(), "sha256").digest()

    def launch_digest(self, launch: Launch) -> str:
        """The keyed digest of a launch."""
        return launch_digest(self._secret, launch)


def open_key(path: Path) -> tuple[InstallationKey, Problem | None]:
    """The keys in that file, created at the first use, the same for every process that asks.

    Where the file cannot be used, the keys live in memory, as long as this process: catalogs kept
    on disk are not found again. The problem says why; nothing is overwritten. A file that others
    may read is used, and reported.
    """
    try:
        found = _read_or_create(path)
        lax = sys.platform != "win32" and path.stat().st_mode & 0o077
    except OSError as error:
        reason = error.strerror or type(error).__name__
        return _in_memory(
            path, f"the key cannot be read or created: {reason}", "let this user read and write it"
        )
    if len(found) != KEY_BYTES:
        reason = f"the key has {len(found)} bytes, not {KEY_BYTES}"
        return _in_memory(path, reason, "delete the file: a new one is made at the next start")
    problem = None
    if lax:
        message = "the key may be read by other users of this machine"
        problem = Problem(str(path), None, None, message, f"chmod 600 {path}", "warning")
    return InstallationKey(found), problem


def _read_or_create(path: Path) -> bytes:
    with suppress(FileNotFoundError):
        return _read(path)
    _create(path, secrets.token_bytes(KEY_BYTES))
    return _read(path)


def _read(path: Path) -> bytes:
    with open_regular(path) as file:
        return file.read(KEY_BYTES + 1)


def _create(path: Path, secret: bytes) -> None:
    """Puts a whole file there in one step, unless another process was faster."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secret)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            # neither way replaces what is there: a rename would, but on Windows
            if sys.platform == "win32":
                draft.rename(path)
            else:
                os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _in_memory(path: Path, message: str, remedy: str) -> tuple[InstallationKey, Problem]:
    kept = "catalogs kept on disk are not found again by the next process"
    problem = Problem(str(path), None, None, f"{message}; {kept}", remedy, "warning")
    return InstallationKey(secrets.token_bytes(KEY_BYTES)), problem


def installation_key() -> tuple[InstallationKey, Problem | None]:
    """The key of this user's installation, in its usual place; as `open_key`."""
    return open_key(key_path(os.environ, Path.home()))
