from collections.abc import Callable, Mapping
from typing import Any

import pytest

from toolcrib.catalog.probe import Probe, ProbeReport
from toolcrib.core.snapshot import Kind
from toolcrib.errors import RequestTimedOut, UpstreamUnreachable
from toolcrib.ports import ClientProfile, Era
from toolcrib.settings import Limits
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import server_settings
from toolcrib.testing.virtual_clock import LoopClock

pytestmark = pytest.mark.virtual_time

BASE = [tool("base"), *(tool(f"x{n}") for n in range(1, 8))]


Shift = Callable[[int], list[dict[str, Any]]]


class Shifting(ScriptedUpstream):
    """Changes what it lists at each walk."""

    def __init__(self, shift: Shift, **rest: Any) -> None:
        super().__init__([], **rest)
        self._shift = shift

    def list_page(self, kind: Kind, cursor: str | None) -> dict[str, Any]:
        if cursor is None:
            self.items[kind] = list(self._shift(self.walks[kind]))
        return super().list_page(kind, cursor)


async def probed(script: ScriptedUpstream, **rest: Any) -> ProbeReport:
    probe = Probe(script, LoopClock(), Limits(), ClientProfile())
    return await probe.run(server_settings("s"), **rest)


def codes(report: ProbeReport) -> list[str]:
    return [oddity.code for oddity in report.oddities]


@pytest.mark.parametrize("era", ["modern", "handshake"])
async def test_a_server_that_says_the_same_each_time_is_consistent(era: Era) -> None:
    script = ScriptedUpstream(BASE, page_size=3, era=era)
    report = await probed(script)
    assert report.consistent
    assert report.oddities == ()
    assert report.era == era
    assert [(walk.connection, walk.requests) for walk in report.walks] == [
        (1, 3), (1, 3), (1, 3), (2, 3), (2, 3), (2, 3)
    ]  # fmt: skip
    assert len({walk.snapshot.digest for walk in report.walks if walk.snapshot}) == 1
    assert script.connects == 2
    assert script.live == 0


SHIFTS: Mapping[str, tuple[Shift, list[str]]] = {
    "seven tools fewer": (lambda n: BASE if n % 2 else BASE[:1], ["8 items", "1 items"]),
    "one schema differs": (
        lambda n: BASE if n % 2 else [*BASE[:-1], tool("x7", a={})],
        ["8 items"],
    ),
    "the last one is empty": (lambda n: BASE if n < 6 else [], ["8 items", "0 items"]),
    "three replicas": (lambda n: BASE[: n % 3 + 1], ["3 different"]),
}


@pytest.mark.parametrize("case", SHIFTS)
async def test_replicas_that_disagree_are_told_with_counts(case: str) -> None:
    shift, told = SHIFTS[case]
    report = await probed(Shifting(shift))
    assert not report.consistent
    assert codes(report) == ["replica_disagreement"]
    for words in told:
        assert words in report.oddities[0].detail


async def test_another_order_each_time_is_odd_and_consistent() -> None:
    report = await probed(Shifting(lambda n: BASE[n:] + BASE[:n]))
    assert report.consistent
    assert codes(report) == ["order_varies"]


async def test_a_listing_that_fails_is_a_finding_beside_those_that_came() -> None:
    class Flaky(ScriptedUpstream):
        def list_page(self, kind: Kind, cursor: str | None) -> dict[str, Any]:
            self.faults.lists = RequestTimedOut("no answer") if self.walks[kind] == 2 else None
            return super().list_page(kind, cursor)

    report = await probed(Flaky(BASE))
    assert not report.consistent
    assert codes(report) == ["walk_failed"]
    assert report.oddities[0].detail == "1 of 6 listings failed: no answer"


@pytest.mark.parametrize("page", [1, 2])
async def test_a_page_that_fails_fails_its_listing(page: int) -> None:
    script = ScriptedUpstream(BASE, page_size=4)
    script.faults.lists, script.faults.page = UpstreamUnreachable("reset"), page
    report = await probed(script, walks=1, connections=1)
    (walk,) = report.walks
    assert (walk.snapshot, walk.requests, walk.failure) == (None, page, "reset")


async def test_a_connection_that_fails_is_a_finding_and_the_next_is_tried() -> None:
    class Half(ScriptedUpstream):
        def facts(self) -> Any:
            if self.connects == 1:
                raise UpstreamUnreachable("refused")
            return super().facts()

    report = await probed(Half(BASE))
    assert not report.consistent
    assert codes(report) == ["walk_failed"]
    assert [walk.connection for walk in report.walks] == [1, 2, 2, 2]
    assert report.era == "modern"


async def test_a_server_that_cannot_be_reached_has_no_era() -> None:
    script = ScriptedUpstream()
    script.faults.connect = UpstreamUnreachable("refused")
    report = await probed(script, connections=3)
    assert report.era == ""
    assert [walk.failure for walk in report.walks] == ["refused"] * 3
    assert not report.consistent


async def test_a_connection_that_breaks_between_two_listings_costs_the_rest_of_it() -> None:
    class Fragile(ScriptedUpstream):
        def list_page(self, kind: Kind, cursor: str | None) -> dict[str, Any]:
            if self.walks[kind] == 2:
                self.drop("it hung up")
            return super().list_page(kind, cursor)

    report = await probed(Fragile(BASE, latency=0.1), connections=2, walks=2)
    assert [bool(walk.failure) for walk in report.walks] == [False, True, False, False]
    assert not report.consistent


@pytest.mark.parametrize(
    ("hints", "odd"),
    [
        ({"ttl_ms": -5}, 1),
        ({"ttl_ms": "60"}, 1),
        ({"ttl_ms": 999_999_999_999}, 1),
        ({"scope": "tenant"}, 1),
        ({"ttl_ms": 1.5, "scope": None}, 2),
        ({"ttl_ms": 60_000, "scope": "public"}, 0),
    ],
)
async def test_odd_hints_are_told(hints: Mapping[str, Any], odd: int) -> None:
    report = await probed(ScriptedUpstream(BASE, **hints))
    assert codes(report) == ["odd_hint"] * odd
    assert report.consistent


async def test_malformed_definitions_are_told_once() -> None:
    report = await probed(ScriptedUpstream([tool("a"), {"name": "bad"}, {"inputSchema": {}}]))
    assert codes(report) == ["quarantined", "quarantined"]
    assert report.oddities[0].detail.startswith("#2: ") or "bad" in report.oddities[0].detail


async def test_a_cursor_that_comes_twice_is_told() -> None:
    class Circling(ScriptedUpstream):
        def list_page(self, kind: Kind, cursor: str | None) -> dict[str, Any]:
            return {**super().list_page(kind, None), "nextCursor": "0"}

    report = await probed(Circling(BASE))
    assert codes(report) == ["walk_warning"]
    assert [walk.requests for walk in report.walks] == [2] * 6


async def test_the_pause_between_listings_is_kept_and_no_longer() -> None:
    clock = LoopClock()
    script = ScriptedUpstream(BASE, latency=0.5)
    probe = Probe(script, clock, Limits(), ClientProfile())
    began = clock.now().mono
    report = await probe.run(server_settings("s"), walks=3, connections=1, gap=2.0)
    assert clock.now().mono - began == pytest.approx(0.5 + 3 * 0.5 + 2 * 2.0)
    assert [walk.seconds for walk in report.walks] == pytest.approx([0.5] * 3)


@pytest.mark.parametrize("kind", [Kind.PROMPTS, Kind.RESOURCES, Kind.TEMPLATES])
async def test_every_kind_can_be_probed(kind: Kind) -> None:
    script = ScriptedUpstream()
    script.items[kind] = [{kind.key: "a://x", "name": "a"}]
    report = await probed(script, kind=kind)
    assert report.kind is kind
    assert [len(walk.snapshot) for walk in report.walks if walk.snapshot] == [1] * 6


async def test_signals_and_questions_of_the_server_are_of_no_interest() -> None:
    script = ScriptedUpstream(BASE)
    script.faults.signal_on_list = True
    report = await probed(script)
    assert report.consistent
    assert script.walks[Kind.TOOLS] == 6
