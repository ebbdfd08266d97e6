"""What a server's refusal of a call comes down to, once its catalog was looked at again."""

from collections.abc import Callable, Mapping
from typing import Any

import anyio
import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.errors import (
    AuthRequired,
    LimitExceeded,
    RateLimited,
    RequestTimedOut,
    TooBusy,
    ToolcribError,
    UpstreamRefused,
    UpstreamUnreachable,
)
from toolcrib.facts import CallFailed, CallRefused, Finding
from toolcrib.settings import Waits
from toolcrib.testing.gateway_rig import refused
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import server_settings
from toolcrib.testing.scripted_gateway import ScriptedGateway, scripted_gateway

pytestmark = pytest.mark.virtual_time

STRING = {"type": "string"}
OTHERS = [tool("second"), tool("third")]
OLD = [tool("t", a=STRING), *OTHERS]
NEW = [tool("t", a={"type": "integer"}), *OTHERS]
GONE = OTHERS
RENAMED = [tool("fetch", a=STRING), *OTHERS]


def rpc(code: int, text: str) -> Callable[[], dict[str, Any]]:
    def answer() -> dict[str, Any]:
        raise UpstreamRefused(text, rpc_code=code)

    return answer


def error(text: str) -> Callable[[], dict[str, Any]]:
    return lambda: {"content": [{"type": "text", "text": text}], "isError": True}


UNKNOWN = {
    "-32602": rpc(-32602, "Unknown tool: t"),
    "-32601": rpc(-32601, "no such method"),
    "-32002": rpc(-32002, "nothing here"),
    "isError": error("Unknown tool: t"),
    "not found": error("Tool t not found"),
}
WRONG = {
    "-32602": rpc(-32602, "a must be an integer"),
    "lowlevel": error("Input validation error: 'x' is not of type 'integer'"),
    "typescript": error("MCP error -32602: Invalid arguments for tool t"),
    "fastmcp": error("Error executing tool t: 1 validation error for tArguments"),
    "fastmcp 2": error("1 validation error for call[t]"),
}
COMPLAINTS = {**{f"tool {k}": v for k, v in UNKNOWN.items()}, **WRONG}


class Server(ScriptedUpstream):
    """Answers calls as a server that was replaced: it knows what it lists now, and nothing else."""

    def __init__(self, answer: Callable[[], dict[str, Any]]) -> None:
        super().__init__(OLD)
        self.answer = answer
        self.on_call = self._call

    async def _call(self, _method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        return self.answer()


def ok() -> dict[str, Any]:
    return {"content": [{"type": "text", "text": "done"}]}


async def settled(gateway: ScriptedGateway) -> None:
    """The host has its listing, and all walks of the start are over."""
    await gateway.names()
    await anyio.sleep(10)


def codes(gateway: ScriptedGateway) -> list[str]:
    return [fact.code for fact in gateway.world.recorder.of(CallFailed)]


def found(gateway: ScriptedGateway) -> list[str]:
    return [fact.code for fact in gateway.world.recorder.of(Finding)]


@pytest.mark.parametrize("answer", COMPLAINTS.values(), ids=COMPLAINTS.keys())
@pytest.mark.parametrize(
    ("now", "cause"),
    [(NEW, "schema_changed"), (GONE, "tool_gone"), (RENAMED, "tool_gone")],
    ids=["changed", "gone", "renamed"],
)
async def test_a_server_that_changed_without_telling_is_found_out_by_its_refusal(
    now: list[dict[str, Any]], cause: str, answer: Callable[[], dict[str, Any]]
) -> None:
    script = Server(answer)
    async with scripted_gateway({"s": script}) as gateway:
        await settled(gateway)
        script.change(now, signal=False)
        result = await gateway.call("s__t", a="1")
        told = refused(result)
        assert (told["code"], told["details"]["cause"]) == ("changed_silently", cause)
        assert "had not told" in result["content"][0]["text"]
        assert codes(gateway) == ["changed_silently"]
        assert "changed_silently" in found(gateway)
        assert gateway.world.recorder.of(CallRefused) == []
        if now is NEW:
            assert told["retry"] == "corrected"
            assert told["details"]["inputSchema"] == NEW[0]["inputSchema"]
            script.answer = ok
            assert not (await gateway.call("s__t", a=1)).get("isError")
        if now is GONE:
            assert told["retry"] == "no"
        if now is RENAMED:
            assert told["retry"] == "corrected"
            assert told["details"]["renamed"] == "s__fetch"
            script.answer = ok
            assert not (await gateway.call("s__fetch", a="1")).get("isError")


@pytest.mark.parametrize("answer", COMPLAINTS.values(), ids=COMPLAINTS.keys())
@pytest.mark.parametrize(
    ("now", "code"), [(NEW, "schema_changed"), (GONE, "tool_gone")], ids=["changed", "gone"]
)
async def test_a_change_that_was_told_in_mid_call_is_no_silent_one(
    now: list[dict[str, Any]], code: str, answer: Callable[[], dict[str, Any]]
) -> None:
    script = Server(answer)

    async def change_and_refuse(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        script.change(now)
        return answer()

    script.on_call = change_and_refuse
    async with scripted_gateway({"s": script}) as gateway:
        await settled(gateway)
        assert refused(await gateway.call("s__t", a="1"))["code"] == code
        assert codes(gateway) == [code]
        assert "changed_silently" not in found(gateway)


@pytest.mark.parametrize("answer", WRONG.values(), ids=WRONG.keys())
async def test_arguments_that_only_the_server_refuses_are_told_in_its_own_words(
    answer: Callable[[], dict[str, Any]],
) -> None:
    script = Server(answer)
    async with scripted_gateway({"s": script}) as gateway:
        await settled(gateway)
        walks = script.walks[Kind.TOOLS]
        result = await gateway.call("s__t", a="1")
        assert result["isError"]
        if answer is WRONG["-32602"]:
            told = refused(result)
            assert (told["code"], told["retry"]) == ("bad_arguments", "corrected")
            assert "a must be an integer" in told["message"]
            assert codes(gateway) == ["bad_arguments"]
        else:
            assert result["content"] == answer()["content"]
        assert script.walks[Kind.TOOLS] == walks + 1


async def test_a_tool_that_a_server_lists_and_denies_is_reported() -> None:
    script = Server(UNKNOWN["-32602"])
    async with scripted_gateway({"s": script}) as gateway:
        await settled(gateway)
        told = refused(await gateway.call("s__t", a="1"))
        assert told["code"] == "server_error"
        assert "Unknown tool: t" in told["message"]
        assert "listed_tool_denied" in found(gateway)


async def test_a_refresh_that_fails_is_told_as_such() -> None:
    script = Server(UNKNOWN["-32602"])
    async with scripted_gateway({"s": script}) as gateway:
        await settled(gateway)
        script.faults.lists = UpstreamUnreachable("gone fishing", server="s")
        told = refused(await gateway.call("s__t", a="1"))
        assert (told["code"], told["retry"]) == ("refresh_failed", "later")
        assert "Unknown tool: t" in told["message"]
        assert codes(gateway) == ["refresh_failed"]


async def test_a_right_that_is_gone_is_told_as_such() -> None:
    script = Server(UNKNOWN["-32602"])
    async with scripted_gateway({"s": script}) as gateway:
        await settled(gateway)
        script.faults.lists = AuthRequired("sign in", server="s")
        told = refused(await gateway.call("s__t", a="1"))
        assert (told["code"], told["retry"]) == ("not_allowed", "no")
        assert codes(gateway) == ["not_allowed"]


async def test_a_servers_error_that_speaks_of_rights_is_told_as_such() -> None:
    script = Server(rpc(-32000, "Permission denied: needs admin"))
    async with scripted_gateway({"s": script}) as gateway:
        await settled(gateway)
        told = refused(await gateway.call("s__t", a="1"))
        assert told["code"] == "not_allowed"
        assert "needs admin" in told["message"]


STOPPED = {
    "server_unavailable": UpstreamUnreachable("hung up", server="s"),
    "timeout": RequestTimedOut("no answer", server="s"),
    "auth_required": AuthRequired("sign in", server="s"),
    "rate_limited": RateLimited("slow down", server="s"),
    "limit_exceeded": LimitExceeded("too large", server="s"),
    "server_error": UpstreamRefused("boom", rpc_code=-32603),
}


@pytest.mark.parametrize(("code", "stopped"), STOPPED.items(), ids=STOPPED.keys())
async def test_what_else_stops_a_call_has_a_code_of_its_own_and_is_never_sent_again(
    code: str, stopped: ToolcribError
) -> None:
    def stop() -> dict[str, Any]:
        raise stopped

    script = Server(stop)
    async with scripted_gateway({"s": script}) as gateway:
        await settled(gateway)
        walks = script.walks[Kind.TOOLS]
        assert refused(await gateway.call("s__t", a="1"))["code"] == code
        assert codes(gateway) == [code]
        assert len(script.calls) == 1
        await anyio.sleep(1)
        # What may be seen may be another thing, too, with other credentials.
        assert script.walks[Kind.TOOLS] == walks + (code == "auth_required")


@pytest.mark.parametrize(
    ("limit", "retry"),
    [
        (LimitExceeded("too large", server="s"), "corrected"),
        (TooBusy("queue", server="s"), "later"),
    ],
)
async def test_a_limit_is_got_round_by_asking_for_less_or_by_waiting(
    limit: ToolcribError, retry: str
) -> None:
    def stop() -> dict[str, Any]:
        raise limit

    async with scripted_gateway({"s": Server(stop)}) as gateway:
        await settled(gateway)
        told = refused(await gateway.call("s__t", a="1"))
        assert (told["code"], told["retry"]) == ("limit_exceeded", retry)


async def test_a_tools_own_error_is_handed_on_as_it_is() -> None:
    script = Server(error("boom: disk full"))
    async with scripted_gateway({"s": script}) as gateway:
        await settled(gateway)
        walks = script.walks[Kind.TOOLS]
        result = await gateway.call("s__t", a="1")
        assert result["isError"]
        assert result["content"] == [{"type": "text", "text": "boom: disk full"}]
        assert "structuredContent" not in result
        assert codes(gateway) == []
        assert script.walks[Kind.TOOLS] == walks


@pytest.mark.parametrize("pause", [0.0, 0.05, 0.5])
async def test_a_model_that_goes_on_with_a_failing_call_costs_one_walk_per_interval(
    pause: float,
) -> None:
    script = Server(UNKNOWN["-32602"])
    settings = server_settings("s", waits=Waits(min_interval=2.0))
    async with scripted_gateway({"s": script}, settings={"s": settings}) as gateway:
        await settled(gateway)
        walks, began = script.walks[Kind.TOOLS], anyio.current_time()
        for _ in range(100):
            assert refused(await gateway.call("s__t", a="1"))["code"] == "server_error"
            await anyio.sleep(pause)
        passed = anyio.current_time() - began
        assert 1 <= script.walks[Kind.TOOLS] - walks <= 1 + passed / 2.0


async def test_a_contradiction_within_the_interval_is_made_up_for_after_it() -> None:
    script = Server(UNKNOWN["-32602"])
    async with scripted_gateway({"s": script}) as gateway:
        await settled(gateway)
        assert refused(await gateway.call("s__t", a="1"))["code"] == "server_error"
        script.change(NEW, signal=False)
        assert refused(await gateway.call("s__t", a="1"))["code"] == "server_error"
        await anyio.sleep(3)
        sent = len(script.calls)
        told = refused(await gateway.call("s__t", a="1"))
        assert told["code"] == "schema_changed"
        assert len(script.calls) == sent


@pytest.mark.parametrize("code", [-32020, -32022])
async def test_a_call_that_was_turned_away_at_the_door_is_sent_once_more(code: int) -> None:
    script = Server(rpc(code, "headers"))
    seen: list[int] = []

    async def turn_away_once(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        seen.append(script.walks[Kind.TOOLS])
        return ok() if len(seen) == 2 else script.answer()

    script.on_call = turn_away_once
    async with scripted_gateway({"s": script}) as gateway:
        await settled(gateway)
        assert not (await gateway.call("s__t", a="1")).get("isError")
        assert seen[1] == seen[0] + 1
        assert codes(gateway) == []


async def test_a_call_that_is_turned_away_twice_is_not_sent_a_third_time() -> None:
    script = Server(rpc(-32020, "headers"))
    async with scripted_gateway({"s": script}) as gateway:
        await settled(gateway)
        told = refused(await gateway.call("s__t", a="1"))
        assert told["code"] == "server_error"
        assert "headers" not in told["message"]
        assert len(script.calls) == 2


async def test_a_call_that_is_turned_away_is_admitted_anew_before_it_is_sent_again() -> None:
    script = Server(rpc(-32020, "headers"))

    async def change_and_turn_away(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        script.change(NEW, signal=False)
        return script.answer()

    script.on_call = change_and_turn_away
    async with scripted_gateway({"s": script}) as gateway:
        await settled(gateway)
        assert refused(await gateway.call("s__t", a="1"))["code"] == "schema_changed"
        assert len(script.calls) == 1
