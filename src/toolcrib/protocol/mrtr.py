"""Multi round-trip requests: a result that asks, and the request that comes back with answers.

MCP 2026-07-28, basic: multi round-trip requests. A server answers one of three methods with
`input_required`; its client gathers what was asked and sends the request again, with the answers
and the server's state. Whatever is absent stays absent, and the state is never looked into.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolcrib.core.jsontypes import described, is_object
from toolcrib.core.quoting import enumerated, literal
from toolcrib.protocol.questions import CAPABILITY_OF, lacking

ROUND_METHODS: Final = frozenset({"prompts/get", "resources/read", "tools/call"})
"""The requests that may be answered with questions."""

MOST_QUESTIONS: Final = 32
"""Questions of one result: no person answers more at once."""

MOST_STATE: Final = 256 * 1024
"""Characters of a server's state."""

INPUT_REQUIRED: Final = "input_required"


@dataclass(frozen=True, slots=True)
class Question:
    """What a server wants to know: the method and parameters of an embedded request."""

    method: str
    """`elicitation/create`, `sampling/createMessage` or `roots/list`."""
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def as_request(self) -> dict[str, Any]:
        """The request object; `roots/list` has no parameters unless some were given."""
        if not self.params and self.method == "roots/list":
            return {"method": self.method}
        return {"method": self.method, "params": dict(self.params)}


@dataclass(frozen=True, slots=True)
class InputRequired:
    """An `input_required` result."""

    questions: Mapping[str, Question] = field(default_factory=dict[str, Question])
    """By the key that the server chose; empty: it only wants to be called again."""
    state: str | None = None
    """`requestState`, byte for byte; None: absent."""

    def as_result(self) -> dict[str, Any]:
        """The result; it has no caching hints, because nobody may keep it."""
        result: dict[str, Any] = {"resultType": INPUT_REQUIRED}
        if self.questions:
            requests = {key: question.as_request() for key, question in self.questions.items()}
            result["inputRequests"] = requests
        if self.state is not None:
            result["requestState"] = self.state
        return result


@dataclass(frozen=True, slots=True)
class Brought:
    """What a request brings back from an earlier round."""

    state: str | None = None
    """`requestState`, byte for byte; None: absent."""
    responses: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """`inputResponses`, by the key of the question; empty: absent."""

    def added_to(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters of a request, with what it brings back."""
        added = dict(params)
        if self.responses:
            added["inputResponses"] = dict(self.responses)
        if self.state is not None:
            added["requestState"] = self.state
        return added


@dataclass(frozen=True, slots=True)
class Malformed:
    """Why something cannot be read, in a sentence without a subject."""

    reason: str


def asks_input(result: Mapping[str, Any]) -> bool:
    """Whether a raw result claims to ask for input."""
    return result.get("resultType") == INPUT_REQUIRED


def parse_input_required(result: Mapping[str, Any]) -> InputRequired | Malformed:
    """The questions and the state of a raw `input_required` result."""
    requests, state = result.get("inputRequests"), result.get("requestState")
    if requests is not None and not is_object(requests):
        return Malformed(f"inputRequests is {described(requests)}, not an object")
    if state is not None and not isinstance(state, str):
        return Malformed(f"requestState is {described(state)}, not a string")
    if not requests and state is None:
        return Malformed("it has neither inputRequests nor requestState")
    if state is not None and len(state) > MOST_STATE:
        return Malformed(f"requestState has more than {MOST_STATE} characters")
    if requests and len(requests) > MOST_QUESTIONS:
        return Malformed(f"inputRequests holds more than {MOST_QUESTIONS} questions")
    questions: dict[str, Question] = {}
    for key, request in (requests or {}).items():
        question = parse_question(request)
        if isinstance(question, Malformed):
            return Malformed(f"inputRequests[{literal(key)}] {question.reason}")
        questions[key] = question
    return InputRequired(questions, state)


def parse_question(request: object) -> Question | Malformed:
    """One embedded request."""
    if not is_object(request):
        return Malformed(f"is {described(request)}, not a request object")
    method, params = request.get("method"), request.get("params")
    if not isinstance(method, str) or method not in CAPABILITY_OF:
        return Malformed(
            f"has the method {literal(method)}, and only {enumerated(sorted(CAPABILITY_OF))} may "
            "be asked"
        )
    if params is None and method == "roots/list":
        return Question(method)
    if not is_object(params):
        return Malformed(f"has params that are {described(params)}, not an object")
    return Question(method, params)


def parse_brought(params: Mapping[str, Any]) -> Brought | Malformed | None:
    """What a request brings back; None where it is no retry."""
    if "requestState" not in params and "inputResponses" not in params:
        return None
    state, responses = params.get("requestState"), params.get("inputResponses", {})
    if "requestState" in params and not isinstance(state, str):
        return Malformed(f"requestState is {described(state)}, not a string")
    if not is_object(responses):
        return Malformed(f"inputResponses is {described(responses)}, not an object")
    for key, response in responses.items():
        if not is_object(response):
            return Malformed(
                f"inputResponses[{literal(key)}] is {described(response)}, not a result object"
            )
    return Brought(state, responses)


def missing(capabilities: Mapping[str, Any], questions: Iterable[Question]) -> dict[str, Any]:
    """What a client would have to declare besides, to be asked all this; empty: nothing.

    In the form of `ClientCapabilities`, for `requiredCapabilities` of -32021 (MCP 2026-07-28,
    basic: error codes).
    """
    needed: dict[str, Any] = {}
    for question in questions:
        for name, parts in lacking(question.method, question.params, capabilities).items():
            needed[name] = {**needed.get(name, {}), **parts}
    return needed
