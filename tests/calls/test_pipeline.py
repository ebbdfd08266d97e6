"""A call on its way: admitted, confirmed, admitted again, forwarded, answered."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import pytest

from toolcrib.calls.call import Requester, Retry, Seen, ToolCall
from toolcrib.calls.calling import Calls
from toolcrib.calls.pipeline import CHANGES_KEY, Pipeline, Surroundings
from toolcrib.calls.rounds.own_questions import InputNeeded
from toolcrib.core.naming import expose
from toolcrib.core.snapshot import Item, Kind
from toolcrib.errors import (
    BadArguments,
    CatalogTooOld,
    ConfirmationNeeded,
    NotAllowed,
    RefreshFailed,
    SchemaChanged,
    ToolcribError,
    ToolGone,
    UpstreamUnreachable,
)
from toolcrib.facts import CallFailed, CallRefused, Finding
from toolcrib.ports import RequestContext, Unchecked
from toolcrib.settings import Limits, ServerSettings, Waits
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import ScriptedWorld, scripted_crib, server_settings

pytestmark = pytest.mark.virtual_time

STRING = {"type": "string"}
OTHERS = [tool("second"), tool("third")]
OLD = [tool("t", a=STRING), *OTHERS]
NEW = [tool("t", a={"type": "integer"}), *OTHERS]


class Consent:
    """Lets every call go out, after whatever a test wants to happen meanwhile."""

    def __init__(self) -> None:
        self.asked: list[Item] = []
        self.meanwhile: Any = None
        self.refusal: ToolcribError | None = None

    async def confirm(self, call: ToolCall, item: Item) -> None:
        del call
        self.asked.append(item)
        if self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            await meanwhile()
        if self.refusal is not None:
            raise self.refusal


@dataclass
class Line:
    """One pipeline over a scripted server."""

    script: ScriptedUpstream
    pipeline: Pipeline
    calls: Calls
    world: ScriptedWorld
    consent: Consent = field(default_factory=Consent)
    requester: Requester = field(default_factory=Requester)

    async def call(self, key: str = "t", **changes: Any) -> dict[str, Any]:
        call = ToolCall(f"s__{key}", "s", key, {"a": "x"}, requester=self.requester)
        return await self.pipeline.call(replace(call, **changes))

    @property
    def recorder(self) -> Recorder:
        return self.world.recorder

    async def shown(self, *names: str) -> None:
        """The caller was shown these tools as they are published now."""
        snapshot = self.held()
        items = [item for item in snapshot.items if item.key in names]
        await self.calls.ledger.saw(self.requester, "s", items)

    def held(self) -> Any:
        snapshot = self.catalogs.peek("s", Kind.TOOLS).snapshot
        assert snapshot is not None
        return snapshot

    catalogs: Any = None


@asynccontextmanager
async def line(
    script: ScriptedUpstream,
    *,
    limits: Limits | None = None,
    checker: Any = None,
    sending: Any = None,
    **settings: Any,
) -> AsyncGenerator[Line]:
    """A pipeline whose catalog was walked and is at rest."""
    server: ServerSettings = server_settings("s", **settings)
    consent = Consent()
    async with scripted_crib({"s": script}, settings={"s": server}, limits=limits) as (crib, world):
        catalogs, calls, parts = crib.catalogs(), crib.calls(), world.parts()
        await catalogs.read_one("s", Kind.TOOLS)
        await anyio.sleep(10)
        around = Surroundings(
            access=catalogs,
            checker=checker or parts.checker,
            sights=calls.ledger,
            past=calls.past,
            approving=consent,
            sending=sending or calls.rounds,
            shown=expose,
            limits=limits or Limits(),
            observer=world.recorder,
        )
        made = Line(script, Pipeline(around), calls, world, consent)
        made.catalogs = catalogs
        yield made


# ---- admission ----


async def test_a_call_that_fits_goes_out_without_a_walk() -> None:
    async with line(ScriptedUpstream(OLD)) as here:
        walks = here.script.walks[Kind.TOOLS]
        result = await here.call()
        assert result["content"][0]["text"]
        assert here.script.calls == [("tools/call", {"name": "t", "arguments": {"a": "x"}})]
        assert here.script.walks[Kind.TOOLS] == walks
        assert here.recorder.of(CallRefused) == here.recorder.of(CallFailed) == []


async def test_an_invalidated_catalog_is_refreshed_before_a_call() -> None:
    async with line(ScriptedUpstream(OLD)) as here:
        await here.shown("t")
        here.script.change(NEW)
        with pytest.raises(SchemaChanged) as raised:
            await here.call()
        assert raised.value.details["inputSchema"] == NEW[0]["inputSchema"]
        assert here.script.calls == []


async def test_a_catalog_older_than_admit_max_age_is_refreshed_before_a_call() -> None:
    waits = Waits(admit_max_age=60.0)
    async with line(ScriptedUpstream(OLD), waits=waits, strategy="notify+verify") as here:
        await here.shown("t")
        await anyio.sleep(40)
        here.script.change(NEW, signal=False)
        assert (await here.call())["content"]
        await anyio.sleep(30)
        with pytest.raises(SchemaChanged):
            await here.call()


async def test_the_strategy_always_walks_before_each_call() -> None:
    async with line(ScriptedUpstream(OLD), strategy="always") as here:
        await here.shown("t")
        for number in range(3):
            walks = here.script.walks[Kind.TOOLS]
            await here.call()
            assert here.script.walks[Kind.TOOLS] == walks + 1, number
            await anyio.sleep(1)
        here.script.change(NEW, signal=False)
        with pytest.raises(SchemaChanged):
            await here.call()
        assert len(here.script.calls) == 3


async def test_arguments_that_do_not_fit_a_stale_catalog_force_one_refresh_first() -> None:
    async with line(ScriptedUpstream(OLD)) as here:
        here.script.change(NEW, signal=False)
        walks = here.script.walks[Kind.TOOLS]
        assert (await here.call(arguments={"a": 1}))["content"]
        assert here.script.walks[Kind.TOOLS] == walks + 1


async def test_a_tool_that_a_stale_catalog_does_not_have_forces_one_refresh_first() -> None:
    async with line(ScriptedUpstream(OLD)) as here:
        here.script.change([*OLD, tool("u")], signal=False)
        assert (await here.call("u"))["content"]


async def test_a_contract_that_a_stale_catalog_does_not_have_forces_one_refresh_first() -> None:
    async with line(ScriptedUpstream(OLD)) as here:
        here.script.change(NEW, signal=False)
        async with line(ScriptedUpstream(NEW)) as elsewhere:
            contract = elsewhere.held().get("t").contract
        assert (await here.call(arguments={"a": 1}, seen=Seen(contract)))["content"]


async def test_refusals_within_the_interval_cost_no_walk_each() -> None:
    async with line(ScriptedUpstream(OLD)) as here:
        walks = here.script.walks[Kind.TOOLS]
        for _ in range(50):
            with pytest.raises(BadArguments):
                await here.call(arguments={"a": 1})
        assert here.script.walks[Kind.TOOLS] == walks + 1


async def test_a_catalog_that_is_good_by_its_own_hints_is_not_walked_for_a_refusal() -> None:
    async with line(ScriptedUpstream(OLD, ttl_ms=3_600_000)) as here:
        walks = here.script.walks[Kind.TOOLS]
        with pytest.raises(BadArguments):
            await here.call(arguments={"a": 1})
        assert here.script.walks[Kind.TOOLS] == walks


async def test_arguments_that_do_not_fit_are_told_with_their_place() -> None:
    async with line(ScriptedUpstream(OLD)) as here:
        with pytest.raises(BadArguments) as raised:
            await here.call(arguments={"a": 1})
        assert [fault["where"] for fault in raised.value.details["faults"]] == ["a"]
        assert here.recorder.of(CallRefused) == [CallRefused("s", "t", "bad_arguments")]
        assert here.script.calls == []


async def test_arguments_for_the_generation_before_are_told_the_difference() -> None:
    async with line(ScriptedUpstream(OLD)) as here:
        here.script.change(NEW)
        with pytest.raises(SchemaChanged) as raised:
            await here.call()
        assert raised.value.details["changes"] == ["`a`: integer, was string"]


async def test_arguments_that_fitted_neither_generation_are_just_wrong() -> None:
    async with line(ScriptedUpstream(OLD)) as here:
        here.script.change(NEW)
        with pytest.raises(BadArguments):
            await here.call(arguments={"a": []})


async def test_a_server_that_is_away_is_called_from_last_good_and_not_waited_for() -> None:
    async with line(ScriptedUpstream(OLD)) as here:
        here.script.faults.lists = UpstreamUnreachable("gone fishing", server="s")
        here.script.signal()
        await anyio.sleep(5)
        began = anyio.current_time()
        assert (await here.call())["content"]
        assert anyio.current_time() == began


async def test_a_catalog_beyond_max_stale_refuses_calls() -> None:
    waits = Waits(max_stale=100.0)
    async with line(ScriptedUpstream(OLD), waits=waits) as here:
        here.script.faults.lists = UpstreamUnreachable("gone fishing", server="s")
        here.script.signal()
        await anyio.sleep(200)
        with pytest.raises(CatalogTooOld):
            await here.call()
        assert here.recorder.of(CallRefused) == [CallRefused("s", "t", "catalog_too_old")]


async def test_a_server_that_was_never_reached_refuses_calls() -> None:
    script = ScriptedUpstream(OLD)
    script.faults.lists = UpstreamUnreachable("gone fishing", server="s")
    async with line(script) as here:
        with pytest.raises(RefreshFailed, match="gone fishing"):
            await here.call()


async def test_a_server_that_is_not_configured_any_more_has_no_tools() -> None:
    async with line(ScriptedUpstream(OLD)) as here:
        with pytest.raises(ToolGone):
            await here.call(server="other")


async def test_arguments_over_the_limit_are_not_sent() -> None:
    async with line(ScriptedUpstream(OLD), limits=Limits(argument_bytes=100)) as here:
        with pytest.raises(ToolcribError, match="argument_bytes"):
            await here.call(arguments={"a": "x" * 100})
        assert here.script.calls == []


async def test_an_argument_that_json_has_not_is_not_sent() -> None:
    async with line(ScriptedUpstream(OLD)) as here:
        with pytest.raises(BadArguments, match="NaN"):
            await here.call(arguments={"a": float("nan")})
        assert here.script.calls == []


class Doubting:
    """A checker that cannot use any schema."""

    def check(self, schema: object, value: object, *, mark: str) -> Unchecked:
        del schema, value, mark
        return Unchecked("it is too strange")


async def test_what_cannot_be_checked_goes_out_and_is_reported_once() -> None:
    async with line(ScriptedUpstream(OLD), checker=Doubting()) as here:
        for _ in range(3):
            assert (await here.call(arguments={"a": 1}))["content"]
        told = [it for it in here.recorder.of(Finding) if it.code == "schema_unchecked"]
        assert len(told) == 1
        assert "too strange" in told[0].detail


async def test_absent_arguments_stay_absent() -> None:
    async with line(ScriptedUpstream(OLD)) as here:
        await here.call(arguments={}, bare=True)
        await here.call(arguments={})
        assert here.script.calls[0][1] == {"name": "t"}
        assert here.script.calls[1][1] == {"name": "t", "arguments": {}}


@pytest.mark.parametrize("key", ["__proto__", "constructor", "", "a.b", "ключ"])
async def test_arguments_reach_the_server_as_they_were_given(key: str) -> None:
    inner = {"tool_name": "x", "arguments": {key: [1, None, {"b": 2**80}]}}
    async with line(ScriptedUpstream([tool("call_tool"), *OTHERS])) as here:
        await here.call("call_tool", arguments=inner)
        assert here.script.calls[0][1]["arguments"] == inner


async def test_the_schema_and_the_wishes_of_the_caller_go_with_the_call() -> None:
    async def heard(_method: str, _params: Mapping[str, Any]) -> None: ...

    here_is = Requester(heard=heard, log_level="debug", capabilities={"elicitation": {}})
    async with line(ScriptedUpstream(OLD)) as here:
        here.requester = here_is
        await here.call(meta={"traceparent": "x"})
        context = here.script.contexts[0]
        assert context is not None
        assert context.input_schema == OLD[0]["inputSchema"]
        assert (context.heard is None, context.log_level) == (False, "debug")
        assert here.script.calls[0][1]["_meta"] == {"traceparent": "x"}


@pytest.mark.parametrize(
    ("meta", "sent"),
    [
        (None, None),
        ({"own": 1}, None),
        ({"dev.toolcrib/contract": 3}, None),
        ({"dev.toolcrib/contract": "c"}, {"dev.toolcrib/seen": {"contract": "c"}}),
    ],
    ids=str,
)
async def test_a_peer_that_speaks_of_contracts_is_told_what_was_seen(
    meta: object, sent: object
) -> None:
    definition = OLD[0] if meta is None else {**OLD[0], "_meta": meta}
    async with line(ScriptedUpstream([definition, *OTHERS])) as here:
        await here.call()
        assert here.script.calls[0][1].get("_meta") == sent


# ---- consent ----


async def test_a_call_whose_tool_changed_while_a_person_thought_is_refused() -> None:
    async with line(ScriptedUpstream(OLD)) as here:
        await here.shown("t")

        async def think() -> None:
            await anyio.sleep(100)
            here.script.change([tool("t", a=STRING, b=STRING), *OTHERS])
            await anyio.sleep(100)
            here.script.change(NEW)
            await anyio.sleep(100)

        here.consent.meanwhile = think
        with pytest.raises(SchemaChanged) as raised:
            await here.call()
        assert raised.value.details["changes"] == ["`a`: integer, was string"]
        assert here.script.calls == []


async def test_a_change_that_is_only_signalled_while_a_person_thinks_counts_too() -> None:
    async with line(ScriptedUpstream(OLD)) as here:
        await here.shown("t")

        async def think() -> None:
            here.script.change(NEW)

        here.consent.meanwhile = think
        with pytest.raises(SchemaChanged):
            await here.call()
        assert here.script.calls == []


async def test_a_change_that_nobody_tells_of_while_a_person_thinks_is_looked_for() -> None:
    async with line(ScriptedUpstream(OLD), strategy="notify+verify") as here:
        await here.shown("t")

        async def think() -> None:
            here.script.change(NEW, signal=False)
            await anyio.sleep(300)

        here.consent.meanwhile = think
        with pytest.raises(SchemaChanged):
            await here.call()
        assert here.script.calls == []


async def test_what_was_not_known_to_be_seen_is_consented_to_anew_when_it_changed() -> None:
    any_a = [tool("t", a={"type": ["string", "null"]}), *OTHERS]
    async with line(ScriptedUpstream(OLD)) as here:

        async def think() -> None:
            here.script.change(any_a)
            await anyio.sleep(100)

        here.consent.meanwhile = think
        assert (await here.call())["content"]
        assert len({item.contract for item in here.consent.asked}) == 2


async def test_a_long_thought_over_an_unchanged_tool_asks_once() -> None:
    async with line(ScriptedUpstream(OLD)) as here:

        async def think() -> None:
            await anyio.sleep(300)

        here.consent.meanwhile = think
        assert (await here.call())["content"]
        assert len(here.consent.asked) == 1


@pytest.mark.parametrize(
    "refusal",
    [NotAllowed("no", server="s"), ConfirmationNeeded("wait", server="s")],
    ids=lambda it: it.code,
)
async def test_a_call_without_consent_is_not_sent(refusal: ToolcribError) -> None:
    async with line(ScriptedUpstream(OLD)) as here:
        here.consent.refusal = refusal
        with pytest.raises(type(refusal)):
            await here.call()
        assert here.script.calls == []
        assert here.recorder.of(CallRefused) == [CallRefused("s", "t", refusal.code)]


async def test_a_question_to_the_caller_is_the_result() -> None:
    asking = InputNeeded({"resultType": "input_required", "inputRequests": {}}, server="s")
    async with line(ScriptedUpstream(OLD)) as here:
        here.consent.refusal = asking
        assert await here.call() == {"resultType": "input_required", "inputRequests": {}}
        assert here.script.calls == []
        assert here.recorder.of(CallRefused) == []


async def test_a_call_that_does_not_fit_is_nobodys_question() -> None:
    async with line(ScriptedUpstream(OLD)) as here:
        with pytest.raises(BadArguments):
            await here.call(arguments={"a": 1})
        assert here.consent.asked == []


# ---- under way ----


async def test_a_call_under_way_finishes_on_what_it_was_admitted_with() -> None:
    promised = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    script = ScriptedUpstream([{**tool("t", a=STRING), "outputSchema": promised}, *OTHERS])

    async def change(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        script.change([{**NEW[0], "outputSchema": {"type": "array"}}, *OTHERS])
        await anyio.sleep(5)
        return {"content": [], "structuredContent": {"n": 1}}

    script.on_call = change
    async with line(script) as here:
        assert (await here.call())["structuredContent"] == {"n": 1}


async def test_what_a_call_changes_travels_with_its_result() -> None:
    script = ScriptedUpstream(OLD)

    async def change(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        script.change([*OLD, tool("u")])
        return {"content": [], "_meta": {"own": 1, "dev.toolcrib/changes": "forged"}}

    script.on_call = change
    async with line(script) as here:
        began = anyio.current_time()
        result = await here.call()
        assert result["_meta"] == {"own": 1, CHANGES_KEY: ["`u` was added"]}
        assert anyio.current_time() - began < 1.0
        assert here.held().get("u") is not None


async def test_a_refresh_that_takes_long_holds_a_result_back_for_a_second_at_most() -> None:
    script = ScriptedUpstream(OLD)

    async def change(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        script.latency = 30.0
        script.change([*OLD, tool("u")])
        return {"content": []}

    script.on_call = change
    async with line(script, waits=Waits(list_wait=20.0)) as here:
        began = anyio.current_time()
        assert "_meta" not in await here.call()
        assert 0.9 < anyio.current_time() - began <= 1.1


async def test_a_result_is_not_held_back_where_nothing_was_signalled() -> None:
    async with line(ScriptedUpstream(OLD)) as here:
        here.script.faults.lists = UpstreamUnreachable("gone fishing", server="s")
        here.script.signal()
        await anyio.sleep(5)
        began = anyio.current_time()
        await here.call()
        assert anyio.current_time() == began


async def test_a_server_that_is_taken_out_in_mid_call_still_answers() -> None:
    script = ScriptedUpstream(OLD)
    async with line(script) as here:

        async def leave(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
            here.catalogs.remove("s")
            return {"content": []}

        script.on_call = leave
        assert (await here.call())["content"] == []


class Open:
    """Sends as the rounds do, and holds every retry for one of an open call."""

    def __init__(self) -> None:
        self.sent: list[Item] = []

    def continues(self, call: ToolCall) -> bool:
        return call.retry is not None

    async def send(
        self, call: ToolCall, item: Item, params: Mapping[str, Any], context: RequestContext
    ) -> dict[str, Any]:
        del call, params, context
        self.sent.append(item)
        return {"content": []}


async def test_a_call_that_is_open_at_its_server_goes_on_although_its_tool_changed() -> None:
    opened = Open()
    async with line(ScriptedUpstream(OLD), sending=opened) as here:
        await here.shown("t")
        here.script.change(NEW)
        await anyio.sleep(5)
        assert (await here.call(retry=Retry("state")))["content"] == []
        with pytest.raises(SchemaChanged):
            await here.call()
        assert len(opened.sent) == 1
