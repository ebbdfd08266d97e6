"""Generated tools, arguments and results through gateway and pipeline: every answer is one.

Hosts and servers of both eras stand at the ends. An independent judge (`jsonschema`) looks at what
reached the server and at what came back from it.
"""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import anyio
import jsonschema
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from jsonschema.validators import validator_for
from jsonschema_specifications import (  # pyright: ignore[reportMissingTypeStubs] - it has none
    REGISTRY as SPECIFICATIONS,
)
from trio.testing import MockClock

from toolcrib.adapters.schema import JsonSchemaChecker
from toolcrib.core.jsontypes import is_object
from toolcrib.core.snapshot import Item, Kind
from toolcrib.errors import ToolcribError, UpstreamRefused
from toolcrib.facts import Finding
from toolcrib.ports import Era, Unchecked
from toolcrib.settings import GatewaySettings, Limits
from toolcrib.testing.hostile_json import DEFINITIONS, PLANNED_CALLS, PlannedCall, Reply
from toolcrib.testing.line_host import LineHost, line_host
from toolcrib.testing.scripted import ScriptedUpstream
from toolcrib.testing.scripted_gateway import ScriptedGateway, scripted_gateway
from toolcrib.wire.faults import RpcFault

EVERYTHING = GatewaySettings(exposure="full")
LIMITS = Limits(argument_bytes=4_000, result_bytes=8_000)
ASKABLE: dict[str, Any] = {"elicitation": {"form": {}}}
ALLOWED = {-32700, -32600, -32601, -32602, -32020, -32021, -32022}
REFUSALS = {
    "schema_changed",
    "tool_gone",
    "bad_arguments",
    "not_allowed",
    "changed_silently",
    "result_invalid",
    "limit_exceeded",
    "server_error",
    "refresh_failed",
    "server_unavailable",
    "timeout",
}
OUR_META = {"io.modelcontextprotocol/serverInfo", "dev.toolcrib/digest", "dev.toolcrib/changes"}
NOBODY = 9
"""A planned call of a tool that is none."""

LONGEST = 10_000.0
"""Seconds, of a clock that jumps: longer than all time-outs of a call and its rounds together."""

CHECKER = JsonSchemaChecker(Limits())
SEEN: Counter[str] = Counter()
WANTED = {
    "asked for input",
    "calls sent",
    "checked inputSchema",
    "checked outputSchema",
    "error -32602",
    "error -32700",
    "refused after it was sent: limit_exceeded",
    "refused after it was sent: result_invalid",
    "refused after it was sent: server_error",
    "refused before it was sent: bad_arguments",
    "refused before it was sent: limit_exceeded",
    "refused before it was sent: schema_changed",
    "results handed over",
    "results with isError",
    "rounds",
    "tools kept out",
    "unchecked inputSchema",
    "unchecked outputSchema",
}
"""What has to come about, or little was proved."""


# ---------------------------------------------------------------- judges


def judged(schema: Any, value: Any) -> bool | None:
    """Whether the other judge takes the value; None where it cannot tell."""
    if not (is_object(schema) or isinstance(schema, bool)):
        return None
    judge: Any = validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        return judge(schema, registry=SPECIFICATIONS).is_valid(value)
    except Exception:  # noqa: BLE001 - it raises whatever it meets in a strange schema
        return None


def object_in(value: object) -> dict[str, Any]:
    """The value where it is an object, else an empty one."""
    return value if is_object(value) else {}


def same(one: object, other: object) -> bool:
    """Whether two values are equal as JSON, in whatever order their members stand."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def holds(made: ScriptedGateway, item: Item, member: str, value: Any) -> bool:
    """Whether the value fits the schema as both judges see it, or was reported as not checked."""
    schema = item.definition.get(member)
    mark = f"{item.contract}/{member}"
    found = CHECKER.check(schema, value, mark=mark)
    if isinstance(found, Unchecked):
        SEEN[f"unchecked {member}"] += 1
        told = [one for one in made.recorder.of(Finding) if one.code == "schema_unchecked"]
        return any(one.detail.startswith(member) for one in told)
    SEEN[f"checked {member}"] += 1
    return found == () and judged(schema, value) is True


# ---------------------------------------------------------------- one world


class World:
    """One gateway, one server, one host, and what the last of its calls came to."""

    def __init__(self, made: ScriptedGateway, script: ScriptedUpstream, host: LineHost) -> None:
        self.made = made
        self.script = script
        self.host = host
        self.replied: dict[str, Any] | None = None
        """The last result that the server gave to the call under way."""

    def item(self, key: str) -> Item:
        """The tool as it is published."""
        snapshot = self.made.crib.catalogs().peek("s", Kind.TOOLS).snapshot
        found = None if snapshot is None else snapshot.get(key)
        assert found is not None, f"{key!r} was called, and is not published"
        return found

    def serve(self, reply: Reply) -> None:
        """Let the server do this once, and then answer soundly."""
        todo = [reply]
        self.replied = None

        async def on_call(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
            last = {"content": [{"type": "text", "text": "done"}]}
            answered = await self._replied(todo.pop()) if todo else last
            self.replied = answered
            return answered

        self.script.on_call = on_call

    async def _replied(self, reply: Reply) -> dict[str, Any]:
        if reply.kind == "error":
            raise UpstreamRefused(reply.body, rpc_code=reply.code, data={"x": 1}, server="s")
        if reply.kind != "question":
            return reply.body
        context = self.script.contexts[-1]
        asked = object_in(reply.body)
        method, params = asked.get("method"), object_in(asked.get("params"))
        heard: object = "nobody to ask"
        if context is not None and context.ask is not None and isinstance(method, str):
            try:
                heard = await context.ask(method, params)
            except ToolcribError as error:
                heard = error.code
        return {"content": [{"type": "text", "text": json.dumps(heard)}]}


async def play(
    modern: bool,  # noqa: FBT001 - drawn
    era: Era,
    definitions: Sequence[dict[str, Any]],
    plans: Sequence[PlannedCall],
) -> None:
    numbered = [{**one, "description": f"number {n}"} for n, one in enumerate(definitions)]
    script = ScriptedUpstream(numbered, era=era)
    with anyio.fail_after(LONGEST):
        async with (
            scripted_gateway({"s": script}, limits=LIMITS, gateway=EVERYTHING) as made,
            line_host(made.gateway, modern=modern, capabilities=ASKABLE) as host,
        ):
            world = World(made, script, host)
            listed = (await host.ask("tools/list"))["result"]["tools"]
            SEEN["tools listed"] += len(listed)
            SEEN["tools kept out"] += len(numbered) - len(listed)
            for plan in plans:
                await one_call(world, plan, listed, numbered)


async def one_call(
    world: World,
    plan: PlannedCall,
    listed: Sequence[dict[str, Any]],
    definitions: Sequence[dict[str, Any]],
) -> None:
    known = bool(listed) and plan.tool != NOBODY
    nobody: dict[str, Any] = {"name": "s__nobody"}
    shown = listed[plan.tool % len(listed)] if known else nobody
    contract = object_in(shown.get("_meta")).get("dev.toolcrib/contract", "")
    params: dict[str, Any] = {"name": shown["name"]}
    claims: dict[str, Any] = {
        "": None,
        "listed": {"contract": contract},
        "forged": {"contract": "0" * 64},
        "broken": {"contract": 7, "digest": []},
    }
    if plan.seen:
        params["_meta"] = {"dev.toolcrib/seen": claims[plan.seen]}
    world.serve(plan.reply)
    world.host.replying = lambda _method, _params: object_in(plan.answers)
    before = len(world.script.calls)
    raw = {} if plan.arguments is None else {"arguments": plan.arguments}
    answer = await world.host.ask("tools/call", params, raw=raw)
    sent = world.script.calls[before:]
    check_sent(world, plan, sent, shown if known else None, definitions)
    check_answer(world, answer, sent)
    await in_process(world, plan, shown["name"])
    if answer.get("result", {}).get("resultType") == "input_required":
        await another_round(world, plan, params, answer["result"])


async def in_process(world: World, plan: PlannedCall, name: str) -> None:
    """What no line can carry is refused as well where no line is written."""
    if plan.arguments is None or "NaN" not in plan.arguments:
        return
    before = len(world.script.calls)
    arguments = {"a": [math.nan, -math.inf]}
    told: dict[str, Any] | None = {}
    try:
        told = refused(await world.made.ask("tools/call", {"name": name, "arguments": arguments}))
    except RpcFault as fault:
        told["code"] = fault.code
    assert told is not None
    assert told["code"] in {"bad_arguments", "schema_changed", -32602}
    assert len(world.script.calls) == before
    SEEN["no JSON, in process"] += 1


async def another_round(
    world: World, plan: PlannedCall, params: Mapping[str, Any], asked: Mapping[str, Any]
) -> None:
    """The call again, with what a host might bring back."""
    SEEN["asked for input"] += 1
    state = asked.get("requestState")
    brought: dict[str, Any] = {**params}
    if plan.returns != "nothing":
        questions = object_in(asked.get("inputRequests"))
        brought["inputResponses"] = dict.fromkeys(questions, plan.answers)
        if isinstance(state, str):
            changed = state[:-1] + ("A" if state[-1:] != "A" else "B")
            brought["requestState"] = changed if plan.returns == "changed" else state
    raw = {} if plan.arguments is None else {"arguments": plan.arguments}
    for _ in range(2 if plan.returns == "again" else 1):
        before = len(world.script.calls)
        answer = await world.host.ask("tools/call", brought, raw=raw)
        sent = world.script.calls[before:]
        if plan.returns == "changed" and isinstance(state, str):
            assert not sent, "a state that nobody sealed was taken"
        # A call that waited in a server of the handshake era is answered, not sent again.
        check_answer(world, answer, sent or world.script.calls[-1:])
        SEEN["rounds"] += 1


# ---------------------------------------------------------------- what must hold


def check_sent(
    world: World,
    plan: PlannedCall,
    sent: Sequence[tuple[str, Mapping[str, Any]]],
    shown: dict[str, Any] | None,
    definitions: Sequence[dict[str, Any]],
) -> None:
    """Only what was meant reaches the server, under its own name, and as its schema wants it."""
    SEEN["calls sent" if sent else "calls not sent"] += 1
    if not sent:
        return
    assert shown is not None, "a name that is listed nowhere was called"
    assert plan.seen != "forged", "a call was sent that was made from another contract"
    assert len(sent) <= (2 if plan.reply.kind != "asks" else LIMITS.rounds + 1)
    number = int(shown["description"].removeprefix("number "))
    for method, params in sent:
        assert method == "tools/call"
        assert params["name"] == definitions[number]["name"], "it went to another tool"
        assert params.get("_meta", {}).keys() <= {"dev.toolcrib/seen"}
        if plan.arguments in {None, "null"}:
            assert "arguments" not in params
        else:
            assert same(params["arguments"], json.loads(plan.arguments or ""))
        item = world.item(params["name"])
        assert holds(world.made, item, "inputSchema", params.get("arguments", {})), params


def check_answer(
    world: World,
    answer: Mapping[str, Any],
    sent: Sequence[tuple[str, Mapping[str, Any]]],
) -> None:
    """It is a result or an allowed error; what comes from the server came from there unharmed."""
    assert ("result" in answer) != ("error" in answer)
    if "error" in answer:
        error = answer["error"]
        assert error["code"] in ALLOWED, error
        assert "Traceback" not in error["message"]
        SEEN[f"error {error['code']}"] += 1
        return
    result = answer["result"]
    if result.get("resultType") == "input_required":
        assert result.get("inputRequests") or isinstance(result.get("requestState"), str)
        return
    assert isinstance(result["content"], list)
    refusal = refused(result)
    if refusal is not None and not came_from(world.replied, result):
        assert refusal["code"] in REFUSALS, refusal
        assert "Traceback" not in refusal["message"]
        when = "after it was sent" if sent else "before it was sent"
        SEEN[f"refused {when}: {refusal['code']}"] += 1
        return
    assert sent, "a result came that no server gave"
    assert world.replied is not None
    SEEN["results handed over"] += 1
    if result.get("isError") is True:
        SEEN["results with isError"] += 1
    check_unharmed(result, world.replied)
    item = world.item(sent[-1][1]["name"])
    promised = item.definition.get("outputSchema") is not None
    if promised and world.replied.get("isError") is not True:
        value = world.replied.get("structuredContent")
        assert holds(world.made, item, "outputSchema", value), world.replied


def refused(result: Mapping[str, Any]) -> dict[str, Any] | None:
    error = object_in(result.get("structuredContent")).get("error")
    return error if result.get("isError") is True and is_object(error) else None


def came_from(replied: Mapping[str, Any] | None, result: Mapping[str, Any]) -> bool:
    return replied is not None and same(
        replied.get("structuredContent"), result.get("structuredContent")
    )


def check_unharmed(result: Mapping[str, Any], replied: Mapping[str, Any]) -> None:
    """Both forms of the result are those of the server, but for what the era of the host adds."""
    content: list[Any] = result["content"]
    given: list[Any] = replied.get("content") or []
    assert same(content[: len(given)], given)
    assert len(content) <= len(given) + 1
    if "structuredContent" in result:
        assert same(result["structuredContent"], replied["structuredContent"])
    elif "structuredContent" in replied:
        text = content[-1]["text"]
        assert same(json.loads(text), replied["structuredContent"]), "only its text twin is left"
    assert bool(result.get("isError")) == bool(replied.get("isError"))
    plain = object_in(replied.get("_meta"))
    for key, value in result["_meta"].items():
        assert key in OUR_META or same(value, plain[key])
    for key in replied.keys() - {"_meta", "content", "structuredContent", "isError", "resultType"}:
        assert same(result[key], replied[key])
    assert result.get("resultType", "complete") == "complete"


# ---------------------------------------------------------------- the test

TYPED: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}
FORM = {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": TYPED}}
ASKING = Reply("asks", {"resultType": "input_required", "inputRequests": {"q": FORM}})


@settings(
    max_examples=300, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(
    modern=st.booleans(),
    era=st.sampled_from(["modern", "handshake"]),
    definitions=st.lists(DEFINITIONS, min_size=1, max_size=4),
    plans=st.lists(PLANNED_CALLS, min_size=1, max_size=6),
)
@example(
    modern=True,
    era="modern",
    definitions=[
        {"name": "one", "inputSchema": TYPED},
        {"name": "two", "inputSchema": TYPED, "outputSchema": {"type": "object", "$ref": "#/x"}},
    ],
    plans=[
        PlannedCall(0, "{}", reply=ASKING, answers={"action": "accept", "content": {"a": "x"}}),
        PlannedCall(0, json.dumps({"a": "x" * 4_000})),
        PlannedCall(0, "{}", reply=Reply("result", {"content": [], "extra": "y" * 9_000})),
        PlannedCall(1, "{}", reply=Reply("result", {"content": [], "structuredContent": {}})),
    ],
)
def generated(
    modern: bool,  # noqa: FBT001 - drawn
    era: Era,
    definitions: list[dict[str, Any]],
    plans: list[PlannedCall],
) -> None:
    clock = MockClock(autojump_threshold=0)
    run = partial(play, modern, era, definitions, plans)
    anyio.run(run, backend="trio", backend_options={"clock": clock})


@pytest.mark.hypothesis
@pytest.mark.slow
def test_no_call_goes_out_unvalidated_and_every_answer_is_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    SEEN.clear()
    generated()
    with capsys.disabled():
        print(f"\n{json.dumps(dict(sorted(SEEN.items())), indent=1)}")  # noqa: T201 - wanted
    assert SEEN.keys() >= WANTED
