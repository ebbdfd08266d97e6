"""What is shown of catalogs that grow and shrink: decided by cost, without to and fro.

Two replicas stand on one store. The model knows what may be shown: where nobody looked while a
catalog changed, it may have been decided in between or not; once anybody saw it, it is settled.
"""

from collections import Counter
from typing import Any, Final

import anyio
import pytest
from hypothesis import strategies as st

from toolcrib.context.tokens import Costs, HeuristicCounter
from toolcrib.core.exposure import Shown, Threshold
from toolcrib.discovery.exposing.memory import ExposureMemory
from toolcrib.errors import UpstreamUnreachable
from toolcrib.settings import ExposureSettings, GatewaySettings
from toolcrib.testing.planted_code import CodeFault
from toolcrib.testing.plays import Plays
from toolcrib.testing.replicas import Replicas, replicas
from toolcrib.testing.scripted import ScriptedUpstream
from toolcrib.testing.scripted_gateway import ScriptedGateway

pytestmark = pytest.mark.hypothesis

SEEN: Counter[str] = Counter()
TO_BE_SEEN = {
    "back",
    "held within the band",
    "listed by another replica",
    "restarted without a server",
    "shown in full within the band",
    "up",
}
"""What has to come about, or little was proved."""

Step = tuple[str, int, int]
"""What is done, by or to which of two, and how many tools there are then."""
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["grow", "grow and list", "grow and list", "list", "restart", "away"]),
        st.integers(0, 1),
        st.sampled_from([5, 8, 9, 10, 11, 12, 13]),
    ),
    min_size=8,
    max_size=20,
)


def definitions(count: int) -> list[dict[str, Any]]:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    return [
        {"name": f"t{number:02}", "description": "One of many tools.", "inputSchema": schema}
        for number in range(count)
    ]


COSTS = Costs(HeuristicCounter())
ONE: Final = COSTS.of_definition(definitions(1)[0], "first__t00")
"""Tokens of one tool; they all cost the same."""

SETTINGS: Final = ExposureSettings(window=ONE * 1_200, share=0.01)
UP, DOWN = 12, 8
"""Tools from which on less is shown, and below which all are shown again."""


def ruled(before: Shown, tools: int) -> Shown:
    """What is shown of so many tools."""
    if tools >= UP:
        return "search"
    return "full" if tools < DOWN else before


class World:
    """Two replicas, their servers, and what may be shown."""

    def __init__(self, gateways: Replicas, scripts: dict[str, ScriptedUpstream]) -> None:
        self.gateways = gateways
        self.scripts = scripts
        self.servers = list(scripts)
        self.there = dict.fromkeys(scripts, 3)
        """How many tools each server has."""
        self.published = dict(self.there)
        self.away: set[str] = set()
        self.replicas: list[ScriptedGateway] = []
        self.last: tuple[int, Shown] = 0, "full"
        self.may_be: set[Shown] = {"full"}

    @property
    def tools(self) -> int:
        return sum(self.published.values())

    async def begin(self) -> None:
        for _ in range(2):
            self.replicas.append(await self.gateways.open())
            await self.replicas[-1].names()
        await anyio.sleep(20)
        await self.lists(0)

    async def play(self, step: Step) -> None:
        what, which, number = step
        server = self.servers[which]
        match what:
            case "grow" | "grow and list":
                self.grow(number)
                await self.settle()
                if what != "grow":
                    await self.lists(number % 2)
            case "list":
                assert await self.lists(which) == await self.lists(1 - which)
            case "restart":
                await self.restart(which)
            case _:
                await self.leave_or_return(server)

    def grow(self, tools: int) -> None:
        """All servers together have so many tools."""
        self.there = dict(zip(self.servers, (tools // 2, tools - tools // 2), strict=True))
        for server, count in self.there.items():
            self.scripts[server].change(definitions(count))

    async def settle(self) -> None:
        """What servers that are there have is published; who looked at it on the way is open."""
        await anyio.sleep(15)
        for server in self.servers:
            if server not in self.away:
                self.published[server] = self.there[server]
        self.may_be |= {ruled(it, self.tools) for it in self.may_be}

    async def leave_or_return(self, server: str) -> None:
        script = self.scripts[server]
        if server in self.away:
            self.away.discard(server)
            script.faults.connect = None
            with anyio.fail_after(1_000):
                while script.live < len(self.replicas):  # noqa: ASYNC110 - in virtual time
                    await anyio.sleep(5)
        else:
            self.away.add(server)
            script.faults.connect = UpstreamUnreachable("it is away", server=server)
            script.drop()
        await self.settle()

    async def restart(self, which: int) -> None:
        await self.gateways.close(self.replicas[which])
        self.replicas[which] = await self.gateways.open()
        self.replicas[which].crib.catalogs()  # connects, and shows nobody anything
        SEEN["restarted without a server"] += bool(self.away)
        await self.settle()

    async def lists(self, which: int) -> Shown:
        """What a replica shows: what the rule allows, and from now on what all of them show."""
        names = await self.replicas[which].names()
        shown: Shown = "search" if "search_tools" in names else "full"
        if shown == "full":
            assert len(names) == self.tools
        before, allowed = self.may_be, {ruled(it, self.tools) for it in self.may_be}
        assert shown in allowed, f"{self.tools} tools, {before} before, and {shown} is shown"
        self.may_be = {shown}
        within = DOWN <= self.tools < UP
        SEEN[{"search": "up", "full": "back"}[shown]] += shown != self.last[1]
        SEEN["held within the band"] += shown == "search" and within
        SEEN["shown in full within the band"] += shown == "full" and within
        SEEN["listed by another replica"] += within and which != self.last[0]
        self.last = which, shown
        return shown


async def play(steps: list[Step]) -> None:
    scripts = {it: ScriptedUpstream(definitions(3)) for it in ("first", "other")}
    shows = GatewaySettings(exposure="auto")
    async with replicas(scripts, gateway=shows, exposure=SETTINGS) as gateways:
        world = World(gateways, scripts)
        await world.begin()
        for step in steps:
            await world.play(step)
        assert await world.lists(0) == await world.lists(1)


PLAYS = Plays(play, STEPS, examples=14)


def test_what_is_shown_changes_at_the_share_and_at_two_thirds_of_it_for_all_replicas() -> None:
    SEEN.clear()
    PLAYS.hold()
    assert {name for name, count in SEEN.items() if count} >= TO_BE_SEEN, SEEN


FAULTS = [
    CodeFault("it goes back as soon as it can", Threshold.down, "-(-2 * self.up // 3)", "self.up"),
    CodeFault(
        "nothing is written",
        ExposureMemory._write,  # pyright: ignore[reportPrivateUsage] - a fault is planted there
        "await self._store.put(SPACE, self._owner, kept, lifetime=KEPT, most=MOST)",
        "del kept",
    ),
    CodeFault(
        "a replica that begins asks nobody",
        ExposureMemory.look,
        "await self._ask(self._write if self._unsaved else self._read)",
        "pass",
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_to_and_fro_is_noticed(fault: CodeFault, monkeypatch: pytest.MonkeyPatch) -> None:
    fault.plant(monkeypatch)
    PLAYS.fail()
