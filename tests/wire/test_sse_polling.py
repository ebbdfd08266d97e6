"""Answers that a host of 2025-11-25 takes up again after a break: its own, whole, and once."""

import re
from typing import Any

import anyio
import pytest

from toolcrib.core.partition import ANONYMOUS, LOCAL, Principal
from toolcrib.testing.asgi_host import BASE, AsgiHost, Exchange
from toolcrib.testing.fake_service import FakeService
from toolcrib.wire.http.entry import McpEndpoint
from toolcrib.wire.http.guard import HttpLimits
from toolcrib.wire.http.resumable import PER_SESSION, place
from toolcrib.wire.http.sessions import Sessions
from toolcrib.wire.jsonwire import Result
from toolcrib.wire.kernel import Kernel
from toolcrib.wire.service import HostRequest

CALL = {"name": "t", "_meta": {"progressToken": 1}}
GET = {**BASE, "accept": "text/event-stream", "mcp-protocol-version": "2025-11-25"}


class Rig:
    """Calls that tell as many steps as they are let, and then answer with the tool's name."""

    def __init__(self, limits: HttpLimits = HttpLimits()) -> None:  # noqa: B008 - frozen
        self.service = FakeService()
        self.service.script = self.work
        self.principal: Principal = ANONYMOUS
        app = McpEndpoint(Kernel(self.service), limits, lambda _scope: self.principal)
        self.host = AsgiHost(app)
        self.steps = 0
        self._moved = anyio.Event()
        self.done = anyio.Event()

    def step(self) -> None:
        self.steps += 1
        self._moved.set()
        self._moved = anyio.Event()

    def finish(self) -> None:
        self.done.set()
        self._moved.set()
        self._moved = anyio.Event()

    async def work(self, request: HostRequest) -> Result:
        told = 0
        while not self.done.is_set():
            while told < self.steps:
                told += 1
                await request.notify("notifications/progress", {"step": told})
            await self._moved.wait()
        return {"content": [], "for": request.params["name"]}

    def call(self, session: str, name: str = "t") -> dict[str, Any]:
        return self.host.handshake("tools/call", {**CALL, "name": name}, session=session)

    def again(self, session: str, last: str) -> dict[str, Any]:
        return {"headers": {**GET, "mcp-session-id": session, "last-event-id": last}}


def ids(exchange: Exchange) -> list[str]:
    return re.findall(r"^id: (\S+)\r$", exchange.body.decode(), re.MULTILINE)


def steps(exchange: Exchange) -> list[int]:
    return [m["params"]["step"] for m in exchange.messages if "params" in m]


@pytest.fixture
def rig() -> Rig:
    return Rig()


async def test_a_stream_begins_with_an_empty_event_that_has_an_id_and_a_pause(rig: Rig) -> None:
    session = await rig.host.initialize()
    with anyio.fail_after(5):
        async with rig.host.exchange(**rig.call(session)) as call:
            rig.step()
            await call.wait_messages(1)
            rig.finish()
            await call.ended.wait()
    name = ids(call)[0].removesuffix("-0")
    assert call.body.startswith(f"id: {name}-0\r\nretry: 1000\r\ndata:\r\n\r\n".encode())
    assert ids(call) == [f"{name}-0", f"{name}-1", f"{name}-2"]
    assert steps(call) == [1]


async def test_what_is_answered_at_once_is_no_stream(rig: Rig) -> None:
    rig.done.set()
    session = await rig.host.initialize()
    answered = await rig.host.ask(**rig.call(session))
    assert answered.headers["content-type"] == "application/json"


@pytest.mark.virtual_time
async def test_what_takes_long_becomes_a_stream_before_anything_happened(rig: Rig) -> None:
    session = await rig.host.initialize()
    async with rig.host.exchange(**rig.call(session)) as call:
        await anyio.sleep(0.3)
        assert len(ids(call)) == 1
        assert call.messages == []
        rig.finish()
        await call.ended.wait()


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18"])
async def test_hosts_of_older_revisions_get_no_empty_event(rig: Rig, version: str) -> None:
    session = await rig.host.initialize(version)
    with anyio.fail_after(5):
        async with rig.host.exchange(**rig.call(session)) as call:
            rig.step()
            await call.wait_messages(1)
            rig.finish()
            await call.ended.wait()
    assert ids(call) == []
    assert b"retry:" not in call.body


@pytest.mark.parametrize("seen", [0, 1, 2, 3])
async def test_a_host_that_comes_back_is_told_what_followed(rig: Rig, seen: int) -> None:
    session = await rig.host.initialize()
    with anyio.fail_after(5):
        async with rig.host.exchange(**rig.call(session)) as call:
            for count in (1, 2, 3):
                rig.step()
                await call.wait_messages(count)
            call.hang_up()
            await anyio.wait_all_tasks_blocked()
            rig.step()
            await anyio.wait_all_tasks_blocked()
            async with rig.host.exchange("GET", **rig.again(session, ids(call)[seen])) as back:
                await back.wait_messages(4 - seen)
                rig.finish()
                await back.ended.wait()
    assert rig.service.cancelled == []
    assert steps(back) == [*range(seen + 1, 5)]
    assert back.message["result"]["for"] == "t"
    assert ids(back)[: 3 - seen] == ids(call)[seen + 1 :]


async def test_an_answer_that_was_given_meanwhile_is_fetched(rig: Rig) -> None:
    session = await rig.host.initialize()
    with anyio.fail_after(5):
        async with rig.host.exchange(**rig.call(session)) as call:
            rig.step()
            await call.wait_messages(1)
            call.hang_up()
            await anyio.wait_all_tasks_blocked()
            rig.finish()
            await anyio.wait_all_tasks_blocked()
        back = await rig.host.ask("GET", **rig.again(session, ids(call)[-1]))
    assert back.message["result"]["for"] == "t"
    assert back.message["id"] == rig.host.last_id


@pytest.mark.virtual_time
async def test_a_long_stream_is_let_go_and_its_host_polls_for_the_rest() -> None:
    rig = Rig(HttpLimits(stream_seconds=10))
    session = await rig.host.initialize()
    async with rig.host.exchange(**rig.call(session)) as call:
        with anyio.fail_after(11):
            await call.ended.wait()
        assert call.messages == []
        async with rig.host.exchange("GET", **rig.again(session, ids(call)[0])) as first:
            with anyio.fail_after(11):
                await first.ended.wait()
        assert first.messages == []
        async with rig.host.exchange("GET", **rig.again(session, ids(call)[0])) as second:
            rig.finish()
            await second.ended.wait()
    assert second.message["result"]["for"] == "t"
    assert rig.service.cancelled == []


async def test_a_message_goes_on_one_stream_only(rig: Rig) -> None:
    session = await rig.host.initialize()
    with anyio.fail_after(5):
        async with rig.host.exchange(**rig.call(session)) as call:
            rig.step()
            await call.wait_messages(1)
            async with rig.host.exchange("GET", **rig.again(session, ids(call)[1])) as back:
                await back.begun.wait()
                await call.ended.wait()
                rig.step()
                await back.wait_messages(1)
                rig.finish()
                await back.ended.wait()
    assert steps(call) == [1]
    assert steps(back) == [2]


async def test_a_host_that_comes_back_need_not_wait_for_its_stalled_stream(rig: Rig) -> None:
    session = await rig.host.initialize()
    with anyio.fail_after(5):
        async with rig.host.exchange(**rig.call(session)) as call:
            rig.step()
            await call.wait_messages(1)
            call.flowing = anyio.Event()
            rig.step()
            await anyio.wait_all_tasks_blocked()
            async with rig.host.exchange("GET", **rig.again(session, ids(call)[1])) as back:
                await back.wait_messages(1)
                call.flowing.set()
                rig.finish()
                await back.ended.wait()
    assert steps(back) == [2]


async def test_streams_of_one_session_are_kept_apart(rig: Rig) -> None:
    session = await rig.host.initialize()
    with anyio.fail_after(5):
        async with (
            rig.host.exchange(**rig.call(session, "a")) as first,
            rig.host.exchange(**rig.call(session, "b")) as second,
        ):
            rig.step()
            await first.wait_messages(1)
            await second.wait_messages(1)
            first.hang_up()
            second.hang_up()
            await anyio.wait_all_tasks_blocked()
            rig.finish()
            await anyio.wait_all_tasks_blocked()
        for call, name in ((first, "a"), (second, "b")):
            back = await rig.host.ask("GET", **rig.again(session, ids(call)[0]))
            assert {event.rsplit("-", 1)[0] for event in ids(back)} == {
                event.rsplit("-", 1)[0] for event in ids(call)
            }
            assert [m["result"]["for"] for m in back.messages if "result" in m] == [name]


async def test_no_other_session_and_no_other_principal_gets_the_rest(rig: Rig) -> None:
    mine, other = await rig.host.initialize(), await rig.host.initialize()
    with anyio.fail_after(5):
        async with rig.host.exchange(**rig.call(mine)) as call:
            rig.step()
            await call.wait_messages(1)
            call.hang_up()
            await anyio.wait_all_tasks_blocked()
            stolen = await rig.host.ask("GET", **rig.again(other, ids(call)[0]))
            rig.principal = LOCAL
            foreign = await rig.host.ask("GET", **rig.again(mine, ids(call)[0]))
            rig.finish()
    assert (stolen.status, foreign.status) == (400, 404)
    assert b"result" not in stolen.body + foreign.body


@pytest.mark.parametrize(
    "last", ["x", "-", "0", "f" * 16 + "-0", "f" * 16 + "-x", "f" * 16 + "-" + "9" * 400, "é-1"]
)
async def test_an_id_that_nobody_gave_is_refused_and_the_session_lives(rig: Rig, last: str) -> None:
    rig.done.set()
    session = await rig.host.initialize()
    refused = await rig.host.ask("GET", **rig.again(session, last))
    assert (refused.status, refused.message["error"]["code"]) == (400, -32600)
    assert (await rig.host.ask(**rig.call(session))).status == 200


async def test_an_answer_that_was_no_stream_is_not_kept(rig: Rig) -> None:
    rig.done.set()
    session = await rig.host.initialize()
    for _ in range(3):
        await rig.host.ask(**rig.call(session))
    assert _kept(rig, session) == 0


@pytest.mark.virtual_time
async def test_a_finished_stream_is_kept_for_a_while_and_then_forgotten(rig: Rig) -> None:
    session = await rig.host.initialize()
    async with rig.host.exchange(**rig.call(session)) as call:
        await anyio.sleep(1)
        rig.finish()
        await call.ended.wait()
    await anyio.sleep(50)
    assert (await rig.host.ask("GET", **rig.again(session, ids(call)[0]))).status == 200
    await anyio.sleep(20)
    assert (await rig.host.ask("GET", **rig.again(session, ids(call)[0]))).status == 400


async def streamed(rig: Rig, session: str) -> str:
    """Make one streamed call; the id of its first event."""
    rig.done = anyio.Event()
    before = rig.steps
    async with rig.host.exchange(**rig.call(session)) as call:
        rig.step()
        await call.wait_messages(before + 1)
        rig.finish()
        await call.ended.wait()
    rig.steps = 0
    return ids(call)[0]


async def test_a_session_keeps_only_its_newest_finished_streams(rig: Rig) -> None:
    session = await rig.host.initialize()
    with anyio.fail_after(5):
        events = [await streamed(rig, session) for _ in range(PER_SESSION + 3)]
        found = [
            (await rig.host.ask("GET", **rig.again(session, event))).status for event in events
        ]
    assert found == [400] * 3 + [200] * PER_SESSION


async def test_all_finished_streams_together_are_bounded() -> None:
    rig = Rig(HttpLimits(replays_bytes=600))
    sessions = [await rig.host.initialize() for _ in range(4)]
    with anyio.fail_after(5):
        events = [await streamed(rig, session) for session in sessions]
        found = [
            (await rig.host.ask("GET", **rig.again(session, event))).status
            for session, event in zip(sessions, events, strict=True)
        ]
    assert found[0] == 400
    assert found[-1] == 200


async def test_of_an_unfinished_stream_the_newest_events_are_kept() -> None:
    rig = Rig(HttpLimits(replay_bytes=1_000))
    session = await rig.host.initialize()
    with anyio.fail_after(5):
        async with rig.host.exchange(**rig.call(session)) as call:
            rig.step()
            await call.wait_messages(1)
            call.hang_up()
            await anyio.wait_all_tasks_blocked()
            for _ in range(50):
                rig.step()
                await anyio.wait_all_tasks_blocked()
            rig.finish()
            await anyio.wait_all_tasks_blocked()
        back = await rig.host.ask("GET", **rig.again(session, ids(call)[0]))
    assert back.message["result"]["for"] == "t"
    assert steps(back)[-1] == 51
    assert len(back.body) < 1_200


async def test_a_deleted_session_has_nothing_to_come_back_for(rig: Rig) -> None:
    session = await rig.host.initialize()
    with anyio.fail_after(5):
        event = await streamed(rig, session)
        assert len(_sessions(rig).shelf) == 1
        await rig.host.ask("DELETE", headers={**GET, "mcp-session-id": session})
    assert len(_sessions(rig).shelf) == 0
    assert (await rig.host.ask("GET", **rig.again(session, event))).status == 404


async def test_coming_back_leaves_the_stream_of_announcements_alone(rig: Rig) -> None:
    session = await rig.host.initialize()
    with anyio.fail_after(5):
        async with rig.host.exchange("GET", headers={**GET, "mcp-session-id": session}) as stream:
            await stream.begun.wait()
            event = await streamed(rig, session)
            await rig.host.ask("GET", **rig.again(session, event))
            assert not stream.ended.is_set()
            assert stream.messages == []


@pytest.mark.virtual_time
async def test_a_host_that_is_back_is_kept_alive_and_may_hang_up_again(rig: Rig) -> None:
    session = await rig.host.initialize()
    async with rig.host.exchange(**rig.call(session)) as call:
        await anyio.sleep(1)
        call.hang_up()
        await anyio.sleep(1)
        async with rig.host.exchange("GET", **rig.again(session, ids(call)[0])) as back:
            await anyio.sleep(100)
            assert back.body.count(b": still here") > 3
        rig.step()
        await anyio.sleep(1)
        async with rig.host.exchange("GET", **rig.again(session, ids(call)[0])) as third:
            rig.finish()
            await third.ended.wait()
    assert steps(third) == [1]
    assert steps(back) == []


def test_an_event_id_names_a_stream_and_a_place() -> None:
    assert place("0123456789abcdef-12") == ("0123456789abcdef", 12)
    assert place("0123456789abcdeF-12") is None


def _sessions(rig: Rig) -> Sessions:
    host: Any = rig.host
    return host._app._handshake.sessions


def _kept(rig: Rig, session: str) -> int:
    found = _sessions(rig).find(session, ANONYMOUS)
    return 0 if found is None else len(found.streams)
