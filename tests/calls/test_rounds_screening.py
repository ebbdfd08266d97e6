"""What of a modern server's questions may reach a modern caller, and what is said otherwise."""

import socket
from collections.abc import Mapping
from typing import Any

import pytest

from toolcrib.errors import CapabilityMissing, NotAllowed, ResultInvalid, UpstreamRefused
from toolcrib.settings import Relayed
from toolcrib.testing.rounds_rig import (
    BOTH,
    DONE,
    FORM,
    MAIN,
    VISIT,
    Installation,
    by_rounds,
    eliciting,
    outgoing,
    refused,
)

pytestmark = pytest.mark.virtual_time


def state_of(result: Mapping[str, Any]) -> str:
    assert result["resultType"] == "input_required"
    return result["requestState"]


CAPABILITIES: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ({}, dict(FORM), {"elicitation": {"form": {}}}),
    ({"elicitation": {"url": {}}}, dict(FORM), {"elicitation": {"form": {}}}),
    ({"elicitation": {}}, dict(VISIT), {"elicitation": {"url": {}}}),
    ({"sampling": {}}, dict(FORM), {"elicitation": {"form": {}}}),
]


@pytest.mark.duty(32)
@pytest.mark.parametrize(("declared", "params", "needed"), CAPABILITIES)
async def test_what_this_caller_did_not_declare_never_reaches_it(
    declared: dict[str, Any], params: dict[str, Any], needed: dict[str, Any]
) -> None:
    async with Installation().process() as here:
        here.answers(eliciting(params, state="s"))
        with pytest.raises(CapabilityMissing) as missing:
            await here.rounds.request(outgoing(by_rounds(declared)))
        assert missing.value.details["requiredCapabilities"] == needed


@pytest.mark.duty(32)
async def test_a_retry_is_asked_only_what_it_declares_itself() -> None:
    async with Installation().process() as here:
        here.answers(eliciting(state="s"), eliciting(VISIT, state="t"))
        state = state_of(await here.rounds.request(outgoing(by_rounds())))
        less = by_rounds({"elicitation": {}})
        with pytest.raises(CapabilityMissing):
            await here.rounds.request(outgoing(less, answered={"q": MAIN}, state=state))


OFFERS: list[tuple[dict[str, Any], tuple[Relayed, ...], dict[str, Any]]] = [
    (dict(BOTH), ("elicitation",), dict(BOTH)),
    ({"elicitation": {}}, ("elicitation",), {"elicitation": {"form": {}}}),
    (dict(BOTH), (), {}),
    ({"sampling": {"tools": {}}, "roots": {"listChanged": True}}, ("elicitation",), {}),
    (
        {"sampling": {"tools": {}}, "roots": {"listChanged": True}, "experimental": {"x": {}}},
        ("sampling", "roots", "logging"),
        {"sampling": {"tools": {}}, "roots": {}},
    ),
]


@pytest.mark.parametrize(("declared", "relay", "offered"), OFFERS)
async def test_a_server_is_told_what_this_caller_can_be_asked_through_us(
    declared: dict[str, Any], relay: tuple[Relayed, ...], offered: dict[str, Any]
) -> None:
    async with Installation().process(relay=relay) as here:
        here.answers(DONE)
        await here.rounds.request(outgoing(by_rounds(declared)))
        context = here.access.requests[0].context
        assert context is not None
        assert context.capabilities == offered
        assert context.input_schema == {"type": "object"}


async def test_what_is_not_relayed_is_said_to_be_so() -> None:
    async with Installation().process() as here:
        asked: dict[str, Any] = {
            "s": {"method": "sampling/createMessage", "params": {"messages": []}}
        }
        here.answers({"resultType": "input_required", "inputRequests": asked})
        with pytest.raises(NotAllowed, match="not relayed here"):
            await here.rounds.request(outgoing(by_rounds({"sampling": {}})))


async def test_sampling_and_roots_go_on_where_they_are_relayed() -> None:
    asked: dict[str, Any] = {
        "s": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 9}},
        "r": {"method": "roots/list"},
    }
    able = by_rounds({"sampling": {}, "roots": {}})
    async with Installation().process(relay=("sampling", "roots")) as here:
        here.answers({"resultType": "input_required", "inputRequests": asked}, DONE)
        first = await here.rounds.request(outgoing(able))
        shown = first["inputRequests"]
        assert shown["s"]["params"]["maxTokens"] == 9
        assert shown["r"]["method"] == "roots/list"
        answered = {
            "s": {"role": "assistant", "content": {"type": "text", "text": "x"}, "model": "m"},
            "r": {"roots": [{"uri": "file:///a"}]},
        }
        again = outgoing(able, answered=answered, state=state_of(first))
        assert await here.rounds.request(again) == DONE
        assert here.sent[1]["inputResponses"] == answered


async def test_an_error_about_missing_capabilities_is_told_of_the_caller_that_lacks_them() -> None:
    data: dict[str, Any] = {"requiredCapabilities": {"elicitation": {"url": {}}, "x-vendor": {}}}
    async with Installation().process() as here:
        here.answers(refused(-32021, data))
        with pytest.raises(CapabilityMissing) as missing:
            await here.rounds.request(outgoing(by_rounds({"elicitation": {}})))
        needed = missing.value.details["requiredCapabilities"]
        assert needed["elicitation"] == {"url": {}}


async def test_any_other_error_of_the_server_comes_out_as_it_is() -> None:
    async with Installation().process() as here:
        error = refused(-32603)
        here.answers(error)
        with pytest.raises(UpstreamRefused) as raised:
            await here.rounds.request(outgoing(by_rounds()))
        assert raised.value is error


@pytest.mark.duty(33)
async def test_a_form_that_asks_for_a_secret_is_shown_to_nobody() -> None:
    schema = {"type": "object", "properties": {"api_key": {"type": "string"}}}
    async with Installation().process() as here:
        here.answers(eliciting({"message": "Hello", "requestedSchema": schema}, state="s"))
        with pytest.raises(NotAllowed, match=r"secret in a form \(`api_key`\)"):
            await here.rounds.request(outgoing(by_rounds()))


BROKEN: list[tuple[dict[str, Any], str]] = [
    ({"resultType": "input_required"}, "neither inputRequests nor requestState"),
    ({"resultType": "input_required", "inputRequests": {"q": {"method": "ping"}}}, "`ping`"),
    (eliciting({"message": "m"}), "requestedSchema is null"),
    (eliciting({**VISIT, "url": "http://example.com/"}), "is not https"),
    (eliciting({**VISIT, "url": "https://a:b@example.com/"}), "user name or password"),
]


@pytest.mark.parametrize(("reply", "reason"), BROKEN)
async def test_a_question_that_cannot_be_read_or_shown_fails_the_call(
    reply: dict[str, Any], reason: str
) -> None:
    async with Installation().process() as here:
        here.answers(reply)
        with pytest.raises(ResultInvalid, match=reason):
            await here.rounds.request(outgoing(by_rounds()))


async def test_a_request_that_is_never_answered_with_questions_is_not() -> None:
    async with Installation().process() as here:
        here.answers(eliciting(state="s"))
        with pytest.raises(ResultInvalid, match="completion/complete"):
            await here.rounds.request(outgoing(by_rounds(), method="completion/complete"))


@pytest.mark.duty(33)
async def test_no_address_is_ever_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    touched: list[object] = []

    def guard(*parts: object, **_: object) -> None:
        touched.append(parts)
        raise OSError("the network was touched")

    monkeypatch.setattr(socket, "getaddrinfo", guard)
    monkeypatch.setattr(socket.socket, "connect", guard)
    async with Installation().process() as here:
        here.answers(eliciting(VISIT, state="s"), DONE)
        first = await here.rounds.request(outgoing(by_rounds()))
        asked = first["inputRequests"]["q"]["params"]
        assert asked["url"] == VISIT["url"]
        assert "The page is at example.com." in asked["message"]
        again = outgoing(by_rounds(), answered={"q": {"action": "accept"}}, state=state_of(first))
        assert await here.rounds.request(again) == DONE
        assert here.sent[1]["inputResponses"] == {"q": {"action": "accept"}}
    assert touched == []
