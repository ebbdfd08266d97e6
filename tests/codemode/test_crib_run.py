"""`Crib.run`: programs for whoever reads no `CallToolResult`."""

from typing import Any

import pytest

from toolcrib.calls.call import Requester
from toolcrib.core.partition import LOCAL, Principal
from toolcrib.errors import ScriptFailed
from toolcrib.facts import ProgramEnded, ProgramStarted
from toolcrib.settings import ApprovalRule, ApprovalSettings, CodeSettings
from toolcrib.testing.coded_server import CodedServer
from toolcrib.testing.scripted import tool
from toolcrib.testing.scripted_crib import scripted_crib

ECHO = "from s import echo\nprint('said', await echo(n=1))\nreturn await echo(n=2)"
ASKING = ApprovalSettings((ApprovalRule("ask", tools=("echo",), source="x.toml:1"),))


def server() -> CodedServer:
    return CodedServer(None, tool("echo", n={"type": "integer"}))


async def test_a_program_brings_its_value_what_it_printed_and_its_calls() -> None:
    async with scripted_crib({"s": server()}) as (crib, world):
        await crib.catalogs().reach()
        ran = await crib.run(ECHO)
        assert ran.value == {"n": 2}
        assert (ran.printed, ran.printed_bytes) == ("said {'n': 1}\n", 14)
        assert [(it["number"], it["line"], it["outcome"]) for it in ran.calls] == [
            (1, 2, "returned"),
            (2, 3, "returned"),
        ]
        assert ran.seconds > 0
        assert [it.language for it in world.recorder.of(ProgramStarted)] == ["python"]
        ended = world.recorder.of(ProgramEnded)
        assert [(it.why, it.calls) for it in ended] == [("finished", 2)]


async def test_what_is_returned_is_whole_however_little_a_model_is_shown() -> None:
    async with scripted_crib({"s": server()}, code=CodeSettings(result_bytes=1_000)) as (crib, _):
        assert (await crib.run("return 'x' * 5_000")).value == "x" * 5_000


async def test_nobody_is_asked_later_so_no_program_is_put_aside() -> None:
    upstream = server()
    who = Requester(takes_rounds=True, capabilities={"elicitation": {"form": {}}})
    async with scripted_crib({"s": upstream}, approval=ASKING) as (crib, _):
        await crib.catalogs().reach()
        with pytest.raises(ScriptFailed, match=r"toolcrib\.needs_confirmation"):
            await crib.run(ECHO, requester=who)
        assert upstream.calls == []


async def test_who_can_be_asked_is_asked_once_and_the_program_goes_on() -> None:
    upstream, asked = server(), list[str]()

    async def ask(_: str, params: Any) -> dict[str, Any]:
        asked.append(params["message"])
        return {"action": "accept", "content": {"answer": "yes, for this program"}}

    who = Requester(ask=ask, capabilities={"elicitation": {"form": {}}})
    async with scripted_crib({"s": upstream}, approval=ASKING) as (crib, _):
        await crib.catalogs().reach()
        assert (await crib.run(ECHO, requester=who)).value == {"n": 2}
    assert len(asked) == 1
    assert len(upstream.calls) == 2


async def test_each_principal_has_programs_of_its_own() -> None:
    other = Principal("issuer", "other")
    async with scripted_crib({"s": server()}) as (crib, _):
        for principal in (LOCAL, other, LOCAL):
            await crib.catalogs(principal).reach()
            assert (await crib.run(ECHO, requester=Requester(principal))).value == {"n": 2}
        made = crib._coded  # pyright: ignore[reportPrivateUsage]
        assert len({id(it) for it in made.values()}) == 2


@pytest.mark.parametrize(
    ("program", "why", "executed"),
    [
        ("1 / 0", "raised", True),
        ("await", "syntax", False),
        ("import requests", "unsupported", False),
        ("1 + 'a'", "types", False),
    ],
)
async def test_how_it_failed_is_in_the_details(program: str, why: str, *, executed: bool) -> None:
    async with scripted_crib({"s": server()}) as (crib, _):
        with pytest.raises(ScriptFailed) as caught:
            await crib.run(program)
    details = caught.value.details
    assert (details["why"], details["executed"], details["calls"]) == (why, executed, [])
