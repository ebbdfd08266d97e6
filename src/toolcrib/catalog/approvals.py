"""The definitions that people approved, in the store: for good, and for every process on it."""

import hmac
import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

from toolcrib.core.canonical import canonical
from toolcrib.core.fingerprint import hashed
from toolcrib.core.jsontypes import is_array, is_object
from toolcrib.core.snapshot import Item
from toolcrib.core.vetting import Approved
from toolcrib.ports import EntryStore, Keys

APPROVED: Final = "approved"
"""The space of an `EntryStore` that they are kept in."""
_FOR_GOOD: Final = 50 * 365 * 86_400.0


class Approvals:
    """What of each server's tools was approved.

    An approval is bound to the server's id and the fingerprint of the definition, not to how the
    server is launched: another token in its environment changes nothing that a person saw.

    Args:
        store: Where they are kept.
        keys: Make owners.
        most: Definitions of one server (`limits.walk_items`).
    """

    def __init__(self, store: EntryStore, *, keys: Keys, most: int) -> None:
        self._store = store
        self._secret = keys.derived("approved definitions")
        self._most = most

    def owner(self, server: str) -> str:
        """The owner of a server's approvals; on the bus, it says that they changed."""
        return hmac.new(self._secret, canonical(server), "sha256").hexdigest()[:32]

    async def read(self, server: str) -> Approved:
        """The approved definitions of a server, by key.

        Raises:
            StoreUnreachable: They cannot be read.
        """
        raw = await self._store.entries(APPROVED, self.owner(server))
        items = (_item(value) for value in raw.values())
        return {item.key: item for item in items if item is not None}

    async def approve(self, server: str, items: Iterable[Item]) -> None:
        """Keep these as approved; each takes the place of an earlier one of its key.

        Raises:
            StoreUnreachable: None of them is kept.
        """
        values = {hashed(canonical(item.key)): _written(item) for item in items}
        await self._store.put(
            APPROVED, self.owner(server), values, lifetime=_FOR_GOOD, most=self._most
        )


def _written(item: Item) -> bytes:
    parts = [item.key, item.fingerprint, item.contract, list(item.notes), dict(item.definition)]
    return json.dumps(parts, separators=(",", ":")).encode()


def _item(value: bytes) -> Item | None:
    """A definition as it was kept; None for what another version wrote: it was not approved."""
    parts: Any = None
    with suppress(ValueError):
        parts = json.loads(value)
    match parts:
        case [str(key), str(fingerprint), str(contract), notes, definition] if is_array(
            notes
        ) and is_object(definition):
            return Item(key, definition, fingerprint, contract, tuple(map(str, notes)))
        case _:
            return None
