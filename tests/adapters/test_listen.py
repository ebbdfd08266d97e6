"""Change signals: asked for, acknowledged in full or in part, lost, and asked for again in time."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from toolcrib.adapters.http.outcome import TRANSPORT_FAILED, HttpOutcome
from toolcrib.adapters.session.handshake_streams import HandshakeStreams
from toolcrib.adapters.session.listen import ListenLoop
from toolcrib.facts import Finding
from toolcrib.ports import ServerFacts
from toolcrib.settings import Reconnect
from toolcrib.testing.session_rig import Behaviour, Message, Peer, SessionRig, ignore, open_rig
from toolcrib.testing.signal_log import SignalLog

pytestmark = pytest.mark.virtual_time

ALL = {kind: {"listChanged": True} for kind in ("tools", "prompts", "resources")}
RULE = Reconnect(backoff_base=1.0, backoff_max=8.0, sustained=30.0)
FILTER = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
TOOLS_CHANGED = "notifications/tools/list_changed"


def meta_of(request: Message) -> Message:
    return {"io.modelcontextprotocol/subscriptionId": request["id"]}


def acknowledge(peer: Peer, request: Message, **asked: bool) -> None:
    honoured = asked or request["params"]["notifications"]
    peer.notify(
        "notifications/subscriptions/acknowledged", notifications=honoured, _meta=meta_of(request)
    )


async def acknowledging(peer: Peer, message: Message) -> None:
    if message["method"] == "subscriptions/listen":
        acknowledge(peer, message)


@asynccontextmanager
async def listening(
    behave: Behaviour = acknowledging, capabilities: Any = ALL, **options: Any
) -> AsyncGenerator[tuple[SessionRig, ListenLoop]]:
    async with open_rig(behave, reconnect=RULE, **options) as rig:
        rig.session.adopt(ServerFacts("modern", "2026-07-28", capabilities))
        loop = ListenLoop(rig.attempt, rig.session)
        rig.tasks.start_soon(loop.run)
        await anyio.wait_all_tasks_blocked()
        yield rig, loop


# ---- asking ----


async def test_the_request_names_what_the_server_declares_and_an_id_of_our_own() -> None:
    capabilities = {"tools": {"listChanged": True}, "prompts": {}, "resources": {"listChanged": 1}}
    async with listening(capabilities=capabilities, http=True) as (rig, loop):
        (request,) = rig.peer.sent("subscriptions/listen")
        assert request["params"]["notifications"] == {"toolsListChanged": True}
        assert "io.modelcontextprotocol/protocolVersion" in request["params"]["_meta"]
        assert request["id"] == "listen-1"
        assert rig.peer.headers[0] == {
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "subscriptions/listen",
        }
        assert rig.signals.heard == ["opened"]
        assert loop.honoured == {"tools"}


@pytest.mark.parametrize(
    "capabilities",
    [{}, {"tools": {}}, {"tools": {"listChanged": False}}, {"tools": True}, {"logging": {}}],
    ids=str,
)
async def test_a_server_that_declares_no_signals_is_not_asked(capabilities: Message) -> None:
    async with listening(capabilities=capabilities) as (rig, _):
        await anyio.sleep(1000)
        assert rig.signals.heard == ["refused"]
        assert rig.peer.received == []


async def test_nothing_counts_as_open_before_the_acknowledgement() -> None:
    async with listening(ignore) as (rig, _):
        assert rig.signals.heard == []
        acknowledge(rig.peer, rig.peer.received[0])
        await anyio.wait_all_tasks_blocked()
        assert rig.signals.heard == ["opened"]


async def test_an_open_stream_stays_open_for_ever() -> None:
    async with listening() as (rig, _):
        await anyio.sleep(7 * 86_400)
        assert rig.signals.heard == ["opened"]
        assert len(rig.peer.received) == 1


async def test_an_acknowledgement_takes_its_place_among_the_notifications() -> None:
    async def behave(peer: Peer, message: Message) -> None:
        peer.notify(TOOLS_CHANGED, n=1)
        acknowledge(peer, message)
        for number in (2, 3):
            peer.notify(TOOLS_CHANGED, n=number, _meta=meta_of(message))

    async with listening(behave) as (rig, _):
        assert rig.signals.heard == [TOOLS_CHANGED, "opened", TOOLS_CHANGED, TOOLS_CHANGED]
        assert [params["n"] for params in rig.signals.params] == [1, 2, 3]


async def test_a_second_acknowledgement_and_one_of_another_stream_change_nothing() -> None:
    async with listening(ignore) as (rig, loop):
        request = rig.peer.received[0]
        acknowledge(rig.peer, request | {"id": "listen-9"})
        await anyio.wait_all_tasks_blocked()
        assert rig.signals.heard == ["notifications/subscriptions/acknowledged"]
        acknowledge(rig.peer, request)
        acknowledge(rig.peer, request, toolsListChanged=True)
        await anyio.wait_all_tasks_blocked()
        assert rig.signals.heard[1:] == ["opened"]
        assert loop.honoured == {"tools", "prompts", "resources"}


# ---- what the server honours ----


@pytest.mark.parametrize(
    ("honoured", "missing"),
    [
        ({"toolsListChanged": True}, "prompts, resources"),
        ({"toolsListChanged": True, "promptsListChanged": False}, "prompts, resources"),
        (FILTER | {"resourcesListChanged": None}, "resources"),
        ({"unknown": True}, "prompts, resources, tools"),
    ],
    ids=str,
)
async def test_what_is_not_honoured_is_reported_and_left_to_polling(
    honoured: dict[str, bool], missing: str
) -> None:
    async def behave(peer: Peer, message: Message) -> None:
        acknowledge(peer, message, **honoured)
        peer.notify(TOOLS_CHANGED, _meta=meta_of(message))

    async with listening(behave) as (rig, _):
        assert rig.signals.heard == ["refused", TOOLS_CHANGED], "what does come is still heard"
        (finding,) = rig.facts.of(Finding)
        assert finding.code == "listen_partial"
        assert finding.detail.endswith(f": {missing}")


async def test_an_acknowledgement_that_cannot_be_read_honours_nothing() -> None:
    async def behave(peer: Peer, message: Message) -> None:
        peer.notify("notifications/subscriptions/acknowledged", _meta=meta_of(message))

    async with listening(behave) as (rig, loop):
        assert rig.signals.heard == ["refused"]
        assert loop.honoured == frozenset()


# ---- refusals ----


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (-32601, None),
        (-32602, None),
        (-32600, None),
        (-32021, None),
        (-32601, HttpOutcome(status=404, from_server=True)),
        (TRANSPORT_FAILED, HttpOutcome(status=405)),
        (TRANSPORT_FAILED, HttpOutcome(status=404)),
        (TRANSPORT_FAILED, HttpOutcome(status=501)),
    ],
    ids=str,
)
async def test_a_server_without_the_method_is_asked_once(
    code: int, outcome: HttpOutcome | None
) -> None:
    async def behave(peer: Peer, message: Message) -> None:
        peer.refuse(message, code, outcome=outcome)

    async with listening(behave, http=outcome is not None) as (rig, _):
        await anyio.sleep(10_000)
        assert rig.signals.heard == ["refused"]
        assert len(rig.peer.received) == 1
        assert not rig.session.closed, "a refused stream does not cost the connection"


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (-32603, None),
        (TRANSPORT_FAILED, HttpOutcome(status=503)),
        (TRANSPORT_FAILED, HttpOutcome(fault="connect_refused")),
        (TRANSPORT_FAILED, HttpOutcome(status=401)),
        (TRANSPORT_FAILED, HttpOutcome(status=429)),
    ],
    ids=str,
)
async def test_a_passing_refusal_is_told_once_and_asked_again(
    code: int, outcome: HttpOutcome | None
) -> None:
    async def behave(peer: Peer, message: Message) -> None:
        if len(peer.received) < 4:
            peer.refuse(message, code, outcome=outcome)
        else:
            acknowledge(peer, message)

    async with listening(behave, http=outcome is not None) as (rig, _):
        await rig.signals.wait_for("opened")
        assert rig.signals.heard == ["refused", "opened"]
        assert [request["id"] for request in rig.peer.received] == [
            "listen-1",
            "listen-2",
            "listen-3",
            "listen-4",
        ]


async def test_a_server_that_never_acknowledges_is_cancelled_and_asked_again() -> None:
    async def behave(peer: Peer, message: Message) -> None:
        if message.get("id") == "listen-3":
            acknowledge(peer, message)

    async with listening(behave) as (rig, _):
        await anyio.sleep(19.9)
        assert rig.signals.heard == []
        await rig.signals.wait_for("opened")
        assert rig.signals.heard == ["refused", "opened"]
        cancelled = [
            message["params"]["requestId"] for message in rig.peer.sent("notifications/cancelled")
        ]
        assert cancelled == ["listen-1", "listen-2"]


# ---- losses ----


def lose_by_error(peer: Peer, request: Message) -> None:
    peer.refuse(request, TRANSPORT_FAILED, outcome=HttpOutcome(fault="closed"))


def lose_by_result(peer: Peer, request: Message) -> None:
    peer.answer(request, resultType="complete")


def lose_by_cancel(peer: Peer, request: Message) -> None:
    peer.notify("notifications/cancelled", requestId=request["id"])


LOSSES = pytest.mark.parametrize("lose", [lose_by_error, lose_by_result, lose_by_cancel])


@LOSSES
async def test_a_lost_stream_is_told_and_asked_for_again(lose: Any) -> None:
    async with listening(http=True) as (rig, loop):
        for number in (1, 2, 3):
            await rig.signals.wait_for("opened", number)
            lose(rig.peer, rig.peer.sent("subscriptions/listen")[-1])
            await rig.signals.wait_for("lost", number)
            assert loop.honoured == frozenset()
        await rig.signals.wait_for("opened", 4)
        assert rig.signals.heard == ["opened", "lost"] * 3 + ["opened"]
        ids = [request["id"] for request in rig.peer.sent("subscriptions/listen")]
        assert ids == ["listen-1", "listen-2", "listen-3", "listen-4"]


async def test_a_cancellation_of_another_request_is_not_ours() -> None:
    async with listening() as (rig, _):
        rig.peer.notify("notifications/cancelled", requestId="listen-7")
        rig.peer.notify("notifications/cancelled", requestId=1)
        await anyio.sleep(100)
        assert rig.signals.heard == ["opened"]


async def lives(rig: SessionRig, uptimes: list[float]) -> list[float]:
    """Lose each stream after its uptime; the delays between a loss and the next request."""
    delays: list[float] = []
    for number, uptime in enumerate(uptimes, 1):
        await rig.signals.wait_for("opened", number)
        await anyio.sleep(uptime)
        lose_by_error(rig.peer, rig.peer.sent("subscriptions/listen")[-1])
        lost = anyio.current_time()
        await rig.peer.wait_for("subscriptions/listen", number + 1)
        delays.append(anyio.current_time() - lost)
    return delays


async def test_the_delay_doubles_up_to_its_maximum_and_is_jittered() -> None:
    async with listening(http=True) as (rig, _):
        delays = await lives(rig, [1.0] * 7)
    for delay, base in zip(delays, [1, 2, 4, 8, 8, 8, 8], strict=True):
        assert base / 2 <= delay <= base
    assert (
        len({round(delay / base, 6) for delay, base in zip(delays[3:], [8] * 4, strict=True)}) > 1
    )


async def test_only_sustained_uptime_starts_the_delay_anew() -> None:
    async with listening(http=True) as (rig, _):
        delays = await lives(rig, [1.0, 1.0, 1.0, 29.0, 30.0, 1.0])
    for delay, base in zip(delays, [1, 2, 4, 8, 1, 2], strict=True):
        assert base / 2 <= delay <= base


async def test_a_server_that_asks_for_patience_gets_it() -> None:
    async def behave(peer: Peer, message: Message) -> None:
        if len(peer.received) == 1:
            outcome = HttpOutcome(status=503, retry_after=50.0)
            peer.refuse(message, TRANSPORT_FAILED, outcome=outcome)
        else:
            acknowledge(peer, message)

    async with listening(behave, http=True) as (rig, _):
        began = anyio.current_time()
        await rig.signals.wait_for("opened")
        assert anyio.current_time() - began >= 50.0


async def test_a_connection_that_is_over_is_no_lost_stream() -> None:
    async with listening() as (rig, _):
        rig.peer.hang_up()
        await rig.session.wait_closed()
        await anyio.sleep(1000)
        assert rig.signals.heard == ["opened"]


async def test_a_listener_that_raises_stops_nothing() -> None:
    async with listening(ignore, http=True) as (rig, _):
        rig.signals.fault = RuntimeError("secret")
        acknowledge(rig.peer, rig.peer.received[0])
        await rig.signals.wait_for("opened")
        lose_by_result(rig.peer, rig.peer.received[0])
        await rig.peer.wait_for("subscriptions/listen", 2)
        acknowledge(rig.peer, rig.peer.received[-1])
        await rig.signals.wait_for("opened", 2)
        assert rig.signals.heard == ["opened", "lost", "opened"]
        assert not rig.session.closed


async def test_a_loop_that_an_exception_kills_is_started_again_and_costs_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def behave(peer: Peer, message: Message) -> None:
        if message["method"] == "subscriptions/listen":
            acknowledge(peer, message)
        else:
            peer.answer(message)

    faults = [RuntimeError("secret"), ValueError("secret"), KeyError("secret")]

    def fail(loop: ListenLoop, failures: int, error: object) -> float:
        del loop, failures, error
        raise faults.pop(0)

    async with listening(behave) as (rig, _):
        with monkeypatch.context() as broken:
            broken.setattr(ListenLoop, "_delay", fail)
            for times in (1, 2, 3):
                began = anyio.current_time()
                lose_by_result(rig.peer, rig.peer.sent("subscriptions/listen")[-1])
                assert await rig.session.request("tools/list") == {}, "calls go on meanwhile"
                await rig.peer.wait_for("subscriptions/listen", times + 1)
                assert anyio.current_time() - began == 2.0 ** (times - 1)
        await rig.signals.wait_for("opened", 4)
        lose_by_result(rig.peer, rig.peer.sent("subscriptions/listen")[-1])
        await rig.peer.wait_for("subscriptions/listen", 5)
        assert not rig.session.closed
        found = [fact for fact in rig.facts.of(Finding) if fact.code == "listening_failed"]
        kinds = ["RuntimeError", "ValueError", "KeyError"]
        assert [fact.detail for fact in found] == [
            f"{kind}; asking for signals again" for kind in kinds
        ]


# ---- handshake revisions ----

DECLARED = {"tools": {"listChanged": True}}


def streams() -> tuple[HandshakeStreams, SignalLog]:
    log = SignalLog()
    return HandshakeStreams(log), log


@pytest.mark.parametrize(
    ("capabilities", "told"), [(DECLARED, "opened"), ({"tools": {}}, "refused"), ({}, "refused")]
)
async def test_a_pipe_carries_signals_where_they_are_declared(
    capabilities: Message, told: str
) -> None:
    watch, log = streams()
    watch.begin(capabilities, pipe=True)
    assert log.heard == [told]


async def test_what_a_transport_says_before_the_handshake_is_told_after_it() -> None:
    watch, log = streams()
    watch.stream_opened()
    assert log.heard == []
    watch.begin(DECLARED, pipe=False)
    assert log.heard == ["opened"]


async def test_a_get_stream_is_told_as_it_opens_breaks_and_is_refused() -> None:
    watch, log = streams()
    watch.begin(DECLARED, pipe=False)
    assert log.heard == []
    watch.stream_opened()
    watch.stream_lost("why")
    watch.stream_lost("why")
    watch.stream_opened()
    watch.stream_refused("why")
    watch.stream_refused("why")
    assert log.heard == ["opened", "lost", "opened", "refused"]


async def test_a_get_stream_without_declared_signals_counts_for_nothing() -> None:
    watch, log = streams()
    watch.begin({"tools": {}}, pipe=False)
    watch.stream_opened()
    watch.stream_lost("why")
    assert log.heard == ["refused"]
