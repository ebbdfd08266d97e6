"""The clock of production."""

import time

from toolcrib.adapters.system_clock import SystemClock
from toolcrib.ports import Clock


def test_it_reads_both_clocks_of_the_machine() -> None:
    clock: Clock = SystemClock()
    before = (time.monotonic(), time.time())
    now = clock.now()
    assert before[0] <= now.mono <= time.monotonic()
    assert before[1] - 1 <= now.wall <= time.time() + 1


def test_lots_are_drawn_from_zero_to_one() -> None:
    clock = SystemClock()
    lots = [clock.lots() for _ in range(200)]
    assert all(0 <= lot < 1 for lot in lots)
    assert len(set(lots)) > 100
