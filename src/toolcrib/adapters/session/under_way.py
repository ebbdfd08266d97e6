"""The requests of one session that are under way, and which of them a server's message belongs to.

Over Streamable HTTP a message comes on the stream of its request, and the transport keeps the
context in which that was sent. A pipe, an SSE channel and the GET stream carry messages without a
word about their request. Then only one conclusion is safe: the message belongs to somebody for
whom all requests under way are made that may have caused it. What one person is asked, or what a
server logs about a call, must never reach another person.
"""

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import Context, ContextVar
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

import anyio
from mcp.shared.dispatcher import coerce_request_id

from toolcrib.adapters.session.hearing import Hearing
from toolcrib.adapters.session.patience import Patience
from toolcrib.ports import RequestContext
from toolcrib.protocol.envelope import ASKING_METHODS

_CURRENT: Final[ContextVar["UnderWay | None"]] = ContextVar("_CURRENT", default=None)
"""The request in whose context something is sent or received."""


@dataclass(slots=True, eq=False)
class UnderWay:
    """One request, from its sending to its answer."""

    method: str
    context: RequestContext
    patience: Patience
    hearing: Hearing | None
    token: int
    """Under which its progress comes."""
    questions: "set[Question]" = field(default_factory=set["Question"])
    """What is being asked on its behalf."""

    @property
    def may_ask(self) -> bool:
        """Whether a server that asks something may mean this request."""
        return self.method in ASKING_METHODS or self.context.ask is not None

    @property
    def may_log(self) -> bool:
        """Whether a log message may be about this request."""
        return self.method in ASKING_METHODS or self.context.heard is not None


class Question:
    """One question of a server while it is open.

    It is given up when nobody is there any more for whom it was asked.
    """

    def __init__(self, asked_for: Iterable[UnderWay]) -> None:
        self._asked_for = set(asked_for)
        self.scope = anyio.CancelScope()

    def left(self, request: UnderWay) -> None:
        """A request it was asked for is over."""
        self._asked_for.discard(request)
        if not self._asked_for:
            self.scope.cancel()


class Requests:
    """All requests of one session that are under way."""

    def __init__(self) -> None:
        self._by_token: dict[int, UnderWay] = {}
        self._tokens = count(1)

    @contextmanager
    def begun(
        self, method: str, context: RequestContext, patience: Patience, hearing: Hearing | None
    ) -> Generator[UnderWay]:
        """A request is under way; tokens are minted here, so no two are ever equal."""
        request = UnderWay(method, context, patience, hearing, next(self._tokens))
        self._by_token[request.token] = request
        before = _CURRENT.set(request)
        try:
            yield request
        finally:
            _CURRENT.reset(before)
            del self._by_token[request.token]
            for question in tuple(request.questions):
                question.left(request)

    def progressed(self, params: Mapping[str, Any]) -> None:
        """Tell progress to the request whose token it names; late progress names none."""
        token = params.get("progressToken")
        if isinstance(token, int | str) and not isinstance(token, bool):
            request = self._by_token.get(_number(token))
            if request is not None and request.hearing is not None:
                request.hearing.progressed(params)

    def in_context(self, context: Context | None) -> UnderWay | None:
        """The request on whose stream something arrived; None where that is not known."""
        request = None if context is None else context.get(_CURRENT)
        return self._if_ours(request)

    def current(self) -> UnderWay | None:
        """The same, for the task that handles what arrived."""
        return self._if_ours(_CURRENT.get())

    def alike(
        self, concerned: Callable[[UnderWay], bool], whose: Callable[[RequestContext], object]
    ) -> list[UnderWay] | None:
        """All requests that may be concerned, if they are of the same caller; None if not.

        Where nothing is known of callers, `whose` says what requests of one caller have in common:
        a callable, which two callers never share.
        """
        found = [request for request in self._by_token.values() if concerned(request)]
        callers = [_caller(request.context, whose) for request in found]
        return found if all(caller == callers[0] for caller in callers) else None

    def _if_ours(self, request: UnderWay | None) -> UnderWay | None:
        """A context may be that of another session, or outlive its request."""
        if request is None or self._by_token.get(request.token) is not request:
            return None
        return request


def _caller(context: RequestContext, whose: Callable[[RequestContext], object]) -> object:
    known = context.caller is not None
    return known, context.caller if known else whose(context)


def _number(token: int | str) -> int:
    """A token as we minted it: servers send numbers back as text."""
    found = coerce_request_id(token)
    return found if isinstance(found, int) else 0
