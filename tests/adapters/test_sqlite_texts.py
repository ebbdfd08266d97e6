"""What is said of a store that cannot be used: its path is for the operator alone."""

import contextlib
import sqlite3
from pathlib import Path

import pytest

from toolcrib.adapters.sqlite.file import RecordFile
from toolcrib.adapters.sqlite.store import SqliteStore
from toolcrib.errors import StoreUnreachable
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.store_contract import SteppedClock


@pytest.mark.anyio
async def test_a_locked_store_is_told_without_its_path_and_the_note_has_it(tmp_path: Path) -> None:
    clock, path = SteppedClock(), tmp_path / "store.db"
    file = RecordFile(path, busy_timeout=0.0, keep_days=30)
    file.open(clock.now().wall)
    store = SqliteStore(file, clock, Recorder())
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnreachable) as caught:
            await store.entries.put("s", "o", {"k": b"v"}, lifetime=1.0, most=1)
    store.close()
    assert caught.value.for_model() == "the store is locked by another process"
    assert str(path) in caught.value.for_operator()
