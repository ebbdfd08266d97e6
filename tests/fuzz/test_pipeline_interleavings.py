"""Catalogs that change while hosts call from old lists: nothing contradicted reaches the server.

Each host does one thing after another; hosts and server go on beside each other, in time that
jumps. What a host knows is the last it was shown of a tool: in a listing, or in a refusal.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import anyio
import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from toolcrib.catalog.access import PublishedChange
from toolcrib.core.snapshot import Kind, Snapshot
from toolcrib.errors import UpstreamRefused
from toolcrib.ports import Era
from toolcrib.testing.hostile_json import often
from toolcrib.testing.line_host import LineHost, line_host
from toolcrib.testing.scripted import ScriptedUpstream
from toolcrib.testing.scripted_gateway import ScriptedGateway, scripted_gateway

SEEN: Counter[str] = Counter()
WANTED = {
    "answered",
    "bad_arguments",
    "changed_silently by the server",
    "generations",
    "schema_changed",
    "server_unavailable",
    "tool_gone",
}
"""What has to come about, or little was proved."""

LONGEST = 10_000.0
SCHEMAS: list[dict[str, Any]] = [
    {"type": "object", "properties": {"a": {"type": "string"}}},
    {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}},
    {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
        "required": ["b"],
    },
    {"type": "object", "properties": {"a": {"enum": ["x"]}}},
]
"""Arguments may fit several of these: then only the contract says that they are not the same."""

FITTING: dict[str, Any] = {"a": "x", "b": 1}
ARGUMENTS: list[dict[str, Any]] = [FITTING, FITTING, FITTING, {"a": "x"}, {"a": "y"}, {"a": 7}]


# ---------------------------------------------------------------- what is done

Tools = Mapping[str, tuple[int, int]]
"""By name: which schema, and which description."""


@dataclass(frozen=True)
class Publish:
    tools: Tools
    signal: bool


@dataclass(frozen=True)
class Drop:
    """The connection to the server is lost."""


@dataclass(frozen=True)
class Wait:
    seconds: float


@dataclass(frozen=True)
class Call:
    tool: int
    arguments: int
    says: bool
    """Whether it says which contract it saw."""


@dataclass(frozen=True)
class Relist:
    pass


NAMES = st.sampled_from(["one", "two", "three"])
TOOLS = st.dictionaries(NAMES, st.tuples(st.integers(0, 3), st.integers(0, 1)), min_size=1)
CALLS = st.builds(Call, st.integers(0, 2), st.integers(0, len(ARGUMENTS) - 1), st.booleans())
WAITS = st.builds(Wait, st.sampled_from([0.0, 0.01, 0.06, 0.3, 0.3, 3.0, 3.0, 90.0]))
PUBLICATIONS = st.builds(Publish, often((9, TOOLS), (1, st.just({}))), st.booleans())
SERVER_SCRIPTS = st.lists(
    often((8, PUBLICATIONS), (8, WAITS), (1, st.just(Drop()))), min_size=1, max_size=8
)
HOST_SCRIPTS = st.lists(
    often((8, CALLS), (4, WAITS), (1, st.just(Relist()))), min_size=2, max_size=12
)


def definitions(tools: Tools) -> list[dict[str, Any]]:
    return [
        {"name": name, "description": f"text {text}", "inputSchema": SCHEMAS[schema]}
        for name, (schema, text) in tools.items()
    ]


def fits(schema: Any, arguments: Any) -> bool:
    judge: Any = jsonschema.Draft202012Validator(schema)
    return judge.is_valid(arguments)


# ---------------------------------------------------------------- who does it


@dataclass
class Server:
    """What it has, whatever anybody believes; a call that it does not take is refused by it."""

    script: ScriptedUpstream
    history: list[Snapshot | None] = field(default_factory=list[Snapshot | None])
    """Every published catalog, in order."""

    def published(self, change: PublishedChange) -> None:
        if change.kind is Kind.TOOLS:
            self.history.append(change.after)

    async def on_call(self, _method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        await anyio.sleep(0.05)
        held = {one["name"]: one for one in self.script.items[Kind.TOOLS]}
        if params["name"] not in held:
            text = f"Unknown tool: {params['name']}"
            raise UpstreamRefused(text, rpc_code=-32602, server="s")
        if not fits(held[params["name"]]["inputSchema"], params["arguments"]):
            raise UpstreamRefused("Invalid arguments", rpc_code=-32602, server="s")
        return {"content": [{"type": "text", "text": params["name"]}]}

    async def play(self, script: list[Publish | Wait | Drop]) -> None:
        for step in script:
            match step:
                case Publish(tools, signal):
                    self.script.change(definitions(tools), signal=signal)
                case Drop():
                    self.script.drop()
                case Wait(seconds):
                    await anyio.sleep(seconds)


@dataclass
class Known:
    key: str
    contract: str


class Host:
    """One host and what it was shown; it lists once, and again only where its script says so."""

    def __init__(self, wire: LineHost, server: Server) -> None:
        self.wire = wire
        self.server = server
        self.known: dict[str, Known] = {}

    async def look(self) -> None:
        for tool in (await self.wire.ask("tools/list"))["result"]["tools"]:
            key = tool["name"].removeprefix("s__")
            self.known[tool["name"]] = Known(key, tool["_meta"]["dev.toolcrib/contract"])

    async def play(self, script: list[Call | Wait | Relist]) -> None:
        for step in script:
            match step:
                case Relist():
                    await self.look()
                case Wait(seconds):
                    await anyio.sleep(seconds)
                case Call():
                    await self.call(step)

    async def call(self, step: Call) -> None:
        if not self.known:
            return
        name = sorted(self.known)[step.tool % len(self.known)]
        known, arguments = self.known[name], ARGUMENTS[step.arguments]
        marked = {**arguments, "from": f"{id(self)}"}
        params: dict[str, Any] = {"name": name, "arguments": marked}
        if step.says:
            params["_meta"] = {"dev.toolcrib/seen": {"contract": known.contract}}
        begun, sent = len(self.server.history) - 1, len(self.server.script.calls)
        answer = await self.wire.ask("tools/call", params)
        mine = [
            params
            for _, params in self.server.script.calls[sent:]
            if params["arguments"].get("from") == f"{id(self)}"
        ]
        self.check(known, marked, mine, self.server.history[begun:])
        self.learn(name, known, answer, reached=bool(mine))

    def check(
        self,
        known: Known,
        arguments: Mapping[str, Any],
        sent: list[dict[str, Any]],
        generations: list[Snapshot | None],
    ) -> None:
        """What reached the server was published as the host had seen it, and its arguments fit."""
        for params in sent:
            assert params["name"] == known.key
            assert params["arguments"] == arguments
            held = [one.get(known.key) for one in generations if one is not None]
            seen = [one for one in held if one is not None and one.contract == known.contract]
            assert seen, "a call went out that everything published contradicts"
            assert fits(seen[0].definition["inputSchema"], arguments)

    def learn(self, name: str, known: Known, answer: Mapping[str, Any], *, reached: bool) -> None:
        if "error" in answer:
            assert answer["error"]["code"] == -32602, answer
            SEEN["unknown names"] += 1
            return
        result = answer["result"]
        if result.get("isError") is not True:
            assert reached
            SEEN["answered"] += 1
            return
        error = result["structuredContent"]["error"]
        SEEN[f"{error['code']}{' by the server' if reached else ''}"] += 1
        if error["code"] != "tool_gone" and "inputSchema" in error["details"]:
            known = self.known[name] = Known(known.key, error["details"]["contract"])


async def play(
    era: Era,
    first: Tools,
    of_server: list[Publish | Wait | Drop],
    of_hosts: tuple[list[Any], list[Any]],
) -> None:
    script = ScriptedUpstream(definitions(first), era=era, latency=0.05)
    server = Server(script)
    script.on_call = server.on_call
    with anyio.fail_after(LONGEST):
        async with (
            scripted_gateway({"s": script}) as made,
            line_host(made.gateway, modern=True) as one,
            line_host(made.gateway, modern=False) as other,
        ):
            hosts = [Host(one, server), Host(other, server)]
            for host in hosts:
                await host.look()
            server.history.append(held(made))
            made.crib.catalogs().on_published(server.published)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(server.play, of_server)
                for host, steps in zip(hosts, of_hosts, strict=True):
                    tasks.start_soon(host.play, steps)
            await settles(hosts, server)
    SEEN["generations"] += len(server.history)


def held(made: ScriptedGateway) -> Snapshot | None:
    return made.crib.catalogs().peek("s", Kind.TOOLS).snapshot


async def settles(hosts: list[Host], server: Server) -> None:
    """Once nothing changes any more, whoever lists anew can call everything."""
    server.script.signal()
    await anyio.sleep(120)
    truth = {one["name"]: one for one in server.script.items[Kind.TOOLS]}
    for host in hosts:
        host.known.clear()
        await host.look()
        assert {known.key for known in host.known.values()} == truth.keys()
        for name, known in host.known.items():
            assert fits(truth[known.key]["inputSchema"], FITTING)
            answer = await host.wire.ask("tools/call", {"name": name, "arguments": FITTING})
            assert answer["result"].get("isError") is not True, answer


@settings(max_examples=200)
@given(
    era=st.sampled_from(["modern", "handshake"]),
    first=TOOLS,
    of_server=SERVER_SCRIPTS,
    of_hosts=st.tuples(HOST_SCRIPTS, HOST_SCRIPTS),
)
def generated(
    era: Era,
    first: Tools,
    of_server: list[Publish | Wait | Drop],
    of_hosts: tuple[list[Any], list[Any]],
) -> None:
    clock = MockClock(autojump_threshold=0)
    run = partial(play, era, first, of_server, of_hosts)
    anyio.run(run, backend="trio", backend_options={"clock": clock})


@pytest.mark.hypothesis
@pytest.mark.slow
def test_no_call_that_the_published_catalog_contradicts_reaches_the_server(
    capsys: pytest.CaptureFixture[str],
) -> None:
    SEEN.clear()
    generated()
    with capsys.disabled():
        print(f"\n{json.dumps(dict(sorted(SEEN.items())), indent=1)}")  # noqa: T201 - wanted
    assert SEEN.keys() >= WANTED
