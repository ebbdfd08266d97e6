"""One program in its session, as its thread drives it: from one wait to the next."""

import math
import os
import signal
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from pydantic_monty import ExternalSettledResult as Result
from pydantic_monty import (
    FunctionSnapshot,
    FutureSnapshot,
    MontyComplete,
    MontyError,
    MontySession,
    NameLookupSnapshot,
    SyncSnapshot,
)

from toolcrib.adapters.monty.checking import check
from toolcrib.adapters.monty.failures import failed, unclosed
from toolcrib.adapters.monty.frozen import Frozen
from toolcrib.adapters.monty.handed_out import HandedOut
from toolcrib.adapters.monty.modules import (
    OUTSIDE,
    external_modules,
    held,
    held_again,
    imported,
    prelude,
)
from toolcrib.adapters.monty.places import Source
from toolcrib.adapters.monty.workers import VERSION, Workers
from toolcrib.adapters.programs.printing import Printing
from toolcrib.errors import SnapshotRefused, ToolcribBug
from toolcrib.ports import (
    Answer,
    Called,
    Failed,
    Finished,
    Printed,
    Program,
    Raised,
    Returned,
    Unawaited,
)
from toolcrib.settings import CodeSettings

_UNHASHABLE: Final = (
    "TypeError: objects of classes cannot leave the program as elements of a set or keys of a "
    "dict: make a list of them, or take their attributes"
)
_KILL: Final = getattr(signal, "SIGKILL", signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Waiting:
    """Nothing goes on before something comes back."""

    calls: tuple[int, ...]
    sleeps: Mapping[int, float]
    """Seconds that each one lasts, counted from its beginning."""


@dataclass(frozen=True, slots=True)
class Napping:
    """The whole program sleeps."""

    seconds: float


State = Waiting | Napping | Finished | Failed


class Stopped(Exception):
    """Somebody ended the program."""


class Feeding:
    """A program in a session. Every method but `stop` blocks; one thread at a time calls them.

    Args:
        workers: Where sessions come from.
        program: What is run.
        settings: Its limits.
        emit: Where calls and printed text go, from the thread of the program.
    """

    def __init__(
        self,
        workers: Workers,
        program: Program,
        settings: CodeSettings,
        emit: Callable[[Called | Printed], None],
    ) -> None:
        self._workers = workers
        self._program = program
        self._settings = settings
        self._emit = emit
        self._printing = Printing(settings.print_bytes, emit)
        self._session: MontySession | None = None
        self._source = Source(program.source, "")
        self._helpers: dict[str, dict[str, Any]] = {}
        self._step: FutureSnapshot | FunctionSnapshot | None = None
        self._asleep: dict[int, float] = {}
        self._slept = 0.0
        self._made: dict[int, Unawaited] = {}
        """What awaits something, by Monty's numbers."""
        self._restored = False
        self._ran = False
        self._stopped = False
        self._killed = False
        self._busy = False
        self._pid: int | None = None
        self._guard = threading.Lock()
        """Held where a worker becomes busy or idle, so that none is killed that has gone idle."""

    def begin(self) -> State:
        """Check the program and run it until it waits or ends."""
        refused = self._checked() if self._program.checked else None
        if refused is not None:
            return unclosed(refused, self._source, self._program.source)
        names = imported(self._program)
        self._source = Source(self._program.source, f"<python-input-{1 if names else 0}>")
        session = self._entered(self._workers.to_run(self._program, self._modules()))
        if names:
            self._helpers |= self._prepared(session, names)
        return self._go(
            lambda: session.feed_start(self._program.source, print_callback=self._printing)
        )

    def restore(self, frozen: Frozen) -> Waiting:
        """Let a program wait where it waited.

        Raises:
            SnapshotRefused: It cannot.
        """
        self._ran = self._restored = True
        self._slept = frozen.slept
        self._source = Source(self._program.source, frozen.fed)
        self._helpers |= held_again(frozen.helpers)
        session = self._entered(self._workers.to_run(self._program, self._modules()))
        try:
            with self._working():
                step = session.load_snapshot(frozen.dump, print_callback=self._printing)
        except (MontyError, RuntimeError, ValueError) as error:
            raise SnapshotRefused(f"the program that waited cannot go on: {error}") from error
        if not isinstance(step, FutureSnapshot):
            raise SnapshotRefused("the program that waited does not wait for calls")
        self._step = step
        return Waiting(tuple(sorted(step.pending_call_ids)), {})

    def resume(self, answers: Mapping[int, Answer], woken: frozenset[int]) -> State:
        """Go on after `Waiting`, with calls that came back and sleeps that ended."""
        step = self._step
        if not isinstance(step, FutureSnapshot):
            raise ToolcribBug("a program was resumed that does not wait")
        results = {id_: _result(answer) for id_, answer in answers.items()}
        for id_ in woken:
            del self._asleep[id_]
            results[id_] = {"return_value": None}
        return self._go(lambda: step.resume(results))

    def wake(self) -> State:
        """Go on after `Napping`."""
        step = self._step
        if not isinstance(step, FunctionSnapshot):
            raise ToolcribBug("a program was woken that does not sleep")
        return self._go(lambda: step.resume({"return_value": None}))

    def dump(self) -> bytes:
        """The program as it waits; only after `Waiting` without sleeps.

        Raises:
            SnapshotRefused: It holds so much that its worker does not survive it.
        """
        step = self._step
        if not isinstance(step, FutureSnapshot):
            raise RuntimeError("the program does not wait")  # noqa: TRY004 - no type of anybody's
        ids = {
            module: {name: each.id for name, each in names.items()}
            for module, names in self._helpers.items()
        }
        try:
            dump = step.dump()
        except MontyError as error:
            most = f"code.memory_bytes: {self._settings.memory_bytes}"
            raise SnapshotRefused(f"it holds too much to be kept meanwhile ({most})") from error
        return Frozen(VERSION, self._source.fed, self._slept, ids, dump).packed()

    def close(self) -> None:
        """Give the worker back, or what is left of it."""
        with self._guard:
            session, self._session, self._pid = self._session, None, None
        if session is None:
            return
        with suppress(MontyError, RuntimeError):
            if self._killed:
                session.dump()  # the turn may have ended first: this shows the pool the dead
        with suppress(MontyError, RuntimeError):
            session.__exit__(None, None, None)

    def stop(self) -> None:
        """End the program wherever it is; from any thread, at once."""
        with self._guard:
            self._stopped = True
            if self._busy and self._pid is not None:
                self._killed = True
                with suppress(ProcessLookupError):
                    os.kill(self._pid, _KILL)

    def _modules(self) -> Any:
        return external_modules(self._program, self._helpers)

    def _entered(self, session: MontySession) -> MontySession:
        """A session with a worker, which `stop` knows from now on."""
        return self._known(session.__enter__())

    def _known(self, session: MontySession) -> MontySession:
        with self._guard:
            self._session = session
            self._pid = session.worker_pid
            if self._stopped:
                raise Stopped
        return session

    @contextmanager
    def _working(self) -> Generator[None]:
        """While this lasts, `stop` ends it by killing the worker."""
        with self._guard:
            if self._stopped:
                raise Stopped
            self._busy = True
        try:
            yield
        finally:
            with self._guard:
                self._busy = False

    def _checked(self) -> Failed | None:
        """Why it is not run; in a session of its own, which knows nothing of other programs."""
        program = self._program
        named = [module for module in program.modules if module in program.source]
        session = self._workers.checkers.lent(self._modules())
        try:
            self._known(session)
            with self._working():
                return check(
                    session,
                    self._source,
                    program.source,
                    named,
                    seconds=self._settings.check_seconds,
                    has=self._workers.defined.among,
                )
        finally:
            with self._guard:
                self._session, self._pid = None, None
            self._workers.checkers.done(session)

    def _prepared(self, session: MontySession, names: tuple[str, ...]) -> dict[str, dict[str, Any]]:
        """The functions of modules that run inside."""
        with self._working():
            step = session.feed_start(prelude(self._program, names))
            while not isinstance(step, MontyComplete):
                step = step.resume_auto()
            return held(step.output, self._program, names)

    def _go(self, first: Callable[[], SyncSnapshot]) -> State:
        """Run until something has to come back from outside."""
        self._step = None
        try:
            with self._working():
                return self._ended(self._driven(first))
        except MontyError as error:
            ran = self._ran or self._printing.any
            ended = failed(error, self._source, self._settings, ran=ran)
            return self._ended(unclosed(ended, self._source, self._program.source))
        except TypeError as error:  # a set, or keys, of what has no hash outside
            if "unhashable" not in str(error):
                raise
            return self._ended(Failed("raised", _UNHASHABLE))

    def _driven(self, first: Callable[[], SyncSnapshot]) -> State:
        step = first()
        self._ran = True
        while not isinstance(step, MontyComplete):
            following = self._follow(step)
            if isinstance(following, Waiting | Napping | Failed):
                return following
            step = following
        return Finished(self._read(step.output))

    def _ended(self, state: State) -> State:
        """Tell what was not told, where this is the end."""
        if isinstance(state, Finished | Failed) and self._printing.dropped:
            self._emit(Printed("", self._printing.dropped))
        return state

    def _follow(
        self, step: FunctionSnapshot | NameLookupSnapshot | FutureSnapshot
    ) -> SyncSnapshot | Waiting | Napping | Failed:
        match step:
            case FutureSnapshot():
                self._step = step
                ids = step.pending_call_ids
                sleeps = {id_: self._asleep[id_] for id_ in ids if id_ in self._asleep}
                return Waiting(tuple(sorted(id_ for id_ in ids if id_ not in sleeps)), sleeps)
            case FunctionSnapshot(is_os_function=True) if step.function_name in _SLEEPS:
                return self._sleep(step)
            case FunctionSnapshot(is_os_function=False):
                return self._call(step)
            case FunctionSnapshot() | NameLookupSnapshot():
                # Imports are served; files, environment and names that nobody defined are not.
                return step.resume_auto()

    def _call(self, step: FunctionSnapshot) -> SyncSnapshot:
        module, _, function = step.function_name.partition(".")
        module = module.removeprefix(OUTSIDE)
        known = self._program.modules.get(module)
        if step.object_id is not None or known is None or function not in known.functions:
            return step.resume_auto()
        place = self._source.place(step.position)
        args, kwargs = self._read([step.args, step.kwargs])
        self._made[step.call_id] = Unawaited(step.call_id)
        self._emit(Called(step.call_id, module, function, tuple(args), kwargs, place))
        return step.resume({"future": ...})

    def _sleep(self, step: FunctionSnapshot) -> SyncSnapshot | Napping | Failed:
        seconds = _seconds(step.args)
        self._slept += seconds
        most = self._settings.sleep_seconds
        if self._slept > most:
            return Failed(
                "sleep_seconds",
                f"TimeoutError: it sleeps longer than it may (code.sleep_seconds: {most:g})",
                (self._source.place(step.position),),
            )
        if step.function_name == "time.sleep":
            self._step = step
            return Napping(seconds)
        self._asleep[step.call_id] = seconds
        self._made[step.call_id] = Unawaited(function="asyncio.sleep")
        return step.resume({"future": ...})

    def _read(self, value: Any) -> Any:
        """What Monty hands out, as values."""
        program = self._program
        beside = [program.modules[name].source for name in imported(program)]
        return HandedOut(program.source, beside, self._unawaited).value(value)

    def _unawaited(self, id_: int) -> Unawaited | None:
        """What stands under a number; from before a snapshot, a call."""
        return self._made.get(id_) or (Unawaited(id_) if self._restored else None)


_SLEEPS: Final = frozenset({"time.sleep", "asyncio.sleep"})


def _seconds(args: tuple[Any, ...]) -> float:
    """How long a sleep is; for ever, where it does not say so."""
    wanted = args[0] if args else math.inf
    seconds = float(wanted) if isinstance(wanted, int | float) else math.inf
    return math.inf if math.isnan(seconds) else max(seconds, 0.0)


def _result(answer: Answer) -> Result:
    match answer:
        case Returned(value):
            return {"return_value": value}
        case Raised(message):
            # Half a character, which JSON can hold, is nothing that Monty takes.
            whole = message.encode("utf-8", "replace").decode("utf-8")
            return {"exc_type": "RuntimeError", "message": whole}
