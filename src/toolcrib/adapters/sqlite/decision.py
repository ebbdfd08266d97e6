"""One decision on one record in an SQLite file: find, decide, keep, answer.

A decision runs between BEGIN IMMEDIATE and COMMIT, so the processes on one file take turns, and
the identity of the memory is read in the same statement as the record (REPLICAS rule 4). Looking
is that one statement and no transaction. The record is decided on with a snapshot without items;
its body is read only for a caller who does not hold it, and decoded after the lock is given back.
"""

import sqlite3
from dataclasses import dataclass, replace
from hashlib import blake2b

from toolcrib.adapters.sqlite.faults import DAMAGED, UnusableFile
from toolcrib.adapters.sqlite.opening import check_version, transaction
from toolcrib.adapters.sqlite.rows import COLUMNS, Found, columns_of, found_from
from toolcrib.adapters.store.records import Operation
from toolcrib.adapters.store.snapshot_codec import SnapshotCodecError, decode, encode
from toolcrib.core.freshness.record import Answer, Caller, Decision, StoreClock

_FIND = f"""
    SELECT version.user_version, memory.server,
        CASE WHEN records.inc = ? AND records.gen = ? THEN NULL
            ELSE (SELECT body FROM bodies WHERE bodies.pid = records.pid) END,
        {", ".join(f"records.{name}" for name in COLUMNS)}
    FROM memory JOIN pragma_user_version AS version LEFT JOIN records ON records.pid = ?
"""  # noqa: S608 - the column names are constants of ours
_KEEP = f"""
    INSERT OR REPLACE INTO records (pid, {", ".join(COLUMNS)})
    VALUES (?, {", ".join("?" * len(COLUMNS))})
"""  # noqa: S608 - as above


@dataclass(frozen=True, slots=True)
class Decided:
    """What came of one operation: the answer, and whether others have to look again."""

    answer: Answer
    hint: bool
    spoilt: bool = False
    """Whether what was stored of this catalog could not be used and counts as lost."""


def decide(connection: sqlite3.Connection, pid: str, operation: Operation, now: float) -> Decided:
    """Run one operation on the record of `pid`, keep what it returns, leave the hint it asks for.

    A stored row or body that cannot be used counts as lost memory of this one catalog: a new
    incarnation begins, and the next walk fills it. Where the body is at fault, the operation runs
    a second time, which every operation allows for (REPLICAS rule 16).

    Raises:
        SnapshotCodecError: The candidate of the operation cannot be encoded; nothing was changed.
        UnusableFile: The schema of the file is newer than this program.
        sqlite3.Error: The file cannot be used now; nothing was changed.
    """
    body = None if operation.candidate is None else encode(operation.candidate)
    try:
        return _decide(connection, pid, operation, now, body)
    except _UnreadableBody:
        return _decide(connection, pid, operation, now, body, trusted=False)


def leave_hint(connection: sqlite3.Connection, pid: str, now: float) -> None:
    """Number a hint for the other processes; the caller holds the write transaction."""
    connection.execute("UPDATE memory SET hints = hints + 1")
    connection.execute("INSERT OR REPLACE INTO hints SELECT ?, hints, ? FROM memory", (pid, now))


class _UnreadableBody(Exception):
    """The stored body is gone, damaged, or not the one its record speaks of."""


def _decide(
    connection: sqlite3.Connection,
    pid: str,
    operation: Operation,
    now: float,
    body: bytes | None,
    *,
    trusted: bool = True,
) -> Decided:
    if operation.reads and trusted:
        found = _find(connection, pid, operation.caller)
        decision = operation.run(found.record, StoreClock(found.server, found.time(now)))
        if decision.record is found.record:  # never so of a spoilt row
            return Decided(_filled(decision.answer, found), hint=False)
    with transaction(connection):
        found = _find(connection, pid, operation.caller)
        record, now = found.record, found.time(now)
        if record is not None and not trusted:
            record = replace(record, server="")
        decision = operation.run(record, StoreClock(found.server, now))
        _keep(connection, pid, found, decision, body, now)
    spoilt = found.spoilt or not trusted
    return Decided(_filled(decision.answer, found), decision.hint, spoilt)


def _find(connection: sqlite3.Connection, pid: str, caller: Caller) -> Found:
    row = connection.execute(_FIND, (caller.inc, caller.gen, pid)).fetchone()
    if row is None:
        raise UnusableFile(DAMAGED)
    version, server, body = row[:3]
    check_version(version)
    return found_from(server, row[3:], body)


def _keep(
    connection: sqlite3.Connection,
    pid: str,
    found: Found,
    decision: Decision,
    body: bytes | None,
    now: float,
) -> None:
    published = decision.record.published
    mark = found.body_mark
    if published is None:
        if mark is not None:
            connection.execute("DELETE FROM bodies WHERE pid = ?", (pid,))
        mark = None
    elif published is not found.stub and body is not None:
        mark = _mark_of(body)
        if mark != found.body_mark:
            connection.execute("INSERT OR REPLACE INTO bodies VALUES (?, ?)", (pid, body))
    if decision.record is not found.record:
        connection.execute(_KEEP, (pid, *columns_of(decision.record, mark, now)))
    if decision.hint:
        leave_hint(connection, pid, now)


def _mark_of(body: bytes) -> bytes:
    return blake2b(body, digest_size=16).digest()


def _filled(answer: Answer, found: Found) -> Answer:
    """The answer with the whole snapshot where the decision put the stand-in."""
    stub = found.stub
    if stub is None or answer.view.body is not stub:
        return answer
    if found.body is None or _mark_of(found.body) != found.body_mark:
        raise _UnreadableBody
    try:
        snapshot = decode(found.body)
    except SnapshotCodecError as error:
        raise _UnreadableBody from error
    if snapshot.digest != stub.snapshot.digest:
        raise _UnreadableBody
    return replace(answer, view=replace(answer.view, body=replace(stub, snapshot=snapshot)))
