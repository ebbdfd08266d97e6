"""Calls of what a tool was: after restarts, in mid-call, while a person thinks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anyio
import mcp_types as types
import pytest

from toolcrib.calls.call import Requester
from toolcrib.core.jsontypes import is_object
from toolcrib.core.snapshot import Kind
from toolcrib.errors import SchemaChanged
from toolcrib.facts import CallRefused
from toolcrib.ports import Era
from toolcrib.settings import ApprovalRule, ApprovalSettings, Waits
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import scripted_crib, server_settings
from toolcrib.testing.scripted_gateway import HostEra, ScriptedGateway, scripted_gateway

pytestmark = pytest.mark.virtual_time

HOSTS = pytest.mark.parametrize("host", ["legacy", "auto"])
SERVERS = pytest.mark.parametrize("server", ["modern", "handshake"])
OTHERS = (tool("second"), tool("third"))


def takes(name: str = "t", *required: str, **properties: Any) -> dict[str, Any]:
    """A tool that takes these properties and no others."""
    definition = tool(name, **properties)
    definition["inputSchema"] |= {"required": list(required), "additionalProperties": False}
    return definition


@dataclass(frozen=True, slots=True)
class Turn:
    """What the tool `t` is, becomes, is still called with, and should be called with."""

    before: dict[str, Any]
    after: dict[str, Any]
    old: Mapping[str, Any]
    new: Mapping[str, Any]
    words: Sequence[str]


STRING, WHOLE = {"type": "string"}, {"type": "integer"}
TURNS: Mapping[str, Turn] = {
    "another parameter": Turn(
        takes("t", "since", since=STRING),
        takes("t", "window", window=STRING),
        {"since": "2d"},
        {"window": "2d"},
        ["window", "since"],
    ),
    "one more": Turn(
        takes("t", "path", path=STRING),
        takes("t", "path", "branch", path=STRING, branch=STRING),
        {"path": "/x"},
        {"path": "/x", "branch": "main"},
        ["branch"],
    ),
    "another type": Turn(
        takes("t", "ids", ids=STRING),
        takes("t", "ids", ids={"type": "array", "items": WHOLE}),
        {"ids": "1,2"},
        {"ids": [1, 2]},
        ["ids"],
    ),
    "fewer values": Turn(
        takes("t", unit={"enum": ["m", "ft", "yd"]}),
        takes("t", unit={"enum": ["m"]}),
        {"unit": "ft"},
        {"unit": "m"},
        ["unit", "ft"],
    ),
    "moved inside": Turn(
        takes("t", "lat", lat=WHOLE),
        takes("t", "at", at={"type": "object", "properties": {"lat": WHOLE}, "required": ["lat"]}),
        {"lat": 1},
        {"at": {"lat": 1}},
        ["at", "lat"],
    ),
}


@SERVERS
@pytest.mark.parametrize("signal", [True, False], ids=["announced", "unannounced"])
@pytest.mark.parametrize("turn", TURNS.values(), ids=TURNS.keys())
async def test_after_a_restart_a_call_of_what_was_is_told_the_difference_and_not_sent(
    turn: Turn, server: Era, *, signal: bool
) -> None:
    script = ScriptedUpstream([turn.before, *OTHERS], era=server, ttl_ms=3_600_000)
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()
        await anyio.sleep(60)
        script.change([turn.after, *OTHERS], signal=False)
        script.drop("restarted")
        await anyio.sleep(5)
        if signal:
            script.signal()
        result = await gateway.call("s__t", **turn.old)
        told = result["structuredContent"]["error"]
        assert (result["isError"], told["code"], script.calls) == (True, "schema_changed", [])
        text = result["content"][0]["text"]
        assert all(word in text for word in turn.words)
        assert told["details"]["inputSchema"] == turn.after["inputSchema"]
        assert [fact.code for fact in gateway.recorder.of(CallRefused)] == ["schema_changed"]
        assert not (await gateway.call("s__t", **turn.new)).get("isError")
        assert [params["arguments"] for _, params in script.calls] == [turn.new]


@pytest.mark.parametrize("turn", TURNS.values(), ids=TURNS.keys())
async def test_a_program_that_says_what_it_saw_is_told_the_same(turn: Turn) -> None:
    script = ScriptedUpstream([turn.before, *OTHERS])
    async with scripted_crib({"s": script}) as (crib, _):
        (reading,) = await crib.catalogs().read(Kind.TOOLS)
        assert reading.snapshot is not None
        seen = reading.snapshot.get("t")
        assert seen is not None
        script.change([turn.after, *OTHERS])
        with pytest.raises(SchemaChanged) as raised:
            await crib.call("s__t", turn.old, seen=seen.contract)
        assert raised.value.details["inputSchema"] == turn.after["inputSchema"]
        assert script.calls == []
        contract = raised.value.details["contract"]
        assert contract not in {"", seen.contract}
        assert (await crib.call("s__t", turn.new, seen=contract))["content"]


# ---- what a change does not touch ----


@SERVERS
@pytest.mark.parametrize("told", [True, False], ids=["signalled", "found by walks"])
async def test_a_contract_that_is_back_to_what_was_seen_is_called(
    server: Era, *, told: bool
) -> None:
    turn = TURNS["another parameter"]
    script = ScriptedUpstream([turn.before, *OTHERS], era=server)
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()
        await anyio.sleep(60)
        for definition in (turn.after, turn.before):
            script.change([definition, *OTHERS], signal=told)
            await gateway.crib.catalogs().renewed("s", Kind.TOOLS)
            await anyio.sleep(90)
        assert not (await gateway.call("s__t", **turn.old)).get("isError")
        assert len(script.calls) == 1


WORDS: Mapping[str, dict[str, Any]] = {
    "description": {"description": "Something else."},
    "title": {"title": "T"},
    "annotations": {"annotations": {"readOnlyHint": True}},
    "meta": {"_meta": {"vendor/x": 1}},
    "words inside the schema": {
        "inputSchema": {"type": "object", "properties": {"a": {**STRING, "description": "new"}}}
    },
    "an example": {
        "inputSchema": {"type": "object", "properties": {"a": {**STRING, "examples": ["x"]}}}
    },
    "spelling": {"inputSchema": {"properties": {"a": STRING}, "type": "object"}},
}


@HOSTS
@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS.keys())
async def test_a_change_that_is_none_of_the_contract_blocks_nothing(
    words: dict[str, Any], host: HostEra
) -> None:
    script = ScriptedUpstream([tool("t", a=STRING), *OTHERS])
    async with scripted_gateway({"s": script}) as gateway, gateway.host(host) as client:
        await client.list_tools()
        await anyio.sleep(10)
        script.change([{**tool("t", a=STRING), **words}, *OTHERS, tool("new")])
        assert not (await client.call_tool("s__t", {"a": "x"})).is_error
        assert len(script.calls) == 1


@SERVERS
@pytest.mark.parametrize("becomes", [[], [TURNS["one more"].after]], ids=["removed", "changed"])
async def test_a_call_in_flight_finishes_although_its_tool_is_no_more_what_it_was(
    server: Era, becomes: list[dict[str, Any]]
) -> None:
    script = ScriptedUpstream([TURNS["one more"].before, *OTHERS], era=server)
    begun, free = anyio.Event(), anyio.Event()

    async def slow(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        begun.set()
        await free.wait()
        return {"content": [{"type": "text", "text": "done"}]}

    script.on_call = slow
    results: list[dict[str, Any]] = []
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()

        async def call() -> None:
            results.append(await gateway.call("s__t", path="/x"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await begun.wait()
            script.change([*becomes, *OTHERS])
            await anyio.sleep(5)
            code = (await gateway.refusal("s__t"))["code"]
            assert code == ("schema_changed" if becomes else "tool_gone")
            free.set()
        (result,) = results
        assert result["content"] == [{"type": "text", "text": "done"}]
        assert result["_meta"]["dev.toolcrib/changes"]
        assert len(script.calls) == 1


# ---- a call that changes its own server (sequence 22) ----

GROWN = [tool("t"), *OTHERS, tool("after")]
EFFECTS: Mapping[str, list[dict[str, Any]]] = {
    "one more": GROWN,
    "one less": [tool("t"), OTHERS[0]],
    "itself another": [TURNS["one more"].after, *OTHERS],
    "itself gone": list(OTHERS),
}


@HOSTS
@SERVERS
@pytest.mark.parametrize("effect", EFFECTS.values(), ids=EFFECTS.keys())
async def test_what_a_call_changes_is_listed_when_its_result_is_there_and_told_with_it(
    effect: list[dict[str, Any]], server: Era, host: HostEra
) -> None:
    script = ScriptedUpstream([tool("t"), *OTHERS], era=server, latency=0.2)

    async def change(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        script.change(effect)
        return {"content": []}

    script.on_call = change
    async with scripted_gateway({"s": script}) as gateway, gateway.host(host) as client:
        await client.list_tools()
        await anyio.sleep(60)
        began = anyio.current_time()
        result = await client.call_tool("s__t", {})
        assert anyio.current_time() - began < 1.0
        assert not result.is_error
        assert result.meta is not None
        assert result.meta["dev.toolcrib/changes"]
        assert held(gateway) == sorted(definition["name"] for definition in effect)


@HOSTS
async def test_a_refresh_that_takes_too_long_costs_a_result_one_second(host: HostEra) -> None:
    script = ScriptedUpstream([tool("t"), *OTHERS])

    async def change(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        script.latency = 15.0
        script.change(GROWN)
        return {"content": []}

    script.on_call = change
    patient = {"s": server_settings("s", waits=Waits(list_wait=20.0))}
    async with (
        scripted_gateway({"s": script}, settings=patient) as gateway,
        gateway.host(host) as client,
    ):
        await client.list_tools()
        await anyio.sleep(60)
        began = anyio.current_time()
        assert not (await client.call_tool("s__t", {})).is_error
        assert anyio.current_time() - began <= 1.1
        assert held(gateway) == ["second", "t", "third"]
        await anyio.sleep(20)
        assert held(gateway) == ["after", "second", "t", "third"]


@SERVERS
@pytest.mark.parametrize("storm", [2, 100, 10_000])
async def test_a_call_that_is_answered_with_a_storm_of_signals_is_answered(
    storm: int, server: Era
) -> None:
    script = ScriptedUpstream([tool("t"), *OTHERS], era=server, latency=0.01)

    async def stir(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        for _ in range(storm):
            script.signal()
        script.items[Kind.TOOLS] = [*GROWN]
        return {"content": [{"type": "text", "text": "done"}]}

    script.on_call = stir
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()
        await anyio.sleep(60)
        before = script.walks[Kind.TOOLS]
        began = anyio.current_time()
        assert (await gateway.call("s__t"))["content"][0]["text"] == "done"
        assert anyio.current_time() - began <= 1.1
        await anyio.sleep(30)
        assert held(gateway) == ["after", "second", "t", "third"]
        assert script.walks[Kind.TOOLS] - before <= 3


def held(gateway: ScriptedGateway) -> list[str]:
    snapshot = gateway.crib.catalogs().peek("s", Kind.TOOLS).snapshot
    assert snapshot is not None
    return [item.key for item in snapshot.items]


# ---- a person who thinks for minutes (sequence 23) ----

ASKING = ApprovalSettings(rules=(ApprovalRule("ask", tools=("t",)),))
FIVE_MINUTES = 300.0


@SERVERS
@HOSTS
@pytest.mark.parametrize("turn", TURNS.values(), ids=TURNS.keys())
async def test_what_a_person_agreed_to_is_not_sent_once_the_tool_is_another(
    turn: Turn, host: HostEra, server: Era
) -> None:
    script = ScriptedUpstream([turn.before, *OTHERS], era=server)
    asked: list[Any] = []

    async def think(_context: object, params: object) -> Any:
        asked.append(params)
        if len(asked) == 1:
            for definition in (tool("t", x=STRING), turn.after):
                await anyio.sleep(FIVE_MINUTES / 2)
                script.change([definition, *OTHERS])
            await anyio.sleep(10)
        assert isinstance(params, types.ElicitRequestFormParams)
        # Whatever the form wants to know beside the yes is answered with its first value.
        fields: dict[str, Any] = params.requested_schema["properties"]
        content = {name: first(of) for name, of in fields.items()}
        return types.ElicitResult.model_validate({"action": "accept", "content": content})

    async with (
        scripted_gateway({"s": script}, approval=ASKING) as gateway,
        gateway.host(host, elicitation_callback=think) as client,
    ):
        await client.list_tools()
        result = await client.call_tool("s__t", dict(turn.old), read_timeout_seconds=1_000)
        assert result.is_error
        assert result.structured_content is not None
        told = result.structured_content["error"]
        assert told["code"] == "schema_changed"
        assert told["details"]["inputSchema"] == turn.after["inputSchema"]
        assert (script.calls, len(asked)) == ([], 1)
        done = await client.call_tool("s__t", dict(turn.new))
        assert not done.is_error
        assert len(asked) == 2, "the yes was for another call"
        assert [params["arguments"] for _, params in script.calls] == [turn.new]


def first(schema: Mapping[str, Any]) -> object:
    """A value that such a field takes."""
    if options := schema.get("enum") or schema.get("oneOf"):
        option = options[0]
        return option["const"] if is_object(option) else option
    return {"boolean": True, "string": "x", "integer": 1, "number": 1}[schema["type"]]


async def test_a_long_thought_about_a_tool_that_only_reads_otherwise_is_no_matter() -> None:
    script = ScriptedUpstream([tool("t", a=STRING), *OTHERS])
    asked: list[Mapping[str, Any]] = []

    async def think(_method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        asked.append(params)
        await anyio.sleep(FIVE_MINUTES)
        script.change([{**tool("t", a=STRING), "description": "In other words."}, *OTHERS])
        await anyio.sleep(10)
        schema = params["requestedSchema"]["properties"]
        return {"action": "accept", "content": {name: first(of) for name, of in schema.items()}}

    requester = Requester(ask=think, capabilities={"elicitation": {"form": {}}})
    async with scripted_crib({"s": script}, approval=ASKING) as (crib, _):
        result = await crib.call("s__t", {"a": "x"}, requester=requester)
        assert result["content"]
        assert (len(asked), len(script.calls)) == (1, 1)
