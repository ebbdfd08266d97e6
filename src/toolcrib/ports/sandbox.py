"""Where programs of models run: one small protocol that every runtime speaks (DESIGN section 8).

    async with sandbox.open(program) as running:      # nothing has run yet
        while not isinstance(event := await running.next(), Finished | Failed):
            ...                                       # a call: `running.answer(event.id, ...)`

What comes out of a runtime is untrusted: a program may have forged it. Whoever reads events checks
each of them again.
"""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from toolcrib.settings import Language


@dataclass(frozen=True, slots=True)
class SandboxModule:
    """A module that a program can import: functions that are answered from outside."""

    declarations: str
    """What a type checker reads of it, in the language of the program."""
    functions: frozenset[str]
    """The names that can be called."""
    source: str = ""
    """Functions of the module that run inside, in the language of the program. They may call
    `functions` by their names; those whose names begin with no `_` can be imported as well."""


@dataclass(frozen=True, slots=True)
class Program:
    """One program, and all that it can see."""

    source: str
    modules: Mapping[str, SandboxModule]
    """By the name under which they are imported."""
    checked: bool = True
    """Whether its types are checked before anything of it runs."""
    started_at: float | None = None
    """What its clock says for ever, in seconds since 1970; None: the time of day."""
    seed: str = ""
    """From what its random numbers are made; empty: from entropy. With `started_at`, two runs with
    the same answers take the same steps."""
    away: Mapping[str, str] = field(default_factory=dict[str, str])
    """Why a module that its text names is not there, by its name: what an import of it says."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the source something is."""

    line: int
    """From 1; 0: not known."""
    column: int = 0
    """From 1; 0: not known."""
    text: str = ""
    """The line itself."""
    function: str = ""
    """The function it belongs to; empty: none."""


NOWHERE = Place(0)


@dataclass(frozen=True, slots=True)
class Unawaited:
    """Stands in a value of a program for what the program did not wait for."""

    call: int = 0
    """The call that it stands for, as `Called` has it; 0: none."""
    function: str = ""
    """The function of the program that was to run instead; empty: none."""


@dataclass(frozen=True, slots=True)
class Called:
    """The program called a function of a module. It goes on; the call is answered later."""

    id: int
    module: str
    function: str
    args: tuple[Any, ...]
    """JSON values, or what else the runtime hands out: unchecked."""
    kwargs: Mapping[str, Any]
    place: Place = NOWHERE


@dataclass(frozen=True, slots=True)
class Printed:
    """The program printed something."""

    text: str
    dropped: int = 0
    """Characters that came before and were thrown away, because it had printed too many."""


@dataclass(frozen=True, slots=True)
class Waits:
    """Nothing goes on before one of these calls is answered. Only here a snapshot can be taken."""

    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Finished:
    """The program came to its end."""

    value: Any
    """What it returned; unchecked."""
    untaken: frozenset[int] = frozenset()
    """Calls whose failure nothing in the program took, as far as its runtime says so."""


FailedWhy = Literal[
    "syntax",
    "unsupported",
    "types",
    "raised",
    "interpreter_seconds",
    "check_seconds",
    "memory",
    "sleep_seconds",
    "suspensions",
    "depth",
    "crashed",
]
"""What ended it: source that is none, language that this runtime lacks, types that do not fit its
modules, an error of its own, the limit with that name, or the loss of its worker."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The program ended in an error."""

    why: FailedWhy
    message: str
    """`RuntimeError: no quota`, or what a type checker said, with lines of `script.py`."""
    trace: tuple[Place, ...] = ()
    """Where it was, the outermost first; empty: not known."""
    executed: bool = True
    """False: nothing of it ran."""


Event = Called | Printed | Waits | Finished | Failed


@dataclass(frozen=True, slots=True)
class Returned:
    """The call came back."""

    value: Any
    """A JSON value."""


@dataclass(frozen=True, slots=True)
class Raised:
    """The call raises a `RuntimeError` (Python) or an `Error` in the program."""

    message: str


Answer = Returned | Raised


class Running(Protocol):
    """One program in a sandbox of its own. One task reads its events; any task may answer."""

    async def next(self) -> Event:
        """The following event; after `Waits`, the one that follows an answer.

        Never raises for what a program does: that is `Failed`. After `Finished` or `Failed` there
        is none, and asking for it raises `RuntimeError`.
        """
        ...

    def answer(self, id_: int, answer: Answer) -> None:
        """Let a call come back; once for each. A program that has ended hears it no more."""
        ...

    async def snapshot(self) -> bytes:
        """All of the program as it waits, to be resumed by the same version of the same runtime.

        Only after `Waits`, before the next answer. Raises `RuntimeError` where `snapshots` is False
        or the program does not wait, and `SnapshotRefused` where it holds too much: then it has
        ended.
        """
        ...


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a runtime can do beyond running a program."""

    language: Language
    version: str
    """Of the runtime; a snapshot is good for this one alone."""
    snapshots: bool
    type_check: bool
    jail: str
    """What it runs in, for a person: `bubblewrap 0.11.0`, or `none: ...` with the reason."""
    lacks: tuple[str, ...] = ()
    """What this runtime lacks of its language, as found by trying: a short name each."""
    missing_modules: frozenset[str] = frozenset()
    """Modules of the standard library that cannot be imported, as found by trying."""


class Sandbox(Protocol):
    """A runtime; it starts with the first program and holds workers until it is closed."""

    async def abilities(self) -> Abilities:
        """What it can do here; found out once.

        Raises `SandboxUnavailable` where it cannot run here, with the reason and the remedy: never
        is there a quiet fallback to less isolation.
        """
        ...

    def open(
        self, program: Program, *, snapshot: bytes | None = None
    ) -> AbstractAsyncContextManager[Running]:
        """A worker for this program alone.

        Leaving ends it within a second, if need be by killing it, while the event loop goes on.
        With a snapshot the program goes on where that was taken: `next` says `Waits` first. Raises
        `SandboxUnavailable` as `abilities` does, `TooBusy` where no worker is free, at once,
        and `SnapshotRefused` for a snapshot that this runtime cannot take.
        """
        ...

    async def aclose(self) -> None:
        """End all workers."""
        ...


class Sandboxes(Protocol):
    """The runtimes of one crib, by language."""

    def sandbox(self, language: Language) -> Sandbox:
        """The runtime of a language. Raises `SandboxUnavailable` for one that is not there."""
        ...

    async def aclose(self) -> None:
        """End the workers of all of them."""
        ...
