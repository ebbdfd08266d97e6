"""What one principal is told is the same to the byte, whether another one is there or not.

Each script is played twice at the same virtual times: as it is, and with nothing done by, for or
to the other one. Both have rights of their own on the same servers, and send the same handle.
"""

import json
from collections import Counter
from typing import Any, Final

import anyio
import pytest
from hypothesis import strategies as st

from toolcrib.calls.call import Requester
from toolcrib.calls.ledger.owners import Owners
from toolcrib.catalog.holdings import Holdings
from toolcrib.core.exposure import Wanted
from toolcrib.core.partition import Principal
from toolcrib.crib import Crib
from toolcrib.discovery.hits import Query
from toolcrib.discovery.searchers import Searchers
from toolcrib.errors import AuthRequired, BadArguments
from toolcrib.settings import ExposureSettings, GatewaySettings
from toolcrib.testing.asking_host import AskingHost
from toolcrib.testing.divided_upstream import DividedUpstream
from toolcrib.testing.planted_code import CodeFault
from toolcrib.testing.plays import Plays
from toolcrib.testing.scripted import ScriptedUpstream
from toolcrib.testing.scripted_crib import server_settings
from toolcrib.testing.scripted_gateway import ScriptedGateway, scripted_gateway
from toolcrib.upstreams.pool import Pool
from toolcrib.wire.audience import Subscriber, Topic

pytestmark = pytest.mark.hypothesis

ANNA = Principal("https://login", "anna", tenant="acme")
BEN = Principal("https://login", "ben", tenant="bolt")
PEOPLE = (ANNA, BEN)
"""The first one is watched."""

MINE = ("alpha", "beta", "gamma", "note")
OTHERS = ("alpha", "alphabet", "classified_gamma", "betas", "note")
WORDS = (*dict.fromkeys((*MINE, *OTHERS)), "everywhere", "zebra", "shared", "parcels")

SERVERS: Final = {
    "shared": server_settings("shared", stateful=True),
    "vault": server_settings("vault", stateful=True),
    "open": server_settings("open", description="Parcels, for everybody."),
    "late": server_settings("late", on_demand=True),
}

SEEN: Counter[str] = Counter()
TO_BE_SEEN = {
    "candidates",
    "disabled by the other",
    "enabled by the other",
    "exposure of the other differs",
    "found",
    "not found",
    "reached",
    "refused",
    "told of a change",
    "withdrawn from the other",
}
"""What has to come about, or little was proved."""

Step = tuple[int, str, int]
"""Who (0: the watched one), does what, and a number that says to what."""

Script = tuple[Wanted, bool, list[Step]]
"""The exposure, whether the other one comes first, and what happens then."""

ASKS = [
    "find",
    "find",
    "full",
    "pattern",
    "browse",
    "overview",
    "details",
    "details",
    "call",
    "call_tool",
    "enable",
    "disable",
    "offers",
    "list",
    "score",
]
DOES = ["change", "change", "refuse", "permit", "drop"]
SCRIPTS: st.SearchStrategy[Script] = st.tuples(
    st.sampled_from(["search", "auto", "full"]),
    st.booleans(),
    st.lists(
        st.one_of(
            st.tuples(st.just(0), st.sampled_from(ASKS), st.integers(0, 63)),
            st.tuples(st.just(0), st.sampled_from(ASKS), st.integers(0, 63)),
            st.tuples(st.just(1), st.sampled_from([*ASKS, *DOES]), st.integers(0, 63)),
            st.tuples(st.integers(0, 1), st.sampled_from(DOES), st.integers(0, 63)),
        ),
        min_size=9,
        max_size=18,
    ),
)


def definitions(place: int, number: int, server: str) -> list[dict[str, Any]]:
    """What the bits of a number choose, in words of whoever sees it."""
    names = MINE if place == 0 else OTHERS
    chosen = [name for bit, name in enumerate(names) if number >> bit & 1]
    said = f"everywhere {server} " + ("parcels" if place == 0 else "zebra everywhere " * 9)
    schema = {"type": "object", "properties": {f"p{place}": {"type": "string"}}}
    return [
        {"name": name, "description": f"{name} {said}", "inputSchema": schema} for name in chosen
    ]


class World:
    """The gateway, and the people who are there, in the order in which they come."""

    def __init__(
        self, made: ScriptedGateway, scripts: dict[str, ScriptedUpstream], order: tuple[int, ...]
    ) -> None:
        self.made = made
        self.scripts = scripts
        self.order = order
        self.hosts = [AskingHost(made.gateway, "the same", who) for who in PEOPLE]

    def divided(self, number: int) -> tuple[str, DividedUpstream]:
        name = ("shared", "vault")[number & 1]
        script = self.scripts[name]
        assert isinstance(script, DividedUpstream)
        return name, script

    async def play(self, step: Step) -> str:
        who, what, number = step
        if what in DOES:
            self.does(who, what, number)
            return what
        said = json.dumps(await self.asks(who, what, number), sort_keys=True)
        if who == 0:
            SEEN["candidates"] += "similar" in said
            SEEN["not found"] += "No tool found" in said
            SEEN["found"] += "Numbers are ranks" in said
            SEEN["reached"] += '"resultType": "complete"' in said
            SEEN["refused"] += '"isError": true' in said
        return said

    def does(self, who: int, what: str, number: int) -> None:
        """Something happens to what one of them sees of a server."""
        name, script = self.divided(number)
        place = self.order.index(who)
        match what:
            case "change":
                script.change_at(place, definitions(who, number >> 1, name))
            case "refuse":
                script.refused[place] = AuthRequired("not any more", server=name)
                script.signal_at(place)
                SEEN["withdrawn from the other"] += who
            case "permit":
                script.refused.pop(place, None)
                script.signal_at(place)
            case _ if script.is_up(place):
                script.drop_at(place)
            case _:
                pass

    async def asks(self, who: int, what: str, number: int) -> object:
        host, word = self.hosts[who], WORDS[number % len(WORDS)]
        server = list(SERVERS)[number // len(WORDS) % len(SERVERS)]
        names = [*(f"{it}__{word}" for it in SERVERS), f"{server}__{word}s"]
        asked: dict[str, tuple[str, dict[str, Any]]] = {
            "find": ("search_tools", {"query": word}),
            "full": ("search_tools", {"query": f"{word} {server}", "detail": "full"}),
            "pattern": ("search_tools", {"query": f"/{word[:3]}.*/"}),
            "browse": ("search_tools", {"server": server}),
            "overview": ("search_tools", {}),
            "details": ("get_tool_details", {"names": names}),
            "call": (f"{server}__{word}", {}),
            "call_tool": ("call_tool", {"name": f"{server}__{word}", "args": {}}),
            "enable": ("enable_server", {"server": "late"}),
            "disable": ("disable_server", {"server": "late"}),
            "offers": ("search_available_servers", {"query": word}),
        }
        if what == "list":
            return [await host.names(), (await host.listing()).decode()]
        if what == "score":
            return await self.scores(who, word)
        SEEN[f"{what}d by the other"] += who
        tool, arguments = asked[what]
        return await host.tool(tool, **arguments)

    async def shown(self, who: int) -> str:
        report = await self.made.crib.discovery(PEOPLE[who]).showing.report()
        return report.exposure

    async def scores(self, who: int, word: str) -> object:
        """What is found inside: numbers that tell how rare a word is."""
        discovery = self.made.crib.discovery(PEOPLE[who])
        there = await discovery.enabling.searchable(Requester(PEOPLE[who], "the same"))
        try:
            found = await discovery.search.find(Query(word, servers=sorted(there), limit=50))
        except BadArguments as error:
            return error.for_model()
        return [[hit.name, hit.score] for hit in found.hits], found.near, found.notes


async def told(subscriber: Subscriber) -> list[str]:
    """What a stream of the watched one has to be told."""
    due: list[str] = []
    with anyio.move_on_after(0.001):
        while True:
            due.append(str(await subscriber.next()))
    return due


async def transcript(exposure: Wanted, order: tuple[int, ...], steps: list[Step]) -> list[str]:
    """What the watched one is told, step by step, where only those in `order` ever come."""
    divided = {
        name: DividedUpstream(*(definitions(who, 7, name) for who in order))
        for name in ("shared", "vault")
    }
    plain = {name: ScriptedUpstream(definitions(0, 15, name)) for name in ("open", "late")}
    scripts: dict[str, ScriptedUpstream] = {**divided, **plain}
    began = anyio.current_time()
    said: list[str] = []
    async with scripted_gateway(
        scripts,
        settings=SERVERS,
        gateway=GatewaySettings(exposure=exposure),
        exposure=ExposureSettings(window=10_000, share=0.038, pinned=("shared__a*",)),
    ) as made:
        world = World(made, scripts, order)
        for who in order:
            await made.crib.catalogs(PEOPLE[who]).reach()
            await world.hosts[who].names()
        subscriber = made.gateway.audience(ANNA).join([Topic.TOOLS])
        await anyio.sleep_until(began + 20)
        for number, step in enumerate(steps):
            if step[0] in order:
                answer = await world.play(step)
                said += [] if step[0] else [f"{step} {answer}"]
            await anyio.sleep_until(began + 30 + 10 * number)
            due = await told(subscriber)
            SEEN["told of a change"] += len(due)
            said.append(str(due))
        shown = {await world.shown(who) for who in order}
        SEEN["exposure of the other differs"] += len(shown) > 1
    return said


async def play(script: Script) -> None:
    exposure, other_first, steps = script
    both = await transcript(exposure, (1, 0) if other_first else (0, 1), steps)
    alone = await transcript(exposure, (0,), steps)
    for one, other in zip(both, alone, strict=True):
        assert one == other


PLAYS = Plays(play, SCRIPTS, examples=18)


def test_nothing_that_one_principal_is_told_depends_on_another_one() -> None:
    SEEN.clear()
    PLAYS.hold()
    assert {name for name, count in SEEN.items() if count} >= TO_BE_SEEN, SEEN


FIRST = "next(iter(self.{}.values()), None)"
FAULTS = [
    CodeFault(
        "the second one gets the catalogs of the first",
        Holdings.catalogs,
        "self._principals.get(principal)",
        FIRST.format("_principals"),
    ),
    CodeFault(
        "the second one finds what the first one finds",
        Crib.discovery,
        "self._discoveries.get(principal)",
        FIRST.format("_discoveries"),
    ),
    CodeFault(
        "both are ranked by one index",
        Searchers.over,
        "    by_meaning =",
        "    index = vars(self).setdefault('index', index)\n    by_meaning =",
    ),
    CodeFault(
        "both share a connection to a server with state",
        Pool.seat,
        "principal if server.stateful else None",
        "None",
    ),
    CodeFault(
        "the store knows handles and no principals",
        Owners.caller,
        "*_parts(requester), ",
        "",
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_one_that_is_told_of_another_is_noticed(
    fault: CodeFault, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault.plant(monkeypatch)
    PLAYS.fail()
