"""What a conversation is told depends on the configuration and on its own handle: nobody else's."""

# pyright: reportPrivateUsage=false
# Which script was called shows from inside only.

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from toolcrib.calls.call import Requester
from toolcrib.core.naming import expose
from toolcrib.core.partition import LOCAL
from toolcrib.core.snapshot import Kind
from toolcrib.errors import NotAllowed, ToolGone
from toolcrib.settings import ExposureSettings, GatewaySettings, NameStyle
from toolcrib.testing.fake_service import host_request
from toolcrib.testing.gateway_rig import refused
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import server_settings
from toolcrib.testing.scripted_gateway import ScriptedGateway, scripted_gateway
from toolcrib.wire.faults import RpcFault
from toolcrib.wire.jsonwire import Prepared

pytestmark = pytest.mark.virtual_time

TOOLS = {
    "git": ["commit", "shared"],
    "mail": ["send", "draft", "ping", "shared"],
    "post": ["send", "ping", "shared", "letter", "very long name " * 4],
    "memo": ["draft", "mail__send", "sending"],
}
ON_DEMAND = ("mail", "post", "memo")
MINE, THEIRS = "mine" * 4, "theirs" * 3

Answers = dict[str, Any]


@asynccontextmanager
async def gateway(style: NameStyle, exposure: str = "search") -> AsyncGenerator[ScriptedGateway]:
    made = scripted_gateway(
        {server: ScriptedUpstream([tool(it) for it in tools]) for server, tools in TOOLS.items()},
        settings={it: server_settings(it, on_demand=True) for it in ON_DEMAND},
        gateway=GatewaySettings(exposure=exposure, names=style),  # pyright: ignore[reportArgumentType] - one of the words
        exposure=ExposureSettings(),
    )
    async with made as served:
        yield served


async def called(
    served: ScriptedGateway, handle: str, name: str, /, **arguments: Any
) -> dict[str, Any]:
    meta = {"dev.toolcrib/handle": handle}
    params = {"name": name, "arguments": arguments, "_meta": meta}
    request = host_request("tools/call", params, handle=handle)
    try:
        result = await served.gateway.answer(request)
        return result.as_dict() if isinstance(result, Prepared) else result
    except RpcFault as fault:
        return {"fault": fault.code, "message": fault.message}


async def text(served: ScriptedGateway, handle: str, name: str, /, **arguments: Any) -> str:
    said: str = (await called(served, handle, name, **arguments))["content"][0]["text"]
    return said


def names_of(tools: Mapping[str, list[str]]) -> list[str]:
    plain = sorted({it for names in tools.values() for it in names})
    qualified = [f"{server}__{it}" for server, names in tools.items() for it in names]
    return [*plain, *qualified, "sen", "lettre", "post__lettre", "mail__sent", "nothing_of_all"]


async def everything(served: ScriptedGateway, handle: str) -> Answers:
    """All that a conversation can ask."""
    answers: Answers = {"tools/list": await served.ask("tools/list")}
    for query in ("", "send", "draft a letter", "shared", "ping", "lettre", "zzz", "/^s/", "/q$/"):
        answers[f"search {query}"] = await called(served, handle, "search_tools", query=query)
    for server in TOOLS:
        answers[f"in {server}"] = await called(
            served, handle, "search_tools", query="", server=server
        )
        answers[f"send in {server}"] = await called(
            served, handle, "search_tools", query="send", server=server
        )
    for name in names_of(TOOLS):
        answers[f"details {name}"] = await called(served, handle, "get_tool_details", names=[name])
        answers[f"through {name}"] = await called(served, handle, "call_tool", name=name)
        answers[f"direct {name}"] = await called(served, handle, name)
        answers[f"library {name}"] = await library(served, handle, name)
    for exposure in ("full", "search"):
        exhibit = await served.crib.discovery().showing.exhibit(exposure, Requester(LOCAL, handle))
        answers[f"exhibit {exposure}"] = exhibit
    return answers


async def library(served: ScriptedGateway, handle: str, name: str) -> Any:
    try:
        return await served.crib.call(name, {}, requester=Requester(LOCAL, handle))
    except (ToolGone, NotAllowed) as error:
        return error.code, error.for_model(), dict(error.details)


@pytest.mark.parametrize("style", ["plain", "qualified"])
@pytest.mark.parametrize("mine", [(), ("mail",), ("mail", "memo")])
async def test_what_others_enabled_changes_no_answer(
    style: NameStyle, mine: tuple[str, ...]
) -> None:
    async with gateway(style) as served:
        for server in mine:
            await called(served, MINE, "enable_server", server=server)
        for server in ("post", "memo", "mail"):
            # Remembered by all callers of a principal, as what can be enabled is.
            await called(served, THEIRS, "enable_server", server=server)
        together = await everything(served, MINE)
        for server in ("post", "memo", "mail"):
            await called(served, THEIRS, "disable_server", server=server)
        alone = await everything(served, MINE)
        assert {it for it in alone if alone[it] != together[it]} == set()


async def test_under_plain_names_a_tool_of_mine_is_not_hidden_by_a_server_of_others() -> None:
    async with gateway("plain") as served:
        await called(served, THEIRS, "enable_server", server="post")
        await called(served, MINE, "enable_server", server="mail")
        assert "send" in await text(served, MINE, "search_tools", query="send")
        assert "(send of server mail)" in await text(
            served, MINE, "get_tool_details", names=["send"]
        )
        for handle, server in ((MINE, "mail"), (THEIRS, "post")):
            await called(served, handle, "send")
            await called(served, handle, "call_tool", name="send")
            assert (await library(served, handle, "send"))["content"]
            script = served.world.servers._scripts[server]
            assert [params["name"] for _, params in script.calls] == ["send"] * 3


async def test_under_plain_names_what_collides_in_my_own_servers_is_nobodys() -> None:
    async with gateway("plain") as served:
        for server in ("mail", "post"):
            await called(served, MINE, "enable_server", server=server)
        assert "fault" in await called(served, MINE, "send")
        assert "There is no tool `send`" in await text(
            served, MINE, "get_tool_details", names=["send"]
        )
        exhibit = await served.crib.discovery().showing.exhibit("full", Requester(LOCAL, MINE))
        shown = {it.name: it.server for it in exhibit.visible}
        assert "send" not in shown
        assert (shown["shared"], shown["draft"]) == ("git", "mail")


# ---- what has to be enabled first ----


@pytest.mark.parametrize("connected", [False, True])
async def test_a_tool_of_a_server_that_is_not_enabled_points_to_enable_server(
    *, connected: bool
) -> None:
    async with gateway("qualified") as served:
        if connected:
            await called(served, THEIRS, "enable_server", server="post")
        for result in (
            await called(served, MINE, "post__letter"),
            await called(served, MINE, "call_tool", name="post__letter"),
        ):
            error = refused(result)
            assert error["code"] == "not_allowed"
            assert (error["server"], error["details"]) == ("post", {"enable": ["post"]})
            assert "call enable_server for it first" in error["message"]
        code, message, _ = await library(served, MINE, "post__letter")
        assert (code, "enable_server" in message) == ("not_allowed", True)
        assert "call enable_server for it first" in await text(
            served, MINE, "get_tool_details", names=["post__letter"]
        )
        await called(served, MINE, "enable_server", server="post")
        assert (await called(served, MINE, "post__letter"))["content"]


async def test_a_name_that_does_not_say_its_server_is_known_from_when_it_was_connected() -> None:
    async with gateway("plain") as served:
        assert "fault" in await called(served, MINE, "letter")
        await called(served, THEIRS, "enable_server", server="post")
        await called(served, THEIRS, "disable_server", server="post")
        assert refused(await called(served, MINE, "letter"))["server"] == "post"
    async with gateway("qualified") as served:
        await called(served, THEIRS, "enable_server", server="post")
        reading = await served.crib.catalogs().read_one("post", Kind.TOOLS)
        assert reading.snapshot is not None
        long = next(it.key for it in reading.snapshot.items if it.key.startswith("very"))
        name = expose("post", long)
        assert refused(await called(served, MINE, name))["server"] == "post"


async def test_a_name_of_several_servers_on_demand_names_them_all() -> None:
    async with gateway("plain") as served:
        for server in ("post", "mail"):
            await called(served, THEIRS, "enable_server", server=server)
        error = refused(await called(served, MINE, "ping"))
        assert error["details"] == {"enable": ["mail", "post"]}
        assert "one of the servers" in error["message"]


async def test_an_enabled_server_without_such_a_tool_is_not_to_be_enabled() -> None:
    async with gateway("qualified") as served:
        await called(served, MINE, "enable_server", server="post")
        answer = await called(served, MINE, "post__lettre")
        assert answer["fault"] == -32602
        assert "post__letter" in answer["message"]
