"""`toolcrib serve`: the gateway, on standard streams or HTTP, until it is told to stop."""

import gc
import logging
import os
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal

import anyio
from anyio.abc import TaskGroup

from toolcrib.cli.exits import Exit
from toolcrib.cli.opening import Source, nobody_to_ask, settings_of
from toolcrib.cli.output import Output
from toolcrib.cli.serve_instructions import instructions_of
from toolcrib.compose import Observation, open_parts
from toolcrib.config.http_address import parse_http_address
from toolcrib.config.keys import installation_key
from toolcrib.config.loading import Loaded
from toolcrib.config.watching import watch
from toolcrib.crib import Crib
from toolcrib.gateway.discovering import discovered
from toolcrib.gateway.server import Gateway, Particulars
from toolcrib.ports import Clock
from toolcrib.settings import Exposure, NameStyle, ServerSettings, Settings
from toolcrib.version import __version__
from toolcrib.wire.service import Identity

_log = logging.getLogger("toolcrib.serve")
_PROGRAMS_AFTER: Final = 1.0
"""Seconds from the start until runtimes of programs are started."""


@dataclass(frozen=True, slots=True)
class Serving:
    """What the command line says beside the configuration; None: what is configured."""

    http: str | None = None
    """HOST:PORT."""
    exposure: Exposure | None = None
    names: NameStyle | None = None
    log_format: Literal["text", "json"] = "text"
    log_level: int = logging.INFO
    watch: bool = True
    """Whether the files are watched and a change is taken over."""


async def serve(source: Source, output: Output, serving: Serving) -> Exit:
    """Serves until it is cancelled, or until the host closes standard input.

    Files without a server are served all the same: they are watched, and one may come.

    Raises:
        ConfigError: An address that is none, or cannot be listened on; an exposure that is not
            there yet.
        UsageError: There is no file.
    """
    # What was imported lives as long as the process: full collections need not look at it again.
    gc.freeze()
    settings, loaded = settings_of(source, output)
    if loaded is not None and not loaded.files:
        raise nobody_to_ask(loaded)
    settings = _overridden(settings, serving)
    observation = Observation(settings, log_format=serving.log_format, log_level=serving.log_level)
    keys, problem = installation_key()
    output.tell([problem] if problem is not None else [])
    with open_parts(settings, observer=observation.observer, keys=keys) as parts:
        async with Crib.open(settings, parts) as crib, anyio.create_task_group() as tasks:
            if loaded is not None and serving.watch and loaded.files:
                take = partial(_take_over, crib, observation, serving)
                tasks.start_soon(watch, loaded, os.environ, take)
            _warn_of_nobody(loaded, serving)
            gateway = _gateway(crib, parts.clock, observation)
            if settings.gateway.http is None:
                crib.catalogs()  # servers start now, not when the host asks for the first time
            tasks.start_soon(_prepare, crib)
            await _serve(gateway, settings, tasks)
            tasks.cancel_scope.cancel()
    return Exit.FINE


async def _prepare(crib: Crib) -> None:
    """Has programs find their runtime ready, but hosts and servers first."""
    await anyio.sleep(_PROGRAMS_AFTER)
    await crib.prepare()


def _overridden(settings: Settings, serving: Serving) -> Settings:
    gateway = settings.gateway
    if serving.http is not None:
        gateway = replace(gateway, http=parse_http_address(serving.http))
    if serving.exposure is not None:
        gateway = replace(gateway, exposure=serving.exposure)
    if serving.names is not None:
        gateway = replace(gateway, names=serving.names)
    return replace(settings, gateway=gateway)


def _gateway(crib: Crib, clock: Clock, observation: Observation) -> Gateway:
    def eager() -> list[str]:
        servers = crib.settings.servers
        return [each.id for each in servers if each.connect == "eager" and _is_there(each)]

    return Gateway(
        crib.catalogs,
        crib.calls,
        crib.settings.gateway,
        crib.settings.limits,
        observation.observer,
        clock,
        Particulars(
            identity=Identity("toolcrib", __version__),
            instructions=lambda: instructions_of(crib.settings),
            eager=eager,
            metrics=observation.metrics,
        ),
        discovery_for=lambda principal: discovered(crib.discovery(principal)),
    )


def _warn_of_nobody(loaded: Loaded | None, serving: Serving) -> None:
    if loaded is None or not all(it.disabled for it in loaded.settings.servers):
        return
    files = ", ".join(map(str, loaded.files))
    what_now = f"waiting for a change of {files}"
    if not serving.watch:
        what_now = f"a change of {files} is taken over at the next start (--no-watch)"
    _log.warning("%s: hosts get no tools; %s", nobody_to_ask(loaded).message, what_now)


def _is_there(server: ServerSettings) -> bool:
    return not server.disabled and not server.on_demand


async def _serve(gateway: Gateway, settings: Settings, tasks: TaskGroup) -> None:
    address = settings.gateway.http
    if address is None:
        await gateway.serve_stdio()
        return
    port = await tasks.start(gateway.serve_http)
    host = f"[{address[0]}]" if ":" in address[0] else address[0]
    _log.info("serving http://%s:%d/mcp", host, port)
    await anyio.sleep_forever()


async def _take_over(
    crib: Crib, observation: Observation, serving: Serving, loaded: Loaded
) -> None:
    """Takes over what the files say now; what costs a restart is said and left."""
    for problem in loaded.problems:
        _log.warning("%s", problem)
    settings = _overridden(loaded.settings, serving)
    observation.protect(settings)
    change = await crib.apply(settings)
    for what, servers in (
        ("added", [each.id for each in change.added]),
        ("removed", list(change.removed)),
        ("relaunched", [each.id for each in change.relaunched]),
        ("retuned", [each.id for each in change.retuned]),
    ):
        if servers:
            _log.info("configuration: %s %s", what, ", ".join(servers))
    _warn_of_nobody(loaded, serving)
    if change.elsewhere:
        _log.warning("takes effect at the next start: %s", ", ".join(change.elsewhere))
