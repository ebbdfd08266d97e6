"""Questions to a handshake host over HTTP: on the stream of their request, answered by a POST."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from toolcrib.core.partition import ANONYMOUS
from toolcrib.errors import CapabilityMissing, UpstreamRefused
from toolcrib.testing.asgi_host import BASE, AsgiHost, Exchange
from toolcrib.testing.fake_service import FakeService
from toolcrib.wire.http.asked import Asked
from toolcrib.wire.http.entry import McpEndpoint
from toolcrib.wire.http.guard import HttpLimits
from toolcrib.wire.http.reply import Message, Reply
from toolcrib.wire.jsonwire import Result
from toolcrib.wire.kernel import Kernel
from toolcrib.wire.service import HostRequest

CALL = {"name": "t"}
FORM: dict[str, Any] = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}
ALL: dict[str, Any] = {"elicitation": {}, "sampling": {}, "roots": {}}
GET = {**BASE, "accept": "text/event-stream", "mcp-protocol-version": "2025-11-25"}


class Rig:
    """A service that asks its host once in every call, and answers with what it was told."""

    def __init__(self, ask_seconds: float = 900.0) -> None:
        self.service = FakeService()
        self.service.script = self.asks
        kernel = Kernel(self.service, ask_seconds)
        self.host = AsgiHost(McpEndpoint(kernel, HttpLimits(), lambda _scope: ANONYMOUS))
        self.method, self.params = "elicitation/create", FORM

    async def asks(self, request: HostRequest) -> Result:
        assert request.ask is not None
        try:
            told: Any = await request.ask(self.method, self.params)
        except UpstreamRefused as refused:
            told = [refused.rpc_code, refused.message, refused.data]
        return {"content": [{"type": "text", "text": json.dumps(told)}]}

    async def open(self, capabilities: dict[str, Any], version: str = "2025-11-25") -> str:
        params = {
            "protocolVersion": version,
            "capabilities": capabilities,
            "clientInfo": {"name": "h", "version": "1"},
        }
        answered = await self.host.ask(**self.host.handshake("initialize", params))
        return answered.headers["mcp-session-id"]

    async def respond(self, session: str, **members: Any) -> int:
        body = json.dumps({"jsonrpc": "2.0", **members}).encode()
        answered = await self.host.ask(headers={**BASE, "mcp-session-id": session}, body=body)
        assert answered.body == b""
        return answered.status

    @asynccontextmanager
    async def asked(self, session: str) -> AsyncGenerator[tuple[Exchange, Any]]:
        """A call in which the question has arrived, and the id of that."""
        async with self.host.exchange(
            **self.host.handshake("tools/call", CALL, session=session)
        ) as call:
            (question,) = await call.wait_messages(1)
            yield call, question["id"]


def said(call: Exchange) -> Any:
    return json.loads(call.message["result"]["content"][0]["text"])


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
async def test_the_question_goes_out_on_the_stream_of_its_request(version: str) -> None:
    rig = Rig()
    session = await rig.open(ALL, version)
    with anyio.fail_after(5):
        async with (
            rig.host.exchange("GET", headers={**GET, "mcp-session-id": session}) as announcements,
            rig.asked(session) as (call, question),
        ):
            assert call.message == {
                "jsonrpc": "2.0",
                "id": question,
                "method": "elicitation/create",
                "params": FORM,
            }
            assert call.headers["content-type"] == "text/event-stream"
            assert await rig.respond(session, id=question, result={"action": "accept"}) == 202
            await call.ended.wait()
            assert announcements.messages == []
    assert said(call) == {"action": "accept"}


async def test_an_error_of_the_host_is_told_as_it_is() -> None:
    rig = Rig()
    session = await rig.open(ALL)
    with anyio.fail_after(5):
        async with rig.asked(session) as (call, question):
            error = {"code": -1, "message": "the person said no", "data": {"k": 1}}
            await rig.respond(session, id=question, error=error)
            await call.ended.wait()
    assert said(call) == [-1, "the person said no", {"k": 1}]


@pytest.mark.parametrize(
    "members",
    [
        {"result": None},
        {"result": [1]},
        {"result": "yes"},
        {"error": None},
        {"error": "no"},
        {"error": {"message": "no code"}},
        {"error": {"code": True, "message": "no code"}},
        {"error": {"code": 1}},
        {"error": {"code": 1, "message": 3}},
        {"result": {}, "error": 3},
    ],
    ids=str,
)
async def test_an_answer_that_is_no_response_fails_the_question(members: dict[str, Any]) -> None:
    rig = Rig()
    session = await rig.open(ALL)
    with anyio.fail_after(5):
        async with rig.asked(session) as (call, question):
            assert await rig.respond(session, id=question, **members) == 202
            await call.ended.wait()
    assert said(call)[0] == -32603


async def test_an_unknown_late_or_foreign_response_changes_nothing() -> None:
    rig = Rig()
    mine, other = await rig.open(ALL), await rig.open(ALL)
    with anyio.fail_after(5):
        async with rig.asked(mine) as (call, question):
            for session, strange in (
                (mine, question + 1),
                (mine, str(question)),
                (other, question),
            ):
                assert await rig.respond(session, id=strange, result={"stolen": True}) == 202
            await anyio.wait_all_tasks_blocked()
            assert not call.ended.is_set()
            await rig.respond(mine, id=question, result={"first": True})
            await rig.respond(mine, id=question, result={"second": True})
            await call.ended.wait()
    assert said(call) == {"first": True}


async def test_of_two_answers_at_one_moment_the_first_holds() -> None:
    asked, told = Asked(), list[dict[str, Any]]()

    async def discard(_message: Message) -> None: ...

    async def ask() -> None:
        told.append(await asked.put(Reply(discard), "roots/list", {}))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            assert len(asked) == 1
            for place in (1, 2):
                asked.take({"id": 1, "result": {"place": place}})
    assert told == [{"place": 1}]
    assert len(asked) == 0


async def test_ids_never_come_twice_in_a_session() -> None:
    rig = Rig()
    session = await rig.open(ALL)
    ids: list[int] = []
    with anyio.fail_after(5):
        for _ in range(3):
            async with rig.asked(session) as (one, first), rig.asked(session) as (two, second):
                ids += [first, second]
                for question in (second, first):
                    await rig.respond(session, id=question, result={"for": question})
                await one.ended.wait()
                await two.ended.wait()
                assert (said(one), said(two)) == ({"for": first}, {"for": second})
    assert len(set(ids)) == 6


@pytest.mark.parametrize("method", ["elicitation/create", "sampling/createMessage", "roots/list"])
async def test_a_host_is_not_asked_what_it_did_not_declare(method: str) -> None:
    rig = Rig()
    rig.method = method
    declared: dict[str, Any] = {name: {} for name in ALL if not method.startswith(f"{name}/")}
    session = await rig.open(declared)
    answered = await rig.host.ask(**rig.host.handshake("tools/call", CALL, session=session))
    assert [message.get("id") for message in answered.messages] == [rig.host.last_id]
    error = answered.message["error"]
    assert (error["code"], error["data"]["error"]["code"]) == (-32603, CapabilityMissing.code)


async def test_a_cancelled_request_calls_its_question_off() -> None:
    rig = Rig()
    session = await rig.open(ALL)
    with anyio.fail_after(5):
        async with rig.asked(session) as (call, question):
            cancel = {"requestId": rig.host.last_id}
            await rig.host.ask(
                **rig.host.notification("notifications/cancelled", cancel, session=session)
            )
            await call.ended.wait()
    called_off, ended = call.messages[1:]
    assert called_off["method"] == "notifications/cancelled"
    assert called_off["params"]["requestId"] == question
    assert ended["error"]["code"] == -32800
    assert rig.service.cancelled == ["tools/call"]
    assert await rig.respond(session, id=question, result={}) == 202


@pytest.mark.virtual_time
async def test_a_host_that_never_answers_is_given_up() -> None:
    rig = Rig(ask_seconds=600.0)
    session = await rig.open(ALL, "2025-06-18")
    with anyio.fail_after(601):
        async with rig.asked(session) as (call, question):
            await call.ended.wait()
    assert said(call)[0] == -32603
    called_off = call.messages[1]
    assert called_off["params"]["requestId"] == question


async def test_a_session_that_ends_fails_its_questions() -> None:
    rig = Rig()
    session = await rig.open(ALL)
    with anyio.fail_after(5):
        async with rig.asked(session) as (call, _question):
            assert (await rig.host.ask("DELETE", headers={**GET, "mcp-session-id": session})).status
            await call.ended.wait()
    assert rig.service.cancelled == ["tools/call"]


async def test_a_host_that_hung_up_for_good_is_not_asked() -> None:
    rig = Rig()
    session = await rig.open(ALL, "2025-06-18")
    gate = anyio.Event()
    told: list[Result] = []

    async def later(request: HostRequest) -> Result:
        await gate.wait()
        told.append(await rig.asks(request))
        return {"content": []}

    rig.service.script = later
    with anyio.fail_after(5):
        async with rig.host.exchange(
            **rig.host.handshake("tools/call", CALL, session=session)
        ) as call:
            await rig.service.reached.wait()
            call.hang_up()
            await anyio.wait_all_tasks_blocked()
            gate.set()
            await call.ended.wait()
    (answer,) = told
    assert isinstance(answer, dict)
    assert "the host is gone" in answer["content"][0]["text"]


async def test_a_modern_host_is_asked_nothing_inline() -> None:
    rig = Rig()
    rig.service.script = None
    await rig.host.ask(**rig.host.modern("tools/call", CALL))
    assert rig.service.asked[0].ask is None
