"""Files and environment in, settings and problems out: a bad entry costs itself and no other."""

import logging
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from toolcrib.config.document import Node
from toolcrib.config.entry import Entry, read_entry
from toolcrib.config.expansion import Scope
from toolcrib.config.exposure_toml import warn_of_strangers
from toolcrib.config.locations import (
    PROJECT_FILES,
    USER_FILES,
    config_dir,
    default_store_path,
    find_files,
    vault_path,
)
from toolcrib.config.mcp_json import read_mcp_json
from toolcrib.config.merging import merged
from toolcrib.config.oauth_toml import with_oauth
from toolcrib.config.problem import Problem, Report
from toolcrib.config.skills_toml import read_skills
from toolcrib.config.sources import Source, read_source
from toolcrib.config.toolcrib_toml import (
    MEMORY,
    Wide,
    defines_server,
    read_tuning,
    read_wide,
    switched_off,
)
from toolcrib.settings import Launch, ServerSettings, Settings, StoreSettings

_log = logging.getLogger(__name__)

EntryState = Literal["ready", "disabled", "unusable", "outdated"]
"""What became of a configured server.

`disabled`: switched off, so nothing wrong with it is reported. `unusable`: a problem says why.
    `outdated`: unusable as it is written now, so what was configured before goes on.
"""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a set of files says."""

    settings: Settings
    problems: tuple[Problem, ...]
    """Errors and warnings, file by file."""
    entries: Mapping[str, EntryState]
    """Every server that any file configures, in order."""
    sources: tuple[Source, ...] = field(repr=False)

    @property
    def files(self) -> tuple[Path, ...]:
        """The files it was read from."""
        return tuple(source.path for source in self.sources)

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that cost something."""
        return tuple(problem for problem in self.problems if problem.severity == "error")


def load(files: Sequence[Path], env: Mapping[str, str], home: Path | None = None) -> Loaded:
    """Reads the files, in order; where several name a server, the first wins.

    Args:
        files: `*.toml` is read as `toolcrib.toml`, everything else as an `mcp.json`. Empty: the
            files of the working directory (`toolcrib.toml`, `.mcp.json`, `mcp.json`,
            `.vscode/mcp.json`), then those of the configuration directory (`toolcrib.toml`,
            `mcp.json`), as far as they exist.
        env: the environment that `${…}` refers to.
        home: the home directory; the user's own where it is None.

    Never raises for what a file says: that is what `problems` is for.
    """
    home = home or Path.home()
    paths = tuple(files) or find_files(env, home, Path())
    loaded = interpret([read_source(path) for path in paths], env, home)
    if paths:
        return loaded
    user = config_dir(env, home)
    looked = ", ".join([*PROJECT_FILES, *(str(user / name) for name in USER_FILES)])
    missing = Problem(
        ".", None, None, "no configuration file was found", f"name one, or create one of {looked}"
    )
    return replace(loaded, problems=(missing,))


def interpret(
    sources: Sequence[Source],
    env: Mapping[str, str],
    home: Path,
    previous: Loaded | None = None,
) -> Loaded:
    """What the files say, read already.

    Args:
        sources: the files, in order.
        env: as for `load`.
        home: as for `load`.
        previous: what held before. A file that is broken now says what it said then, and an entry
            that is unusable now stays as it was then: somebody is in the middle of editing.
    """
    kept = [_with_last_good(source, previous) for source in sources]
    return _Interpretation(kept, env, home).result(previous)


def _with_last_good(source: Source, previous: Loaded | None) -> Source:
    if source.root is not None or previous is None:
        return source
    good = next((old.root for old in previous.sources if old.path == source.path), None)
    return replace(source, root=good)


class _Interpretation:
    """Puts the entries of all files together with what `toolcrib.toml` says of them."""

    def __init__(self, sources: Sequence[Source], env: Mapping[str, str], home: Path) -> None:
        self._sources = tuple(sources)
        self._home = home
        self._env = env
        self._problems: list[Problem] = [s.problem for s in sources if s.problem is not None]
        tomls = [source for source in sources if source.is_toml]
        report = Report()
        self._root = merged([toml.root for toml in tomls if toml.root is not None], report)
        store = tomls[0] if tomls else Source(Path(), None)
        self._wide: Wide = read_wide(self._root, self._scope(store), report)
        self._problems += report.problems
        obscure = [str(toml.path) for toml in tomls if toml.root is None]
        if not self._wide.sound:
            obscure += [problem.file for problem in report.problems if problem.severity == "error"]
        self._obscure = obscure[0] if obscure else None
        """A `toolcrib.toml` that cannot be understood: it may restrict any server."""
        self._tuning = self._root.table["servers"].table if "servers" in self._root.table else {}
        self._skills = self._root.table.get("skills")

    def result(self, previous: Loaded | None) -> Loaded:
        states: dict[str, EntryState] = {}
        servers: list[ServerSettings] = []
        before = {s.id: s for s in previous.settings.servers} if previous is not None else {}
        entries = self._entries()
        self._report_tuning_of_nobody(entries)
        if self._obscure is not None:
            message = "no server is started while this file is not understood: it may restrict them"
            remedy = "put right what is reported beside this"
            self._problems.append(Problem(self._obscure, None, None, message, remedy))
        for entry in entries.values():
            state, server = self._server(entry)
            if state == "unusable" and entry.id in before:
                state, server = "outdated", before[entry.id]
            states[entry.id] = state
            if server is not None:
                servers.append(server)
        report = Report()
        skills = () if self._skills is None else read_skills(self._skills, entries, report)
        if self._wide.exposure.pinned and self._wide.gateway.names == "qualified":
            pinned = self._root.table["exposure"].table["pinned"]
            warn_of_strangers(pinned, entries, self._wide.limits.name_length, report)
        self._problems += report.problems
        path = self._wide.store_path or str(default_store_path(self._env, self._home))
        settings = Settings(
            servers=tuple(servers),
            limits=self._wide.limits,
            gateway=self._wide.gateway,
            store=StoreSettings(
                None if path == MEMORY else path, vault=str(vault_path(self._env, self._home))
            ),
            approval=self._wide.approval,
            exposure=self._wide.exposure,
            search=self._wide.search,
            dynamic=self._wide.dynamic,
            code=self._wide.code,
            skills=skills,
        )
        return Loaded(settings, self._sorted_problems(), states, self._sources)

    def _scope(self, source: Source) -> Scope:
        return Scope(self._env, workspace=str(source.workspace), home=str(self._home))

    def _entries(self) -> dict[str, Entry]:
        """Every entry of every file; the first to use an id wins."""
        found: dict[str, Entry] = {}
        toml_is_due = True
        for source in self._sources:
            if source.root is None:
                continue
            if not source.is_toml:
                said = read_mcp_json(source.root, self._scope(source))
                self._problems += said.problems
                self._take(said.entries, found)
            elif toml_is_due:  # all of them were merged into one, at the place of the first
                toml_is_due = False
                self._take(
                    [
                        self._own_entry(key, node)
                        for key, node in self._tuning.items()
                        if defines_server(node)
                    ],
                    found,
                )
        return found

    def _take(self, entries: Sequence[Entry], found: dict[str, Entry]) -> None:
        for entry in entries:
            first = found.setdefault(entry.id, entry)
            if first is not entry:
                again = Report(entry.id)
                remedy = "the first one counts: remove or rename the other"
                again.warn(entry.node, f"is configured in {first.node.place} already", remedy)
                self._problems += again.problems

    def _own_entry(self, server_id: str, node: Node) -> Entry:
        return read_entry(server_id, node, self._scope(Source(Path(node.file), None)))

    def _server(self, entry: Entry) -> tuple[EntryState, ServerSettings | None]:
        node = self._tuning.get(entry.id)
        said = None if node is None else switched_off(node)
        off = entry.off if said is None else said
        report = Report(entry.id)
        tuned: dict[str, Any] = {
            "waits": self._wide.waits,
            "reconnect": self._wide.reconnect,
            "description": entry.description,
        }
        if node is not None:
            tuned |= read_tuning(node, self._wide, report)
        launch = self._tuned_launch(entry, node, report)
        if not off:
            self._problems += entry.report.problems
        self._problems += report.problems
        server = None
        if launch is not None and not report.failed and self._obscure is None:
            source = entry.node.place
            server = ServerSettings(entry.id, launch, disabled=off, source=source, **tuned)
        if off:
            return "disabled", server
        return ("unusable" if server is None else "ready"), server

    def _tuned_launch(self, entry: Entry, node: Node | None, report: Report) -> Launch | None:
        """The launch with the tokens that `toolcrib.toml` configures for another file's server."""
        member = None if node is None or defines_server(node) else node.table.get("oauth")
        if member is None or entry.launch is None:
            return entry.launch
        scope = self._scope(Source(Path(member.file), None))
        return with_oauth(entry.launch, member, scope, report)

    def _report_tuning_of_nobody(self, entries: Mapping[str, Entry]) -> None:
        for server_id, node in self._tuning.items():
            if server_id not in entries:
                report = Report(server_id)
                close = get_close_matches(server_id, entries, n=1)
                remedy = (
                    f"did you mean {close[0]}?" if close else "add command or url, or remove it"
                )
                report.error(node, "tunes a server that no file configures", remedy)
                self._problems += report.problems

    def _sorted_problems(self) -> tuple[Problem, ...]:
        """File by file and line by line, each once; what concerns a whole file comes last.

        For that is what follows from the problems before it.
        """
        order = {str(source.path): place for place, source in enumerate(self._sources)}
        once = dict.fromkeys(self._problems)
        last = math.inf
        return tuple(sorted(once, key=lambda it: (order.get(it.file, -1), it.line or last)))


def load_settings(*files: str | Path) -> Settings:
    """The settings that files say, for programs: problems are logged, a bad entry costs itself.

    Args:
        files: As for `load`, whose `Loaded` also tells the problems as values.

    Raises:
        ConfigError: None of the files could be used at all.
    """
    loaded = load([Path(file) for file in files], os.environ)
    for problem in loaded.problems:
        _log.warning("%s", problem)
    if loaded.errors and not loaded.settings.servers:
        raise loaded.errors[0].as_error()
    return loaded.settings
