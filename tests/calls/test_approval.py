"""Calls that a person is asked about: the question, its answers, and how long they are good."""

from dataclasses import replace
from typing import Any

import anyio
import pytest

from toolcrib.calls.approval.question import duration
from toolcrib.calls.call import Requester
from toolcrib.calls.rounds.own_questions import InputNeeded, OwnAnswer
from toolcrib.core.partition import ANONYMOUS, LOCAL, Principal
from toolcrib.errors import BadArguments, ConfirmationNeeded, NotAllowed, StoreUnreachable
from toolcrib.settings import ApprovalRule
from toolcrib.testing.approval_desk import (
    ALICE,
    ASK,
    HOUR,
    RUN,
    ApprovalDesk,
    Person,
    call,
    says,
    tool,
)

# ---------------------------------------------------------------- policy


async def test_what_policy_allows_asks_nobody() -> None:
    desk = ApprovalDesk(ApprovalRule("deny", tools=("other",)))
    await desk.confirm()
    assert desk.person.asked == []


async def test_what_policy_denies_never_goes_and_asks_nobody() -> None:
    desk = ApprovalDesk(replace(ASK, verdict="deny"), person=Person(says("yes, once")))
    with pytest.raises(NotAllowed) as caught:
        await desk.confirm()
    assert "`delete`" in caught.value.for_model()
    assert "toolcrib.toml" not in caught.value.for_model()
    assert "denied by toolcrib.toml:3" in caught.value.for_operator()
    assert desk.person.asked == []


async def test_the_default_may_deny_and_ask() -> None:
    with pytest.raises(NotAllowed) as caught:
        await ApprovalDesk(otherwise="deny").confirm()
    assert "approval.otherwise" in caught.value.for_operator()
    desk = ApprovalDesk(otherwise="ask", person=Person(says("yes, once")))
    await desk.confirm()
    assert len(desk.person.asked) == 1


# ---------------------------------------------------------------- the question


async def test_a_person_sees_server_tool_and_arguments() -> None:
    desk = ApprovalDesk(ASK, person=Person(says("yes, once")))
    await desk.confirm(call({"path": "/a\u202eb", "force": True}))
    (question,) = desk.person.asked
    assert question.message.splitlines() == [
        "May this call go out?",
        "",
        "Server: files",
        "Tool: delete",
        "Arguments:",
        'path: "/a\\u202eb"',
        "force: true",
        "",
        "Asked by toolcrib.toml:3",
    ]


@pytest.mark.parametrize(
    ("rule", "choices"),
    [
        (ASK, ["yes, once", "no"]),
        (RUN, ["yes, once", "yes, for this run", "no"]),
        (HOUR, ["yes, once", "yes, for this run", "yes, for 1 hour", "no"]),
    ],
)
async def test_a_person_may_say_what_the_rule_permits(
    rule: ApprovalRule, choices: list[str]
) -> None:
    desk = ApprovalDesk(rule, person=Person(says("no")))
    with pytest.raises(NotAllowed):
        await desk.confirm()
    schema = desk.person.asked[0].schema
    assert schema["properties"]["answer"]["enum"] == choices
    assert schema["required"] == ["answer"]


@pytest.mark.parametrize(
    "answer",
    [
        OwnAnswer("decline"),
        OwnAnswer("cancel"),
        OwnAnswer("decline", {"answer": "yes, once"}),
        says("no"),
        says("yes"),
        says("yes, for this run"),
        OwnAnswer("accept"),
        OwnAnswer("accept", {"answer": True}),
        OwnAnswer("accept", {"answer": ["yes, once"]}),
    ],
)
async def test_whatever_is_no_clear_yes_lets_nothing_out(answer: OwnAnswer) -> None:
    desk = ApprovalDesk(ASK, person=Person(answer))
    with pytest.raises(NotAllowed) as caught:
        await desk.confirm()
    assert "do not repeat it" in caught.value.for_model()


async def test_an_answer_counts_for_the_same_call_under_the_same_contract_alone() -> None:
    desk = ApprovalDesk(ASK, person=Person(*[says("yes, once")] * 6))
    await desk.confirm()
    await desk.confirm()
    await desk.confirm(call({"path": "/b"}))
    await desk.confirm(item=tool(path={"type": "string"}))
    desk.launches["files"] = "launch-b"
    await desk.confirm()
    first, again, *others = [it.topic for it in desk.person.asked]
    assert first == again
    assert len({first, *others}) == 4


async def test_a_caller_that_takes_rounds_is_told_so_by_the_rounds() -> None:
    desk = ApprovalDesk(
        ASK, person=Person(InputNeeded({"resultType": "input_required"}, server="files"))
    )
    with pytest.raises(InputNeeded):
        await desk.confirm()
    assert await desk.inbox.waiting() == ()


async def test_arguments_that_are_no_json_are_refused_and_not_asked_about() -> None:
    desk = ApprovalDesk(ASK, person=Person(says("yes, once")))
    with pytest.raises(BadArguments):
        await desk.confirm(call({"n": float("nan")}))
    assert desk.person.asked == []


# ---------------------------------------------------------------- what is remembered


async def test_a_yes_once_is_asked_for_again() -> None:
    desk = ApprovalDesk(HOUR, person=Person(says("yes, once"), says("no")))
    await desk.confirm()
    with pytest.raises(NotAllowed):
        await desk.confirm()


async def test_a_yes_for_the_run_covers_other_arguments_and_ends_with_the_run() -> None:
    desk = ApprovalDesk(RUN, person=Person(says("yes, for this run")))
    await desk.confirm()
    await desk.confirm(call({"path": "/other"}))
    assert len(desk.person.asked) == 1
    later = ApprovalDesk(RUN, store=desk.store, run="run-2")
    with pytest.raises(ConfirmationNeeded):
        await later.confirm()


@pytest.mark.virtual_time
async def test_a_yes_for_an_hour_outlives_the_run_and_not_the_hour() -> None:
    desk = ApprovalDesk(HOUR, person=Person(says("yes, for 1 hour")))
    await desk.confirm()
    later = ApprovalDesk(HOUR, store=desk.store)
    await later.confirm(call({"path": "/other"}))
    await anyio.sleep(3_599)
    await later.confirm()
    await anyio.sleep(2)
    with pytest.raises(ConfirmationNeeded):
        await later.confirm()


@pytest.mark.parametrize("rule", [RUN, HOUR])
async def test_what_is_remembered_is_void_when_anything_it_was_said_about_changes(
    rule: ApprovalRule,
) -> None:
    word = "yes, for this run" if rule is RUN else "yes, for 1 hour"
    desk = ApprovalDesk(rule, person=Person(says(word)))
    await desk.confirm()
    described = replace(tool(), fingerprint="other")
    await desk.confirm(item=described)
    with pytest.raises(ConfirmationNeeded):
        await desk.confirm(item=tool(path={"type": "string"}))
    with pytest.raises(ConfirmationNeeded):
        await desk.confirm(item=tool("rename"))
    desk.launches["files"] = "launch-b"
    with pytest.raises(ConfirmationNeeded):
        await desk.confirm()
    changed = ApprovalDesk(replace(rule, tools=("d*",)), store=desk.store)
    with pytest.raises(ConfirmationNeeded):
        await changed.confirm()


async def test_a_rule_that_asks_each_time_uses_no_older_yes() -> None:
    desk = ApprovalDesk(HOUR, person=Person(says("yes, for 1 hour")))
    await desk.confirm()
    with pytest.raises(ConfirmationNeeded):
        await ApprovalDesk(ASK, store=desk.store).confirm()


@pytest.mark.parametrize(
    ("principal", "handles"), [(LOCAL, ("1", "2")), (ALICE, ("1", "")), (ANONYMOUS, ("1", "1"))]
)
async def test_a_yes_is_for_a_principal_or_of_the_anonymous_for_a_handle(
    principal: Principal, handles: tuple[str, str]
) -> None:
    desk = ApprovalDesk(HOUR, person=Person(says("yes, for 1 hour")))
    for handle in handles:
        await desk.confirm(call(requester=Requester(principal, handle)))


@pytest.mark.parametrize("word", ["yes, for 1 hour", "yes, for this run"])
async def test_a_yes_is_for_nobody_else(word: str) -> None:
    desk = ApprovalDesk(HOUR, person=Person(says(word), says(word)))
    await desk.confirm(call(requester=Requester(LOCAL)))
    await desk.confirm(call(requester=Requester(ANONYMOUS, "1")))
    for other in (Requester(ALICE), Requester(ANONYMOUS, "2"), Requester(ANONYMOUS)):
        with pytest.raises(ConfirmationNeeded):
            await desk.confirm(call(requester=other))


async def test_nobody_remembers_a_yes_of_somebody_without_a_name() -> None:
    desk = ApprovalDesk(HOUR, person=Person(says("yes, for 1 hour")))
    with pytest.raises(NotAllowed):
        await desk.confirm(call(requester=Requester(ANONYMOUS)))
    assert desk.person.asked[0].schema["properties"]["answer"]["enum"] == ["yes, once", "no"]


class Broken:
    """A store that cannot be used."""

    def __getattr__(self, name: str) -> Any:
        async def fail(*_: Any, **__: Any) -> Any:
            raise StoreUnreachable("the disk is gone")

        return fail


BROKEN: Any = Broken()


async def test_without_a_store_people_are_asked_and_a_yes_lasts_for_the_run() -> None:
    desk = ApprovalDesk(HOUR, person=Person(says("yes, for 1 hour")), store=BROKEN)
    await desk.confirm()
    await desk.confirm(call({"path": "/other"}))
    assert len(desk.person.asked) == 1


async def test_without_a_store_and_anybody_to_ask_the_call_is_refused_and_says_why() -> None:
    with pytest.raises(ConfirmationNeeded) as caught:
        await ApprovalDesk(ASK, store=BROKEN).confirm()
    assert "toolcrib approve" not in caught.value.for_model()
    assert "the disk is gone" not in caught.value.for_model()
    assert "the disk is gone" in caught.value.for_operator()


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (86_400, "1 day"),
        (172_800, "2 days"),
        (28_800, "8 hours"),
        (3_600, "1 hour"),
        (5_400, "90 minutes"),
        (60, "1 minute"),
        (90, "90 seconds"),
        (1, "1 second"),
        (0.5, "0.5 seconds"),
    ],
)
def test_a_duration_is_told_in_its_largest_whole_unit(seconds: float, words: str) -> None:
    assert duration(seconds) == words


async def test_what_is_remembered_for_a_run_is_bounded_and_the_newest_stays() -> None:
    desk = ApprovalDesk(RUN, person=Person(*[says("yes, for this run")] * 1_001))
    for number in range(1_001):
        await desk.confirm(call(requester=Requester(ANONYMOUS, str(number))))
    await desk.confirm(call(requester=Requester(ANONYMOUS, "1000")))
    with pytest.raises(ConfirmationNeeded):
        await desk.confirm(call(requester=Requester(ANONYMOUS, "0")))
