"""Answers of callers: asked for at once, or brought back; and whether they fit."""

from collections.abc import Mapping
from typing import Any

from toolcrib.core.quoting import quoted
from toolcrib.errors import NotAllowed, RetryRefused, UpstreamRefused
from toolcrib.ports import Ask
from toolcrib.protocol.elicitation import answer_fault, passed_on
from toolcrib.protocol.mrtr import Brought, Malformed, Question, parse_brought

Answers = Mapping[str, Mapping[str, Any]]


async def asked_at_once(
    server: str, questions: Mapping[str, Question], ask: Ask
) -> dict[str, Mapping[str, Any]]:
    """The answers of a caller that can be asked while its request is under way, one by one.

    Raises:
        NotAllowed: The client refused what is no question to a person.
        RetryRefused: An answer does not fit its question.
    """
    answers: dict[str, Mapping[str, Any]] = {}
    for key, question in questions.items():
        answers[key] = await asked_once(server, question, ask)
    check_answers(server, questions, answers)
    return answers


async def asked_once(server: str, question: Question, ask: Ask) -> Mapping[str, Any]:
    """The raw answer of a caller to one question.

    A client that cannot ask its person after all counts as a person who dismissed the question:
    the result that asked has no place for an error (MRTR: core types).
    """
    try:
        return await ask(question.method, question.params)
    except UpstreamRefused as refused:
        if question.method == "elicitation/create":
            return {"action": "cancel"}
        raise NotAllowed(
            f"this client refused what {quoted(server)} asked of it: {refused.for_model()}",
            server=server,
        ) from None


def brought_by(responses: Mapping[str, Any], server: str) -> Brought:
    """The answers that a request brings, as far as they have the right shape.

    Raises:
        RetryRefused: An answer is no object.
    """
    brought = parse_brought({"inputResponses": dict(responses)})
    if isinstance(brought, Malformed):
        raise RetryRefused(brought.reason, server=server)
    return brought or Brought()


def check_answers(server: str, asked: Mapping[str, Question], answers: Answers) -> None:
    """Raise `RetryRefused` for the first answer that does not fit its question."""
    for key, answer in answers.items():
        if fault := answer_fault(asked[key], answer):
            raise RetryRefused(
                f"the answer to {quoted(key)} does not fit what was asked: {fault}",
                server=server,
                remedy="send the same request again, with the answer corrected",
            )


def as_passed_on(asked: Mapping[str, Question], answers: Answers) -> dict[str, dict[str, Any]]:
    """The answers as the server gets them."""
    return {key: passed_on(asked[key], answer) for key, answer in answers.items()}


def check_visited(server: str, answers: Answers) -> None:
    """Raise `NotAllowed` where a person would not visit a page that the server insists on."""
    if any(answer.get("action") != "accept" for answer in answers.values()):
        raise NotAllowed(
            f"{quoted(server)} wants a page to be visited before this call, and the person did not "
            "agree to that; nothing was done",
            server=server,
        )
