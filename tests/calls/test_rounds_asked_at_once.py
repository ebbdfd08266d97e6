"""A caller that is asked while its request is under way: by servers of either kind."""

from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from toolcrib.calls.call import Requester
from toolcrib.errors import (
    CapabilityMissing,
    LimitExceeded,
    NotAllowed,
    ResultInvalid,
    RetryRefused,
    UpstreamRefused,
)
from toolcrib.ports import Ask
from toolcrib.settings import Limits
from toolcrib.testing.rounds_rig import (
    BOTH,
    DONE,
    FORM,
    MAIN,
    SERVER,
    VISIT,
    Installation,
    at_once,
    eliciting,
    outgoing,
    refused,
)

pytestmark = pytest.mark.virtual_time

ACCEPT: Mapping[str, Any] = {"action": "accept"}


class Person:
    """Answers in turn, then with the last answer for ever; remembers what was asked."""

    def __init__(self, *answers: Mapping[str, Any] | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, Mapping[str, Any]]] = []

    async def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self.asked.append((method, params))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return dict(answer)


# ---- a modern server ----


async def test_a_modern_server_gets_the_answers_with_its_state_in_a_second_request() -> None:
    person = Person(MAIN)
    async with Installation().process() as here:
        here.answers(eliciting(state=" odd\u0000"), DONE)
        assert await here.rounds.request(outgoing(at_once(person.ask))) == DONE
        assert here.sent[1]["inputResponses"] == {"q": MAIN}
        assert here.sent[1]["requestState"] == " odd\u0000"
    ((method, params),) = person.asked
    assert method == "elicitation/create"
    assert params["message"] == f"[server {SERVER}] Which branch?"


async def test_several_questions_are_asked_one_after_the_other() -> None:
    reply = eliciting()
    reply["inputRequests"]["r"] = {"method": "elicitation/create", "params": dict(VISIT)}
    person = Person(MAIN, ACCEPT)
    async with Installation().process() as here:
        here.answers(reply, DONE)
        assert await here.rounds.request(outgoing(at_once(person.ask))) == DONE
        assert here.sent[1]["inputResponses"] == {"q": MAIN, "r": ACCEPT}
        assert "requestState" not in here.sent[1]
    page = person.asked[1][1]
    assert page["elicitationId"]
    assert page["url"] == VISIT["url"]


async def test_rounds_go_on_until_the_server_is_content() -> None:
    person = Person(MAIN)
    async with Installation().process() as here:
        here.answers(eliciting(state="1"), eliciting(key="r", state="2"), eliciting(), DONE)
        assert await here.rounds.request(outgoing(at_once(person.ask))) == DONE
        assert [params.get("requestState") for params in here.sent] == [None, "1", "2", None]
    assert len(person.asked) == 3


async def test_a_server_that_asks_for_ever_is_stopped() -> None:
    person = Person(MAIN)
    async with Installation().process(limits=Limits(rounds=3)) as here:
        here.answers(eliciting(state="s"))
        with pytest.raises(LimitExceeded, match="rounds allows"):
            await here.rounds.request(outgoing(at_once(person.ask)))
        assert len(here.sent) == 4
    assert len(person.asked) == 3


async def test_a_server_that_only_wants_to_be_called_again_is_with_growing_pauses() -> None:
    person = Person(MAIN)
    again = {"resultType": "input_required", "requestState": "s"}
    async with Installation().process() as here:
        here.answers(again, again, again, DONE)
        began = anyio.current_time()
        assert await here.rounds.request(outgoing(at_once(person.ask))) == DONE
        assert anyio.current_time() - began == pytest.approx(0.05 + 0.1 + 0.2)
    assert person.asked == []


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_no_is_passed_on_to_a_modern_server(action: str) -> None:
    person = Person({"action": action})
    async with Installation().process() as here:
        here.answers(eliciting(), DONE)
        await here.rounds.request(outgoing(at_once(person.ask)))
        assert here.sent[1]["inputResponses"] == {"q": {"action": action}}


async def test_a_host_that_fails_to_ask_counts_as_a_dismissed_question() -> None:
    person = Person(UpstreamRefused("no window", rpc_code=-32603))
    async with Installation().process() as here:
        here.answers(eliciting(), DONE)
        assert await here.rounds.request(outgoing(at_once(person.ask))) == DONE
        assert here.sent[1]["inputResponses"] == {"q": {"action": "cancel"}}


async def test_a_host_that_refuses_a_sampling_stops_the_call() -> None:
    person = Person(UpstreamRefused("the user said no", rpc_code=-1))
    asked: dict[str, Any] = {"s": {"method": "sampling/createMessage", "params": {"messages": []}}}
    async with Installation().process(relay=("sampling",)) as here:
        here.answers({"resultType": "input_required", "inputRequests": asked})
        with pytest.raises(NotAllowed, match="the user said no"):
            await here.rounds.request(outgoing(at_once(person.ask, {"sampling": {}})))


async def test_an_answer_of_a_host_that_does_not_fit_is_not_sent() -> None:
    person = Person({"action": "accept", "content": {"branch": 7}})
    async with Installation().process() as here:
        here.answers(eliciting())
        with pytest.raises(RetryRefused, match="is a number"):
            await here.rounds.request(outgoing(at_once(person.ask)))
        assert len(here.sent) == 1


async def test_what_the_caller_did_not_declare_is_not_asked_of_it() -> None:
    person = Person(ACCEPT)
    async with Installation().process() as here:
        here.answers(eliciting(VISIT))
        with pytest.raises(CapabilityMissing) as missing:
            await here.rounds.request(outgoing(at_once(person.ask, {"elicitation": {}})))
        assert missing.value.details["requiredCapabilities"] == {"elicitation": {"url": {}}}
    assert person.asked == []


# ---- a server of the handshake revisions ----


def asks(
    *questions: Mapping[str, Any],
    heard: list[Mapping[str, Any]],
    method: str = "elicitation/create",
) -> Any:
    """A server that asks these in turn, and then is done."""

    async def body(ask: Ask) -> Mapping[str, Any]:
        heard.extend([await ask(method, dict(question)) for question in questions])
        return DONE

    return body


async def test_a_question_in_mid_call_is_put_to_the_caller_and_its_answer_given_back() -> None:
    person, heard = Person(MAIN, ACCEPT), list[Mapping[str, Any]]()
    visit = {**VISIT, "elicitationId": "theirs"}
    async with Installation("handshake").process() as here:
        here.serves(asks(FORM, visit, heard=heard))
        assert await here.rounds.request(outgoing(at_once(person.ask))) == DONE
        assert len(here.sent) == 1
    assert heard == [MAIN, ACCEPT]
    assert person.asked[0][1]["message"] == f"[server {SERVER}] Which branch?"
    assert person.asked[1][1]["elicitationId"] == "theirs"


async def test_two_questions_at_once_are_both_answered() -> None:
    person = Person(MAIN)
    heard: list[Mapping[str, Any]] = []

    async def body(ask: Ask) -> Mapping[str, Any]:
        async def one() -> None:
            heard.append(await ask("elicitation/create", dict(FORM)))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one)
            tasks.start_soon(one)
        return DONE

    async with Installation("handshake").process() as here:
        here.serves(body)
        assert await here.rounds.request(outgoing(at_once(person.ask))) == DONE
    assert heard == [MAIN, MAIN]


@pytest.mark.parametrize(
    ("declared", "params", "code"),
    [
        ({}, dict(FORM), -32601),
        ({"elicitation": {}}, dict(VISIT), -32602),
        ({"elicitation": {"url": {}}}, dict(FORM), -32602),
    ],
)
async def test_what_cannot_be_asked_is_refused_to_the_server_and_told_to_the_caller(
    declared: dict[str, Any], params: dict[str, Any], code: int
) -> None:
    person, codes = Person(MAIN), list[int]()

    async def body(ask: Ask) -> Mapping[str, Any]:
        try:
            await ask("elicitation/create", params)
        except UpstreamRefused as no:
            codes.append(no.rpc_code)
            raise
        return DONE

    async with Installation("handshake").process() as here:
        here.serves(body)
        with pytest.raises(CapabilityMissing) as missing:
            await here.rounds.request(outgoing(at_once(person.ask, declared)))
    assert missing.value.details["requiredCapabilities"]["elicitation"]
    assert codes == [code]
    assert person.asked == []


async def test_a_caller_that_cannot_be_asked_at_all_is_told_so() -> None:
    heard: list[Mapping[str, Any]] = []
    async with Installation("handshake").process() as here:
        here.serves(asks(FORM, heard=heard))
        with pytest.raises(CapabilityMissing):
            await here.rounds.request(outgoing(Requester(capabilities=BOTH)))
    assert heard == []


async def test_a_server_that_finishes_without_its_answer_is_believed() -> None:
    async def body(ask: Ask) -> Mapping[str, Any]:
        with pytest.raises(UpstreamRefused):
            await ask("elicitation/create", dict(FORM))
        return DONE

    async with Installation("handshake").process() as here:
        here.serves(body)
        assert await here.rounds.request(outgoing(at_once(Person(MAIN).ask, {}))) == DONE


async def test_a_tool_error_after_a_refused_question_tells_of_the_question() -> None:
    async def body(ask: Ask) -> Mapping[str, Any]:
        with pytest.raises(UpstreamRefused):
            await ask("elicitation/create", dict(FORM))
        return {"content": [{"type": "text", "text": "cannot ask"}], "isError": True}

    async with Installation("handshake").process() as here:
        here.serves(body)
        with pytest.raises(CapabilityMissing):
            await here.rounds.request(outgoing(at_once(Person(MAIN).ask, {})))


SECRET = {
    "message": "Log in",
    "requestedSchema": {"type": "object", "properties": {"password": {"type": "string"}}},
}


@pytest.mark.parametrize(
    ("params", "error", "text"),
    [
        (SECRET, NotAllowed, "secret in a form"),
        ({"message": "m"}, ResultInvalid, "requestedSchema"),
        ({**VISIT, "url": "javascript:alert(1)"}, ResultInvalid, "only https"),
    ],
)
async def test_a_form_for_secrets_and_a_question_that_cannot_be_shown_reach_nobody(
    params: dict[str, Any], error: type[Exception], text: str
) -> None:
    person, heard = Person(MAIN), list[Mapping[str, Any]]()
    async with Installation("handshake").process() as here:
        here.serves(asks(params, heard=heard))
        with pytest.raises(error, match=text):
            await here.rounds.request(outgoing(at_once(person.ask)))
    assert person.asked == []


async def test_a_request_that_is_no_question_is_refused() -> None:
    heard: list[Mapping[str, Any]] = []
    async with Installation("handshake").process() as here:
        here.serves(asks({}, heard=heard, method="tools/call"))
        with pytest.raises(UpstreamRefused, match="tools/call") as no:
            await here.rounds.request(outgoing(at_once(Person(MAIN).ask)))
    assert no.value.rpc_code == -32602


async def test_an_answer_that_does_not_fit_reaches_the_server_as_an_error() -> None:
    told: list[str] = []

    async def body(ask: Ask) -> Mapping[str, Any]:
        try:
            await ask("elicitation/create", dict(FORM))
        except UpstreamRefused as no:
            told.append(no.message)
        return DONE

    async with Installation("handshake").process() as here:
        here.serves(body)
        await here.rounds.request(outgoing(at_once(Person({"action": "maybe"}).ask)))
    assert len(told) == 1
    assert "action is `maybe`" in told[0]


async def test_the_hosts_own_error_reaches_the_server() -> None:
    codes: list[int] = []

    async def body(ask: Ask) -> Mapping[str, Any]:
        try:
            await ask("elicitation/create", dict(FORM))
        except UpstreamRefused as no:
            codes.append(no.rpc_code)
        return DONE

    async with Installation("handshake").process() as here:
        here.serves(body)
        no = UpstreamRefused("no", rpc_code=-1)
        assert await here.rounds.request(outgoing(at_once(Person(no).ask))) == DONE
    assert codes == [-1]


async def test_a_call_may_ask_only_so_often() -> None:
    person, heard = Person(MAIN), list[Mapping[str, Any]]()
    async with Installation("handshake").process(limits=Limits(rounds=2)) as here:
        here.serves(asks(FORM, FORM, FORM, heard=heard))
        with pytest.raises(LimitExceeded, match="rounds allows"):
            await here.rounds.request(outgoing(at_once(person.ask)))
    assert len(person.asked) == 2


async def test_a_caller_of_the_handshake_brings_no_answers_to_a_server_of_it() -> None:
    async with Installation("handshake").process() as here:
        here.answers(DONE)
        await here.rounds.request(outgoing(at_once(Person(MAIN).ask), answered={"q": MAIN}))
        assert "inputResponses" not in here.sent[0]


# ---- -32042: a page must be visited first ----


def must_visit(*urls: str) -> UpstreamRefused:
    visits = [
        {"mode": "url", "elicitationId": f"e{n}", "url": url, "message": "Connect"}
        for n, url in enumerate(urls)
    ]
    return refused(-32042, {"elicitations": visits})


async def test_a_page_that_must_be_visited_is_asked_for_and_the_call_sent_again() -> None:
    person = Person(ACCEPT)
    async with Installation("handshake").process() as here:
        here.answers(must_visit("https://a.example/", "https://b.example/"), DONE)
        assert await here.rounds.request(outgoing(at_once(person.ask))) == DONE
        assert here.sent[0] == here.sent[1]
    assert [params["elicitationId"] for _, params in person.asked] == ["e0", "e1"]
    assert person.asked[0][1]["message"].startswith(f"[server {SERVER}] Connect")


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_person_who_will_not_visit_a_page_ends_the_call(action: str) -> None:
    person = Person({"action": action})
    async with Installation("handshake").process() as here:
        here.answers(must_visit("https://a.example/"), DONE)
        with pytest.raises(NotAllowed, match="did not agree"):
            await here.rounds.request(outgoing(at_once(person.ask)))
        assert len(here.sent) == 1


async def test_a_page_cannot_be_asked_for_where_the_caller_shows_none() -> None:
    async with Installation("handshake").process() as here:
        here.answers(must_visit("https://a.example/"))
        with pytest.raises(CapabilityMissing) as missing:
            await here.rounds.request(outgoing(at_once(Person(MAIN).ask, {"elicitation": {}})))
    assert missing.value.details["requiredCapabilities"] == {"elicitation": {"url": {}}}


NO_PAGES: list[object] = [
    None,
    {},
    {"elicitations": []},
    {"elicitations": ["x"]},
    {"elicitations": [{}] * 33},
    [1],
]


@pytest.mark.parametrize("data", NO_PAGES)
async def test_an_error_that_names_no_page_is_only_an_error(data: object) -> None:
    async with Installation("handshake").process() as here:
        here.answers(refused(-32042, data))
        with pytest.raises(UpstreamRefused) as raised:
            await here.rounds.request(outgoing(at_once(Person(ACCEPT).ask)))
        assert raised.value.rpc_code == -32042
        assert len(here.sent) == 1
