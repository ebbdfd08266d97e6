"""Progress and log messages reach the request they are of: in order, and not after its answer."""

from collections import defaultdict
from functools import partial
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.adapters.session.hearing import Hearing
from toolcrib.errors import UpstreamRefused
from toolcrib.facts import Finding
from toolcrib.ports import Era, RequestContext, ServerFacts
from toolcrib.testing.connected import PAIRS, connected
from toolcrib.testing.scripted_server import Content, Delay, Progress, Say, tool
from toolcrib.testing.server.rulebook import Wire
from toolcrib.testing.session_rig import Message, Peer, ignore, open_rig

CALL = "tools/call"
HANDSHAKE = ServerFacts("handshake", "2025-11-25", {"tools": {}, "logging": {}})
MODERN = ServerFacts("modern", "2026-07-28", {"tools": {}, "logging": {}})
BOTH = pytest.mark.parametrize("facts", [HANDSHAKE, MODERN], ids=["handshake", "modern"])
VIRTUAL = pytest.mark.virtual_time


# ---- progress ----


@pytest.mark.duty(35)
@pytest.mark.parametrize(("wire", "era"), PAIRS)
async def test_forty_callers_hear_their_own_progress_in_order_and_none_after_the_answer(
    wire: Wire, era: Era
) -> None:
    names = [f"t{number}" for number in range(40)]
    heard: dict[str, list[float]] = defaultdict(list)
    answered: set[str] = set()
    late: list[str] = []

    async def call(name: str) -> None:
        async def progress(done: float, total: float | None, text: str | None) -> None:
            assert total == 3
            assert text == name
            if name in answered:
                late.append(name)
            heard[name].append(done)

        params = {"name": name, "arguments": {}, "_meta": {"progressToken": "the same"}}
        await peer.upstream.request(CALL, params, progress=progress)
        answered.add(name)

    with anyio.fail_after(20):
        async with connected(wire, era, Content(tools=[tool(name) for name in names])) as peer:
            for name in names:
                steps = [Progress(n, 3, name) for n in (1, 2, 3)]
                await peer.server.on(f"tools/call:{name}", *steps)
            async with anyio.create_task_group() as tasks:
                for name in names:
                    tasks.start_soon(call, name)
            calls = await peer.server.heard(CALL)
    tokens = [one.message["params"]["_meta"]["progressToken"] for one in calls]
    assert len(set(tokens)) == len(names), "every token is minted here and used once"
    assert heard == {name: [1, 2, 3] for name in names}
    assert late == []


@pytest.mark.duty(35)
@BOTH
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_progress_that_does_not_grow_is_dropped(facts: ServerFacts) -> None:
    told = [1, 1, 0.5, 2, float("nan"), True, "3", None, 10**400, 2.5, -1]
    heard: list[tuple[float, float | None, str | None]] = []

    async def behave(peer: Peer, message: Message) -> None:
        token = message["params"]["_meta"]["progressToken"]
        for value in told:
            peer.notify(
                "notifications/progress", progressToken=token, progress=value, total="x", message=5
            )
        peer.notify("notifications/progress", progressToken=str(token), progress=7, total=9)
        peer.answer(message)

    async def progress(done: float, total: float | None, text: str | None) -> None:
        heard.append((done, total, text))

    async with open_rig(behave) as rig:
        rig.session.adopt(facts)
        with anyio.fail_after(5):
            await rig.session.request(CALL, {"name": "x"}, progress=progress)
    assert heard == [(1, None, None), (2, None, None), (2.5, None, None), (7, 9, None)]


@pytest.mark.duty(35)
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_a_listener_that_awaits_is_told_one_thing_at_a_time() -> None:
    heard: list[float] = []
    inside = 0

    async def behave(peer: Peer, message: Message) -> None:
        token = message["params"]["_meta"]["progressToken"]
        for step in range(1, 20):
            peer.notify("notifications/progress", progressToken=token, progress=step)
        peer.answer(message)

    async def progress(done: float, *rest: object) -> None:
        del rest
        nonlocal inside
        inside += 1
        assert inside == 1
        for _ in range(int(20 - done)):
            await anyio.lowlevel.checkpoint()
        heard.append(done)
        inside -= 1

    async with open_rig(behave) as rig:
        rig.session.adopt(HANDSHAKE)
        with anyio.fail_after(5):
            await rig.session.request(CALL, {"name": "x"}, progress=progress)
    assert heard == list(range(1, 20))


@pytest.mark.duty(35)
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_what_came_before_an_error_is_heard_and_what_comes_after_it_is_not() -> None:
    heard: list[float] = []

    async def behave(peer: Peer, message: Message) -> None:
        token = message["params"]["_meta"]["progressToken"]
        for step in (1, 2):
            peer.notify("notifications/progress", progressToken=token, progress=step)
        peer.refuse(message, -32603)
        await anyio.wait_all_tasks_blocked()
        peer.notify("notifications/progress", progressToken=token, progress=3)

    async def progress(done: float, *rest: object) -> None:
        del rest
        await anyio.sleep(0.01)
        heard.append(done)

    async with open_rig(behave) as rig:
        rig.session.adopt(HANDSHAKE)
        with anyio.fail_after(5):
            with pytest.raises(UpstreamRefused):
                await rig.session.request(CALL, {}, progress=progress)
            assert heard == [1, 2]
            await anyio.sleep(0.05)
    assert heard == [1, 2]


@VIRTUAL
async def test_a_listener_that_hangs_holds_the_answer_for_a_second_only() -> None:
    async def behave(peer: Peer, message: Message) -> None:
        token = message["params"]["_meta"]["progressToken"]
        peer.notify("notifications/progress", progressToken=token, progress=1)
        peer.answer(message, ok=True)

    async def progress(*told: object) -> None:
        del told
        await anyio.sleep_forever()

    async with open_rig(behave) as rig:
        rig.session.adopt(HANDSHAKE)
        began = anyio.current_time()
        assert await rig.session.request(CALL, {}, progress=progress) == {"ok": True}
        assert anyio.current_time() - began == 1.0


@VIRTUAL
async def test_a_flood_of_progress_keeps_the_newest_and_a_bounded_number() -> None:
    heard: list[float] = []

    async def behave(peer: Peer, message: Message) -> None:
        token = message["params"]["_meta"]["progressToken"]
        for step in range(1, 900):
            peer.notify("notifications/progress", progressToken=token, progress=step)
        peer.answer(message)

    async def progress(done: float, *rest: object) -> None:
        del rest
        heard.append(done)
        if len(heard) == 1:
            await anyio.sleep(0.5)

    async with open_rig(behave) as rig:
        rig.session.adopt(HANDSHAKE)
        await rig.session.request(CALL, {}, progress=progress)
    assert heard[-1] == 899
    assert heard == sorted(heard)
    assert len(heard) <= 257


@given(st.lists(st.integers(-3, 12) | st.floats(allow_nan=True), max_size=30))
def test_what_is_told_grows_and_loses_no_step_forward(told: list[float]) -> None:
    def failed(error: Exception) -> None:
        raise AssertionError("a listener failed") from error

    async def listen() -> list[float]:
        heard: list[float] = []

        async def progress(done: float, *rest: object) -> None:
            del rest
            heard.append(done)

        hearing = Hearing(progress, None, failed)
        for value in told:
            hearing.progressed({"progress": value})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hearing.run)
            await hearing.finish()
        hearing.progressed({"progress": 99})
        return heard

    heard = anyio.run(listen)
    expected: list[float] = []
    for value in told:
        if not expected or value > expected[-1]:
            expected += [value] if value == value and value > float("-inf") else []  # noqa: PLR0124
    assert heard == expected


# ---- log messages ----


class Listener:
    """Keeps the log messages of one caller; two of them are never equal."""

    def __init__(self) -> None:
        self.heard: list[object] = []

    async def take(self, method: str, params: Any) -> None:
        assert method == "notifications/message"
        self.heard.append(params["data"])

    def wants(self, level: str = "info") -> RequestContext:
        return RequestContext(heard=self.take, log_level=level)


async def log_then_answer(peer: Peer, message: Message) -> None:
    if message.get("method") == CALL:
        for level in ("debug", "info", "error", "shout"):
            peer.notify("notifications/message", level=level, data=f"{level}!")
        peer.answer(message)
    elif "id" in message:
        peer.answer(message)


@BOTH
async def test_log_messages_reach_the_one_call_from_its_level_on(facts: ServerFacts) -> None:
    listener = Listener()
    async with open_rig(log_then_answer) as rig:
        rig.session.adopt(facts)
        with anyio.fail_after(5):
            await rig.session.request(CALL, {"name": "x"}, context=listener.wants())
            assert listener.heard == ["info!", "error!"]
            await rig.session.request(CALL, {"name": "x"})
    assert listener.heard == ["info!", "error!"], "nothing after the answer"


async def test_a_modern_request_names_its_own_level_and_a_handshake_session_is_set_once() -> None:
    listener = Listener()
    async with open_rig(log_then_answer) as rig:
        rig.session.adopt(MODERN)
        with anyio.fail_after(5):
            await rig.session.request(CALL, {}, context=listener.wants("notice"))
            await rig.session.request(CALL, {})
        metas = [one["params"]["_meta"] for one in rig.peer.received]
        level = "io.modelcontextprotocol/logLevel"
        assert [meta.get(level) for meta in metas] == ["notice", None]
    async with open_rig(log_then_answer) as rig:
        rig.session.adopt(HANDSHAKE)
        with anyio.fail_after(5):
            for level in ("error", "info", "warning", "info", "debug", "nonsense", ""):
                await rig.session.request(CALL, {}, context=listener.wants(level))
        set_to = [one["params"]["level"] for one in rig.peer.sent("logging/setLevel")]
        assert set_to == ["error", "info", "debug"], "only ever more talkative"


async def test_a_level_of_another_side_never_goes_out_in_a_modern_request() -> None:
    async with open_rig(log_then_answer) as rig:
        rig.session.adopt(MODERN)
        with anyio.fail_after(5):
            params = {"_meta": {"io.modelcontextprotocol/logLevel": "debug"}}
            await rig.session.request(CALL, params)
        assert "io.modelcontextprotocol/logLevel" not in rig.peer.received[0]["params"]["_meta"]


@pytest.mark.parametrize("answer", ["refuses", "never declared"])
async def test_a_server_that_does_not_set_levels_costs_no_call(answer: str) -> None:
    async def behave(peer: Peer, message: Message) -> None:
        if message["method"] == "logging/setLevel":
            peer.refuse(message, -32601)
        else:
            peer.answer(message, ok=True)

    listener = Listener()
    declared: dict[str, Any] = {"tools": {}}
    if answer == "refuses":
        declared["logging"] = {}
    async with open_rig(behave) as rig:
        rig.session.adopt(ServerFacts("handshake", "2025-11-25", declared))
        with anyio.fail_after(5):
            for level in ("info", "debug"):
                context = listener.wants(level)
                assert await rig.session.request(CALL, {}, context=context) == {"ok": True}
        assert len(rig.peer.sent("logging/setLevel")) == (1 if answer == "refuses" else 0)


async def test_a_level_that_was_given_up_half_way_is_set_by_the_next_call() -> None:
    listener = Listener()
    async with open_rig(ignore) as rig:
        rig.session.adopt(HANDSHAKE)
        with anyio.fail_after(5):
            with anyio.move_on_after(0.05):
                await rig.session.request(CALL, {}, context=listener.wants())
            async with anyio.create_task_group() as tasks:
                call = partial(rig.session.request, CALL, {}, context=listener.wants())
                tasks.start_soon(call)
                await rig.peer.wait_for("logging/setLevel", 2)
                tasks.cancel_scope.cancel()


@BOTH
async def test_a_log_message_that_may_be_of_another_caller_reaches_nobody(
    facts: ServerFacts,
) -> None:
    first, second = Listener(), Listener()
    async with open_rig(ignore) as rig:
        rig.session.adopt(ServerFacts(facts.era, facts.protocol_version, {"tools": {}}))
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                for listener in (first, second):
                    call = partial(rig.session.request, CALL, {}, context=listener.wants())
                    tasks.start_soon(call)
                await rig.peer.wait_for(CALL, 2)
                for _ in range(2):
                    rig.peer.notify("notifications/message", level="error", data="secret")
                for message in rig.peer.sent(CALL):
                    rig.peer.answer(message)
        assert first.heard == second.heard == []
        assert [fact.code for fact in rig.facts.of(Finding)].count("log_message_unplaced") == 1


async def test_a_call_without_a_listener_keeps_messages_from_the_one_beside_it() -> None:
    listener = Listener()
    async with open_rig(ignore) as rig:
        rig.session.adopt(ServerFacts("handshake", "2025-11-25", {"tools": {}}))
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(partial(rig.session.request, CALL, {}, context=listener.wants()))
                tasks.start_soon(rig.session.request, CALL)
                await rig.peer.wait_for(CALL, 2)
                rig.peer.notify("notifications/message", level="error", data="whose?")
                for message in rig.peer.sent(CALL):
                    rig.peer.answer(message)
        assert listener.heard == []


async def test_two_calls_of_one_caller_are_told_a_message_once() -> None:
    listener = Listener()
    async with open_rig(ignore) as rig:
        rig.session.adopt(ServerFacts("handshake", "2025-11-25", {"tools": {}}))
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                for _ in range(2):
                    call = partial(rig.session.request, CALL, {}, context=listener.wants())
                    tasks.start_soon(call)
                tasks.start_soon(rig.session.request, "tools/list")
                await rig.peer.wait_for(CALL, 2)
                await rig.peer.wait_for("tools/list")
                rig.peer.notify("notifications/message", level="error", data="once")
                for message in rig.peer.received:
                    rig.peer.answer(message)
        assert listener.heard == ["once"]


@pytest.mark.parametrize("same", [True, False])
async def test_a_known_caller_is_told_once_and_another_nothing(*, same: bool) -> None:
    listeners = [Listener(), Listener()]
    async with open_rig(ignore) as rig:
        rig.session.adopt(ServerFacts("handshake", "2025-11-25", {"tools": {}}))
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                for number, listener in enumerate(listeners):
                    context = RequestContext(heard=listener.take, caller=0 if same else number)
                    tasks.start_soon(partial(rig.session.request, CALL, {}, context=context))
                await rig.peer.wait_for(CALL, 2)
                rig.peer.notify("notifications/message", level="error", data="whose?")
                for message in rig.peer.sent(CALL):
                    rig.peer.answer(message)
        heard = [said for listener in listeners for said in listener.heard]
        assert heard == (["whose?"] if same else [])


async def test_a_listener_that_raises_costs_its_message_alone() -> None:
    heard: list[object] = []

    async def take(method: str, params: Any) -> None:
        heard.append((method, params["data"]))
        raise RuntimeError("secret")

    async with open_rig(log_then_answer) as rig:
        rig.session.adopt(MODERN)
        with anyio.fail_after(5):
            await rig.session.request(CALL, {}, context=RequestContext(heard=take))
        told = ["debug!", "info!", "error!", "shout!"]
        assert heard == [("notifications/message", text) for text in told]
        found = [fact for fact in rig.facts.of(Finding) if fact.code == "listener_failed"]
        assert [fact.detail for fact in found] == ["RuntimeError while hearing of a request"]


@pytest.mark.parametrize("era", ["modern", "handshake"])
async def test_over_http_each_stream_carries_the_messages_of_its_own_call(era: Era) -> None:
    listeners = {name: Listener() for name in ("slow", "quick", "other")}

    async def call(name: str) -> None:
        params: dict[str, Any] = {"name": name, "arguments": {}}
        await peer.upstream.request(CALL, params, context=listeners[name].wants())

    with anyio.fail_after(10):
        async with connected("http", era) as peer:
            for name in listeners:
                await peer.server.on(f"tools/call:{name}", Delay(0.1), *_logs(name), Delay(0.1))
            async with anyio.create_task_group() as tasks:
                for name in listeners:
                    tasks.start_soon(call, name)
    assert {name: one.heard for name, one in listeners.items()} == {
        name: [f"{name} 0", f"{name} 1"] for name in listeners
    }


def _logs(name: str) -> list[Say]:
    return [
        Say("notifications/message", {"level": "info", "data": f"{name} {number}"})
        for number in range(2)
    ]
