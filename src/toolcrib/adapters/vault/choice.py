"""Which vault there is on this machine."""

from pathlib import Path

from toolcrib.adapters.vault.file_vault import FileVault
from toolcrib.adapters.vault.keyring_vault import KeyringVault, find_keyring
from toolcrib.ports import Keys, Observer, Vault

__all__ = ["open_vault"]


def open_vault(folder: str, keys: Keys, observer: Observer) -> Vault:
    """The keyring's where there is one, else files whose key is derived from the installation's.

    Each has a folder of its own: a process that cannot reach the keyring must not take what the
    other one wrote for damaged. Nothing is read before the first use.
    """
    backend = find_keyring()
    if backend is not None:
        return KeyringVault(Path(folder, "keyring"), backend, observer)
    return FileVault(Path(folder, "files"), keys.derived("vault"), observer)
