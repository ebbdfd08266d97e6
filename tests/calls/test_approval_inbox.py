"""Questions that nobody could be asked: they wait, are answered elsewhere, and expire."""

from typing import Any

import anyio
import pytest

from toolcrib.calls.approval.inbox import MOST_OF_ONE
from toolcrib.calls.call import Requester
from toolcrib.core.partition import ANONYMOUS
from toolcrib.errors import CapabilityMissing, ConfirmationNeeded, NotAllowed, UpstreamRefused
from toolcrib.settings import ApprovalRule
from toolcrib.testing.approval_desk import ALICE, ASK, HOUR, RUN, ApprovalDesk, Person, call, tool


@pytest.mark.parametrize(
    "reason", [CapabilityMissing("no elicitation"), UpstreamRefused("no", rpc_code=-32601)]
)
async def test_where_nobody_can_be_asked_the_question_waits_and_the_model_is_told(
    reason: Exception,
) -> None:
    desk = ApprovalDesk(HOUR, person=Person(reason))
    with pytest.raises(ConfirmationNeeded) as caught:
        await desk.confirm()
    waiting = await desk.the_question()
    assert caught.value.code == "needs_confirmation"
    assert caught.value.details == {
        "id": waiting.id,
        "command": f"toolcrib approve {waiting.id}",
        "seconds": 900.0,
    }
    assert f"toolcrib approve {waiting.id}" in caught.value.for_model()
    shown = (waiting.server, waiting.tool, waiting.arguments, waiting.caller, waiting.rule)
    assert shown == ("files", "delete", 'path: "/a"', "local", "toolcrib.toml:3")
    assert (waiting.remember, waiting.seconds) == ("principal", 3_600.0)
    assert waiting.expires_at == waiting.asked_at + 900.0


async def test_after_a_yes_the_same_call_goes_out_once() -> None:
    desk = ApprovalDesk(ASK)
    with pytest.raises(ConfirmationNeeded):
        await desk.confirm()
    waiting = await desk.the_question()
    assert await desk.inbox.answer(waiting.id, yes=True) == waiting
    assert await desk.inbox.waiting() == ()
    with pytest.raises(ConfirmationNeeded):
        await desk.confirm(call({"path": "/b"}))
    with pytest.raises(ConfirmationNeeded):
        await desk.confirm(item=tool(path={"type": "string"}))
    await desk.confirm()
    with pytest.raises(ConfirmationNeeded):
        await desk.confirm()


async def test_of_calls_made_at_once_a_single_yes_lets_one_out() -> None:
    desk = ApprovalDesk(ASK)
    with pytest.raises(ConfirmationNeeded):
        await desk.confirm()
    await desk.inbox.answer((await desk.the_question()).id, yes=True)
    out: list[str] = []

    async def one() -> None:
        try:
            await desk.confirm()
            out.append("went")
        except ConfirmationNeeded:
            out.append("waits")

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(one)
    assert sorted(out) == ["waits", "waits", "waits", "went"]


async def test_after_a_no_the_same_call_is_refused_and_no_question_waits() -> None:
    desk = ApprovalDesk(ASK)
    with pytest.raises(ConfirmationNeeded):
        await desk.confirm()
    await desk.inbox.answer((await desk.the_question()).id, yes=False)
    for _ in range(3):
        with pytest.raises(NotAllowed, match="a person said no"):
            await desk.confirm()
    assert await desk.inbox.waiting() == ()


@pytest.mark.virtual_time
async def test_questions_and_answers_expire() -> None:
    desk = ApprovalDesk(ASK)
    with pytest.raises(ConfirmationNeeded):
        await desk.confirm()
    waiting = await desk.the_question()
    await anyio.sleep(901)
    assert await desk.inbox.waiting() == ()
    assert await desk.inbox.answer(waiting.id, yes=True) is None
    for yes in (True, False):
        with pytest.raises(ConfirmationNeeded):
            await desk.confirm()
        await desk.inbox.answer(waiting.id, yes=yes)
        await anyio.sleep(901)
        with pytest.raises(ConfirmationNeeded):
            await desk.confirm()


async def test_the_same_call_asks_one_question_however_often_it_is_made() -> None:
    desk = ApprovalDesk(ASK)
    for _ in range(3):
        with pytest.raises(ConfirmationNeeded):
            await desk.confirm()
    await desk.the_question()
    with pytest.raises(ConfirmationNeeded):
        await desk.confirm(call({"path": "/b"}))
    assert len(await desk.inbox.waiting()) == 2


async def test_a_yes_from_another_process_may_last_as_long_as_the_rule_lets_it() -> None:
    desk = ApprovalDesk(HOUR)
    with pytest.raises(ConfirmationNeeded):
        await desk.confirm()
    waiting = await desk.the_question()
    elsewhere = ApprovalDesk(store=desk.store).inbox
    with pytest.raises(NotAllowed, match="3600 seconds at most"):
        await elsewhere.answer(waiting.id, yes=True, seconds=3_601.0)
    assert await elsewhere.answer(waiting.id, yes=True, seconds=3_600.0) == waiting
    await desk.confirm(call({"path": "/b"}))


async def test_a_yes_for_the_run_of_another_process_reaches_that_run_alone() -> None:
    desk = ApprovalDesk(RUN)
    with pytest.raises(ConfirmationNeeded):
        await desk.confirm()
    elsewhere = ApprovalDesk(store=desk.store)
    await elsewhere.inbox.answer((await desk.the_question()).id, yes=True, run=True)
    await desk.confirm(call({"path": "/b"}))
    with pytest.raises(ConfirmationNeeded):
        await ApprovalDesk(RUN, store=desk.store, run="run-2").confirm()


@pytest.mark.parametrize(
    ("rule", "longer"),
    [(ASK, {"run": True}), (ASK, {"seconds": 5.0}), (RUN, {"seconds": 5.0})],
)
async def test_no_answer_is_good_for_longer_than_its_rule_says(
    rule: ApprovalRule, longer: dict[str, Any]
) -> None:
    desk = ApprovalDesk(rule)
    with pytest.raises(ConfirmationNeeded):
        await desk.confirm()
    waiting = await desk.the_question()
    with pytest.raises(NotAllowed):
        await desk.inbox.answer(waiting.id, yes=True, **longer)
    assert await desk.inbox.waiting() == (waiting,)


async def test_an_id_may_be_cut_as_long_as_it_is_clear() -> None:
    desk = ApprovalDesk(ASK)
    for path in range(40):
        with pytest.raises(ConfirmationNeeded):
            await desk.confirm(call({"path": path}))
    waiting = await desk.inbox.waiting()
    first = waiting[0].id
    assert await desk.inbox.answer("", yes=True) is None
    twice = next(it for it in "0123456789abcdef" if sum(w.id[0] == it for w in waiting) > 1)
    assert await desk.inbox.answer(twice, yes=True) is None
    assert await desk.inbox.answer(first[:8], yes=True) == waiting[0]
    assert await desk.inbox.answer(first, yes=True) is None


async def test_the_person_at_the_machine_answers_for_its_own_and_anonymous_callers() -> None:
    desk = ApprovalDesk(ASK)
    for requester in (Requester(), Requester(ANONYMOUS, "h"), Requester(ALICE)):
        with pytest.raises(ConfirmationNeeded):
            await desk.confirm(call(requester=requester))
    assert {it.caller for it in await desk.inbox.waiting()} == {"local", "anonymous"}
    assert [it.caller for it in await desk.inbox.waiting([ALICE])] == ["alice"]
    (hers,) = await desk.inbox.waiting([ALICE])
    assert await desk.inbox.answer(hers.id, yes=True) is None


async def test_the_inbox_is_bounded_and_passes_over_what_it_cannot_read() -> None:
    desk = ApprovalDesk(ASK)
    for path in range(60):
        with pytest.raises(ConfirmationNeeded):
            await desk.confirm(call({"path": path}))
    assert len(await desk.inbox.waiting()) == MOST_OF_ONE
    owner = desk.answers.owners.caller(Requester())
    garbage = {"a": b"\xff", "b": b"[]", "c": b'{"server": 1}', "d": b"{"}
    await desk.store.put("inbox", owner, garbage, lifetime=10.0, most=10)
    assert len(await desk.inbox.waiting()) == 6
