"""Servers go, change, come back and are enabled in any order, and the process begins anew.

Two handles of one principal ask. What is found is what was published last, for whoever has its
server enabled; what is called is what the caller saw last, or it is refused; and a process that
begins anew with no server up shows the same bytes and finds the same.
"""

import re
from collections import Counter
from typing import Any, Final

import anyio
import pytest
from hypothesis import strategies as st

from toolcrib.calls.admission import Admission
from toolcrib.discovery.servers.enabled import EnabledSets
from toolcrib.discovery.servers.servers import Servers
from toolcrib.errors import UpstreamUnreachable
from toolcrib.settings import DynamicSettings, GatewaySettings
from toolcrib.testing.asking_host import AskingHost, error_of, text_of
from toolcrib.testing.planted_code import CodeFault
from toolcrib.testing.plays import Plays
from toolcrib.testing.replicas import Replicas, replicas
from toolcrib.testing.scripted import ScriptedUpstream
from toolcrib.testing.scripted_crib import server_settings

pytestmark = pytest.mark.hypothesis

SEEN: Counter[str] = Counter()
TO_BE_SEEN = {
    "begun anew",
    "called",
    "called through call_tool",
    "changed since it was seen",
    "changed since, and begun anew",
    "found",
    "found by a pattern",
    "found while its server is away",
    "not enabled",
    "refused while its server is away",
}
"""What has to come about, or little was proved."""

STATIC: Final = ("git", "mail")
ON_DEMAND: Final = ("extra", "late")
SERVERS: Final = (*STATIC, *ON_DEMAND)
NAMES: Final = ("alpha", "beta", "gamma")
NAMED: Final = re.compile("[a-z]+__[a-z]+")

Step = tuple[str, int, int, int]
"""What is done; by which caller, with which server, and a number."""
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "change",
                "away",
                "enable",
                "enable",
                "disable",
                "find",
                "pattern",
                "see",
                "call",
                "call",
                "surprise",
                "anew",
            ]
        ),
        st.integers(0, 1),
        st.integers(0, 3),
        st.integers(0, 15),
    ),
    min_size=8,
    max_size=18,
)


def definitions(bits: int, schema: int) -> list[dict[str, Any]]:
    taken = {"type": "object", "properties": {f"member{schema}": {"type": "string"}}}
    return [
        {"name": name, "description": f"Does {name}.", "inputSchema": taken}
        for bit, name in enumerate(NAMES)
        if bits >> bit & 1
    ]


class World:
    """One process at a time, its servers, and what each caller enabled and saw."""

    def __init__(self, processes: Replicas, scripts: dict[str, ScriptedUpstream]) -> None:
        self.processes = processes
        self.scripts = scripts
        self.there: dict[str, tuple[int, int]] = dict.fromkeys(SERVERS, (7, 0))
        """By server: which tools, and which schema they have."""
        self.published = dict(self.there)
        self.away: set[str] = set()
        self.enabled: list[set[str]] = [set(STATIC), set(STATIC)]
        self.known: list[dict[str, tuple[int, int]]] = [{}, {}]
        """By caller and name: the schema that was seen last, and in which process."""
        self.lives = 0

    async def begin(self) -> None:
        self.process = await self.processes.open()
        self.callers = [AskingHost(self.process.gateway, f"caller-{it}") for it in (0, 1)]
        self.process.crib.catalogs()
        self.lives += 1
        await anyio.sleep(15)

    async def play(self, step: Step) -> None:  # noqa: C901 - an arm for each step
        what, who, which, number = step
        server = SERVERS[which]
        name = NAMES[number % len(NAMES)]
        match what:
            case "change":
                await self.change(server, number % 8, number // 4)
            case "away" if server in STATIC:
                await self.leave_or_return(server)
            case "enable":
                await self.enable(who, ON_DEMAND[which % 2])
            case "disable":
                await self.callers[who].tool("disable_server", server=ON_DEMAND[which % 2])
                self.enabled[who].discard(ON_DEMAND[which % 2])
                await self.settle()
            case "find" | "pattern":
                await self.find(who, name, pattern=what == "pattern")
            case "see":
                await self.see(who, server, name)
            case "surprise":
                await self.see(who, server, name)
                if number > 11:
                    await self.begin_anew()
                await self.change(server, 7, number // 4)
                await self.call(who, server, name, through=number % 2 > 0)
            case "call":
                await self.call(who, server, name, through=number > 7)
            case "anew":
                await self.begin_anew()
            case _:
                pass

    async def change(self, server: str, bits: int, schema: int) -> None:
        self.there[server] = bits, schema
        self.scripts[server].change(definitions(bits, schema))
        await self.settle()

    async def see(self, who: int, server: str, name: str) -> None:
        if server in self.away or not self.has(who, server, name):
            return
        exposed, schema = f"{server}__{name}", self.published[server][1]
        text = await self.callers[who].text("get_tool_details", names=[exposed])
        assert f"member{schema}" in text
        self.known[who][exposed] = schema, self.lives

    async def settle(self) -> None:
        await anyio.sleep(15)
        for server in SERVERS:
            up = server in STATIC or any(server in mine for mine in self.enabled)
            if up and server not in self.away:
                self.published[server] = self.there[server]

    def has(self, who: int, server: str, name: str) -> bool:
        """Whether a caller can find a tool now."""
        there = self.published[server][0] >> NAMES.index(name) & 1
        return bool(there) and server in self.enabled[who]

    async def enable(self, who: int, server: str) -> None:
        await self.callers[who].tool("enable_server", server=server)
        self.enabled[who].add(server)
        await self.settle()

    async def leave_or_return(self, server: str) -> None:
        script = self.scripts[server]
        if server in self.away:
            self.away.discard(server)
            script.faults.connect = None
            await self.until_up(server)
        else:
            self.away.add(server)
            script.faults.connect = UpstreamUnreachable("it is away", server=server)
            script.drop()
        await self.settle()

    async def until_up(self, server: str) -> None:
        with anyio.fail_after(1_000):
            while not self.scripts[server].live:  # noqa: ASYNC110 - in virtual time
                await anyio.sleep(5)

    async def find(self, who: int, name: str, *, pattern: bool) -> None:
        query = f"/^{name}$|{name}/" if pattern else name
        text = await self.callers[who].text("search_tools", query=query, detail="full", limit=50)
        for server in SERVERS:
            exposed, expected = f"{server}__{name}", self.has(who, server, name)
            assert (exposed in text) == expected, text
            if expected:
                part = text.split(exposed)[1].split("__")[0]
                assert f"member{self.published[server][1]}" in part
                # It was shown whole, so that it was seen as it is now.
                self.known[who][exposed] = self.published[server][1], self.lives
                SEEN["found by a pattern" if pattern else "found"] += 1
                SEEN["found while its server is away"] += server in self.away
        for other in NAMES if not pattern else ():
            for server in SERVERS:
                if f"{server}__{other}\n" in text and self.has(who, server, other):
                    self.known[who][f"{server}__{other}"] = self.published[server][1], self.lives

    async def call(self, who: int, server: str, name: str, *, through: bool) -> None:
        exposed, script = f"{server}__{name}", self.scripts[server]
        before = len(script.calls)
        if through:
            result = await self.callers[who].tool("call_tool", name=exposed, args={})
        else:
            result = await self.callers[who].tool(exposed)
        reached, error = len(script.calls) - before, error_of(result)
        known, now = self.known[who].get(exposed), self.published[server][1]
        if not self.has(who, server, name) or server in self.away:
            assert reached == 0
            assert result.get("isError"), result
            SEEN["not enabled"] += error.get("code") == "not_allowed"
            SEEN["refused while its server is away"] += server in self.away
        elif known is not None and known[0] != now:
            assert (reached, error.get("code")) == (0, "schema_changed"), result
            assert f"member{now}" in str(error["details"]), "the new schema is shown"
            assert f"member{now}" in text_of(result), "and to a model, too"
            self.known[who][exposed] = now, self.lives
            SEEN["changed since it was seen"] += 1
            SEEN["changed since, and begun anew"] += known[1] != self.lives
        else:
            assert (reached, error) == (1, {}), result
            SEEN["called through call_tool" if through else "called"] += 1

    async def shown(self) -> list[object]:
        """The listing, and what both callers find in which order."""
        found: list[object] = [await self.callers[0].listing()]
        for caller in self.callers:
            for query in (*NAMES, *(f"/{name}/" for name in NAMES)):
                text = await caller.text("search_tools", query=query, detail="name", limit=50)
                found.append(NAMED.findall(text))
        return found

    async def begin_anew(self) -> None:
        """The process ends, and begins again where no server can be reached."""
        before = await self.shown()
        await self.processes.close(self.process)
        for server, script in self.scripts.items():
            script.faults.connect = UpstreamUnreachable("it is not up yet", server=server)
        await self.begin()
        assert await self.shown() == before
        SEEN["begun anew"] += 1
        for server in set(SERVERS) - self.away:
            self.scripts[server].faults.connect = None
            if any(server in mine for mine in self.enabled):
                await self.until_up(server)
        await self.settle()


async def play(steps: list[Step]) -> None:
    scripts = {it: ScriptedUpstream(definitions(7, 0)) for it in SERVERS}
    async with replicas(
        scripts,
        settings={it: server_settings(it, on_demand=True) for it in ON_DEMAND},
        gateway=GatewaySettings(exposure="search"),
        dynamic=DynamicSettings(idle_seconds=1e6),
    ) as processes:
        world = World(processes, scripts)
        await world.begin()
        for step in steps:
            await world.play(step)


PLAYS = Plays(play, STEPS, examples=24)


def test_what_is_found_and_called_is_what_was_published_last_also_after_a_restart() -> None:
    SEEN.clear()
    PLAYS.hold()
    assert {name for name, count in SEEN.items() if count} >= TO_BE_SEEN, SEEN


FAULTS = [
    CodeFault(
        "what was seen does not count",
        Admission._asked,  # pyright: ignore[reportPrivateUsage] - a fault is planted there
        "call.seen.contract or await self._seen(call, item)",
        "call.seen.contract",
    ),
    CodeFault(
        "what one enabled all have", EnabledSets.of, "self._valid(caller)", "self.everybody()"
    ),
    CodeFault("all servers are searched", Servers.searchable, "*mine)", "*self._on_demand)"),
    CodeFault(
        "what was enabled is not kept",
        EnabledSets._exchanged,  # pyright: ignore[reportPrivateUsage] - a fault is planted there
        "if rows:",
        "if not caller.owed:",
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_servers_that_are_taken_for_what_they_are_not_are_noticed(
    fault: CodeFault, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault.plant(monkeypatch)
    PLAYS.fail()
