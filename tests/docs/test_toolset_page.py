"""docs/toolset.md and examples/toolset.py: they run, and say what happens."""

import re
import shlex
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolcrib.calls.call import Requester
from toolcrib.context.delta import Delta
from toolcrib.settings import ExposureSettings, GatewaySettings
from toolcrib.testing.live.room import Room
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import scripted_crib, server_settings

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/toolset.md").read_text()
FENCES = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
PROGRAM, BETWEEN = (text for language, text in FENCES if language == "python")
SEARCH = GatewaySettings(exposure="search")


def printed(*command: str, room: Room) -> list[str]:
    """The lines that a program prints, which has nothing to complain about."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=room.env,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.peers
def test_the_program_runs_and_finds_what_it_calls(tmp_path: Path) -> None:
    names, hit, result = printed("-c", PROGRAM, room=Room(tmp_path))
    assert names == "['search_tools', 'get_tool_details', 'call_tool']"
    assert hit.startswith("1. everything__get-sum(a: number, b: number)")
    assert "The sum of 2 and 3 is 5" in result


def test_the_example_says_what_the_page_shows_of_it(tmp_path: Path) -> None:
    (command,) = (text for language, text in FENCES if language == "console")
    python, script = shlex.split(command.removeprefix("$ "))
    assert python == ".venv/bin/python"
    lines = printed(script, room=Room(tmp_path))
    labels = [line.partition(":")[0] for line in lines[:4]]
    assert labels == [
        "Anthropic",
        "OpenAI Chat Completions",
        "OpenAI Responses, strict",
        "Gemini",
    ]
    told = "\n".join(lines)
    (text,) = (text for language, text in FENCES if language == "text")
    assert f"For the model: {text}" in told
    (near,) = re.findall(r"^> (.*)$", PAGE, re.MULTILINE)
    assert f"A name that is nearly right: {near}" in lines
    assert "The prefix stays: True" in lines
    assert "forecast(city=Oslo, unit=kelvin)" in told
    assert lines[-1] == "Calls that reached the server: 2"


def test_every_member_of_a_delta_is_in_the_table() -> None:
    table = PAGE.partition("| member | says |")[2].partition("\n\n")[0]
    named = re.findall(r"`(\w+)`", "\n".join(line.split("|")[1] for line in table.splitlines()[2:]))
    assert set(named) == {it.name for it in fields(Delta)}


# ---------------------------------------------------------------- over a crib


@pytest.mark.virtual_time
async def test_between_turns_the_text_goes_behind_and_the_next_call_passes() -> None:
    for told in (True, False):
        script = ScriptedUpstream([tool("t", a={"type": "string"})])
        async with scripted_crib({"s": script}) as (crib, _):
            await crib.catalogs().reach()
            toolset = await crib.toolset()
            before = toolset.for_json()
            script.change([tool("t", b={"type": "string"}), tool("u")])
            await anyio.sleep(5)
            messages: list[dict[str, Any]] = []
            program = "\n".join(f"    {line}" for line in BETWEEN.splitlines())
            names: dict[str, Any] = {"toolset": toolset, "messages": messages}
            exec(f"async def between():\n{program}\n    return delta", names)  # noqa: S102 - the page
            if told:
                delta = await names["between"]()
                assert [it["content"] for it in messages] == [delta.text]
                assert delta.prefix_survives
                assert delta.cost_of_a_miss > 3_000
            else:
                await toolset.refresh()
            assert toolset.for_json()[: len(before)] == before
            refused = [bool((await toolset.call("s__t", {"b": "x"})).get("isError")) for _ in "ab"]
            assert refused == [not told, False]


@pytest.mark.virtual_time
async def test_reworded_tools_are_not_told() -> None:
    script = ScriptedUpstream([tool("t")])
    async with scripted_crib({"s": script}) as (crib, _):
        await crib.catalogs().reach()
        toolset = await crib.toolset()
        script.change([{**tool("t"), "description": "Other words."}])
        await anyio.sleep(5)
        await toolset.refresh()
        delta = toolset.delta()
        assert (delta.reworded, delta.text) == (("s__t",), "")


@pytest.mark.virtual_time
async def test_auto_is_decided_once_for_a_conversation() -> None:
    script = ScriptedUpstream([tool("t")])
    small = ExposureSettings(window=2_000, share=0.05)
    async with scripted_crib({"s": script}, exposure=small) as (crib, _):
        await crib.catalogs().reach()
        toolset = await crib.toolset()
        script.change([tool(f"t{n}") for n in range(50)])
        await anyio.sleep(5)
        await toolset.refresh()
        assert toolset.exposure == "full"
        assert (await crib.toolset()).exposure == "search"


@pytest.mark.virtual_time
async def test_conversations_are_apart_and_a_handle_is_kept() -> None:
    old, new = tool("t", a={"type": "string"}), tool("t", b={"type": "string"})
    script = ScriptedUpstream([old])
    async with scripted_crib({"s": script}, gateway=SEARCH) as (crib, _):
        await crib.catalogs().reach()
        one, other = await crib.toolset(), await crib.toolset()
        mine = Requester(handle="h" * 16)
        named, again = await crib.toolset(requester=mine), await crib.toolset(requester=mine)
        for toolset in (one, named):
            await toolset.call("get_tool_details", {"names": ["s__t"]})
        script.change([new])
        await anyio.sleep(5)
        call = {"name": "s__t", "args": {"b": "x"}}
        refused = [
            bool((await it.call("call_tool", call)).get("isError")) for it in (one, other, again)
        ]
        assert refused == [True, False, True]


@pytest.mark.virtual_time
async def test_tools_of_an_enabled_server_are_called_and_those_of_others_are_not() -> None:
    script = ScriptedUpstream([tool("t")])
    settings = {"s": server_settings("s", on_demand=True)}
    async with scripted_crib({"s": script}, settings=settings) as (crib, _):
        toolset = await crib.toolset()
        assert (await toolset.call("s__t"))["isError"]
        await toolset.call("enable_server", {"server": "s"})
        await toolset.refresh()
        assert not (await toolset.call("s__t")).get("isError")


@pytest.mark.virtual_time
async def test_used_and_named_tools_are_appended_within_their_budget() -> None:
    tools = [tool("t"), tool("u"), {**tool("v"), "description": "long " * 3_000}]
    async with scripted_crib({"s": ScriptedUpstream(tools)}, gateway=SEARCH) as (crib, _):
        await crib.catalogs().reach()
        toolset = await crib.toolset(pin_used=3)
        begun = len(toolset.for_json())
        for shown in (0, 0, 1):
            await toolset.call("call_tool", {"name": "s__t", "args": {}})
            await toolset.refresh()
            assert len(toolset.for_json()) == begun + shown
        tokens = toolset.tokens
        assert toolset.show("s__u", "s__v") == ("s__u",)
        assert toolset.tokens > tokens
