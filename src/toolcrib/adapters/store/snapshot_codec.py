"""Snapshots as bytes and back, exactly as they were received.

The bytes are JSON in chunks, one per line: a head, then the items, `_CHUNK` to a line, so that
decoding a large catalog lets other threads run in between. Integers keep their digits, key order
is kept, and lone surrogates pass as they are (UTF-8 with surrogates let through: escapes would
join two that stand side by side). Packed with zlib where that saves at least a quarter.
"""

import json
import zlib
from collections.abc import Mapping
from typing import Any

from toolcrib.core.snapshot import Hints, Item, Kind, Quarantined, Scope, Snapshot

_FORMAT = 1
_CHUNK = 64
_PACK_FROM = 4096
"""Bytes from which packing is tried at all."""
_PLAIN = b"j"
_PACKED = b"z"


class SnapshotCodecError(ValueError):
    """The snapshot cannot be written as bytes, or the bytes are no snapshot."""


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    raise TypeError(f"{type(value).__name__} is not JSON")


_to_text = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), check_circular=False, default=_plain
).encode
_from_text = json.JSONDecoder().decode


def encode(snapshot: Snapshot) -> bytes:
    """The snapshot as bytes, for `decode`.

    Raises:
        SnapshotCodecError: A definition nests too deeply, holds a number with more digits than
            Python converts, or something that is not JSON.
    """
    try:
        text = "\n".join(_to_text(line) for line in _lines_of(snapshot))
        plain = text.encode("utf-8", "surrogatepass")
    except (TypeError, ValueError, RecursionError) as error:
        raise SnapshotCodecError(f"the snapshot cannot be encoded: {error}") from error
    if len(plain) >= _PACK_FROM:
        packed = zlib.compress(plain, 1)
        if len(packed) * 4 <= len(plain) * 3:
            return _PACKED + packed
    return _PLAIN + plain


def _lines_of(snapshot: Snapshot) -> list[object]:
    head = {
        "format": _FORMAT,
        "kind": snapshot.kind.label,
        "items": len(snapshot.items),
        "digest": snapshot.digest,
        "pages": snapshot.pages,
        "warnings": snapshot.warnings,
        "hints": [snapshot.hints.ttl, snapshot.hints.scope.value, snapshot.hints.oddities],
        "peer_digest": snapshot.hints.peer_digest,
        "quarantined": [[q.key, q.reason, q.detail, q.fingerprint] for q in snapshot.quarantined],
    }
    rows = [[i.key, i.fingerprint, i.contract, i.notes, i.definition] for i in snapshot.items]
    return [head, *(rows[at : at + _CHUNK] for at in range(0, len(rows), _CHUNK))]


def decode(body: bytes) -> Snapshot:
    """The snapshot that `encode` was given.

    Raises:
        SnapshotCodecError: The bytes are damaged, or of another format.
    """
    try:
        head, *chunks = _unpacked(body).decode("utf-8", "surrogatepass").split("\n")
        items = [_item(row) for chunk in chunks for row in _from_text(chunk)]
        return _snapshot(_from_text(head), tuple(items))
    except (ValueError, TypeError, KeyError, RecursionError, zlib.error) as error:
        raise SnapshotCodecError(f"the stored snapshot cannot be decoded: {error}") from error


def _unpacked(body: bytes) -> bytes:
    mark, content = body[:1], body[1:]
    if mark == _PACKED:
        return zlib.decompress(content)
    if mark == _PLAIN:
        return content
    raise ValueError(f"unknown packing {mark!r}")


def _item(row: list[Any]) -> Item:
    key, fingerprint, contract, notes, definition = row
    return Item(key, definition, fingerprint, contract, tuple(notes))


def _snapshot(head: dict[str, Any], items: tuple[Item, ...]) -> Snapshot:
    if head["format"] != _FORMAT:
        raise ValueError(f"unknown format {head['format']!r}")
    if head["items"] != len(items):
        raise ValueError(f"{len(items)} of {head['items']} items")
    ttl, scope, oddities = head["hints"]
    return Snapshot(
        kind=Kind[head["kind"].upper()],
        items=items,
        digest=head["digest"],
        quarantined=tuple(Quarantined(*row) for row in head["quarantined"]),
        warnings=tuple(head["warnings"]),
        hints=Hints(ttl, Scope(scope), tuple(oddities), head.get("peer_digest", "")),
        pages=head["pages"],
    )
