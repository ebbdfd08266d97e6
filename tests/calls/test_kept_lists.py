"""A host that keeps its list for ever, and calls what is another tool by now."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import pytest

from toolcrib.core.partition import LOCAL, Principal
from toolcrib.core.snapshot import Kind
from toolcrib.facts import CallRefused
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_gateway import HostEra, ScriptedGateway, scripted_gateway

NAMED = Principal(issuer="https://id.example", subject="anna")

Caller = Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]


def of_streams(era: HostEra) -> Callable[[ScriptedGateway], Any]:
    @asynccontextmanager
    async def connect(gateway: ScriptedGateway) -> AsyncGenerator[Caller]:
        async with gateway.host(era) as client:
            await client.list_tools()

            async def call(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
                result = await client.call_tool(name, dict(arguments))
                return result.model_dump(by_alias=True, mode="json", exclude_none=True)

            yield call

    return connect


def of_principal(principal: Principal) -> Callable[[ScriptedGateway], Any]:
    @asynccontextmanager
    async def connect(gateway: ScriptedGateway) -> AsyncGenerator[Caller]:
        await gateway.names(principal=principal)

        async def call(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
            return await gateway.call(name, principal, **arguments)

        yield call

    return connect


HOSTS = {
    "streams-handshake": of_streams("legacy"),
    "streams-modern": of_streams("auto"),
    "local": of_principal(LOCAL),
    "named": of_principal(NAMED),
}


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of the tool `t`, what is still called, and what the answer must lead to."""

    before: dict[str, Any]
    after: list[dict[str, Any]]
    arguments: Mapping[str, Any]
    code: str
    says: str
    corrected: Mapping[str, Any]
    name: str = "s__t"


STRING = {"type": "string"}


def required(definition: dict[str, Any], *names: str) -> dict[str, Any]:
    definition["inputSchema"]["required"] = list(names)
    return definition


CHANGES = {
    "newly required": Change(
        tool("t", a=STRING),
        [required(tool("t", a=STRING, b=STRING), "b")],
        {"a": "x"},
        "schema_changed",
        "`b` is new (required, string)",
        {"a": "x", "b": "y"},
    ),
    "narrowed enum": Change(
        tool("t", unit={"enum": ["c", "k"]}),
        [tool("t", unit={"enum": ["c"]})],
        {"unit": "k"},
        "schema_changed",
        "no longer accepts `k`",
        {"unit": "c"},
    ),
    "narrowed enum, although the argument fits": Change(
        tool("t", unit={"enum": ["c", "k"]}),
        [tool("t", unit={"enum": ["c"]})],
        {"unit": "c"},
        "schema_changed",
        "no longer accepts `k`",
        {"unit": "c"},
    ),
    "another type": Change(
        tool("t", n=STRING),
        [tool("t", n={"type": "integer"})],
        {"n": "1"},
        "schema_changed",
        "`n`: integer, was string",
        {"n": 1},
    ),
    "renamed parameter": Change(
        required(tool("t", duration=STRING), "duration"),
        [
            {
                "name": "t",
                "description": "Does t.",
                "inputSchema": {
                    "type": "object",
                    "properties": {"lookback": STRING},
                    "required": ["lookback"],
                    "additionalProperties": False,
                },
            }
        ],
        {"duration": "1h"},
        "schema_changed",
        "lookback",
        {"lookback": "1h"},
    ),
    "renamed": Change(
        tool("t", a=STRING),
        [tool("fetch", a=STRING)],
        {"a": "x"},
        "tool_gone",
        "s__fetch",
        {"a": "x"},
        name="s__fetch",
    ),
}


@pytest.mark.duty(24)
@pytest.mark.parametrize("signal", [True, False], ids=["told", "untold"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS.keys())
async def test_nothing_is_sent_and_the_answer_leads_to_a_call_that_succeeds(
    host: Callable[[ScriptedGateway], Any], change: Change, *, signal: bool
) -> None:
    # A listing that loses more than half of its tools would be looked at twice first.
    others = [tool("second"), tool("third")]
    script = ScriptedUpstream([change.before, *others])
    with anyio.fail_after(10):
        async with scripted_gateway({"s": script}) as gateway, host(gateway) as call:
            script.change([*change.after, *others], signal=signal)
            if not signal:
                await refreshed(gateway)
            told = error_of(await call("s__t", change.arguments))
            assert told["code"] == change.code
            assert change.says in text_of(told)
            assert told["retry"] == "corrected"
            assert told["details"]["inputSchema"] == change.after[0]["inputSchema"]
            assert script.calls == []
            assert [fact.code for fact in gateway.world.recorder.of(CallRefused)] == [change.code]
            answer = await call(change.name, change.corrected)
            assert not answer.get("isError")
            assert [params["arguments"] for _, params in script.calls] == [dict(change.corrected)]


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS.keys())
async def test_a_removed_tool_is_not_sent_and_others_are_named(
    host: Callable[[ScriptedGateway], Any],
) -> None:
    script = ScriptedUpstream([tool("read_file", a=STRING), tool("write_file"), tool("x")])
    with anyio.fail_after(10):
        async with scripted_gateway({"s": script}) as gateway, host(gateway) as call:
            script.change([tool("write_file"), tool("x")])
            told = error_of(await call("s__read_file", {"a": "x"}))
            assert (told["code"], told["retry"]) == ("tool_gone", "no")
            assert told["details"]["near"] == ["s__write_file"]
            assert script.calls == []
            assert not (await call("s__write_file", {})).get("isError")


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS.keys())
async def test_words_alone_refuse_nothing(host: Callable[[ScriptedGateway], Any]) -> None:
    script = ScriptedUpstream([tool("t", a={**STRING, "description": "old"})])
    with anyio.fail_after(10):
        async with scripted_gateway({"s": script}) as gateway, host(gateway) as call:
            reworded = {**tool("t", a={**STRING, "description": "new"}), "description": "New."}
            script.change([reworded, tool("another")])
            assert not (await call("s__t", {"a": "x"})).get("isError")
            assert len(script.calls) == 1


@pytest.mark.parametrize("shown", ["contract", "digest", "malformed"])
async def test_what_a_caller_says_it_saw_is_held_against_the_contract_alone(shown: str) -> None:
    script = ScriptedUpstream([tool("t", a=STRING)])
    seen: dict[str, Any] = {
        "contract": {"contract": "of-another-time", "digest": "x"},
        "digest": {"digest": "of-another-time"},
        "malformed": {"contract": 3, "digest": None},
    }
    with anyio.fail_after(10):
        async with scripted_gateway({"s": script}) as gateway:
            await gateway.names()
            params = {"name": "s__t", "_meta": {"dev.toolcrib/seen": seen[shown]}}
            answer = await gateway.ask("tools/call", params)
            if shown == "contract":
                assert error_of(answer)["code"] == "schema_changed"
                assert script.calls == []
            else:
                assert not answer.get("isError")


async def test_a_caller_that_says_what_it_saw_needs_no_ledger() -> None:
    script = ScriptedUpstream([tool("t", a=STRING)])
    with anyio.fail_after(10):
        async with scripted_gateway({"s": script}) as gateway:
            (listed,) = (await gateway.ask("tools/list"))["tools"]
            contract = listed["_meta"]["dev.toolcrib/contract"]
            seen = {"dev.toolcrib/seen": {"contract": contract}}
            stranger = Principal(issuer="https://id.example", subject="bert")
            params = {"name": "s__t", "arguments": {"a": "x"}, "_meta": seen}
            assert not (await gateway.ask("tools/call", params, stranger)).get("isError")
            script.change([tool("t", a={"type": "integer"})])
            told = error_of(await gateway.ask("tools/call", params, stranger))
            assert told["code"] == "schema_changed"
            assert "was string" in text_of(told)


async def test_two_callers_of_one_principal_are_told_apart_by_their_connections() -> None:
    script = ScriptedUpstream([tool("t", a=STRING)])
    with anyio.fail_after(10):
        async with scripted_gateway({"s": script}) as gateway, gateway.host() as early:
            await early.list_tools()
            script.change([tool("t", a={"type": "integer"})])
            async with gateway.host() as late:
                await late.list_tools()
                assert not (await late.call_tool("s__t", {"a": 1})).is_error
            assert (await early.call_tool("s__t", {"a": 1})).is_error
            assert not (await early.call_tool("s__t", {"a": 1})).is_error


async def refreshed(gateway: ScriptedGateway) -> None:
    """Somebody else's listing finds the change that nobody told of."""
    catalogs = gateway.crib.catalogs()
    catalogs.invalidate("s", Kind.TOOLS, why="a test")
    await catalogs.renewed("s", Kind.TOOLS)
    named = gateway.crib.catalogs(NAMED)
    named.invalidate("s", Kind.TOOLS, why="a test")
    await named.renewed("s", Kind.TOOLS)


def error_of(result: Mapping[str, Any]) -> dict[str, Any]:
    assert result.get("isError") is True, result
    return {**result["structuredContent"]["error"], "text": result["content"][0]["text"]}


def text_of(told: Mapping[str, Any]) -> str:
    return told["text"]
