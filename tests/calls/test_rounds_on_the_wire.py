"""Rounds over a real session: what a server receives, message by message."""

from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from toolcrib.ports import ClientProfile, ServerFacts
from toolcrib.testing.fake_access import Request
from toolcrib.testing.rounds_rig import (
    BOTH,
    DONE,
    FORM,
    MAIN,
    Installation,
    Process,
    at_once,
    by_rounds,
    eliciting,
    outgoing,
)
from toolcrib.testing.session_rig import Message, Peer, SessionRig, open_rig

pytestmark = pytest.mark.virtual_time

MODERN = ServerFacts("modern", "2026-07-28", {"tools": {}})
HANDSHAKE = ServerFacts("handshake", "2025-11-25", {"tools": {}})
ASKABLE = ClientProfile(BOTH)
ODD = "eyJ4IjoiXHUwMGU5In0=\u0000 \n"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


def over(here: Process, rig: SessionRig) -> None:
    """Let what a process sends go over the session of a rig."""

    async def forward(request: Request) -> dict[str, Any]:
        return await rig.session.request(
            request.method, request.params, progress=request.progress, context=request.context
        )

    here.access.answer = forward


def asking(state: str | None) -> Any:
    """A modern server that asks once."""

    async def behave(peer: Peer, message: Message) -> None:
        if message.get("method") == "tools/call":
            answered = "inputResponses" in message["params"]
            peer.answer(message, **(DONE if answered else eliciting(state=state)))

    return behave


async def answer(_: str, __: Mapping[str, Any]) -> dict[str, Any]:
    return dict(MAIN)


@pytest.mark.parametrize("state", [ODD, "", " ", None])
@pytest.mark.parametrize("caller", ["rounds", "at once"])
async def test_a_retry_is_a_request_of_its_own_with_the_state_as_it_was(
    state: str | None, caller: str
) -> None:
    async with open_rig(asking(state)) as rig, Installation().process() as here:
        rig.session.adopt(MODERN)
        over(here, rig)
        with anyio.fail_after(5):
            if caller == "rounds":
                first = await here.rounds.request(outgoing(by_rounds()))
                again = outgoing(by_rounds(), answered={"q": MAIN}, state=first["requestState"])
                result = await here.rounds.request(again)
            else:
                result = await here.rounds.request(outgoing(at_once(answer)))
        assert result["content"] == DONE["content"]
        one, two = rig.peer.sent("tools/call")
        assert one["id"] != two["id"]
        assert "requestState" not in one["params"]
        assert "inputResponses" not in one["params"]
        assert two["params"].get("requestState") == state
        assert ("requestState" in two["params"]) is (state is not None)
        assert two["params"]["inputResponses"] == {"q": MAIN}
        for sent in (one, two):
            declared = sent["params"]["_meta"][CAPABILITIES]
            assert declared == {"elicitation": {"form": {}, "url": {}}}
            assert sent["params"]["arguments"] == {"tag": "v1"}


async def test_what_one_caller_declares_is_not_declared_for_another() -> None:
    async def done(peer: Peer, message: Message) -> None:
        if "id" in message:
            peer.answer(message, **DONE)

    async with open_rig(done) as rig, Installation().process() as here:
        rig.session.adopt(MODERN)
        over(here, rig)
        with anyio.fail_after(5):
            await here.rounds.request(outgoing(by_rounds({})))
            await here.rounds.request(outgoing(by_rounds({"elicitation": {}})))
            await here.rounds.request(outgoing(by_rounds({"sampling": {}})))
        declared = [sent["params"]["_meta"][CAPABILITIES] for sent in rig.peer.received]
        assert declared == [{}, {"elicitation": {"form": {}}}, {}]


async def test_an_open_call_is_cancelled_at_the_server_when_its_caller_never_returns() -> None:
    async def asks(peer: Peer, message: Message) -> None:
        if message.get("method") == "tools/call":
            peer.ask("q-1", "elicitation/create", **FORM)

    async with open_rig(asks, profile=ASKABLE) as rig, Installation("handshake").process() as here:
        rig.session.adopt(HANDSHAKE)
        over(here, rig)
        result = await here.rounds.request(outgoing(by_rounds()))
        assert result["resultType"] == "input_required"
        assert rig.peer.sent("notifications/cancelled") == []
        await anyio.sleep(901)
        (call,) = rig.peer.sent("tools/call")
        (cancelled,) = rig.peer.sent("notifications/cancelled")
        assert cancelled["params"]["requestId"] == call["id"]


async def test_the_answer_to_a_question_in_mid_call_goes_back_under_the_servers_own_id() -> None:
    async def asks(peer: Peer, message: Message) -> None:
        if message.get("method") == "tools/call":
            peer.ask("q-1", "elicitation/create", **FORM)
        elif message.get("id") == "q-1":
            peer.answer(peer.sent("tools/call")[0], **DONE)

    async with open_rig(asks, profile=ASKABLE) as rig, Installation("handshake").process() as here:
        rig.session.adopt(HANDSHAKE)
        over(here, rig)
        with anyio.fail_after(5):
            result = await here.rounds.request(outgoing(by_rounds()))
            (key,) = result["inputRequests"]
            again = outgoing(by_rounds(), answered={key: MAIN}, state=result["requestState"])
            result = await here.rounds.request(again)
        assert result["content"] == DONE["content"]
        assert len(rig.peer.sent("tools/call")) == 1
        (answered,) = [message for message in rig.peer.received if message.get("id") == "q-1"]
        assert answered["result"] == MAIN


async def test_questions_of_two_calls_of_one_caller_over_a_pipe_are_all_answered() -> None:
    answered: list[Message] = []

    async def asks(peer: Peer, message: Message) -> None:
        if message.get("method") == "tools/call":
            tag = message["params"]["arguments"]["tag"]
            peer.ask(f"q-{tag}", "elicitation/create", **{**FORM, "message": tag})
        elif str(message.get("id")).startswith("q-"):
            answered.append(message)
            tag = str(message["id"]).removeprefix("q-")
            call = next(
                call
                for call in peer.sent("tools/call")
                if call["params"]["arguments"]["tag"] == tag
            )
            peer.answer(call, content=[{"type": "text", "text": tag}])

    texts: list[str] = []
    caller = by_rounds(handle="one host")

    async with open_rig(asks, profile=ASKABLE) as rig, Installation("handshake").process() as here:
        rig.session.adopt(HANDSHAKE)
        over(here, rig)

        async def call(tag: str) -> None:
            arguments = {"tag": tag}
            result = await here.rounds.request(outgoing(caller, arguments=arguments))
            while result.get("resultType") == "input_required":
                given = dict.fromkeys(result["inputRequests"], MAIN)
                again = outgoing(
                    caller, arguments=arguments, answered=given, state=result["requestState"]
                )
                result = await here.rounds.request(again)
            texts.append(result["content"][0]["text"])

        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for tag in ("a", "b", "c"):
                    tasks.start_soon(call, tag)
    assert sorted(texts) == ["a", "b", "c"]
    assert all(message["result"] == MAIN for message in answered)


async def test_a_question_over_a_pipe_reaches_nobody_while_it_may_be_anothers() -> None:
    refusals: list[Message] = []

    async def asks(peer: Peer, message: Message) -> None:
        if message.get("method") == "tools/call" and len(peer.sent("tools/call")) == 2:
            peer.ask("q-1", "elicitation/create", **FORM)
        elif message.get("id") == "q-1":
            refusals.append(message)
            for call in peer.sent("tools/call"):
                peer.answer(call, **DONE)

    async with open_rig(asks, profile=ASKABLE) as rig, Installation("handshake").process() as here:
        rig.session.adopt(HANDSHAKE)
        over(here, rig)
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for handle in ("one", "another"):
                    tasks.start_soon(here.rounds.request, outgoing(by_rounds(handle=handle)))
    (refusal,) = refusals
    assert "error" in refusal
