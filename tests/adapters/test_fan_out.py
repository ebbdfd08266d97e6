"""Several observers behind one port."""

import logging

import pytest

from toolcrib.adapters.observing.fan_out import FanOut
from toolcrib.facts import Fact, HostNotified, StoreDegraded
from toolcrib.testing.recorder import Recorder


class Faulty:
    """Fails at the nth fact."""

    def __init__(self, at: int) -> None:
        self.noted = 0
        self._at = at

    def note(self, fact: Fact) -> None:
        del fact
        self.noted += 1
        if self.noted == self._at:
            raise ValueError("canary: what the fact holds")


def test_every_observer_gets_every_fact_in_order() -> None:
    one, two = Recorder(), Recorder()
    fan = FanOut([one, two])
    fan.note(HostNotified("tools"))
    fan.note(StoreDegraded("d"))
    assert one.facts == two.facts == [HostNotified("tools"), StoreDegraded("d")]


def test_an_observer_that_fails_is_dropped_with_one_line_and_costs_nobody_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    before, faulty, behind = Recorder(), Faulty(at=2), Recorder()
    fan = FanOut([before, faulty, behind])
    with caplog.at_level(logging.DEBUG):
        for _ in range(4):
            fan.note(HostNotified("tools"))
    assert len(before.facts) == len(behind.facts) == 4
    assert faulty.noted == 2
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert "Faulty raised ValueError" in record.getMessage()
    assert "canary" not in caplog.text


def test_nobody_watching_is_fine() -> None:
    FanOut([]).note(HostNotified("tools"))
