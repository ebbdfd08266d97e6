"""Generated tools, arguments and results through gateway and pipeline: every answer is one.

Hosts and servers of both eras stand at the ends. An independent judge (`jsonschema`) looks at what
reached the server and at what came back from it.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import anyio
import jsonschema
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from jsonschema.validators import validator_for
from jsonschema_specifications import REGISTRY as SPECIFICATIONS
from trio.testing import MockClock

from toolcrib.adapters.schema import JsonSchemaChecker
from toolcrib.core.snapshot import Item, Kind
from toolcrib.errors import ToolcribError, UpstreamRefused
from toolcrib.facts import Finding
from toolcrib.ports import Era, Unchecked
from toolcrib.settings import Limits
from toolcrib.testing.hostile_json import DEFINITIONS, PLANNED_CALLS, PlannedCall, Reply
from toolcrib.testing.line_host import LineHost, line_host
from toolcrib.testing.scripted import ScriptedUpstream
from toolcrib.testing.scripted_gateway import ScriptedGateway, scripted_gateway

LIMITS = Limits(argument_bytes=4_000, result_bytes=8_000)
ASKABLE = {"elicitation": {"form": {}}}
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
LONGEST = 10_000.0
"""Seconds, of a clock that jumps: longer than all time-outs of a call and its rounds together."""

CHECKER = JsonSchemaChecker(Limits())
SEEN: Counter[str] = Counter()


@pytest.fixture(scope="module", autouse=True)
def _what_was_seen() -> Iterator[None]:
    SEEN.clear()
    yield
    print(f"\n{json.dumps(dict(sorted(SEEN.items())), indent=1)}")  # noqa: T201 - the counts are wanted


# ---------------------------------------------------------------- judges


def judged(schema: Any, value: Any) -> bool | None:
    """Whether the other judge takes the value; None where it cannot tell."""
    if not isinstance(schema, dict | bool):
        return None
    judge: Any = validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        return judge(schema, registry=SPECIFICATIONS).is_valid(value)
    except Exception:  # noqa: BLE001 - it raises whatever it meets in a strange schema
        return None


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
        asked: Any = reply.body if isinstance(reply.body, dict) else {}
        method, params = asked.get("method"), asked.get("params", {})
        heard: object = "nobody to ask"
        if context is not None and context.ask is not None and isinstance(method, str):
            try:
                heard = await context.ask(method, params if isinstance(params, dict) else {})
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
            scripted_gateway({"s": script}, limits=LIMITS) as made,
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
    shown = listed[plan.tool] if plan.tool < len(listed) else {"name": "s__nobody"}
    contract = shown.get("_meta", {}).get("dev.toolcrib/contract", "")
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
    world.host.replying = lambda _method, _params: (
        plan.answers if isinstance(plan.answers, dict) else {}
    )
    before = len(world.script.calls)
    raw = {} if plan.arguments is None else {"arguments": plan.arguments}
    answer = await world.host.ask("tools/call", params, raw=raw)
    sent = world.script.calls[before:]
    check_sent(world, plan, sent, None if "inputSchema" not in shown else shown, definitions)
    check_answer(world, answer, sent)
    if answer.get("result", {}).get("resultType") == "input_required":
        await another_round(world, plan, params, answer["result"])


async def another_round(
    world: World, plan: PlannedCall, params: Mapping[str, Any], asked: Mapping[str, Any]
) -> None:
    """The call again, with what a host might bring back."""
    SEEN["asked for input"] += 1
    state = asked.get("requestState")
    brought: dict[str, Any] = {**params}
    if plan.returns != "nothing":
        questions = asked.get("inputRequests") or {}
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
        check_answer(world, answer, sent)
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
        if plan.arguments is None:
            assert "arguments" not in params
        else:
            assert same(params["arguments"], json.loads(plan.arguments))
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
    check_unharmed(world, result, world.replied)
    item = world.item(sent[-1][1]["name"])
    promised = item.definition.get("outputSchema") is not None
    if promised and world.replied.get("isError") is not True:
        value = world.replied.get("structuredContent")
        assert holds(world.made, item, "outputSchema", value), world.replied


def refused(result: Mapping[str, Any]) -> dict[str, Any] | None:
    structured = result.get("structuredContent")
    error: Any = structured.get("error") if isinstance(structured, dict) else None
    return error if result.get("isError") is True and isinstance(error, dict) else None


def came_from(replied: Mapping[str, Any] | None, result: Mapping[str, Any]) -> bool:
    return replied is not None and same(
        replied.get("structuredContent"), result.get("structuredContent")
    )


def check_unharmed(world: World, result: Mapping[str, Any], replied: Mapping[str, Any]) -> None:
    """Both forms of the result are those of the server, but for what the era of the host adds."""
    content, given = result["content"], replied.get("content") or []
    assert same(content[: len(given)], given)
    assert len(content) <= len(given) + 1
    if "structuredContent" in result:
        assert same(result["structuredContent"], replied["structuredContent"])
    elif "structuredContent" in replied:
        text = content[-1]["text"]
        assert same(json.loads(text), replied["structuredContent"]), "only its text twin is left"
    assert bool(result.get("isError")) == bool(replied.get("isError"))
    theirs = replied.get("_meta")
    plain = theirs if isinstance(theirs, dict) else {}
    for key, value in result["_meta"].items():
        assert key in OUR_META or same(value, plain[key])
    for key in replied.keys() - {"_meta", "content", "structuredContent", "isError", "resultType"}:
        assert same(result[key], replied[key])
    assert result.get("resultType", "complete") == "complete"
    del world


# ---------------------------------------------------------------- the test

FORM = {"q": {"method": "elicitation/create", "params": {"message": "?"}}}


@pytest.mark.slow
@settings(max_examples=400, suppress_health_check=list(HealthCheck))
@given(
    modern=st.booleans(),
    era=st.sampled_from(["modern", "handshake"]),
    definitions=st.lists(DEFINITIONS, min_size=1, max_size=4),
    plans=st.lists(PLANNED_CALLS, min_size=1, max_size=6),
)
def test_no_call_goes_out_unvalidated_and_every_answer_is_one(
    modern: bool,  # noqa: FBT001 - drawn
    era: Era,
    definitions: list[dict[str, Any]],
    plans: list[PlannedCall],
) -> None:
    clock = MockClock(autojump_threshold=0)
    run = partial(play, modern, era, definitions, plans)
    anyio.run(run, backend="trio", backend_options={"clock": clock})
