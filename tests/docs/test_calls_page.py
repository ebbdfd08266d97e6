"""docs/calls.md: every code is on it and means what it says, and what it promises is so."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolcrib import errors
from toolcrib.calls.results.refusal import refusal
from toolcrib.errors import ToolcribError, UpstreamRefused
from toolcrib.settings import Limits
from toolcrib.testing.fake_service import host_request
from toolcrib.testing.live.room import Room
from toolcrib.testing.rounds_rig import FORM, eliciting
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_gateway import scripted_gateway
from toolcrib.wire.faults import RpcFault

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/calls.md").read_text()
BIN = Path(sys.executable).parent
TABLE = PAGE.partition("<!-- table: codes -->\n")[2].partition("<!-- end -->")[0]
ROWS = {
    code.strip("` "): [cell.strip() for cell in cells]
    for _, code, *cells, _ in (line.split("|") for line in TABLE.splitlines()[2:])
}
"""The cells behind each code: retry, meaning, what the model does, what the operator does."""

NO_CALL = {"toolcrib_error", "config_error", "store_unreachable"}
"""Codes of errors that stop no call: the root, what stops a start, what is gone on without."""


def every_error(root: type[ToolcribError] = ToolcribError) -> Iterator[type[ToolcribError]]:
    yield root
    for child in root.__subclasses__():
        yield from every_error(child)


def of_code(code: str) -> ToolcribError:
    """An error of that code, without details."""
    kind = next(it for it in every_error() if it.code == code and it.__module__ == errors.__name__)
    return UpstreamRefused("x", rpc_code=-1) if kind is UpstreamRefused else kind("x")


def test_every_code_is_in_the_table_and_nothing_else() -> None:
    codes = {it.code for it in every_error() if it.__module__ == errors.__name__}
    assert ROWS.keys() == codes - NO_CALL
    assert codes >= NO_CALL


@pytest.mark.parametrize("code", ROWS)
def test_a_row_is_whole_and_says_whether_to_call_again(code: str) -> None:
    retry, *others = ROWS[code]
    assert len(others) == 3
    assert all(others)
    error = of_code(code)
    if code == "changed_silently":
        error.details = {"inputSchema": {}}
    assert refusal(error, "t")["structuredContent"]["error"]["retry"] == retry


@pytest.mark.parametrize(
    ("code", "retry"), [("tool_gone", "corrected"), ("changed_silently", "no")]
)
def test_whether_to_call_again_may_depend_on_what_is_known(code: str, retry: str) -> None:
    assert f"`{retry}`" in ROWS[code][1]
    error = of_code(code)
    error.details = {"inputSchema": {}} if retry == "corrected" else {}
    assert refusal(error, "t")["structuredContent"]["error"]["retry"] == retry


def test_a_refusal_has_the_members_that_are_shown() -> None:
    (shown,) = re.findall(r'^"structuredContent": .*?^\}\}$', PAGE, re.DOTALL | re.MULTILINE)
    told = refusal(of_code("timeout"), "t")
    members = told["structuredContent"]["error"].keys()
    assert re.findall(r'"(\w+)":', shown) == ["structuredContent", "error", *members]
    assert told["isError"] is True
    assert [block["type"] for block in told["content"]] == ["text"]


def test_the_limits_that_are_named_have_the_defaults_that_are_named() -> None:
    limits = Limits()
    for name, shown in re.findall(r"`(\w+)` (?:times )?\((\d[\w ]*)\)", PAGE):
        if name in Limits.__dataclass_fields__:
            value = getattr(limits, name)
            amount, _, unit = shown.partition(" ")
            factor = {"": 1, "minutes": 60, "KiB": 2**10, "MiB": 2**20}[unit]
            assert value == int(amount) * factor, name
    named = set(re.findall(r"`(\w+)`", PAGE))
    assert {"call_seconds", "state_seconds", "rounds", "parked_calls", "clip_bytes"} <= named


# ---------------------------------------------------------------- what a caller saw

OLD, NEW = tool("t", a={"type": "string"}), tool("t", a={"type": "string"}, b={"type": "string"})
WORDED = {**OLD, "description": "Does t better."}


def code_of(result: Mapping[str, Any]) -> str:
    return result["structuredContent"]["error"]["code"] if result.get("isError") else ""


@pytest.mark.virtual_time
@pytest.mark.parametrize(("after", "code"), [(NEW, "schema_changed"), (WORDED, "")])
async def test_another_contract_is_not_called_though_arguments_fit_and_another_text_is(
    after: dict[str, Any], code: str
) -> None:
    script = ScriptedUpstream([OLD])
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()
        await anyio.sleep(60)
        script.change([after])
        await anyio.sleep(5)
        assert code_of(await gateway.call("s__t", a="x")) == code
        assert len(script.calls) == (code == "")
        assert code_of(await gateway.call("s__t", a="x")) == "", "the refusal counts as seen"


@pytest.mark.virtual_time
async def test_what_the_call_says_was_seen_counts() -> None:
    script = ScriptedUpstream([OLD])
    async with scripted_gateway({"s": script}) as gateway:
        (listed,) = (await gateway.ask("tools/list"))["tools"]
        now = listed["_meta"]["dev.toolcrib/contract"]
        for contract, code in ((now, ""), ("another", "schema_changed")):
            seen = {"dev.toolcrib/seen": {"contract": contract, "digest": "unknown"}}
            params = {"name": "s__t", "arguments": {}, "_meta": seen}
            assert code_of(await gateway.ask("tools/call", params)) == code


@pytest.mark.virtual_time
async def test_what_a_server_takes_all_the_same_is_told_with_what_changed() -> None:
    script = ScriptedUpstream([OLD], ttl_ms=3_600_000)

    async def change(_: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        script.change([NEW])
        return {"content": []}

    script.on_call = change
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()
        result = await gateway.call("s__t", a="x")
        assert not result.get("isError")
        assert ["`b` is new" in told for told in result["_meta"]["dev.toolcrib/changes"]] == [True]


@pytest.mark.virtual_time
async def test_a_listing_older_than_a_minute_is_renewed_before_the_call() -> None:
    for age, calls in ((30, 1), (70, 0)):
        script = ScriptedUpstream([OLD])
        async with scripted_gateway({"s": script}) as gateway:
            await gateway.names()
            await anyio.sleep(1)
            script.change([NEW], signal=False)
            await anyio.sleep(age)
            await gateway.call("s__t", a="x")
            assert len(script.calls) == calls, age


# ---------------------------------------------------------------- JSON-RPC errors


@pytest.mark.virtual_time
async def test_a_name_that_nobody_ever_had_is_an_error_of_the_protocol() -> None:
    assert "| -32602 | No server has a tool of that name" in PAGE
    async with scripted_gateway({"s": ScriptedUpstream([OLD])}) as gateway:
        await gateway.names()
        with pytest.raises(RpcFault) as caught:
            await gateway.call("s__nobody")
        assert caught.value.code == -32602


@pytest.mark.virtual_time
async def test_a_host_that_cannot_be_asked_is_told_so_in_the_words_of_its_revision() -> None:
    assert "| -32021 | A server has to ask" in PAGE
    script = ScriptedUpstream([OLD])

    async def ask(_: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        return eliciting(FORM, state="s")

    script.on_call = ask
    params: dict[str, Any] = {"name": "s__t", "arguments": {}}
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()
        with pytest.raises(RpcFault) as caught:
            await gateway.ask("tools/call", params)
        assert caught.value.code == -32021
        assert caught.value.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}
        older = host_request("tools/call", params, version="2025-11-25")
        result = await gateway.gateway.answer(older)
        assert isinstance(result, dict)
        assert code_of(result) == "not_allowed"


# ---------------------------------------------------------------- commands


def commands() -> list[str]:
    """Everything that follows a prompt, in order."""
    fences = re.findall(r"^```console\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    return [line.removeprefix("$ ") for text in fences for line in text.splitlines()]


@pytest.mark.peers
@pytest.mark.timeout(120)
def test_what_follows_a_prompt_works_as_it_stands(tmp_path: Path) -> None:
    room = Room(tmp_path)

    def run(line: str) -> "subprocess.CompletedProcess[str]":
        program, *words = shlex.split(line)
        return subprocess.run(
            [str(BIN / program), *words],
            cwd=ROOT,
            env=room.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    show, call, look, approve = commands()
    shown = run(show)
    assert shown.returncode == 1
    assert "b: is a string (`two`), but must be a number" in shown.stdout
    refused = json.loads(run(call).stdout)["error"]
    assert refused["code"] == "needs_confirmation"
    question = run(look).stdout.split()[0]
    assert f"`toolcrib approve {question}`" in refused["message"]
    assert run(approve.replace("ID", question) + " --yes").returncode == 0
    assert json.loads(run(call).stdout)["content"] == [{"type": "text", "text": "Echo: hi"}]
