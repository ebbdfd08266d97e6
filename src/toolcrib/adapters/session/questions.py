"""What a handshake-era server asks in mid-call, brought to whoever the call is for.

MCP 2025-11-25: elicitation, sampling, roots; SEP-2260: a question has a request of ours behind it.
A modern server asks in its results (`input_required`) and never gets here.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any, Final

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND

from toolcrib.adapters.session.guarded_signals import answered
from toolcrib.adapters.session.under_way import Question, Requests, UnderWay
from toolcrib.errors import UpstreamRefused
from toolcrib.ports import Ask, ClientProfile, RequestContext, Signals

_NEEDED: Final = {
    "elicitation/create": "elicitation",
    "roots/list": "roots",
    "sampling/createMessage": "sampling",
}
"""What a server may ask of a client, and the capability that lets it."""

_ROOTS: Final = "roots/list"
"""The one question that also makes sense outside of a request, when a session begins."""

Answer = dict[str, Any]


class Questions:
    """Answers the requests of one server.

    Args:
        profile: What was declared to it.
        signals: Answers what belongs to no request.
        requests: Those under way.
        complain: Reports a finding of this kind, with details.
    """

    def __init__(
        self,
        profile: ClientProfile,
        signals: Signals,
        requests: Requests,
        complain: Callable[[str, str], None],
    ) -> None:
        self._profile = profile
        self._signals = signals
        self._requests = requests
        self._complain = complain

    async def answer(self, method: str, params: Mapping[str, Any]) -> Answer:
        """The result of one request of the server.

        Raises:
            MCPError: It is answered with this error.
        """
        if method == "ping":
            return {}
        if _NEEDED.get(method) not in self._profile.capabilities:
            raise MCPError(METHOD_NOT_FOUND, f"{method} is not supported by this client")
        try:
            return await self._place(method, params)
        except UpstreamRefused as refusal:
            raise MCPError(refusal.rpc_code, refusal.message, refusal.data) from None

    async def _place(self, method: str, params: Mapping[str, Any]) -> Answer:
        asked_for = self._behind()
        asks = (request.context.ask for request in asked_for or ())
        ask = next(filter(None, asks), None)
        if asked_for and ask is not None:
            return await self._ask(asked_for, ask, method, params)
        if method == _ROOTS:
            return await self._signals.requested(method, params)
        if asked_for:
            raise MCPError(METHOD_NOT_FOUND, f"nobody can be asked {method} for this request")
        if asked_for is None:
            self._complain("question_unplaced", f"{method}, while several callers are served")
        raise MCPError(
            INVALID_PARAMS, f"{method} does not show which request of this client it belongs to"
        )

    def _behind(self) -> list[UnderWay] | None:
        """The requests that may be meant, all for the same caller; None where that is not sure."""
        request = self._requests.current()
        if request is not None:
            return [request]
        return self._requests.alike(_may_ask, _asker)

    async def _ask(
        self,
        asked_for: list[UnderWay],
        ask: Ask,
        method: str,
        params: Mapping[str, Any],
    ) -> Answer:
        """Have it answered while the requests behind it wait, and no longer than they do."""
        question = Question(asked_for)
        with ExitStack() as stack:
            for request in asked_for:
                request.questions.add(question)
                stack.callback(request.questions.discard, question)
                stack.enter_context(request.patience.standing_still())
            with question.scope:
                return await answered(ask, method, params, self._failed)
        raise MCPError(INTERNAL_ERROR, "the request that this belongs to is over")

    def _failed(self, error: Exception, method: str) -> None:
        self._complain("asking_failed", f"{type(error).__name__} at {method}")


def _may_ask(request: UnderWay) -> bool:
    return request.may_ask


def _asker(context: RequestContext) -> object:
    return context.ask
