from collections.abc import Callable, Mapping
from typing import Any

import pytest

from toolcrib.ports import ServerFacts
from toolcrib.upstreams.listeners import Fanout, StreamState

FACTS = ServerFacts("modern", "2026-07-28", {})
CHANGED = "notifications/tools/list_changed"


class Ear:
    """A connection listener that keeps what it hears, and may do something about it."""

    def __init__(self, on_connected: Callable[[], None] | None = None) -> None:
        self.heard: list[str] = []
        self._on_connected = on_connected

    def connected(self, facts: ServerFacts) -> None:
        self.heard.append(f"connected {facts.era}")
        if self._on_connected is not None:
            self._on_connected()

    def disconnected(self, detail: str) -> None:
        self.heard.append(f"disconnected {detail}")

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        self.heard.append(f"{method} {dict(params)}")

    def stream_changed(self, state: StreamState) -> None:
        self.heard.append(f"stream {state}")


def test_everybody_hears_everything_in_order() -> None:
    fanout, ears = Fanout(), [Ear(), Ear()]
    for ear in ears:
        fanout.add(ear)
    fanout.connected(FACTS)
    fanout.stream_opened()
    fanout.notified(CHANGED, {})
    fanout.stream_lost()
    fanout.stream_refused()
    fanout.disconnected("gone")
    for ear in ears:
        assert ear.heard == [
            "connected modern",
            "stream open",
            f"{CHANGED} {{}}",
            "stream lost",
            "stream refused",
            "disconnected gone",
        ]


def test_what_comes_before_the_connection_counts_as_up_is_told_after_it() -> None:
    fanout, ear = Fanout(), Ear()
    fanout.add(ear)
    fanout.notified(CHANGED, {"n": 1})
    fanout.stream_opened()
    fanout.notified(CHANGED, {"n": 2})
    assert ear.heard == []
    fanout.connected(FACTS)
    assert ear.heard == [
        "connected modern",
        "stream open",
        f"{CHANGED} {{'n': 1}}",
        f"{CHANGED} {{'n': 2}}",
    ]


def test_what_an_attempt_heard_that_failed_is_forgotten() -> None:
    fanout, ear = Fanout(), Ear()
    fanout.add(ear)
    fanout.notified(CHANGED, {})
    fanout.stream_opened()
    fanout.disconnected("no answer")
    fanout.connected(FACTS)
    assert ear.heard == ["disconnected no answer", "connected modern"]


@pytest.mark.parametrize("state", ["open", "lost", "refused"])
def test_a_late_comer_hears_how_things_stand(state: StreamState) -> None:
    fanout, ear = Fanout(), Ear()
    fanout.connected(FACTS)
    tell = {
        "open": fanout.stream_opened,
        "lost": fanout.stream_lost,
        "refused": fanout.stream_refused,
    }
    tell[state]()
    fanout.notified(CHANGED, {})
    fanout.add(ear)
    assert ear.heard == ["connected modern", f"stream {state}"]


def test_who_left_hears_nothing_more() -> None:
    fanout, ear = Fanout(), Ear()
    fanout.add(ear)
    fanout.connected(FACTS)
    fanout.remove(ear)
    fanout.remove(ear)
    fanout.notified(CHANGED, {})
    assert ear.heard == ["connected modern"]
    assert len(fanout) == 0


def test_who_comes_or_leaves_while_others_are_told_disturbs_nobody() -> None:
    fanout, late = Fanout(), Ear()
    leaving = Ear(lambda: fanout.remove(leaving))
    adding = Ear(lambda: fanout.add(late))
    last = Ear()
    for ear in (leaving, adding, last):
        fanout.add(ear)
    fanout.connected(FACTS)
    fanout.disconnected("gone")
    assert leaving.heard == ["connected modern"]
    assert adding.heard == last.heard == ["connected modern", "disconnected gone"]
    assert late.heard[0] == "connected modern"
    assert late.heard[-1] == "disconnected gone"


class Broken(Ear):
    """A listener that fails at everything it hears, and keeps it all the same."""

    def connected(self, facts: ServerFacts) -> None:
        super().connected(facts)
        raise RuntimeError("connected")

    def disconnected(self, detail: str) -> None:
        super().disconnected(detail)
        raise RuntimeError("disconnected")

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        super().notified(method, params)
        raise RuntimeError("notified")

    def stream_changed(self, state: StreamState) -> None:
        super().stream_changed(state)
        raise RuntimeError("stream_changed")


@pytest.mark.parametrize("late", [False, True])
def test_a_listener_that_fails_costs_the_others_nothing_and_hears_on(*, late: bool) -> None:
    faults: list[str] = []
    fanout = Fanout(lambda fault: faults.append(str(fault)))
    broken, ear = Broken(), Ear()
    if late:
        fanout.connected(FACTS)
        fanout.stream_opened()
    fanout.add(broken)
    fanout.add(ear)
    if not late:
        fanout.connected(FACTS)
        fanout.stream_opened()
    fanout.notified(CHANGED, {})
    fanout.disconnected("gone")
    told = ["connected modern", "stream open", f"{CHANGED} {{}}", "disconnected gone"]
    assert ear.heard == broken.heard == told
    assert faults == ["connected", "stream_changed", "notified", "disconnected"]


def test_a_fault_that_nobody_takes_is_logged_without_its_text(
    caplog: pytest.LogCaptureFixture,
) -> None:
    fanout = Fanout()
    fanout.add(Broken())
    fanout.connected(FACTS)
    assert [record.getMessage() for record in caplog.records] == [
        "a listener of a connection failed: RuntimeError"
    ]
