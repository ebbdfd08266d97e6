"""One catalog's record as a row of `records`, and back.

SQLite keeps a value of any type in any column, and other programs write files: a row is checked
before anything is decided on it.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from toolcrib.adapters.sqlite.faults import DAMAGED, UnusableFile
from toolcrib.core.freshness.record import Published, Record
from toolcrib.core.snapshot import Hints, Kind, Snapshot

COLUMNS = (
    "server",
    "inc",
    "gen",
    "floor",
    "epoch",
    "snap_epoch",
    "walk_epoch",
    "fence",
    "lease_until",
    "rev",
    "withdrawn",
    "dirty",
    "dirty_digest",
    "kind",
    "digest",
    "ttl",
    "pages",
    "read_at",
    "expires_at",
    "body_mark",
    "touched_at",
)

_LARGEST = 2**62
"""Numbers go up by one at a time and must stay what SQLite can keep."""


def _is_count(value: object) -> bool:
    return isinstance(value, int) and 0 <= value < _LARGEST


def _is_time(value: object) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _or_null(check: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or check(value)


_COUNTERS = ("gen", "floor", "epoch", "fence", "rev", "withdrawn")
"""What may only go up, or be taken back by a walk: kept of an unusable row where they are usable
themselves, so that a withdrawal outlives the damage."""

_CHECKS: dict[str, Callable[[object], bool]] = {
    "server": _is_text,
    "inc": _is_text,
    **dict.fromkeys((*_COUNTERS, "dirty"), _is_count),
    "snap_epoch": _or_null(_is_count),
    "walk_epoch": _or_null(_is_count),
    "lease_until": _is_time,
    "dirty_digest": _or_null(_is_text),
    "digest": _or_null(_is_text),
    "body_mark": _or_null(lambda value: isinstance(value, bytes)),
    "touched_at": _is_time,
}
_KINDS = frozenset(kind.label for kind in Kind)
_CHECKS_OF_SNAPSHOT: dict[str, Callable[[object], bool]] = {
    "kind": lambda value: value in _KINDS,
    "ttl": lambda value: isinstance(value, float) and 0.0 <= value < math.inf,
    "pages": _is_count,
    "read_at": _is_time,
    "expires_at": _is_time,
}
"""Beside a digest; without one these columns mean nothing."""

_SLACK = 5.0
"""Seconds by which an operation may have read the clock before one that was decided earlier: more
than it waits for its turn by default, and little for a clock that was set back."""


@dataclass(frozen=True, slots=True)
class Found:
    """What the file holds of one catalog."""

    server: str
    """Identity of the file's memory, read in the same statement as the record."""
    record: Record | None
    """Its snapshot has no items: a decision needs digest, pages and ttl only, the body is decoded
    for whoever does not hold it."""
    body_mark: bytes | None = None
    """Hash of the stored body."""
    touched_at: float = 0.0
    """Time of the operation that last changed the record."""
    body: bytes | None = None
    """The stored body, where the caller does not hold it."""
    spoilt: bool = False
    """Whether the row cannot be used; `record` then has what is left of it, as one of another
    memory."""

    @property
    def stub(self) -> Published | None:
        """The stand-in for the published snapshot in `record`."""
        return None if self.record is None else self.record.published

    def time(self, now: float) -> float:
        """When this operation happens, if it read the clock at `now` and then waited for its turn.

        Another process may have read it later and been first. Without this, its lease would seem
        to end later than any lease can, and its snapshot to come from the future.
        """
        return max(now, self.touched_at) if self.touched_at - now < _SLACK else now


def found_from(server: object, columns: tuple[Any, ...], body: object) -> Found:
    """What the columns, in the order of `COLUMNS`, say, whatever is in them.

    Raises:
        UnusableFile: The file does not say who it is.
    """
    if not isinstance(server, str):
        raise UnusableFile(DAMAGED)
    row: dict[str, Any] = dict(zip(COLUMNS, columns, strict=True))
    if all(value is None for value in columns):
        return Found(server, None)
    if not _is_usable(row):
        left = {name: row[name] for name in _COUNTERS if _CHECKS[name](row[name])}
        left["withdrawn"] = bool(left.get("withdrawn"))
        # A mark that fits no body: whatever body there is gets dropped or replaced.
        return Found(server, Record(server="", inc="", **left), body_mark=b"", spoilt=True)
    published = None
    if row["digest"] is not None:
        stub = Snapshot(
            Kind[row["kind"].upper()],
            (),
            row["digest"],
            hints=Hints(ttl=row["ttl"]),
            pages=row["pages"],
        )
        published = Published(stub, row["read_at"], row["expires_at"])
    record = Record(
        server=row["server"],
        inc=row["inc"],
        gen=row["gen"],
        floor=row["floor"],
        published=published,
        snap_epoch=row["snap_epoch"],
        epoch=row["epoch"],
        walk_epoch=row["walk_epoch"],
        fence=row["fence"],
        lease_until=row["lease_until"],
        rev=row["rev"],
        withdrawn=bool(row["withdrawn"]),
        dirty=row["dirty"],
        dirty_digest=row["dirty_digest"],
    )
    whole = body if isinstance(body, bytes) else None
    return Found(server, record, row["body_mark"], row["touched_at"], whole)


def _is_usable(row: Mapping[str, object]) -> bool:
    return _passes(row, _CHECKS.items()) and (
        row["digest"] is None or _passes(row, _CHECKS_OF_SNAPSHOT.items())
    )


def _passes(
    row: Mapping[str, object], checks: Iterable[tuple[str, Callable[[object], bool]]]
) -> bool:
    return all(check(row[name]) for name, check in checks)


def columns_of(record: Record, body_mark: bytes | None, touched_at: float) -> tuple[Any, ...]:
    """The record in the order of `COLUMNS`."""
    published = record.published
    snapshot = (None,) * 6
    if published is not None:
        content = published.snapshot
        snapshot = (
            content.kind.label,
            content.digest,
            content.hints.ttl,
            content.pages,
            published.read_at,
            published.expires_at,
        )
    return (
        record.server,
        record.inc,
        record.gen,
        record.floor,
        record.epoch,
        record.snap_epoch,
        record.walk_epoch,
        record.fence,
        record.lease_until,
        record.rev,
        record.withdrawn,
        record.dirty,
        record.dirty_digest,
        *snapshot,
        body_mark,
        touched_at,
    )
