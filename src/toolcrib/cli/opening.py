"""What every verb needs first: the configuration, the parts, and a crib that runs meanwhile."""

import os
import sys
from collections.abc import AsyncGenerator, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

import anyio

from toolcrib.catalog.reading import Reading
from toolcrib.cli.consent import allowed_beforehand
from toolcrib.cli.exits import UsageError
from toolcrib.cli.output import Output, warning_view
from toolcrib.compose import Parts, open_parts
from toolcrib.config.keys import installation_key
from toolcrib.config.launching import is_http
from toolcrib.config.loading import EntryState, Loaded, load
from toolcrib.core.snapshot import Kind
from toolcrib.crib import Crib
from toolcrib.facts import Fact, StoreDegraded
from toolcrib.ports import Observer
from toolcrib.settings import (
    HttpLaunch,
    Secret,
    ServerSettings,
    Settings,
    StoreSettings,
    Waits,
)

GATEWAY = "gateway"
"""The server id of a running gateway that is spoken to with `--url`."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where the servers of a command are."""

    files: tuple[Path, ...] = ()
    """Configuration files; none: those found in the usual places."""
    url: str | None = None
    """A running gateway to ask instead."""
    keep: bool = True
    """Whether snapshots are read from and kept in the store on disk."""
    patience: float = 10.0
    """Seconds to wait for servers to be there before they are asked; 0: take what is kept."""
    consent: bool = False
    """Whether whoever typed the command approves what policy would ask them about."""
    exact_tokens: bool = False
    """Whether tokens are counted exactly where that is installed, whatever is configured."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A crib and what it was made of."""

    crib: Crib
    settings: Settings
    parts: Parts
    loaded: Loaded | None
    """None with `--url`: there is no configuration to read."""


def settings_of(
    source: Source, output: Output, *, serverless: bool = False
) -> tuple[Settings, Loaded | None]:
    """The settings, with every problem of the files told on standard error.

    With `serverless`, that there is no file is none.

    Raises:
        UsageError: With `--url` and `--config` or `--yes` together, an address that is none, or
            where no server is left to speak to.
    """
    if source.url is not None:
        settings, loaded = _of_gateway(source, source.url), None
    else:
        loaded = load(source.files, os.environ)
        settings = loaded.settings
        if loaded.files or not serverless:
            output.tell(loaded.problems)
    if source.consent:
        settings = replace(settings, approval=allowed_beforehand(settings.approval))
    if source.exact_tokens and find_spec("quicktok") is not None:
        settings = replace(settings, exposure=replace(settings.exposure, counting="exact"))
    if not source.keep:
        settings = replace(settings, store=replace(settings.store, path=None))
    return settings, loaded


def _of_gateway(source: Source, url: str) -> Settings:
    """A running gateway as the only server."""
    if source.consent:
        raise UsageError(
            "--url and --yes exclude each other: the gateway asks by its own policy",
            remedy="answer what it asks, here or with `toolcrib approve`",
        )
    if source.files:
        raise UsageError("--url and --config exclude each other", remedy="give one of them")
    if not is_http(url):
        raise UsageError(
            "--url is no whole http or https address",
            remedy="write it as `toolcrib serve` tells it, such as http://127.0.0.1:8770/mcp",
        )
    # It answers its first listing when its own servers had their wait.
    waits = Waits(cold_wait=max(source.patience, Waits().cold_wait))
    server = ServerSettings(GATEWAY, HttpLaunch(Secret(url)), source="--url", waits=waits)
    settings = Settings(servers=(server,), store=StoreSettings(None))
    return replace(settings, gateway=replace(settings.gateway, names="plain"))


@contextmanager
def parts_of(
    source: Source, output: Output, observer: Observer, *, serverless: bool = False
) -> Generator[tuple[Settings, Parts, Loaded | None]]:
    """The settings and the parts of production, problems told.

    With `serverless` no server has to be configured: only what is kept is looked at.
    """
    settings, loaded = settings_of(source, output, serverless=serverless)
    if not serverless and all(server.disabled for server in settings.servers):
        raise nobody_to_ask(loaded)
    keys, problem = installation_key()
    output.tell([problem] if problem is not None else [])
    with open_parts(settings, observer=observer, keys=keys) as parts:
        yield settings, parts, loaded


def nobody_to_ask(loaded: Loaded | None) -> UsageError:
    """Why no server is left to speak to."""
    states = set(loaded.entries.values()) if loaded is not None else set[EntryState]()
    if "unusable" in states:
        return UsageError("no configured server can be used", remedy="put right what is told above")
    if states:
        return UsageError("every configured server is disabled", remedy="enable one of them")
    return UsageError("no server is configured", remedy=_where_to_configure_one(loaded))


def _where_to_configure_one(loaded: Loaded | None) -> str:
    if loaded is None or not loaded.files:
        return "name a configuration file with --config"
    # An error in a toolcrib.toml that could be read hides no server.
    hiding = {str(it.path) for it in loaded.sources if it.root is None or not it.is_toml}
    if any(problem.file in hiding for problem in loaded.errors):
        return "put right what is told above"
    return f"add one to {' or '.join(map(str, loaded.files))}"


class StoreAlarm:
    """An observer for those who want only answers, and to know that nothing is kept on disk."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def note(self, fact: Fact) -> None:
        """Tells what makes answers worse, and drops everything else."""
        if isinstance(fact, StoreDegraded):
            self._output.complain(warning_view(f"the store cannot be used: {fact.detail}"))


@asynccontextmanager
async def opened(
    source: Source, output: Output, observer: Observer | None = None
) -> AsyncGenerator[Opened]:
    """A running crib over the source's servers."""
    observer = observer or StoreAlarm(output)
    with parts_of(source, output, observer) as (settings, parts, loaded):
        async with Crib.open(settings, parts) as crib:
            yield Opened(crib, settings, parts, loaded)


def make_output(*, as_json: bool) -> Output:
    """The output of a command on this process's streams."""
    return Output(as_json=as_json, stdout=sys.stdout, stderr=sys.stderr, env=os.environ)


def chosen(settings: Settings, wanted: Iterable[str]) -> tuple[ServerSettings, ...]:
    """The servers of those names, all enabled ones where none is named.

    Raises:
        UsageError: A name is not configured.
    """
    enabled = {server.id: server for server in settings.servers if not server.disabled}
    names = tuple(wanted) or tuple(sorted(enabled))
    for name in names:
        if name not in enabled:
            known = ", ".join(sorted(enabled)) or "none"
            raise UsageError(f"there is no server {name!r}", remedy=f"configured: {known}")
    return tuple(enabled[name] for name in names)


async def read_all(
    open_: Opened, source: Source, output: Output, *kinds: Kind
) -> tuple[Reading, ...]:
    """Every server's catalogs of some kinds, after waiting for the servers to be there."""
    catalogs = open_.crib.catalogs()
    found: dict[Kind, tuple[Reading, ...]] = {}

    async def read(kind: Kind) -> None:
        found[kind] = await catalogs.read(kind)

    what = ", ".join(kind.label for kind in kinds)
    with output.progress(f"asking {servers_of(open_)} for {what}"):
        await reach(open_, source)
        async with anyio.create_task_group() as tasks:
            for kind in kinds:
                tasks.start_soon(read, kind)
    return tuple(reading for kind in kinds for reading in found[kind])


async def reach(open_: Opened, source: Source) -> None:
    """Waits for every server to be there, as long as was said."""
    with anyio.move_on_after(source.patience):
        await open_.crib.catalogs().reach()


def servers_of(open_: Opened) -> str:
    """How many servers there are, for whoever waits for them."""
    count = len(open_.crib.catalogs().server_ids())
    return f"{count} server{'s' * (count != 1)}"
