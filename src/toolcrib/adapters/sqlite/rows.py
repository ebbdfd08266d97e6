"""One catalog's record as a row of `records`, and back."""

from dataclasses import dataclass
from typing import Any

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


def found_from(server: str, columns: tuple[Any, ...], body: bytes | None) -> Found:
    """What the columns, in the order of `COLUMNS`, say."""
    row = dict(zip(COLUMNS, columns, strict=True))
    if row["server"] is None:
        return Found(server, None)
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
    return Found(server, record, row["body_mark"], row["touched_at"], body)


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
