"""Calls that stay open at handshake-era servers while their callers go and ask a person.

Such a server asks in the middle of a call and waits; a caller of MCP 2026-07-28 is asked by the
result of its call. So the call goes on in a task of this process, and the result of every round
names it. A caller that never comes back costs one slot until `state_seconds` have passed: then the
call is cancelled at the server.
"""

import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup

from toolcrib.calls.call import Requester
from toolcrib.calls.rounds.leg import Reply
from toolcrib.calls.rounds.outgoing import Outgoing
from toolcrib.core.partition import ANONYMOUS, LOCAL, Principal
from toolcrib.core.quoting import quoted
from toolcrib.errors import RetryRefused, TooBusy, ToolcribBug, UpstreamUnreachable
from toolcrib.protocol.mrtr import Question
from toolcrib.settings import Limits

TOGETHER: Final = 0.02
"""Seconds in which further questions of the same call are waited for, to be asked together."""

_OF_ONE: Final = 4
"""One caller may hold a call of so many that may be open."""

Run = Callable[["ParkedCall"], Awaitable[Reply]]
"""Sends the call, with its questions put by `ParkedCall.put`; what it comes back with."""


class _Pending:
    """One question that waits for its answer."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.answered = anyio.Event()
        self.answer: Mapping[str, Any] = {}


class ParkedCall:
    """One call that is open at its server. One request at a time attends to it."""

    def __init__(self, name: str, outgoing: Outgoing, parking: "Parking", limits: Limits) -> None:
        self.name = name
        self.outgoing = outgoing
        """The request that attends to it, or did so last."""
        self.attended = True
        """Whether a request waits for it right now; else it stands still until its caller comes
        back."""
        self._result: Reply | None = None
        self._failure: Exception | None = None
        self._scope = anyio.CancelScope()
        self._parking = parking
        self._limits = limits
        self._pending: dict[str, _Pending] = {}
        self._numbers = count(1)
        self._news = anyio.Event()
        self._fetched = anyio.Event()

    @property
    def result(self) -> Reply:
        """What came of the call, once it ended; raises what it failed with."""
        if self._failure is not None:
            raise self._failure
        if self._result is None:
            raise ToolcribBug("a call was read before it ended")
        return self._result

    @property
    def waits(self) -> bool:
        """Whether it waits for a person; from its question on, so calls at once all count."""
        return bool(self._pending) or not self.attended

    async def put(self, question: Question) -> Mapping[str, Any]:
        """Put a question of the server to the caller: in the next result that goes to it."""
        self._parking.check_room(self)
        key = f"question-{next(self._numbers)}"
        pending = _Pending(question)
        self._pending[key] = pending
        self._news.set()
        try:
            await pending.answered.wait()
        finally:
            self._pending.pop(key, None)
        return pending.answer

    async def next(self) -> dict[str, Question] | None:
        """Wait until the call asks or ends; the open questions, or None when it ended.

        Cancelled while it waits, it cancels the call at the server: the caller gave up.
        """
        try:
            await self._until_news()
        except anyio.get_cancelled_exc_class():
            self.cancel()
            raise
        if not self._pending:
            # At once: nobody may find a call again whose result was taken.
            self._parking.forget(self)
            self._fetched.set()
            return None
        self.attended = False
        self.linger()
        return {key: pending.question for key, pending in self._pending.items()}

    def resume(self, outgoing: Outgoing, answers: Mapping[str, Mapping[str, Any]]) -> None:
        """Go on for a caller that came back: hand its answers over.

        Raises:
            RetryRefused: Another request attends to this call already.
        """
        if self.attended:
            raise RetryRefused(
                "this call is already being continued by another request", server=outgoing.server
            )
        self.outgoing = outgoing
        self.attended = True
        self._scope.deadline = math.inf
        for key, answer in answers.items():
            if (pending := self._pending.pop(key, None)) is not None:
                pending.answer = answer
                pending.answered.set()
        if not self._pending and not self._ended:
            self._news = anyio.Event()

    def linger(self) -> None:
        """Wait `state_seconds` from now on for the caller to come back."""
        self._scope.deadline = anyio.current_time() + self._limits.state_seconds

    def cancel(self) -> None:
        """End the call at the server and forget it."""
        self._scope.cancel()

    async def run(self, send: Run) -> None:
        """Send the call, and keep what came of it until somebody fetches it or the time is over."""
        try:
            with self._scope:
                try:
                    self._result = await send(self)
                except Exception as failure:  # noqa: BLE001 - it is raised to whoever fetches it
                    self._failure = failure
                self._news.set()
                await self._fetched.wait()
        finally:
            self._parking.forget(self)
            if not self._ended:
                self._failure = UpstreamUnreachable(
                    "the call was given up", server=self.outgoing.server
                )
            self._news.set()

    async def progressed(self, progress: float, total: float | None, text: str | None) -> None:
        """Pass progress on to the request that attends to the call, if one does and wants it."""
        sink = self.outgoing.progress
        if self.attended and sink is not None:
            await sink(progress, total, text)

    async def heard(self, method: str, params: Mapping[str, Any]) -> None:
        """Pass a message on to the request that attends to the call, if one does and wants it."""
        sink = self.outgoing.context.heard
        if self.attended and sink is not None:
            await sink(method, params)

    async def _until_news(self) -> None:
        """Wait until something is asked or the call has ended.

        An ended call may still have questions: those of other calls of the same caller, where the
        transport does not say which call a question is for.
        """
        while True:
            await self._news.wait()
            if self._pending:
                await anyio.sleep(TOGETHER)
            if self._pending or self._ended:
                return
            # What was asked was taken back by the server.
            self._news = anyio.Event()

    @property
    def _ended(self) -> bool:
        return self._result is not None or self._failure is not None


class Parking:
    """The open calls of this process."""

    def __init__(self, limits: Limits, *, process_id: str) -> None:
        self._limits = limits
        self._process_id = process_id
        self._numbers = count(1)
        self._calls: dict[str, ParkedCall] = {}
        self._tasks: TaskGroup | None = None

    def __len__(self) -> int:
        """How many calls wait for a person."""
        return sum(call.waits for call in self._calls.values())

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Calls can be held open while the context lasts; leaving it cancels them."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks = None
                tasks.cancel_scope.cancel()

    def mark(self) -> str:
        """A text that no process that shares our keys makes twice."""
        return f"{self._process_id}/{next(self._numbers)}"

    def start(self, outgoing: Outgoing, send: Run) -> ParkedCall:
        """Send a call whose server may ask something; wait for it with `next`."""
        if self._tasks is None:
            raise ToolcribBug("calls were sent before Parking.running was entered")
        call = ParkedCall(self.mark(), outgoing, self, self._limits)
        self._calls[call.name] = call
        self._tasks.start_soon(call.run, send)
        return call

    def find(self, name: str) -> ParkedCall | None:
        """The open call of a name; None: it ended, or is open in another process."""
        return self._calls.get(name)

    def forget(self, call: ParkedCall) -> None:
        """The call ended."""
        self._calls.pop(call.name, None)

    def check_room(self, call: ParkedCall) -> None:
        """Raise `TooBusy` where too many calls wait for their callers already.

        One caller may hold a share of the room, and all that cannot prove who they are another,
        since they choose their handles: a host that lets its questions lie keeps nobody else out.
        """
        if call.waits:
            return
        most, server = self._limits.parked_calls, call.outgoing.server
        if len(self) >= most:
            raise TooBusy(
                f"{len(self)} calls wait for a person already, as many as parked_calls allows",
                server=server,
                remedy="answer or let expire what is open, or raise parked_calls",
            )
        who = call.outgoing.requester
        waiting = [it.outgoing.requester for it in self._calls.values() if it.waits]
        own = sum(_caller(it) == _caller(who) for it in waiting)
        if own >= max(1, most // _OF_ONE):
            raise TooBusy(
                f"as many calls of {_called(who)} wait for a person already as one caller may "
                f"have: {own} of the {most} that parked_calls allows",
                server=server,
                remedy="answer or let expire what is open, or raise parked_calls",
            )
        unnamed = sum(it.principal == ANONYMOUS for it in waiting)
        if who.principal == ANONYMOUS and unnamed >= max(1, most * 3 // 4):
            raise TooBusy(
                f"as many calls of anonymous callers wait for a person already as all of them "
                f"may have: {unnamed} of the {most} that parked_calls allows",
                server=server,
                remedy="let hosts log in, let expire what is open, or raise parked_calls",
            )


def _caller(requester: Requester) -> tuple[Principal, str]:
    """Whose room a call takes; the anonymous without a handle are one caller."""
    return requester.principal, requester.handle


def _called(requester: Requester) -> str:
    """A caller as an error names it; a handle is a secret of its host and stays out."""
    if requester.principal == ANONYMOUS:
        return "this anonymous caller" if requester.handle else "anonymous callers without a handle"
    return "this caller" if requester.principal == LOCAL else quoted(requester.principal.subject)
