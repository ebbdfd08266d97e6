"""Approval inside whole calls: asked inline, by rounds, and for what is then sent."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import pytest

from toolcrib.calls.call import Requester, Retry, ToolCall
from toolcrib.core.partition import LOCAL
from toolcrib.crib import Crib
from toolcrib.errors import ConfirmationNeeded, NotAllowed, SchemaChanged, ToolcribError
from toolcrib.settings import ApprovalRule, ApprovalSettings, Settings
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import ScriptedWorld, server_settings

pytestmark = pytest.mark.virtual_time

FORMS: Mapping[str, Any] = {"elicitation": {"form": {}}}
YES = {"action": "accept", "content": {"answer": "yes, once"}}


@dataclass(frozen=True)
class Shop:
    crib: Crib
    world: ScriptedWorld
    script: ScriptedUpstream

    async def call(self, requester: Requester, retry: Retry | None = None) -> dict[str, Any]:
        made = ToolCall("s__a", "s", "a", {"path": "/a"}, requester, retry=retry)
        with anyio.fail_after(20):
            return await self.crib.calls(LOCAL).pipeline.call(made)


@asynccontextmanager
async def shop(*rules: ApprovalRule) -> AsyncGenerator[Shop]:
    script = ScriptedUpstream([tool("a")], ttl_ms=3_600_000)
    world = ScriptedWorld({"s": script}, None)
    policy = ApprovalSettings(rules or (ApprovalRule("ask"),))
    settings = Settings(servers=(server_settings("s"),), approval=policy)
    async with Crib.open(settings, world.parts()) as crib:
        await crib.catalogs().reach()
        yield Shop(crib, world, script)


class Host:
    """Is asked while its call is under way."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = list(answers)
        self.asked: list[Mapping[str, Any]] = []

    async def __call__(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        assert method == "elicitation/create"
        self.asked.append(params)
        return self.answers.pop(0)

    @property
    def requester(self) -> Requester:
        return Requester(capabilities=FORMS, ask=self)


async def test_a_host_is_asked_inline_and_the_call_goes_out_after_a_yes() -> None:
    host = Host(YES)
    async with shop() as it:
        result = await it.call(host.requester)
        assert "content" in result
        assert len(it.script.calls) == 1
    (params,) = host.asked
    assert "[toolcrib]" in params["message"]
    assert 'path: "/a"' in params["message"]


@pytest.mark.parametrize("answer", [{"action": "decline"}, {"action": "cancel"}])
async def test_without_a_yes_nothing_is_sent(answer: dict[str, Any]) -> None:
    async with shop() as it:
        with pytest.raises(NotAllowed):
            await it.call(Host(answer).requester)
        assert it.script.calls == []


async def test_a_yes_for_the_run_is_asked_for_once() -> None:
    host = Host({"action": "accept", "content": {"answer": "yes, for this run"}})
    async with shop(ApprovalRule("ask", remember="run")) as it:
        await it.call(host.requester)
        await it.call(host.requester)
        assert len(it.script.calls) == 2


async def test_a_host_that_takes_rounds_is_asked_by_a_result_and_an_answer_is_good_once() -> None:
    rounds = Requester(capabilities=FORMS, takes_rounds=True)
    async with shop() as it:
        asked = await it.call(rounds)
        assert asked["resultType"] == "input_required"
        ((key, question),) = asked["inputRequests"].items()
        assert 'path: "/a"' in question["params"]["message"]
        assert it.script.calls == []
        retry = Retry(asked["requestState"], {key: YES})
        assert "content" in await it.call(rounds, retry)
        assert len(it.script.calls) == 1
        with pytest.raises(ToolcribError):
            await it.call(rounds, retry)
        assert len(it.script.calls) == 1


async def test_an_answer_to_a_question_about_another_call_lets_nothing_out() -> None:
    rounds = Requester(capabilities=FORMS, takes_rounds=True)
    async with shop() as it:
        asked = await it.call(rounds)
        (key,) = asked["inputRequests"]
        retry = Retry(asked["requestState"], {key: YES})
        other = ToolCall("s__a", "s", "a", {"path": "/etc"}, rounds, retry=retry)
        with pytest.raises(ToolcribError):
            await it.crib.calls(LOCAL).pipeline.call(other)
        assert it.script.calls == []


async def test_a_contract_that_changes_while_the_person_thinks_is_not_sent() -> None:
    class Slow(Host):
        async def __call__(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
            schema = {"type": "object", "required": ["new"]}
            it.script.change([{**tool("a"), "inputSchema": schema}])
            await anyio.sleep(5)
            return await super().__call__(method, params)

    async with shop() as it:
        with pytest.raises(ToolcribError) as caught:
            await it.call(Slow(YES, YES).requester)
        assert isinstance(caught.value, SchemaChanged) or caught.value.code == "bad_arguments"
        assert it.script.calls == []


async def test_where_nobody_can_be_asked_the_call_waits_for_the_command_line() -> None:
    async with shop() as it:
        with pytest.raises(ConfirmationNeeded) as caught:
            await it.call(Requester())
        assert it.script.calls == []
        assert caught.value.details["command"].startswith("toolcrib approve ")


async def test_what_is_denied_is_not_sent_whatever_the_host_would_say() -> None:
    host = Host(YES)
    async with shop(ApprovalRule("deny", arguments={"path": "/a"}), ApprovalRule("ask")) as it:
        with pytest.raises(NotAllowed):
            await it.call(host.requester)
        assert (it.script.calls, host.asked) == ([], [])
