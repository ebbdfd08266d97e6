"""Small values with an expiry, in a dictionary, gone with the process."""

import heapq
from collections.abc import Mapping
from dataclasses import dataclass

from toolcrib.adapters.store.entries import PRUNED_AT_ONCE, check_value, expiry
from toolcrib.ports import Clock

_Place = tuple[str, str, str]
"""Space, owner and key."""


@dataclass(frozen=True, slots=True)
class _Entry:
    value: bytes
    expires_at: float


class MemoryEntries:
    """Implements `EntryStore`; each operation runs between two switches of the event loop.

    Args:
        clock: Its wall time is the time of the store.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._owners: dict[tuple[str, str], dict[str, _Entry]] = {}
        self._expiries: list[tuple[float, _Place]] = []
        """A heap, one element for each write; those of what was written again are spent."""
        self._count = 0

    async def get(self, space: str, owner: str, key: str) -> bytes | None:
        """The value under a key; None when there is none."""
        return self._alive((space, owner, key), self._now())

    async def entries(self, space: str, owner: str) -> dict[str, bytes]:
        """Everything of an owner, by key, the least recently written first."""
        now = self._now()
        held = {key: self._alive((space, owner, key), now) for key in self._keys(space, owner)}
        return {key: value for key, value in held.items() if value is not None}

    async def put(
        self,
        space: str,
        owner: str,
        values: Mapping[str, bytes],
        *,
        lifetime: float,
        most: int,
    ) -> None:
        """Keep values for `lifetime` seconds, and at most `most` of this owner.

        Raises:
            LimitExceeded: A value has more than 16 MiB; nothing was changed.
        """
        for key, value in values.items():
            check_value(key, value)
        now = self._prune()
        for key, value in values.items():
            self._write((space, owner, key), _Entry(value, expiry(now, lifetime)))
        self._bound(space, owner, most, now)

    async def add(
        self, space: str, owner: str, key: str, value: bytes, *, lifetime: float, most: int
    ) -> bool:
        """Keep a value where the key is free; whether it was.

        Raises:
            LimitExceeded: The value has more than 16 MiB; nothing was changed.
        """
        check_value(key, value)
        now = self._prune()
        place = space, owner, key
        if self._alive(place, now) is not None:
            return False
        self._write(place, _Entry(value, expiry(now, lifetime)))
        self._bound(space, owner, most, now)
        return True

    async def take(self, space: str, owner: str, key: str) -> bytes | None:
        """The value, and nobody gets it again."""
        place = space, owner, key
        value = self._alive(place, self._now())
        self._remove(place)
        return value

    async def drop(self, space: str, owner: str, key: str | None = None) -> int:
        """Forget a key, or everything of an owner; how many there were."""
        now = self._now()
        keys = self._keys(space, owner) if key is None else (key,)
        found = [one for one in keys if self._alive((space, owner, one), now) is not None]
        for one in found:
            self._remove((space, owner, one))
        return len(found)

    def _now(self) -> float:
        return self._clock.now().wall

    def _keys(self, space: str, owner: str) -> tuple[str, ...]:
        return tuple(self._owners.get((space, owner), ()))

    def _alive(self, place: _Place, now: float) -> bytes | None:
        """The value there; one found expired is removed: no clock brings it back."""
        space, owner, key = place
        entry = self._owners.get((space, owner), {}).get(key)
        if entry is None:
            return None
        if entry.expires_at <= now:
            self._remove(place)
            return None
        return entry.value

    def _write(self, place: _Place, entry: _Entry) -> None:
        space, owner, key = place
        self._remove(place)
        self._owners.setdefault((space, owner), {})[key] = entry
        self._count += 1
        heapq.heappush(self._expiries, (entry.expires_at, place))

    def _remove(self, place: _Place) -> None:
        space, owner, key = place
        held = self._owners.get((space, owner), {})
        if held.pop(key, None) is None:
            return
        self._count -= 1
        if not held:
            del self._owners[space, owner]

    def _bound(self, space: str, owner: str, most: int, now: float) -> None:
        for key in self._keys(space, owner):
            self._alive((space, owner, key), now)
        keys = self._keys(space, owner)
        for key in keys[: max(0, len(keys) - most)]:
            self._remove((space, owner, key))

    def _prune(self) -> float:
        """Forget a bounded number of expired entries, whoever's they are; the time."""
        now = self._now()
        for _ in range(PRUNED_AT_ONCE):
            if not self._expiries or self._expiries[0][0] > now:
                break
            _, place = heapq.heappop(self._expiries)
            self._alive(place, now)
        if len(self._expiries) > 2 * self._count + PRUNED_AT_ONCE:
            self._expiries = [
                (entry.expires_at, (space, owner, key))
                for (space, owner), held in self._owners.items()
                for key, entry in held.items()
            ]
            heapq.heapify(self._expiries)
        return now
