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
from toolcrib.codemode.modules import CalleesOf, Modules, View
from toolcrib.codemode.output import Telling, told_row
from toolcrib.codemode.program_run import Aside, Broken, Done, Ending, ProgramRun
from toolcrib.codemode.progress import START, Progress
from toolcrib.codemode.put_aside import PutAside
from toolcrib.codemode.ran import Ran
from toolcrib.codemode.shelf import Shelf
from toolcrib.core.canonical import canonical
from toolcrib.core.fingerprint import hashed
from toolcrib.core.program.problem import Problem
from toolcrib.core.program.python import Bounds, Checked, check_python, too_large
from toolcrib.errors import LimitExceeded, RetryRefused, SnapshotRefused, ToolcribBug
from toolcrib.facts import ProgramEnded, ProgramStarted
from toolcrib.ports import Abilities, Clock, Observer, Program, Sandboxes
from toolcrib.settings import CodeSettings, Language

SetAside = Callable[[Requester, dict[str, Any]], Awaitable[dict[str, Any]]]
Servers = Callable[[Requester], Awaitable[Collection[str]]]
"""The servers that are there for a caller."""

_SLOW_CHECK: Final = 4_096
"""Characters of a program from which on its text is looked through in a thread."""


@dataclass(frozen=True, slots=True)
class Source:
    """A program as a model wrote it."""

    language: Language
    text: str

    @property
    def mark(self) -> str:
        """Equal for equal programs."""
        return hashed(canonical([self.language, self.text]))


@dataclass(frozen=True, slots=True, eq=False)
class Surroundings:
    """What the programs of one principal run with."""

    access: CatalogAccess
    pipeline: Pipeline
    servers: Servers
    sandboxes: Sandboxes
    shelf: Shelf
    telling: Telling
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
    view: View
    abilities: Abilities
    servers: Collection[str]
    before: Progress = START
    retries: Mapping[int, Retry] = field(default_factory=dict[int, Retry])


class Programs:
    """Runs programs."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._modules = Modules(around.access)

    async def run(
        self, source: Source, requester: Requester, retry: Retry | None = None
    ) -> dict[str, Any]:
        """The `CallToolResult` of a program, or an `input_required` result.

        Raises:
            ScriptFailed: It was not run, or ended in an error; it lists its calls.
            SandboxUnavailable: Programs of this language cannot run here.
            TooBusy: All workers are taken.
            RetryRefused: What it brings back is not good for this program.
            LimitExceeded: It is too large to wait for a person.
        """
        begun = await self._begun(source, requester, retry)
        ending = await self._ended(begun, requester)
        return await self._told(ending, begun, requester)

    async def finish(self, source: Source, requester: Requester) -> Ran:
        """What a program brought, as it is; the requester is asked meanwhile, or not at all.

        Raises as `run` does.
        """
        begun = await self._anew(source, requester)
        match await self._ended(begun, replace(requester, takes_rounds=False)):
            case Done(_, progress) as done:
                return Ran(
                    value=self._around.telling.returned(done),
                    printed=progress.printed,
                    printed_bytes=progress.printed_bytes,
                    calls=tuple(map(told_row, progress.rows)),
                    seconds=progress.seconds,
                )
            case Broken() as broken:
                raise self._around.telling.failure(broken)
            case Aside():
                raise ToolcribBug("a program was put aside for a person who is not asked later")

    async def _begun(self, source: Source, requester: Requester, retry: Retry | None) -> _Begun:
        if retry is None:
            return await self._anew(source, requester)
        return await self._gone_on(source, requester, retry)

    async def _anew(self, source: Source, requester: Requester) -> _Begun:
        around = self._around
        sandbox = around.sandboxes.sandbox(source.language)
        abilities = await sandbox.abilities()
        servers = await around.servers(requester)
        view = await self._modules.view(source.text, source.language, servers)
        checked = await self._checked(source, abilities, view)
        if checked.problems:
            raise around.telling.failure(_unexecuted(checked.problems))
        run = around.marks()
        frozen = not abilities.snapshots
        program = Program(
            checked.source,
            view.modules,
            checked=around.settings.type_check and abilities.type_check,
            started_at=around.clock.now().wall if frozen else None,
            seed=run if frozen else "",
        )
        return _Begun(run, source, program, view, abilities, servers)

    async def _gone_on(self, source: Source, requester: Requester, retry: Retry) -> _Begun:
        around = self._around
        aside, retries = await around.shelf.take(requester, source.mark, retry)
        sandbox = around.sandboxes.sandbox(source.language)
        abilities = await sandbox.abilities()
        if aside.version != abilities.version and aside.progress.snapshot is not None:
            raise _too_old(aside, abilities)
        servers = await around.servers(requester)
        view = await self._modules.view(source.text, source.language, servers)
        checked = await self._checked(source, abilities, view)
        program = Program(
            checked.source,
            view.modules,
            checked=False,
            started_at=aside.started_at,
            seed=aside.seed,
        )
        view = View(view.modules, aside.callees, view.names)
        return _Begun(
            aside.run, source, program, view, abilities, servers, aside.progress, retries
        )

    async def _checked(self, source: Source, abilities: Abilities, view: View) -> Checked:
        """What can be said of the text alone."""
        settings = self._around.settings
        if source.language == "typescript":
            large = too_large(source.text, settings.source_bytes)
            return Checked(source.text, () if large is None else (large,))

        def check() -> Checked:
            return check_python(
                source.text,
                Bounds(settings.source_bytes, settings.source_depth),
                lacking=abilities.lacks,
                missing=abilities.missing_modules,
                modules=view.names,
            )

        if len(source.text) < _SLOW_CHECK:
            return check()
        return await to_thread.run_sync(check)

    async def _ended(self, begun: _Begun, requester: Requester) -> Ending:
        """Run it, and note how it ended."""
        around, before = self._around, begun.before
        language = begun.source.language
        around.observer.note(ProgramStarted(begun.run, language, begun.source.mark))
        callees = CalleesOf(begun.view.callees, around.access, begun.servers)
        run = ProgramRun(
            Around(around.pipeline, callees, around.settings, around.observer, around.set_aside),
            around.sandboxes.sandbox(language),
            begun.abilities,
            requester,
            run=begun.run,
            before=before,
            retries=begun.retries,
        )
        why, progress = "cancelled", before
        try:
            ending = await run.end(begun.program)
            why, progress = _outcome(ending), ending.progress
        except SnapshotRefused as refused:
            why = "snapshot_refused"
            broken = Broken("crashed", refused.message, (), executed=True, progress=before)
            raise around.telling.failure(broken) from None
        finally:
            calls, seconds = len(progress.rows), progress.seconds
            around.observer.note(ProgramEnded(begun.run, why, calls, seconds))
        return ending

    async def _told(self, ending: Ending, begun: _Begun, requester: Requester) -> dict[str, Any]:
        around = self._around
        match ending:
            case Done():
                return await around.telling.result(requester, ending)
            case Broken():
                raise around.telling.failure(ending)
            case Aside(progress):
                aside = PutAside(
                    begun.run,
                    begun.source.language,
                    begun.abilities.version,
                    begun.view.callees,
                    begun.program.started_at,
                    begun.program.seed,
                    progress,
                )
                try:
                    return await around.shelf.put(requester, begun.source.mark, aside)
                except LimitExceeded as large:
                    broken = Broken("memory", large.message, (), executed=True, progress=progress)
                    raise around.telling.failure(broken) from None


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


def _too_old(aside: PutAside, abilities: Abilities) -> RetryRefused:
    return RetryRefused(
        f"the program waited in {aside.version}, and this is {abilities.version}: it cannot go on",
        remedy="run the program anew, without requestState and inputResponses",
    )
