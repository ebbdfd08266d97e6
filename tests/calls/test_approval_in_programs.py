"""A program that needs a person's yes: asked once for each kind, each call held against it."""

from dataclasses import replace
from typing import Any

import anyio
import pytest

from toolcrib.calls.approval.question import PROGRAM
from toolcrib.calls.call import Requester, Retry, ToolCall
from toolcrib.calls.program_consent import ProgramConsent
from toolcrib.calls.rounds.own_questions import InputNeeded, OwnAnswer
from toolcrib.errors import CallHeld, ConfirmationNeeded, NotAllowed
from toolcrib.settings import ApprovalRule
from toolcrib.testing.approval_desk import ASK, RUN, ApprovalDesk, Person, call, says, tool

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

YES = says(PROGRAM)
SRV = ApprovalRule("ask", arguments={"path": "/srv/*"}, source="toolcrib.toml:1")


def in_program(consent: ProgramConsent, path: str = "/a", **more: Any) -> ToolCall:
    return replace(call({"path": path}, Requester(consent=consent)), **more)


async def test_fifty_calls_that_go_out_together_are_asked_about_once() -> None:
    desk, consent = ApprovalDesk(ASK, person=Person(YES)), ProgramConsent()
    async with anyio.create_task_group() as tasks:
        for n in range(50):
            tasks.start_soon(desk.confirm, in_program(consent, f"/{n}"))
    [question] = desk.person.asked
    assert "holds for all that the same rule asks about, while the program runs" in question.message
    assert question.schema["properties"]["answer"]["enum"] == [PROGRAM, "no"]


async def test_each_category_is_asked_about_and_each_call_is_held_against_its_own() -> None:
    desk = ApprovalDesk(SRV, ASK, person=Person(YES, says("no")))
    consent = ProgramConsent()
    await desk.confirm(in_program(consent, "/srv/1"))
    with pytest.raises(NotAllowed, match="a person said no to this call"):
        await desk.confirm(in_program(consent, "/home/1"))
    await desk.confirm(in_program(consent, "/srv/2"))
    with pytest.raises(NotAllowed, match="no to calls like this in this program"):
        await desk.confirm(in_program(consent, "/home/2"))
    assert len(desk.person.asked) == 2


async def test_a_yes_for_one_program_is_none_for_the_next_or_for_another_contract() -> None:
    desk, consent = ApprovalDesk(ASK, person=Person(YES, YES, YES)), ProgramConsent()
    await desk.confirm(in_program(consent))
    await desk.confirm(in_program(ProgramConsent()))
    await desk.confirm(in_program(consent), tool(path={"type": "string"}))
    assert len(desk.person.asked) == 3


async def test_a_direct_call_is_not_covered_by_what_was_said_about_a_program() -> None:
    desk = ApprovalDesk(ASK, person=Person(YES, says("no")))
    await desk.confirm(in_program(ProgramConsent()))
    with pytest.raises(NotAllowed):
        await desk.confirm(call())


@pytest.mark.parametrize(
    "answer", [OwnAnswer("cancel"), OwnAnswer("decline"), says("yes, once"), says("no")]
)
async def test_whatever_is_no_clear_yes_ends_all_calls_of_the_kind(answer: OwnAnswer) -> None:
    desk, consent = ApprovalDesk(ASK, person=Person(answer)), ProgramConsent()
    for n in range(3):
        with pytest.raises(NotAllowed):
            await desk.confirm(in_program(consent, f"/{n}"))
    assert len(desk.person.asked) == 1


async def test_a_question_that_goes_out_with_the_result_holds_the_calls_like_it() -> None:
    question = InputNeeded({"resultType": "input_required"}, server="files")
    desk, consent = ApprovalDesk(ASK, person=Person(question)), ProgramConsent()
    with pytest.raises(InputNeeded):
        await desk.confirm(in_program(consent))
    for n in range(3):
        with pytest.raises(CallHeld):
            await desk.confirm(in_program(consent, f"/{n}"))
    later = ProgramConsent(consent.said)
    desk.person.answers.append(YES)
    await desk.confirm(in_program(later, retry=Retry("state")))
    await desk.confirm(in_program(later, "/2"))
    assert list(later.said.values()) == [True]
    assert len(desk.person.asked) == 2


async def test_where_nobody_can_be_asked_one_question_waits_in_the_inbox() -> None:
    desk, consent = ApprovalDesk(ASK), ProgramConsent()
    for n in range(5):
        with pytest.raises(ConfirmationNeeded, match="toolcrib approve"):
            await desk.confirm(in_program(consent, f"/{n}"))
    assert (await desk.the_question()).arguments == 'path: "/0"'


async def test_what_was_approved_for_one_call_in_the_inbox_covers_no_other() -> None:
    desk = ApprovalDesk(ASK, person=Person())
    with pytest.raises(ConfirmationNeeded):
        await desk.confirm(in_program(ProgramConsent(), "/1"))
    await desk.inbox.answer((await desk.the_question()).id, yes=True)
    consent = ProgramConsent()
    await desk.confirm(in_program(consent, "/1"))
    with pytest.raises(ConfirmationNeeded):
        await desk.confirm(in_program(consent, "/2"))
    assert consent.said == {}


async def test_a_yes_that_was_remembered_before_needs_no_question() -> None:
    desk = ApprovalDesk(RUN, person=Person(says("yes, for this run")))
    await desk.confirm()
    await desk.confirm(in_program(ProgramConsent()))
    assert len(desk.person.asked) == 1


async def test_a_flow_between_servers_is_asked_about_though_the_call_itself_is_allowed() -> None:
    desk, consent = ApprovalDesk(person=Person(YES, says("no"))), ProgramConsent()
    await desk.confirm(in_program(consent, flow="crm"))
    await desk.confirm(in_program(consent, "/b", flow="crm"))
    with pytest.raises(NotAllowed):
        await desk.confirm(in_program(consent, flow="web"))
    first, second = desk.person.asked
    assert "may hold what crm answered to this program" in first.message
    assert "may hold what web answered to this program" in second.message
    await desk.confirm(in_program(consent))


async def test_a_call_that_policy_denies_is_never_asked_about() -> None:
    desk = ApprovalDesk(ApprovalRule("deny"), person=Person(YES))
    with pytest.raises(NotAllowed):
        await desk.confirm(in_program(ProgramConsent(), flow="crm"))
    assert desk.person.asked == []
