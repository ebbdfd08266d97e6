"""What a handshake-era server asks in mid-call reaches the caller of that call, and nobody else."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import anyio
import pytest

from toolcrib.errors import RequestTimedOut, UpstreamRefused
from toolcrib.facts import Finding
from toolcrib.ports import RequestContext, ServerFacts
from toolcrib.testing.connected import ASKABLE, connected
from toolcrib.testing.scripted_server import Ask, Content, Delay, tool
from toolcrib.testing.session_rig import Message, Peer, SessionRig, ignore, open_rig

CALL = "tools/call"
ELICIT = "elicitation/create"
HANDSHAKE = ServerFacts("handshake", "2025-11-25", {"tools": {}})
VIRTUAL = pytest.mark.virtual_time
INVALID_PARAMS, METHOD_NOT_FOUND, INTERNAL_ERROR = -32602, -32601, -32603


class Person:
    """Answers what is asked, after a while; two of them are never equal."""

    def __init__(self, name: str = "somebody", *, takes: float = 0.0) -> None:
        self.name = name
        self.takes = takes
        self.asked: list[tuple[str, Mapping[str, Any]]] = []
        self.left = 0
        """Questions that were taken back before they were answered."""
        self.fault: Exception | None = None
        self._news, self._gone = anyio.Event(), anyio.Event()

    async def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self.asked.append((method, params))
        self._news.set()
        try:
            await anyio.sleep(self.takes)
        except anyio.get_cancelled_exc_class():
            self.left += 1
            self._gone.set()
            raise
        if self.fault is not None:
            raise self.fault
        return {"action": "accept", "content": {"name": self.name}}

    async def was_asked(self) -> None:
        await self._news.wait()

    async def was_let_go(self) -> None:
        await self._gone.wait()

    @property
    def behind(self) -> RequestContext:
        return RequestContext(ask=self.ask)


async def answer_of(peer: Peer, request_id: object) -> Message:
    while True:
        for message in peer.received:
            if message.get("id") == request_id and "method" not in message:
                return message
        await anyio.sleep(0.001)


async def elicited(rig: SessionRig, request_id: str, method: str = ELICIT) -> Message:
    rig.peer.ask(request_id, method, message="why?")
    return await answer_of(rig.peer, request_id)


def calls(rig: SessionRig, *people: Person | None) -> list[partial[Any]]:
    return [
        partial(
            rig.session.request, CALL, {"n": n}, context=None if person is None else person.behind
        )
        for n, person in enumerate(people)
    ]


async def answer_all(rig: SessionRig) -> None:
    for message in rig.peer.received:
        if message.get("method") == CALL:
            rig.peer.answer(message, ok=True)


async def under_way(rig: SessionRig, tasks: Any, *people: Person | None) -> None:
    for call in calls(rig, *people):
        tasks.start_soon(call)
    if people:
        await rig.peer.wait_for(CALL, len(people))


# ---- over one pipe ----


@pytest.mark.parametrize("method", [ELICIT, "sampling/createMessage", "roots/list"])
async def test_the_only_caller_is_asked(method: str) -> None:
    person = Person()
    async with open_rig(ignore, profile=ASKABLE) as rig:
        rig.session.adopt(HANDSHAKE)
        answer: Message = {}
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                await under_way(rig, tasks, person)
                answer = await elicited(rig, "q", method)
                await answer_all(rig)
        assert answer["result"] == {"action": "accept", "content": {"name": "somebody"}}
        assert person.asked == [(method, {"message": "why?"})]
        assert rig.signals.asked == []


async def test_a_listing_beside_the_call_does_not_hide_whose_question_it_is() -> None:
    person = Person()
    async with open_rig(ignore, profile=ASKABLE) as rig:
        rig.session.adopt(HANDSHAKE)
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                await under_way(rig, tasks, person)
                tasks.start_soon(rig.session.request, "tools/list")
                await rig.peer.wait_for("tools/list")
                assert "result" in await elicited(rig, "q")
                tasks.cancel_scope.cancel()


async def test_the_same_caller_is_asked_once_though_it_has_three_calls_under_way() -> None:
    person = Person()
    async with open_rig(ignore, profile=ASKABLE) as rig:
        rig.session.adopt(HANDSHAKE)
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                await under_way(rig, tasks, person, person, person)
                assert "result" in await elicited(rig, "q")
                await answer_all(rig)
        assert len(person.asked) == 1


@pytest.mark.parametrize("can_be_asked", [[True, True], [False, True], [True, False]], ids=str)
async def test_calls_of_a_known_caller_are_one_though_each_asks_in_its_own_way(
    can_be_asked: list[bool],
) -> None:
    people = [Person(f"p{number}") for number in range(2)]
    async with open_rig(ignore, profile=ASKABLE) as rig:
        rig.session.adopt(HANDSHAKE)
        answer: Message = {}
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                for person, can in zip(people, can_be_asked, strict=True):
                    context = RequestContext(ask=person.ask if can else None, caller=("a", "h"))
                    tasks.start_soon(partial(rig.session.request, CALL, {}, context=context))
                await rig.peer.wait_for(CALL, 2)
                answer = await elicited(rig, "q")
                await answer_all(rig)
        first = people[can_be_asked.index(True)]
        assert answer["result"]["content"] == {"name": first.name}
        assert [len(person.asked) for person in people if person is not first] == [0]


async def test_two_known_callers_are_two_though_they_are_asked_in_the_same_way() -> None:
    person = Person()
    async with open_rig(ignore, profile=ASKABLE) as rig:
        rig.session.adopt(HANDSHAKE)
        answer: Message = {}
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                for caller in (("a", "h1"), ("a", "h2")):
                    context = RequestContext(ask=person.ask, caller=caller)
                    tasks.start_soon(partial(rig.session.request, CALL, {}, context=context))
                await rig.peer.wait_for(CALL, 2)
                answer = await elicited(rig, "q")
                await answer_all(rig)
        assert answer["error"]["code"] == INVALID_PARAMS
        assert person.asked == []


@pytest.mark.parametrize("method", [ELICIT, "sampling/createMessage"])
@pytest.mark.parametrize("second", ["another person", "nobody who can be asked"])
async def test_where_it_cannot_be_known_whom_it_concerns_nobody_is_asked(
    method: str, second: str
) -> None:
    one, other = Person("one"), Person("other")
    async with open_rig(ignore, profile=ASKABLE) as rig:
        rig.session.adopt(HANDSHAKE)
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                await under_way(rig, tasks, one, other if second == "another person" else None)
                for number in range(2):
                    answer = await elicited(rig, f"q{number}", method)
                    assert answer["error"]["code"] == INVALID_PARAMS
                await answer_all(rig)
        assert one.asked == other.asked == []
        assert rig.signals.asked == []
        found = [fact for fact in rig.facts.of(Finding) if fact.code == "question_unplaced"]
        assert [fact.detail for fact in found] == [f"{method}, while several callers are served"]


@pytest.mark.parametrize("method", [ELICIT, "sampling/createMessage"])
async def test_a_question_without_any_request_is_refused(method: str) -> None:
    async with open_rig(ignore, profile=ASKABLE) as rig:
        rig.session.adopt(HANDSHAKE)
        with anyio.fail_after(5):
            answer = await elicited(rig, "q", method)
        assert answer["error"]["code"] == INVALID_PARAMS
        assert rig.signals.asked == []
        assert rig.facts.of(Finding) == []


@pytest.mark.parametrize("beside", [0, 1, 2])
async def test_roots_that_belong_to_nobody_in_particular_are_the_signals_matter(
    beside: int,
) -> None:
    people = [None] if beside == 1 else [Person("one"), Person("other")][:beside]
    async with open_rig(ignore, profile=ASKABLE) as rig:
        rig.session.adopt(HANDSHAKE)
        rig.signals.answers["roots/list"] = {"roots": []}
        answer: Message = {}
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                await under_way(rig, tasks, *people)
                answer = await elicited(rig, "q", "roots/list")
                await answer_all(rig)
        assert answer["result"] == {"roots": []}
        assert len(rig.signals.asked) == 1


async def test_a_call_that_nobody_answers_for_has_its_questions_refused() -> None:
    async with open_rig(ignore, profile=ASKABLE) as rig:
        rig.session.adopt(HANDSHAKE)
        answer: Message = {}
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                await under_way(rig, tasks, None)
                answer = await elicited(rig, "q")
                await answer_all(rig)
        assert answer["error"]["code"] == METHOD_NOT_FOUND
        assert rig.signals.asked == []


async def test_what_was_not_declared_to_the_server_is_asked_of_nobody() -> None:
    person = Person()
    async with open_rig(ignore) as rig:
        rig.session.adopt(HANDSHAKE)
        answer: Message = {}
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                await under_way(rig, tasks, person)
                answer = await elicited(rig, "q")
                await answer_all(rig)
        assert answer["error"]["code"] == METHOD_NOT_FOUND
        assert person.asked == []


async def test_a_refusal_is_told_in_its_own_words_and_a_fault_in_none() -> None:
    person = Person()
    async with open_rig(ignore, profile=ASKABLE) as rig:
        rig.session.adopt(HANDSHAKE)
        refused: Message = {}
        failed: Message = {}
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                await under_way(rig, tasks, person)
                person.fault = UpstreamRefused("not by me", rpc_code=-32021, data={"a": 1})
                refused = await elicited(rig, "q1")
                person.fault = RuntimeError("secret")
                failed = await elicited(rig, "q2")
                await answer_all(rig)
        assert refused["error"] == {"code": -32021, "message": "not by me", "data": {"a": 1}}
        assert failed["error"]["code"] == INTERNAL_ERROR
        assert "secret" not in str(failed)
        assert "RuntimeError" in rig.facts.of(Finding)[0].detail
        assert not rig.session.closed


# ---- time ----


@VIRTUAL
async def test_the_time_a_person_takes_does_not_count() -> None:
    person = Person(takes=100)

    async def behave(peer: Peer, message: Message) -> None:
        if message.get("method") == CALL:
            await anyio.sleep(3)
            peer.ask("q", ELICIT)
        elif message.get("id") == "q":
            await anyio.sleep(1)
            peer.answer(peer.sent(CALL)[0], ok=True)

    async with open_rig(behave, profile=ASKABLE) as rig:
        rig.session.adopt(HANDSHAKE)
        began = anyio.current_time()
        context = person.behind
        assert await rig.session.request(CALL, {}, timeout=5, context=context) == {"ok": True}
        assert anyio.current_time() - began == 104


@VIRTUAL
@pytest.mark.parametrize(("after", "answered"), [(1.9, True), (2.1, False)])
async def test_the_clock_goes_on_where_it_stood(after: float, *, answered: bool) -> None:
    person = Person(takes=50)

    async def behave(peer: Peer, message: Message) -> None:
        if message.get("method") == CALL:
            await anyio.sleep(3)
            peer.ask("q", ELICIT)
        elif message.get("id") == "q":
            await anyio.sleep(after)
            peer.answer(peer.sent(CALL)[0], ok=True)

    async with open_rig(behave, profile=ASKABLE) as rig:
        rig.session.adopt(HANDSHAKE)
        call = partial(rig.session.request, CALL, {}, timeout=5, context=person.behind)
        if answered:
            assert await call() == {"ok": True}
        else:
            with pytest.raises(RequestTimedOut, match="within 5 s"):
                await call()


@VIRTUAL
@pytest.mark.parametrize("questions", [1, 4])
async def test_people_have_a_quarter_of_an_hour_for_all_questions_of_one_call(
    questions: int,
) -> None:
    person = Person(takes=10_000 if questions == 1 else 250)

    async def behave(peer: Peer, message: Message) -> None:
        if message.get("method") == CALL or message.get("result"):
            peer.ask(f"q{len(person.asked)}", ELICIT)

    async with open_rig(behave, profile=ASKABLE) as rig:
        rig.session.adopt(HANDSHAKE)
        began = anyio.current_time()
        with pytest.raises(RequestTimedOut, match=r"asked during tools/call .* within 900 s"):
            await rig.session.request(CALL, {}, timeout=5, context=person.behind)
        assert anyio.current_time() - began == 900
        assert len(person.asked) == questions
        await anyio.wait_all_tasks_blocked()
        assert person.left == 1, "who is asked is told that nobody waits any more"


@VIRTUAL
async def test_the_clock_of_another_call_does_not_stop() -> None:
    person = Person(takes=100)
    async with open_rig(ignore, profile=ASKABLE) as rig:
        rig.session.adopt(HANDSHAKE)
        began = anyio.current_time()
        async with anyio.create_task_group() as tasks:
            await under_way(rig, tasks, person)
            rig.peer.ask("q", ELICIT)
            await person.was_asked()
            with pytest.raises(RequestTimedOut):
                await rig.session.request("tools/list", timeout=7)
            assert anyio.current_time() - began == 7
            tasks.cancel_scope.cancel()


# ---- the end of a question ----


async def test_a_question_is_taken_back_when_its_call_is_over() -> None:
    person = Person(takes=60)
    async with open_rig(ignore, profile=ASKABLE) as rig:
        rig.session.adopt(HANDSHAKE)
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                await under_way(rig, tasks, person)
                rig.peer.ask("q", ELICIT)
                await person.was_asked()
                await answer_all(rig)
            answer = await answer_of(rig.peer, "q")
        assert answer["error"]["code"] == INTERNAL_ERROR
        assert person.left == 1


async def test_a_question_for_two_calls_of_one_caller_ends_with_the_last_of_them() -> None:
    person = Person(takes=60)
    async with open_rig(ignore, profile=ASKABLE) as rig:
        rig.session.adopt(HANDSHAKE)
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                await under_way(rig, tasks, person, person)
                rig.peer.ask("q", ELICIT)
                await person.was_asked()
                first, last = rig.peer.sent(CALL)
                rig.peer.answer(first)
                await anyio.wait_all_tasks_blocked()
                assert person.left == 0
                rig.peer.answer(last)
            await answer_of(rig.peer, "q")
        assert person.left == 1


async def test_a_server_can_take_its_question_back() -> None:
    person = Person(takes=60)
    async with open_rig(ignore, profile=ASKABLE) as rig:
        rig.session.adopt(HANDSHAKE)
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                await under_way(rig, tasks, person)
                rig.peer.ask("q", ELICIT)
                await person.was_asked()
                rig.peer.notify("notifications/cancelled", requestId="q")
                await person.was_let_go()
                await answer_all(rig)
        assert [one for one in rig.peer.received if one.get("id") == "q"] == []


# ---- on real wires ----


async def test_over_http_every_caller_is_asked_the_questions_of_its_own_call_alone() -> None:
    people = {f"t{number}": Person(f"p{number}", takes=0.05) for number in range(20)}
    content = Content(tools=[tool(name) for name in people])

    async def call(name: str) -> None:
        context = people[name].behind
        await peer.upstream.request(CALL, {"name": name, "arguments": {}}, context=context)

    with anyio.fail_after(20):
        async with connected("http", "handshake", content) as peer:
            for name in people:
                questions = [Ask(ELICIT, {"message": f"{name} {n}"}) for n in range(2)]
                await peer.server.on(f"tools/call:{name}", Delay(0.1), *questions)
            async with anyio.create_task_group() as tasks:
                for name in people:
                    tasks.start_soon(call, name)
            answers = [one.message for one in await peer.server.heard("")]
    assert {name: person.asked for name, person in people.items()} == {
        name: [(ELICIT, {"message": f"{name} {n}"}) for n in range(2)] for name in people
    }
    named = sorted(answer["result"]["content"]["name"] for answer in answers)
    assert named == sorted(person.name for person in people.values() for _ in range(2))


@pytest.mark.parametrize("wire", ["stdio", "sse"])
async def test_over_a_shared_channel_the_only_caller_is_asked(wire: Any) -> None:
    person = Person()
    with anyio.fail_after(10):
        async with connected(wire, "handshake") as peer:
            await peer.server.on("tools/call:slow", Ask(ELICIT, {"message": "why?"}))
            params: dict[str, Any] = {"name": "slow", "arguments": {}}
            result = await peer.upstream.request(CALL, params, context=person.behind)
            assert result["content"][0]["text"] == "slow()"
    assert person.asked == [(ELICIT, {"message": "why?"})]


async def test_a_session_inside_the_question_of_another_does_not_inherit_its_caller() -> None:
    outer = Person("outer")
    answers: list[Message] = []

    async def ask(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        async with open_rig(ignore, profile=ASKABLE) as inner:
            inner.session.adopt(HANDSHAKE)
            answers.append(await elicited(inner, "inner"))
        return await outer.ask(method, params)

    with anyio.fail_after(10):
        async with connected("http", "handshake") as peer:
            await peer.server.on("tools/call:slow", Ask(ELICIT, {"message": "why?"}))
            params: dict[str, Any] = {"name": "slow", "arguments": {}}
            await peer.upstream.request(CALL, params, context=RequestContext(ask=ask))
    assert answers[0]["error"]["code"] == INVALID_PARAMS
    assert len(outer.asked) == 1, "its own question, not that of the inner session"
