"""The programs of one principal: checked, run, put aside, gone on with, and told.

result = await programs.run(Source("python", code), requester)
result = await programs.run(source, requester, retry)      # a person has answered
ran = await programs.finish(source, requester)             # for whoever reads no `CallToolResult`
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from anyio import to_thread

from toolcrib.calls.call import Requester, Retry
from toolcrib.catalog.access import CatalogAccess
from toolcrib.codemode.broker import Around, Pipeline
from toolcrib.codemode.callees import Callee
from toolcrib.codemode.journal import Journal
from toolcrib.codemode.modules import CalleesOf, Modules, modules_again
from toolcrib.codemode.output import Telling, told_row
from toolcrib.codemode.program_run import Aside, Broken, Done, Ending, ProgramRun, Why
from toolcrib.codemode.progress import START, Progress
from toolcrib.codemode.put_aside import PutAside
from toolcrib.codemode.ran import Ran
from toolcrib.codemode.shelf import Shelf, Taken
from toolcrib.codemode.turns import Turns
from toolcrib.core.canonical import canonical
from toolcrib.core.fingerprint import hashed
from toolcrib.core.program.problem import Problem
from toolcrib.core.program.python import Bounds, Checked, check_python
from toolcrib.core.program.typescript import check_typescript
from toolcrib.core.quoting import enumerated, quoted
from toolcrib.discovery.seams import Enabling
from toolcrib.errors import (
    LimitExceeded,
    SandboxUnavailable,
    SnapshotRefused,
    StoreUnreachable,
    TooBusy,
    ToolcribBug,
    ToolcribError,
)
from toolcrib.facts import ProgramEnded, ProgramStarted
from toolcrib.ports import Abilities, Clock, Observer, Program, Sandboxes
from toolcrib.ports import Progress as Steps
from toolcrib.settings import CodeSettings, Language

SetAside = Callable[[Requester, dict[str, Any]], Awaitable[dict[str, Any]]]
_SLOW_CHECK: Final = 4_096
"""Characters of a program from which on its text is looked through in a thread."""


@dataclass(frozen=True, slots=True)
class Source:
    """A program as a model wrote it."""

    language: Language
    text: str

    @property
    def in_python(self) -> str:
        """The text, where it is in Python; else nothing."""
        return self.text if self.language == "python" else ""

    @property
    def mark(self) -> str:
        """Equal for equal programs."""
        return hashed(canonical([self.language, self.text]))


@dataclass(frozen=True, slots=True, eq=False)
class Surroundings:
    """What the programs of one principal run with."""

    access: CatalogAccess
    modules: Modules
    pipeline: Pipeline
    enabling: Enabling
    sandboxes: Sandboxes
    shelf: Shelf
    telling: Telling
    turns: Turns
    """At the workers; one for everybody."""
    set_aside: SetAside
    settings: CodeSettings
    clock: Clock
    observer: Observer
    marks: Callable[[], str]
    """Makes a text that no process on the same store makes twice."""


@dataclass(frozen=True, slots=True)
class _Begun:
    """A program that runs, for the first time or again."""

    run: str
    source: Source
    program: Program
    callees: Mapping[str, Callee]
    abilities: Abilities
    servers: Collection[str]
    renamed: Mapping[str, str] = field(default_factory=dict[str, str])
    """Modules of servers that its text names otherwise."""
    refused: Broken | None = None
    """Why it is not run at all."""
    stale: Collection[str] = ()
    """The servers whose catalogs may be older than what its author knows."""
    before: Progress = START
    retries: Mapping[int, Retry] = field(default_factory=dict[int, Retry])


class Programs:
    """Runs programs."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self.modules = around.modules

    async def run(
        self,
        source: Source,
        requester: Requester,
        retry: Retry | None = None,
        progress: Steps | None = None,
    ) -> dict[str, Any]:
        """The `CallToolResult` of a program, or an `input_required` result.

        Raises:
            ScriptFailed: It was not run, or ended in an error; it lists its calls.
            SandboxUnavailable: Programs of this language cannot run here.
            TooBusy: No worker became free for it in time, or too many of its caller's wait.
            RetryRefused: What it brings back is not good for this program.
            StoreUnreachable: Nobody knows what it brings back.
        """
        if retry is not None:
            return await self._run_again(source, requester, retry, progress)
        begun, ending = await self._first(source, requester, progress)
        return await self._told(ending, begun, requester)

    async def finish(self, source: Source, requester: Requester) -> Ran:
        """What a program brought, as it is; the requester is asked meanwhile, or not at all.

        Raises as `run` does.
        """
        begun, ending = await self._first(source, replace(requester, takes_rounds=False))
        match ending:
            case Done(_, progress) as done:
                returned = await self._around.telling.returned(done, source.in_python)
                return Ran(
                    value=returned.value,
                    remarks=returned.remarks,
                    printed=progress.printed,
                    printed_bytes=progress.printed_bytes,
                    calls=tuple(map(told_row, progress.rows)),
                    seconds=progress.seconds,
                )
            case Broken():
                raise self._around.telling.failure(_with_modules(ending, begun.renamed))
            case Aside():
                raise ToolcribBug("a program was put aside for a person who is not asked later")

    async def _first(
        self, source: Source, requester: Requester, progress: Steps | None = None
    ) -> tuple[_Begun, Ending]:
        """Run a program; once more with newer catalogs, where older ones kept it from running."""
        renew: Collection[str] = ()
        while True:
            begun = await self._anew(source, requester, renew)
            ending = begun.refused or await self._ended(begun, requester, progress)
            by_catalogs = isinstance(ending, Broken) and ending.why in {"types", "unsupported"}
            if not (by_catalogs and begun.stale):
                return begun, ending
            renew = begun.stale

    async def _anew(self, source: Source, requester: Requester, renew: Collection[str]) -> _Begun:
        around = self._around
        sandbox = around.sandboxes.sandbox(source.language)
        abilities = await sandbox.abilities()
        servers = await around.enabling.searchable(requester)
        view = await self.modules.view(
            source.text,
            source.language,
            servers,
            requester,
            renew=renew,
            on_demand=around.enabling.on_demand,
        )
        checked = await self._checked(source, abilities, view.names, view.away)
        run = around.marks()
        frozen = not abilities.snapshots
        program = Program(
            checked.source,
            view.modules,
            checked=around.settings.type_check and abilities.type_check,
            started_at=around.clock.now().wall if frozen else None,
            seed=run if frozen else "",
            away=view.away,
        )
        return _Begun(
            run,
            source,
            program,
            view.callees,
            abilities,
            servers,
            renamed=view.renamed,
            refused=_unexecuted(checked.problems) if checked.problems else None,
            stale=view.stale,
        )

    async def _gone_on(
        self, source: Source, requester: Requester, taken: Taken, abilities: Abilities
    ) -> _Begun:
        around, aside = self._around, taken.program
        if aside.version != abilities.version and aside.progress.snapshot is not None:
            raise around.telling.failure(_outdated(aside, abilities))
        checked = await self._checked(source, abilities, {}, {})
        program = Program(
            checked.source,
            modules_again(aside.modules, aside.callees, source.language),
            checked=False,
            started_at=aside.started_at,
            seed=aside.seed,
            away=aside.away,
        )
        return _Begun(
            aside.run,
            source,
            program,
            aside.callees,
            abilities,
            await around.enabling.searchable(requester),
            before=aside.progress,
            retries=taken.retries,
        )

    async def _run_again(
        self, source: Source, requester: Requester, retry: Retry, progress: Steps | None
    ) -> dict[str, Any]:
        """Go on with a program that waited; where that cannot be now, it waits on."""
        around = self._around
        abilities = await around.sandboxes.sandbox(source.language).abilities()
        taken = await around.shelf.take(requester, source.mark, retry)
        begun = await self._gone_on(source, requester, taken, abilities)
        try:
            ending = await self._ended(begun, requester, progress)
        except (SandboxUnavailable, TooBusy) as error:
            await self._wait_on(requester, taken, error)
            raise
        return await self._told(ending, begun, requester)

    async def _wait_on(self, requester: Requester, taken: Taken, why: ToolcribError) -> None:
        """Let a program that cannot go on now wait on; raises `ScriptFailed` where it cannot."""
        try:
            await self._around.shelf.put_back(requester, taken)
        except StoreUnreachable as error:
            progress = taken.program.progress
            for row in progress.rows:
                if row.number in taken.retries:
                    row.end("stopped", "what was answered to its question is lost")
            what = (
                f"the program cannot go on now ({why.for_model()}), and it cannot wait on: "
                f"{error.for_model()}; what was answered is lost: run it anew, without "
                "requestState and inputResponses"
            )
            failure = self._around.telling.failure(_given_up("not_kept", what, progress))
            failure.operator_note = error.for_operator()
            raise failure from None

    async def _checked(
        self,
        source: Source,
        abilities: Abilities,
        modules: Mapping[str, Collection[str]],
        away: Mapping[str, str],
    ) -> Checked:
        """What can be said of the text alone."""
        settings = self._around.settings

        def check() -> Checked:
            if source.language == "typescript":
                return check_typescript(source.text, settings.source_bytes, away=away)
            return check_python(
                source.text,
                Bounds(settings.source_bytes, settings.source_depth),
                lacking=abilities.lacks,
                missing=abilities.missing_modules,
                modules=modules,
                away=away,
            )

        if len(source.text) < _SLOW_CHECK:
            return check()
        return await to_thread.run_sync(check)

    async def _ended(
        self, begun: _Begun, requester: Requester, progress: Steps | None = None
    ) -> Ending:
        """Run it, and note how it ended."""
        around, before = self._around, begun.before
        language = begun.source.language
        around.observer.note(ProgramStarted(begun.run, language, begun.source.mark))
        callees = CalleesOf(begun.callees, around.access, around.enabling, begun.servers)
        run = ProgramRun(
            Around(around.pipeline, callees, around.settings, around.observer, around.set_aside),
            around.sandboxes.sandbox(language),
            begun.abilities,
            requester,
            run=begun.run,
            before=before,
            retries=begun.retries,
            progress=progress,
        )
        why = "cancelled"
        try:
            async with around.turns.turn(requester.principal, language) as turn:
                ending = await run.end(begun.program, turn)
            why = _outcome(ending)
        except SnapshotRefused as refused:
            why = "snapshot_refused"
            broken = _given_up("outdated", refused.message, before)
            raise around.telling.failure(broken) from None
        except (SandboxUnavailable, TooBusy) as unavailable:
            why = unavailable.code
            raise
        finally:
            done = run.progress
            around.observer.note(ProgramEnded(begun.run, why, len(done.rows), done.seconds))
        return ending

    async def _told(self, ending: Ending, begun: _Begun, requester: Requester) -> dict[str, Any]:
        around = self._around
        match ending:
            case Done():
                return await around.telling.result(requester, ending, begun.source.in_python)
            case Broken():
                raise around.telling.failure(_with_modules(ending, begun.renamed))
            case Aside(progress):
                aside = PutAside(
                    begun.run,
                    begun.source.language,
                    begun.abilities.version,
                    begun.callees,
                    begun.program.started_at,
                    begun.program.seed,
                    progress,
                    tuple(begun.program.modules),
                    begun.program.away,
                )
                try:
                    return await around.shelf.put(requester, begun.source.mark, aside)
                except (LimitExceeded, StoreUnreachable) as error:
                    what = f"a person has to be asked, and {error.for_model()}"
                    failure = around.telling.failure(_given_up("not_kept", what, progress))
                    failure.operator_note = error.for_operator()
                    raise failure from None


def _unexecuted(problems: tuple[Problem, ...]) -> Broken:
    message = "\n".join(problem.told() for problem in problems)
    return Broken("unsupported", message, (), executed=False, progress=START)


def _outcome(ending: Ending) -> str:
    match ending:
        case Done():
            return "finished"
        case Aside():
            return "suspended"
        case Broken(why):
            return why


def _outdated(aside: PutAside, abilities: Abilities) -> Broken:
    what = (
        f"the program waited in {aside.version}, and this is {abilities.version}: "
        "it cannot go on; run it anew, without requestState and inputResponses"
    )
    return _given_up("outdated", what, aside.progress)


def _given_up(why: Why, what: str, progress: Progress) -> Broken:
    """The end of a program that waits, or was to wait."""
    Journal(list(progress.rows)).cancel_open()
    return Broken(why, what, (), executed=True, progress=progress)


def _with_modules(broken: Broken, renamed: Mapping[str, str]) -> Broken:
    """What the types of a program said, and which modules its servers are where it does not say."""
    if broken.why != "types" or not renamed:
        return broken
    known = [f"{quoted(server)} is {quoted(module)}" for server, module in sorted(renamed.items())]
    message = f"{broken.message}\nThe module of server {enumerated(known)}: import from there."
    return replace(broken, message=message)
