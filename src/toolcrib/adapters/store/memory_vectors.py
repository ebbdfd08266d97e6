"""Vectors by what they were made from, in a dictionary, gone with the process."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toolcrib.adapters.store.vectors import MOST_VECTORS, is_new_use
from toolcrib.ports import Clock


@dataclass(slots=True)
class _Vector:
    value: bytes
    used_at: float


class MemoryVectors:
    """Implements `VectorStore`; each operation runs between two switches of the event loop.

    Args:
        clock: Its wall time is the time of the store.
        most: Vectors that are kept.
    """

    def __init__(self, clock: Clock, *, most: int = MOST_VECTORS) -> None:
        self._clock = clock
        self._most = most
        self._held: dict[tuple[str, str], _Vector] = {}
        """The least recently used first."""

    async def get(self, mark: str, keys: Sequence[str]) -> dict[str, bytes]:
        """Those of the vectors that are kept, by key."""
        now = self._clock.now().wall
        found: dict[str, bytes] = {}
        for key in keys:
            vector = self._held.get((mark, key))
            if vector is None:
                continue
            found[key] = vector.value
            if is_new_use(vector.used_at, now):
                self._write((mark, key), _Vector(vector.value, now))
        return found

    async def put(self, mark: str, rows: Mapping[str, bytes]) -> None:
        """Keep vectors; beyond the bound the ones that were used least recently are dropped."""
        now = self._clock.now().wall
        for key, value in rows.items():
            self._write((mark, key), _Vector(value, now))
        while len(self._held) > self._most:
            del self._held[next(iter(self._held))]

    def _write(self, place: tuple[str, str], vector: _Vector) -> None:
        self._held.pop(place, None)
        self._held[place] = vector
