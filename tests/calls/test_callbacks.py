from collections.abc import Mapping
from typing import Any

import pytest

from toolcrib.calls.rounds.questions import (
    CANCELLED,
    DECLINED,
    Callbacks,
    FormQuestion,
    Mode,
    PageQuestion,
    Said,
)
from toolcrib.core.partition import Principal
from toolcrib.errors import CapabilityMissing, UpstreamRefused
from toolcrib.ports import Ask
from toolcrib.testing.rounds_rig import DONE, FORM, SERVER, VISIT, Installation, eliciting, outgoing

pytestmark = pytest.mark.virtual_time

ALICE = Principal("https://issuer.test", "alice")


class Person:
    """A callback that says one thing and remembers what it was asked."""

    def __init__(self, said: Said) -> None:
        self.said = said
        self.asked: list[tuple[str, FormQuestion | PageQuestion]] = []

    async def __call__(self, server: str, question: FormQuestion | PageQuestion) -> Said:
        self.asked.append((server, question))
        return self.said


async def other(server: str, params: Mapping[str, Any]) -> dict[str, Any]:
    return {"roots": [{"uri": f"file:///{server}/{len(params)}"}]}


@pytest.mark.parametrize(
    ("modes", "declared"),
    [
        (("form", "url"), {"elicitation": {"form": {}, "url": {}}}),
        (("form",), {"elicitation": {"form": {}}}),
        (("url",), {"elicitation": {"url": {}}}),
        ((), {}),
    ],
)
def test_only_the_modes_that_are_answered_are_declared(
    modes: tuple[Mode, ...], declared: dict[str, Any]
) -> None:
    assert Callbacks(Person(DECLINED), modes=modes).capabilities == declared


def test_without_callbacks_nothing_is_declared_and_nobody_asked() -> None:
    requester = Callbacks().requester()
    assert requester.capabilities == {}
    assert requester.ask is None
    assert not requester.takes_rounds
    declared = Callbacks(on_sampling=other, on_roots=other).capabilities
    assert declared == {"sampling": {}, "roots": {}}


def test_a_requester_carries_who_calls() -> None:
    requester = Callbacks(Person(DECLINED)).requester(ALICE, handle="h", log_level="info")
    assert (requester.principal, requester.handle, requester.log_level) == (ALICE, "h", "info")


@pytest.mark.parametrize("era", ["modern", "handshake"])
async def test_a_form_reaches_the_callback_with_its_server_and_its_fields(era: Any) -> None:
    person = Person(Said("accept", {"branch": "main"}))
    heard: list[Mapping[str, Any]] = []

    async def body(ask: Ask) -> Mapping[str, Any]:
        heard.append(await ask("elicitation/create", dict(FORM)))
        return DONE

    async with Installation(era).process() as here:
        if era == "modern":
            here.answers(eliciting(), DONE)
        else:
            here.serves(body)
        assert await here.rounds.request(outgoing(Callbacks(person).requester())) == DONE
        if era == "modern":
            heard.append(here.sent[1]["inputResponses"]["q"])
    ((server, question),) = person.asked
    assert server == SERVER
    assert isinstance(question, FormQuestion)
    assert question.message == "Which branch?"
    assert [item.name for item in question.form.fields] == ["branch"]
    assert question.schema == FORM["requestedSchema"]
    assert heard == [{"action": "accept", "content": {"branch": "main"}}]


async def test_a_page_reaches_the_callback_with_its_whole_address_and_its_host() -> None:
    person = Person(Said("accept", {"ignored": 1}))
    async with Installation().process() as here:
        here.answers(eliciting(VISIT), DONE)
        assert await here.rounds.request(outgoing(Callbacks(person).requester())) == DONE
        assert here.sent[1]["inputResponses"] == {"q": {"action": "accept"}}
    ((server, question),) = person.asked
    assert server == SERVER
    assert isinstance(question, PageQuestion)
    assert (question.page.url, question.page.host) == (VISIT["url"], "example.com")


@pytest.mark.parametrize("said", [DECLINED, CANCELLED])
async def test_a_no_is_an_answer(said: Said) -> None:
    async with Installation().process() as here:
        here.answers(eliciting(), DONE)
        await here.rounds.request(outgoing(Callbacks(Person(said)).requester()))
        assert here.sent[1]["inputResponses"] == {"q": {"action": said.action}}


async def test_what_no_callback_answers_is_not_asked() -> None:
    forms = Callbacks(Person(DECLINED), modes=("form",))
    async with Installation().process() as here:
        here.answers(eliciting(VISIT))
        with pytest.raises(CapabilityMissing):
            await here.rounds.request(outgoing(forms.requester()))
    with pytest.raises(UpstreamRefused, match="not answered here"):
        await forms.ask("roots/list", {})
    with pytest.raises(UpstreamRefused, match="not answered here"):
        await Callbacks(on_roots=other).ask("elicitation/create", dict(FORM))
    with pytest.raises(UpstreamRefused, match="cannot be shown"):
        await forms.ask("elicitation/create", {"message": "m"})


async def test_other_requests_reach_their_callbacks_with_the_server_that_asks() -> None:
    asked = {"r": {"method": "roots/list"}}
    async with Installation().process(relay=("roots",)) as here:
        here.answers({"resultType": "input_required", "inputRequests": asked}, DONE)
        assert await here.rounds.request(outgoing(Callbacks(on_roots=other).requester())) == DONE
        roots = here.sent[1]["inputResponses"]["r"]["roots"]
        assert roots == [{"uri": f"file:///{SERVER}/1"}]


async def test_a_question_of_toolcrib_itself_names_no_server() -> None:
    person = Person(DECLINED)
    await Callbacks(person).ask("elicitation/create", {**FORM, "message": "[toolcrib] May it?"})
    ((server, question),) = person.asked
    assert server == ""
    assert question.message == "[toolcrib] May it?"
