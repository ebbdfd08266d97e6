"""Whole results that were clipped for the model, to be read as `toolcrib://result/ID`.

    uri = await kept.keep(requester, content, "application/json")  # None: cannot be kept
    await kept.read(requester, uri)         # {"contents": [...]}; None: there is no such
    part_uri(uri, 65536)                    # `toolcrib://result/ID?from=65536`

An ID is a keyed digest of content and owner: nobody can guess it, and the same result has the same
one, so that it is kept once and what the model reads stays the same.
"""

import base64
import codecs
import hashlib
import json
import re
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final

from toolcrib.calls.call import Requester
from toolcrib.calls.ledger.owners import Owners
from toolcrib.calls.results.cutting import cut_text
from toolcrib.core.jsontypes import is_object
from toolcrib.errors import LimitExceeded, StoreUnreachable
from toolcrib.ports import EntryStore, Keys
from toolcrib.settings import Limits

PREFIX: Final = "toolcrib://result/"
_URI: Final = re.compile(rf"{PREFIX}([0-9a-f]{{32}})(?:\?from=(0|[1-9][0-9]{{0,11}}))?")
_SPACE: Final = "result"
_BYTES: Final = 128 * 1024 * 1024
"""Bytes of one principal that one process keeps at a time."""
_PRINCIPALS: Final = 1_000
"""Principals of whom is remembered what they keep."""
_FRAME: Final = 1_024
"""Bytes of a part that are not content: its URI, its note."""
_SMALLEST: Final = 1_024
"""Bytes of content in a part at least, whatever the limit says."""
_LOOKAHEAD: Final = 256
"""Bytes behind a part that are looked at to end it between words and numbers."""


def is_kept_uri(uri: str) -> bool:
    """Whether a URI speaks of a kept result: nobody else's resource is read under it."""
    return uri.startswith(PREFIX)


def part_uri(uri: str, start: int) -> str:
    """The URI of what follows from byte `start` on."""
    return f"{uri.partition('?')[0]}?from={start}"


@dataclass(frozen=True, slots=True)
class _Kept:
    """A result as it was kept."""

    mime: str
    content: bytes

    def stored(self) -> bytes:
        return json.dumps({"mime": self.mime}).encode() + b"\n" + self.content

    @staticmethod
    def from_stored(row: bytes) -> "_Kept | None":
        head, newline, content = row.partition(b"\n")
        try:
            parsed = json.loads(head)
        except (ValueError, RecursionError):
            return None
        mime = parsed.get("mime") if is_object(parsed) else None
        return _Kept(mime, content) if newline and isinstance(mime, str) else None


class KeptResults:
    """Keeps results for those who were shown a part of them, for `kept_seconds`.

    Args:
        store: Where they are kept; shared with other processes.
        keys: From which IDs and the names of owners are made.
        limits: How many of one principal, for how long, and how large a part is (`clip_bytes`).
    """

    def __init__(self, store: EntryStore, *, keys: Keys, limits: Limits) -> None:
        self._store = store
        self._owners = Owners(keys, "kept results")
        self._limits = limits
        self._sizes: OrderedDict[str, OrderedDict[str, int]] = OrderedDict()
        """By principal and key, the least recently kept first, which end first, too."""

    async def keep(self, requester: Requester, content: bytes, mime: str) -> str | None:
        """Keeps a result; its URI, or None where the store cannot take it.

        The same content gives the same owner the same URI.
        """
        if self._limits.kept_results < 1:
            return None
        sum_ = hashlib.sha256(content).hexdigest()
        name = self._owners.digest(self._owners.caller(requester), mime, sum_)
        owner, key = self._owners.principal(requester), self._key(requester, name)
        row = _Kept(mime, content).stored()
        try:
            await self._store.put(
                _SPACE,
                owner,
                {key: row},
                lifetime=self._limits.kept_seconds,
                most=self._limits.kept_results,
            )
            for old in self._too_much(owner, key, len(row)):
                await self._store.drop(_SPACE, owner, old)
        except (LimitExceeded, StoreUnreachable):
            return None
        return f"{PREFIX}{name}"

    async def read(self, requester: Requester, uri: str) -> dict[str, Any] | None:
        """The result of `resources/read`: one part, and a note that says where the next one begins.

        A part has at most `clip_bytes`; text ends between characters, and not inside a number. None
        alike for what is unknown, expired, another caller's, or no URI of ours.

        Raises:
            StoreUnreachable: The store cannot be used now.
        """
        found = _URI.fullmatch(uri)
        if found is None:
            return None
        row = await self._store.get(
            _SPACE, self._owners.principal(requester), self._key(requester, found[1])
        )
        kept = None if row is None else _Kept.from_stored(row)
        if kept is None:
            return None
        room = max(_SMALLEST, self._limits.clip_bytes - _FRAME)
        return {"contents": _contents(kept, uri, int(found[2] or 0), room)}

    def _key(self, requester: Requester, name: str) -> str:
        """Bounds count per principal; who has another handle finds nothing under it."""
        return self._owners.digest("key", self._owners.caller(requester), name)

    def _too_much(self, owner: str, key: str, size: int) -> list[str]:
        """What has to go so that results of this owner take no more than they may."""
        sizes = self._sizes.setdefault(owner, OrderedDict())
        self._sizes.move_to_end(owner)
        sizes[key] = size
        sizes.move_to_end(key)
        while len(self._sizes) > _PRINCIPALS:
            self._sizes.popitem(last=False)
        while len(sizes) > self._limits.kept_results:
            sizes.popitem(last=False)
        gone: list[str] = []
        while len(sizes) > 1 and sum(sizes.values()) > _BYTES:
            gone.append(sizes.popitem(last=False)[0])
        return gone


def _contents(kept: _Kept, uri: str, start: int, room: int) -> list[dict[str, Any]]:
    size = len(kept.content)
    if start > 0 and start >= size:
        return [_note(uri, f"nothing follows byte {start:,}: the whole has {size:,}")]
    try:
        kept.content.decode()
    except UnicodeDecodeError:
        end = min(size, start + room * 3 // 4)
        part = {"blob": base64.b64encode(kept.content[start:end]).decode()}
    else:
        start = _boundary(kept.content, start)
        text = _text_part(kept.content, start, room)
        end = start + len(text.encode())
        part = {"text": text}
    whole = start == 0 and end == size
    # A part of a JSON text, or of a picture, is none.
    mime = kept.mime if whole else "text/plain" if "text" in part else "application/octet-stream"
    first = {"uri": uri, "mimeType": mime, **part}
    if whole:
        return [first]
    said = f"bytes {start:,} to {end:,} of {size:,}"
    if end == size:
        return [first, _note(uri, f"{said}: the end")]
    following = part_uri(uri, end)
    return [first, _note(following, f"{said}; the next part is the resource {following}")]


def _boundary(content: bytes, start: int) -> int:
    """Where the character begins that byte `start` is in."""
    while start > 0 and content[start] & 0xC0 == 0x80:  # noqa: PLR2004 - UTF-8 continuation
        start -= 1
    return start


def _text_part(content: bytes, start: int, room: int) -> str:
    window = content[start : start + room + _LOOKAHEAD]
    text = codecs.getincrementaldecoder("utf-8")().decode(window)
    # A number that is longer than a part leaves nothing before it: then of the number what fits.
    return cut_text(text, room) or text[: room - 2]


def _note(uri: str, what: str) -> dict[str, Any]:
    return {"uri": uri, "mimeType": "text/plain", "text": f"[toolcrib: {what}]"}
