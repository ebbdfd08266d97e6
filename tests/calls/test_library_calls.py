"""Calls of a program: by name or by server and tool, through the same pipeline as a host's."""

from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from toolcrib.calls.call import Requester
from toolcrib.core.snapshot import Kind
from toolcrib.discovery.meta.definitions import item_of
from toolcrib.errors import (
    BadArguments,
    ConfirmationNeeded,
    NotAllowed,
    SchemaChanged,
    ToolGone,
    UpstreamUnreachable,
)
from toolcrib.settings import ApprovalRule, ApprovalSettings, GatewaySettings
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import scripted_crib

pytestmark = pytest.mark.virtual_time

STRING = {"type": "string"}
TOOLS = [tool("t", a=STRING), tool("second"), tool("third")]
NEW = [tool("t", a={"type": "integer"}), *TOOLS[1:]]
ASKING = ApprovalSettings(rules=(ApprovalRule("ask", tools=("t",)),))
FORMS: dict[str, Any] = {"elicitation": {"form": {}}}


async def test_a_tool_is_called_by_its_exposed_name_or_its_place() -> None:
    script = ScriptedUpstream(TOOLS)
    async with scripted_crib({"s": script}) as (crib, _):
        for name in ("s__t", ("s", "t")):
            result = await crib.call(name, {"a": "x"})
            assert result["content"]
        assert [params for _, params in script.calls] == [
            {"name": "t", "arguments": {"a": "x"}}
        ] * 2


async def test_no_arguments_are_none() -> None:
    script = ScriptedUpstream(TOOLS)
    async with scripted_crib({"s": script}) as (crib, _):
        await crib.call("s__second")
        assert script.calls[0][1] == {"name": "second"}


async def test_plain_names_are_found_too() -> None:
    scripts = {"a": ScriptedUpstream([tool("one")]), "b": ScriptedUpstream([tool("two")])}
    async with scripted_crib(scripts, gateway=GatewaySettings(names="plain")) as (crib, _):
        await crib.call("two")
        assert scripts["b"].calls


async def test_a_name_that_nobody_has_is_answered_with_names_that_look_like_it() -> None:
    async with scripted_crib({"s": ScriptedUpstream(TOOLS)}) as (crib, _):
        with pytest.raises(ToolGone) as raised:
            await crib.call("s__secnd")
        assert raised.value.details["near"] == ["s__second"]


async def test_a_name_is_not_found_where_its_server_was_not_reached() -> None:
    script = ScriptedUpstream(TOOLS)
    script.faults.connect = UpstreamUnreachable("gone fishing", server="s")
    async with scripted_crib({"s": script}) as (crib, _):
        with pytest.raises(ToolGone, match="not reached: `s`"):
            await crib.call("s__t")


async def test_a_name_that_appears_is_found_at_the_next_call() -> None:
    script = ScriptedUpstream(TOOLS)
    async with scripted_crib({"s": script}) as (crib, _):
        await crib.call("s__second")
        script.change([*TOOLS, tool("u")])
        await anyio.sleep(5)
        await crib.call("s__u")
        script.change(TOOLS)
        await anyio.sleep(5)
        with pytest.raises(ToolGone):
            await crib.call("s__u")


async def test_what_never_was_is_not_told_as_removed() -> None:
    async with scripted_crib({"s": ScriptedUpstream(TOOLS)}) as (crib, _):
        with pytest.raises(ToolGone, match="There is no `s__nope`, so nothing was sent") as slip:
            await crib.call(("s", "nope"))
        with pytest.raises(ToolGone, match=r"there is no server `nope`$"):
            await crib.call(("nope", "t"))
    assert "any more" not in slip.value.message


async def test_what_was_there_is_told_as_removed() -> None:
    script = ScriptedUpstream([*TOOLS, tool("u")])
    async with scripted_crib({"s": script}) as (crib, _):
        await crib.call(("s", "u"))
        script.change(TOOLS)
        await anyio.sleep(5)
        with pytest.raises(ToolGone, match="There is no `s__u` any more: its server removed it"):
            await crib.call(("s", "u"))
        with pytest.raises(ToolGone, match="there is no server `gone` any more"):
            await crib.call(("gone", "u"), seen="a contract of then")


async def test_what_only_its_caller_remembers_is_told_as_removed() -> None:
    async with scripted_crib({"s": ScriptedUpstream(TOOLS)}) as (crib, _):
        with pytest.raises(ToolGone, match="any more"):
            await crib.call(("s", "u"), seen="a contract of then")
        caller = Requester()
        await crib.calls().ledger.saw(caller, "s", [item_of(tool("v"))])
        with pytest.raises(ToolGone, match="There is no `s__v` any more"):
            await crib.call(("s", "v"), requester=caller)
        with pytest.raises(ToolGone, match="There is no `s__w`, so"):
            await crib.call(("s", "w"), requester=caller)


async def test_wrong_arguments_are_not_sent() -> None:
    script = ScriptedUpstream(TOOLS)
    async with scripted_crib({"s": script}) as (crib, _):
        with pytest.raises(BadArguments):
            await crib.call("s__t", {"a": 1})
        assert script.calls == []


async def test_what_the_program_saw_is_held_against_the_contract() -> None:
    script = ScriptedUpstream(TOOLS)
    async with scripted_crib({"s": script}) as (crib, _):
        catalogs = crib.catalogs()
        reading = await catalogs.read_one("s", Kind.TOOLS)
        item = None if reading.snapshot is None else reading.snapshot.get("t")
        assert item is not None
        await crib.call("s__t", {"a": "x"}, seen=item.contract)
        script.change(NEW)
        with pytest.raises(SchemaChanged):
            await crib.call("s__t", {"a": 1}, seen=item.contract)
        assert len(script.calls) == 1


async def test_policy_asks_the_program() -> None:
    script = ScriptedUpstream(TOOLS)
    asked: list[str] = []

    async def say(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        asked.append(method)
        fields = params["requestedSchema"].get("properties", {})
        content = {name: field["enum"][0] for name, field in fields.items()}
        return {"action": answers.pop(0), "content": content}

    answers = ["accept", "decline"]
    requester = Requester(ask=say, capabilities=FORMS)
    async with scripted_crib({"s": script}, approval=ASKING) as (crib, _):
        await crib.call("s__t", {"a": "x"}, requester=requester)
        with pytest.raises(NotAllowed):
            await crib.call("s__t", {"a": "x"}, requester=requester)
        with pytest.raises(ConfirmationNeeded):
            await crib.call("s__t", {"a": "x"})
        assert asked == ["elicitation/create"] * 2
        assert len(script.calls) == 1


async def test_a_server_asks_the_program_in_rounds() -> None:
    script = ScriptedUpstream(TOOLS)

    async def ask_first(_method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        if "inputResponses" in params:
            return {"content": [{"type": "text", "text": str(params["inputResponses"])}]}
        form: dict[str, Any] = {
            "message": "name?",
            "requestedSchema": {"type": "object", "properties": {}},
        }
        question: dict[str, Any] = {"method": "elicitation/create", "params": form}
        return {"resultType": "input_required", "inputRequests": {"q": question}}

    async def say(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        return {"action": "accept", "content": {"name": "anna"}}

    script.on_call = ask_first
    async with scripted_crib({"s": script}) as (crib, _):
        requester = Requester(ask=say, capabilities=FORMS)
        result = await crib.call("s__t", {"a": "x"}, requester=requester)
        assert "anna" in result["content"][0]["text"]


async def test_a_call_has_the_time_it_is_given() -> None:
    script = ScriptedUpstream(TOOLS)

    async def dawdle(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        await anyio.sleep(100)
        return {"content": []}

    script.on_call = dawdle
    async with scripted_crib({"s": script}) as (crib, _):
        began = anyio.current_time()
        with pytest.raises(Exception, match="timed out"):
            await crib.call("s__t", {"a": "x"}, timeout=7)
        assert anyio.current_time() - began <= 8
