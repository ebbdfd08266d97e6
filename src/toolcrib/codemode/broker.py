"""Makes the calls of one program: each like a direct one, within the budgets of the program."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Protocol

import anyio
from anyio.abc import TaskGroup

from toolcrib.calls.call import Requester, Retry, Seen, ToolCall
from toolcrib.calls.program_consent import ProgramConsent
from toolcrib.calls.results.encoding import NotFinite, encode
from toolcrib.codemode.callees import Callee, Callees, callee_of
from toolcrib.codemode.journal import Journal, Row
from toolcrib.codemode.progress import Progress
from toolcrib.codemode.replay import Replay
from toolcrib.codemode.retelling import Retelling
from toolcrib.codemode.values import (
    answered,
    failure_text,
    in_whole_characters,
    within_depth,
)
from toolcrib.codemode.wall_clock import WallClock
from toolcrib.core.flow import flow_verdict
from toolcrib.core.quoting import clipped, quoted
from toolcrib.errors import (
    CallHeld,
    ConfirmationNeeded,
    LimitExceeded,
    NotAllowed,
    ResultInvalid,
    ToolcribBug,
    ToolcribError,
    ToolGone,
)
from toolcrib.facts import ProgramCalled, ProgramCalling
from toolcrib.ports import Answer, Called, Observer, Raised, Returned
from toolcrib.ports import Progress as Steps
from toolcrib.protocol.mrtr import asks_input
from toolcrib.settings import CodeSettings

_log = logging.getLogger(__name__)

_HALF: Final = rb"\ud"
"""How half a surrogate pair is written in JSON, among other things."""

_HELD: Final = 32 * 1024 * 1024
"""Bytes of arguments, as JSON, that calls of one program may hold while they have no answer."""

Answered = Callable[[int, Answer], None]
"""Lets a call of the program, as the runtime counts them, come back."""


class Pipeline(Protocol):
    """Makes calls (`calls.pipeline.Pipeline`)."""

    async def call(self, call: ToolCall) -> dict[str, Any]:
        """The result; raises what stopped it."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Around:
    """What the programs of one principal call with."""

    pipeline: Pipeline
    callees: Callees
    settings: CodeSettings
    observer: Observer
    set_aside: Callable[[Requester, dict[str, Any]], Awaitable[dict[str, Any]]]
    """A result with what is no text (images, sound) kept under handles in its place."""
    replayed: bool = False
    """Whether a program may have to be told its answers again; else nobody keeps them."""


class Broker:
    """Takes what a program calls, and answers it.

    A call is counted before anything else happens, so that no flood of them costs more than their
    number. Once a call waits for a person who is asked by the end of this request, no further one
    goes out: they are held, those under way come back, and the program can be put aside.
    """

    def __init__(
        self,
        around: Around,
        requester: Requester,
        *,
        run: str,
        journal: Journal,
        clock: WallClock,
        before: Progress,
        retries: Mapping[int, Retry] | None = None,
        progress: Steps | None = None,
    ) -> None:
        self._around = around
        self._settings = around.settings
        self.consent = ProgramConsent(before.said)
        self._requester = _of_program(requester, self.consent, clock)
        self._run = run
        self._journal = journal
        self._progress = progress
        self._held = 0
        """Bytes of the arguments of calls without an answer."""
        self._sizes: dict[int, int] = {}
        """The same of each call, by its row."""
        self._sent = 0
        self._turns = anyio.CapacityLimiter(self._settings.in_flight)
        self._moved = anyio.Event()
        self.replay = Replay(before.rows if before.snapshot is None else ())
        """What the program has to come to again."""
        self.retelling = Retelling(before.rows, self._settings.replayed_bytes)
        """What it would be told again."""
        self._retries = dict(retries or {})
        self._unanswered = set(self._retries)
        self._answered = anyio.Event()
        if not self._retries:
            self._answered.set()
        self._made = 0
        self._settled = max((row.settled for row in journal.rows), default=0)
        self.received = set(before.received)
        """The servers that have answered."""
        self.asked: dict[int, Mapping[str, Any]] = {}
        """`input_required` results, by the number of the row."""

    def go_on(self, answer: Answered, tasks: TaskGroup) -> None:
        """Make the calls that a program waits for which was put aside."""
        self._made = len(self._journal.rows)
        for row in self._journal.rows:
            if row.open:
                self._go_on(row, answer, tasks)

    def serve(self, called: Called, answer: Answered, tasks: TaskGroup) -> None:
        """Take a call; its answer is given later, or at once where it cannot be made."""
        try:
            callee, arguments = self._taken(called)
        except ToolcribError as error:
            answer(called.id, _raised(error))
            return
        except Exception:  # noqa: BLE001 - as for calls that are made
            _log.exception("a call of program %s could not be taken", self._run)
            answer(called.id, _raised(ToolcribBug("toolcrib broke at this call; it was not sent")))
            return
        new = partial(self._add, called, callee, arguments, answer, tasks)
        if self.replay.over:
            new()
        elif (row := self.replay.row(callee, arguments)) is None:
            self._held += (size := len(encode(arguments)))
            self.replay.hold(called.id, partial(self._late, new, size), callee)
        else:
            self._repeat(row, called, answer, tasks)

    def _taken(self, called: Called) -> tuple[Callee, dict[str, Any]]:
        """The tool and the arguments of a call, counted; raises what keeps it from being made."""
        most = self._settings.calls
        if self._made >= most:
            raise LimitExceeded(f"a program may make {most} calls (code.calls)")
        self._made += 1
        callee, arguments = callee_of(called, self._around.callees)
        if self._held + len(encode(arguments)) > _HELD:
            what = f"the arguments of calls without an answer are at most {_HELD:,} bytes"
            raise LimitExceeded(f"{what} as JSON: wait for some of them")
        return callee, arguments

    def _late(self, new: Callable[[], None], size: int) -> None:
        """Take a call that came while the program was not where it had been; of this many bytes."""
        self._held -= size
        new()

    def _repeat(self, row: Row, called: Called, answer: Answered, tasks: TaskGroup) -> None:
        """A call that the program made before."""
        row.call, row.place = called.id, called.place
        if row.answer is not None:
            self.replay.tell(row, row.answer, answer)
        else:
            self.replay.hold(called.id, partial(self._go_on, row, answer, tasks))
        if self.replay.over:
            for go in self.replay.release():
                go()

    def _add(
        self,
        called: Called,
        callee: Callee,
        arguments: Mapping[str, Any],
        answer: Answered,
        tasks: TaskGroup,
    ) -> None:
        """A call that the program makes for the first time."""
        row = self._journal.add(
            server=callee.server,
            tool=callee.tool,
            arguments=arguments,
            contract=callee.contract,
            call=called.id,
            place=called.place,
            heard=tuple(sorted(self.received)),
        )
        self._judge(row, answer, tasks)

    def _go_on(self, row: Row, answer: Answered, tasks: TaskGroup) -> None:
        """A call of before that has no answer yet: rules may have become others meanwhile."""
        if not self._judge(row, answer, tasks):
            self._is_answered(row.number)

    def _judge(self, row: Row, answer: Answered, tasks: TaskGroup) -> bool:
        """Make a call, or refuse it; whether it is made."""
        if (refused := self._flow(row)) is not None:
            self._settle(row, refused, answer)
            return False
        self._start(row, answer, tasks)
        return True

    def _flow(self, row: Row) -> Answer | None:
        """Whether what was received before a call was made may go into it; if not, it ends here.

        What comes later cannot be part of it: its arguments are made.
        """
        flow = flow_verdict(self._settings.flows, row.heard, row.server)
        row.flow = ""
        if flow is None:
            return None
        if flow.verdict == "ask":
            row.flow = ", ".join(flow.sources)
            return None
        (source,) = flow.sources
        what = (
            f"what {quoted(source)} answered may not go into calls of "
            f"{quoted(flow.target)} within one program (code.flows)"
        )
        return self._stopped(row, NotAllowed(what, server=row.server))

    def _start(self, row: Row, answer: Answered, tasks: TaskGroup) -> None:
        row.outcome = "queued"
        self._sizes[row.number] = size = len(encode(row.arguments))
        self._held += size
        tasks.start_soon(self._make, row, answer, self._retries.pop(row.number, None))

    async def _make(self, row: Row, answer: Answered, retry: Retry | None) -> None:
        """Make the call of a row, unless it has to be held; `retry`: with what a person said.

        What a person said comes first: other calls may go by the answer.
        """
        if retry is None:
            await self._answered.wait()
        async with self._turns:
            if not row.open:  # the program ended in this moment
                return
            if self.asked and retry is None:
                row.outcome = "held"
            else:
                await self._told(row, answer, retry)
        if retry is not None:
            self._is_answered(row.number)
        self._move()

    def _is_answered(self, number: int) -> None:
        """What a person said of a row is heard."""
        self._unanswered.discard(number)
        if not self._unanswered:
            self._answered.set()

    async def _told(self, row: Row, answer: Answered, retry: Retry | None) -> None:
        started, note = anyio.current_time(), self._around.observer.note
        about = (self._run, row.number, row.server, row.tool)
        if retry is not None:  # its server may have begun with it
            row.outcome = "under way"
        note(ProgramCalling(*about, row.place.line))
        try:
            await self._tell_progress(row)
            told = await self._outcome(row, retry)
        except anyio.get_cancelled_exc_class():
            row.cancel()
            raise
        except Exception:  # noqa: BLE001 - a fault of ours must not hide what the program has done
            _log.exception("call %d of program %s broke", row.number, self._run)
            told = self._broken(row)
        finally:
            note(ProgramCalled(*about, row.outcome, anyio.current_time() - started))
        if told is not None:
            self._settle(row, told, answer)

    def _settle(self, row: Row, told: Answer, answer: Answered) -> None:
        """Answer a call, and keep what a replay takes of it; nothing else."""
        self._settled += 1
        row.settled = self._settled
        if self._around.replayed:
            self.retelling.keep(row, told)
        else:
            row.arguments = {}
        self._held -= self._sizes.pop(row.number, 0)
        answer(row.call, told)

    async def _tell_progress(self, row: Row) -> None:
        """A line for whoever waits for the program."""
        if self._progress is not None:
            self._sent += 1
            where = f" (line {row.place.line})" if row.place.line else ""
            said = f"call {row.number}: {clipped(row.tool)} of {clipped(row.server)}{where}"
            await self._progress(float(self._sent), None, said)

    @property
    def stuck(self) -> bool:
        """Whether nothing goes on before a person has answered."""
        going_on = any(row.outcome in {"queued", "under way"} for row in self._journal.rows)
        return bool(self.asked) and not going_on

    async def moved(self) -> None:
        """Return when the next call has come back, or has to wait for a person."""
        await self._moved.wait()

    def _move(self) -> None:
        self._moved.set()
        self._moved = anyio.Event()

    async def _outcome(self, row: Row, retry: Retry | None) -> Answer | None:
        """What the program is told of a call; None: nothing yet."""
        requester = self._requester
        try:
            await self._around.callees.reach(row.server, requester)
        except ToolcribError as error:
            return self._stopped(row, error, heard=not isinstance(error, ToolGone))
        try:
            result = await self._around.pipeline.call(self._call(row, retry))
            if asks_input(result):
                row.outcome = "asking"
                self.asked[row.number] = result
                return None
            self.received.add(row.server)
            if result.get("isError") is True:
                text = failure_text(result, self._settings.answer_bytes)
                row.end("raised", text)
                return Raised(text)
            value = answered(await self._around.set_aside(requester, result))
            return Returned(self._bounded(row, value))
        except CallHeld:
            row.outcome = "held"
            return None
        except ToolGone as gone:
            error = self._around.callees.in_own_names(gone, row.server, row.tool)
            return self._stopped(row, error)
        except ToolcribError as error:
            return self._stopped(row, error)

    def _stopped(self, row: Row, error: ToolcribError, *, heard: bool = True) -> Answer:
        """The answer to a call that did not go out, or brought nothing.

        What its server said may be part of the text, so that it counts as received; but not of one
        that there is not, whose name a program made up: people are asked about what was received.
        """
        if heard and not isinstance(error, NotAllowed | ConfirmationNeeded):
            self.received.add(row.server)
        if row.outcome != "returned":
            row.end("stopped", f"{error.code}: {error.for_model()}")
        return _raised(error)

    def _broken(self, row: Row) -> Answer:
        """The answer to a call that a fault of ours ended; nobody reads what that was."""
        acted = "; it may have acted" if row.outcome != "queued" else "; it was not sent"
        return self._stopped(row, ToolcribBug(f"toolcrib broke during this call{acted}"))

    def _call(self, row: Row, retry: Retry | None) -> ToolCall:
        return ToolCall(
            name=row.tool,
            server=row.server,
            key=row.tool,
            arguments=row.arguments,
            requester=self._requester,
            seen=Seen(contract=row.contract),
            meta=self._requester.trace,
            retry=retry,
            sent=partial(_is_sent, row),
            flow=row.flow,
        )

    def _bounded(self, row: Row, value: Any) -> Any:
        """The value, if it is one that a program may be given.

        Raises:
            LimitExceeded: It is too much.
        """
        settings = self._settings
        row.end("returned")
        if not within_depth(value, settings.answer_depth):
            what = f"is nested deeper than code.answer_depth allows ({settings.answer_depth})"
        else:
            try:
                written = encode(value)
            except NotFinite as broken:
                raise ResultInvalid(f"{broken}; the tool ran", server=row.server) from None
            row.size = size = len(written)
            if size <= settings.answer_bytes:
                return in_whole_characters(value) if _HALF in written else value
            most = settings.answer_bytes
            what = f"has {size:,} bytes as JSON, code.answer_bytes allows {most:,}"
        raise LimitExceeded(f"the result {what}; the tool ran", server=row.server)


def _is_sent(row: Row) -> None:
    if row.open:
        row.outcome = "under way"


def _raised(error: ToolcribError) -> Raised:
    """What stopped a call, as the program sees it: the code, and the text that a model may read."""
    return Raised(f"toolcrib.{error.code}: {error.for_model()}")


def _of_program(requester: Requester, consent: ProgramConsent, clock: WallClock) -> Requester:
    """The same, asked once for each kind of call, while the program's time stands still."""
    ask = requester.ask
    if ask is None:
        return replace(requester, consent=consent)

    async def asked(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        with clock.paused():
            return await ask(method, params)

    return replace(requester, consent=consent, ask=asked)
