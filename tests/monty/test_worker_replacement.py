"""A worker takes so many sessions and no more: what programs made it take does not add up."""

from collections import Counter

import psutil
import pytest

from toolcrib.adapters.jail.bubblewrap import NoJail
from toolcrib.adapters.monty import workers as monty_workers
from toolcrib.adapters.monty.probes import LIMITS
from toolcrib.adapters.monty.workers import Workers
from toolcrib.settings import CodeSettings

EACH = 3


def pids(workers: Workers, times: int) -> list[int]:
    """The process of each of so many sessions, one after the other."""
    found: list[int] = []
    for _ in range(times):
        with workers.to_try(LIMITS) as session:
            session.feed_run("None")
            assert session.worker_pid is not None
            found.append(session.worker_pid)
    return found


def test_a_worker_is_replaced_after_so_many_sessions_and_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(monty_workers, "_SESSIONS_EACH", EACH)
    workers = Workers(CodeSettings(programs=1), NoJail("it is not needed here"))
    try:
        seen = Counter(pids(workers, 4 * EACH))
        assert max(seen.values()) <= EACH
        alive = [pid for pid in seen if psutil.pid_exists(pid)]
        assert len(alive) < len(seen)
    finally:
        workers.close()


def test_by_default_a_worker_is_kept_for_fifty_sessions() -> None:
    workers = Workers(CodeSettings(programs=1), NoJail("it is not needed here"))
    try:
        seen = Counter(pids(workers, 60))
        assert len(seen) == 2
        assert max(seen.values()) <= 50
    finally:
        workers.close()
