"""What one listing showed, as a value: made once, shared by all who were shown it, kept once."""

import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Final

_LARGEST: Final = 64 * 1024 * 1024
"""Bytes that a stored value may unpack to."""

Tool = tuple[str, str]
"""Server id, and the tool's own name there."""


@dataclass(frozen=True, slots=True)
class Sight:
    """One tool as a caller saw it."""

    server: str
    key: str
    """The tool's own name on its server."""
    contract: str


class Sights(Mapping[str, Sight]):
    """What one listing showed, by exposed name; make it once per listing and share it.

    Args:
        entries: Not to be changed afterwards.
    """

    def __init__(self, entries: Mapping[str, Sight]) -> None:
        self._entries = entries
        self._clipped: Sights | None = None

    def __getitem__(self, name: str) -> Sight:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    @cached_property
    def digest(self) -> str:
        """Equal for equal content, whatever the order."""
        return hashlib.sha256(self._plain).hexdigest()

    def within(self, limit: int) -> "Sights":
        """The whole where it has at most `limit` tools, else the first of them."""
        if len(self) <= limit:
            return self
        if self._clipped is None or len(self._clipped) != limit:
            self._clipped = Sights(dict(islice(self._entries.items(), limit)))
        return self._clipped

    def contract(self, tool: Tool) -> str | None:
        """The contract with which a tool was shown; None: it was not."""
        return self._contracts.get(tool)

    def encoded(self) -> bytes:
        """Bytes for `decoded`."""
        return zlib.compress(self._plain, 1)

    @staticmethod
    def decoded(stored: bytes, digest: str) -> "Sights | None":
        """What `encoded` was given; None for what is damaged, or has another digest."""
        try:
            plain = zlib.decompressobj().decompress(stored, _LARGEST)
            if hashlib.sha256(plain).hexdigest() != digest:
                return None
            rows: list[Any] = json.loads(plain.decode("utf-8", "surrogatepass"))
            return Sights({name: Sight(*rest) for name, *rest in rows})
        except (zlib.error, ValueError, TypeError, RecursionError):
            return None

    @property
    def _plain(self) -> bytes:
        rows = [
            [name, sight.server, sight.key, sight.contract]
            for name, sight in sorted(self._entries.items())
        ]
        # Escapes would join two lone surrogates that stand side by side.
        text = json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "surrogatepass")

    @cached_property
    def _contracts(self) -> dict[Tool, str]:
        return {(sight.server, sight.key): sight.contract for sight in self._entries.values()}
