"""All four pairs of eras through a gateway: a client of the SDK in front, a scripted server behind.

On both event loops where no time has to pass.
"""

from collections.abc import Mapping
from typing import Any

import anyio
import mcp_types as types
import pytest

from toolcrib.errors import UpstreamRefused
from toolcrib.ports import Era
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_gateway import HostEra, scripted_gateway

FORM: dict[str, Any] = {
    "message": "Which branch?",
    "requestedSchema": {
        "type": "object",
        "properties": {"branch": {"type": "string"}},
        "required": ["branch"],
    },
}
VISIT = {"mode": "url", "message": "Connect", "url": "https://example.com/connect"}
ODD = "eyJ4IjoiXHUwMGU5In0=\u0000 \n"

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])

PAIRS = pytest.mark.parametrize(
    ("host", "server"),
    [("auto", "modern"), ("legacy", "modern"), ("auto", "handshake"), ("legacy", "handshake")],
)


class Person:
    """Answers what the host shows; remembers it."""

    def __init__(self, action: str = "accept", **content: Any) -> None:
        self.action = action
        self.content = content
        self.shown: list[Any] = []

    async def answer(self, _: Any, params: Any) -> Any:
        self.shown.append(params)
        content = self.content if self.action == "accept" and self.content else None
        return types.ElicitResult.model_validate({"action": self.action, "content": content})


class Release(ScriptedUpstream):
    """A server whose one tool asks something, in the way of its era, and says what it heard."""

    def __init__(self, era: Era, *questions: Mapping[str, Any], state: str | None = None) -> None:
        super().__init__([tool("release", tag={"type": "string"})], era=era, ttl_ms=60_000)
        self.questions = questions
        self.state = state
        self.heard: list[Mapping[str, Any]] = []
        self.on_call = self.release

    async def release(self, _: str, params: Mapping[str, Any]) -> dict[str, Any]:
        if self.era == "modern":
            if "inputResponses" not in params:
                asked = {
                    f"q{n}": {"method": "elicitation/create", "params": dict(question)}
                    for n, question in enumerate(self.questions)
                }
                result: dict[str, Any] = {"resultType": "input_required", "inputRequests": asked}
                return result if self.state is None else {**result, "requestState": self.state}
            self.heard = list(params["inputResponses"].values())
        else:
            context = self.contexts[-1]
            assert context is not None
            assert context.ask is not None
            self.heard = [
                await context.ask("elicitation/create", question) for question in self.questions
            ]
        return {"content": [{"type": "text", "text": "released"}], "resultType": "complete"}


@pytest.mark.duty(33)
@PAIRS
async def test_a_form_reaches_the_person_and_the_answer_the_server(
    host: HostEra, server: Era
) -> None:
    person, script = Person(branch="main"), Release(server, FORM)
    with anyio.fail_after(20):
        async with (
            scripted_gateway({"github": script}) as gateway,
            gateway.host(host, elicitation_callback=person.answer) as client,
        ):
            result = await client.call_tool("github__release", {"tag": "v1"})
    assert not result.is_error
    assert script.heard == [{"action": "accept", "content": {"branch": "main"}}]
    assert [shown.message for shown in person.shown] == ["[server github] Which branch?"]


@pytest.mark.duty(33)
@PAIRS
async def test_a_page_reaches_the_person_with_its_address_as_it_was(
    host: HostEra, server: Era
) -> None:
    person, script = Person(), Release(server, VISIT)
    with anyio.fail_after(20):
        async with (
            scripted_gateway({"github": script}) as gateway,
            gateway.host(host, elicitation_callback=person.answer) as client,
        ):
            result = await client.call_tool("github__release", {"tag": "v1"})
    assert not result.is_error
    assert script.heard == [{"action": "accept"}]
    (shown,) = person.shown
    assert shown.url == VISIT["url"]
    assert shown.message.startswith("[server github] Connect")


@PAIRS
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_no_reaches_the_server_as_such(host: HostEra, server: Era, action: str) -> None:
    person, script = Person(action), Release(server, FORM)
    with anyio.fail_after(20):
        async with (
            scripted_gateway({"github": script}) as gateway,
            gateway.host(host, elicitation_callback=person.answer) as client,
        ):
            await client.call_tool("github__release", {"tag": "v1"})
    assert script.heard == [{"action": action}]


@PAIRS
async def test_several_questions_are_all_answered(host: HostEra, server: Era) -> None:
    person, script = Person(branch="main"), Release(server, FORM, FORM)
    with anyio.fail_after(20):
        async with (
            scripted_gateway({"github": script}) as gateway,
            gateway.host(host, elicitation_callback=person.answer) as client,
        ):
            result = await client.call_tool("github__release", {"tag": "v1"})
    assert not result.is_error
    assert len(script.heard) == len(person.shown) == 2


@pytest.mark.duty(32)
@PAIRS
async def test_a_host_that_cannot_be_asked_is_told_and_nothing_is_dropped(
    host: HostEra, server: Era
) -> None:
    script = Release(server, FORM)
    with anyio.fail_after(20):
        async with (
            scripted_gateway({"github": script}) as gateway,
            gateway.host(host) as client,
        ):
            if host == "auto":
                with pytest.raises(Exception, match="elicitation") as told:
                    await client.call_tool("github__release", {"tag": "v1"})
                error = getattr(told.value, "error", None)
                assert error is not None
                assert error.code == -32021
                assert error.data["requiredCapabilities"] == {"elicitation": {"form": {}}}
            else:
                result = await client.call_tool("github__release", {"tag": "v1"})
                assert result.is_error
                assert "elicitation" in str(result.content)
    assert script.heard == []


@pytest.mark.parametrize("host", ["auto", "legacy"])
@pytest.mark.parametrize("state", [ODD, "", None])
async def test_the_servers_state_comes_back_byte_for_byte_or_not_at_all(
    host: HostEra, state: str | None
) -> None:
    person, script = Person(branch="main"), Release("modern", FORM, state=state)
    with anyio.fail_after(20):
        async with (
            scripted_gateway({"github": script}) as gateway,
            gateway.host(host, elicitation_callback=person.answer) as client,
        ):
            await client.call_tool("github__release", {"tag": "v1"})
    first, second = (params for _, params in script.calls)
    assert "requestState" not in first
    assert second.get("requestState", None) == state
    assert ("requestState" in second) is (state is not None)


@pytest.mark.parametrize("host", ["auto", "legacy"])
async def test_a_page_that_a_server_insists_on_is_visited_and_the_call_sent_again(
    host: HostEra,
) -> None:
    person, script = Person(), Release("handshake")
    visits = [{**VISIT, "elicitationId": "e1"}]

    async def insisting(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        if len(script.calls) == 1:
            raise UpstreamRefused("visit", rpc_code=-32042, data={"elicitations": visits})
        return await script.release(method, params)

    script.on_call = insisting
    with anyio.fail_after(20):
        async with (
            scripted_gateway({"github": script}) as gateway,
            gateway.host(host, elicitation_callback=person.answer) as client,
        ):
            result = await client.call_tool("github__release", {"tag": "v1"})
    assert not result.is_error
    assert len(script.calls) == 2
    assert [shown.url for shown in person.shown] == [VISIT["url"]]


@pytest.mark.duty(33)
@PAIRS
async def test_a_form_for_a_secret_reaches_nobody(host: HostEra, server: Era) -> None:
    secret = {
        "message": "Log in",
        "requestedSchema": {"type": "object", "properties": {"password": {"type": "string"}}},
    }
    person, script = Person(password="hunter2"), Release(server, secret)  # noqa: S106 - not one
    with anyio.fail_after(20):
        async with (
            scripted_gateway({"github": script}) as gateway,
            gateway.host(host, elicitation_callback=person.answer) as client,
        ):
            result = await client.call_tool("github__release", {"tag": "v1"})
    assert result.is_error
    assert "secret" in str(result.content)
    assert person.shown == []
    assert script.heard == []
