"""Watches configuration files and hands over what they say whenever it means something new.

Editors replace, rename, truncate and write; mounted directories swap links; network drives tell
nothing. So nothing is concluded from what the system says about files: any hint, and every few
seconds, makes us look at the bytes.
"""

import hashlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Final

import anyio
from watchfiles import awatch

from toolcrib.config.loading import Loaded, interpret
from toolcrib.config.problem import Problem
from toolcrib.config.sources import parse_source, read_raw
from toolcrib.settings import Settings

_log = logging.getLogger(__name__)

LOOK_EVERY: Final = 5.0
"""Seconds after which files are looked at although nothing was heard."""
POLL_EVERY: Final = 1.0
"""Seconds between two looks where the system offers no notifications."""
SETTLE: Final = 0.15
"""Seconds for which a changed file must hold still: a truncated one is about to be written."""
MOST_LOOKS: Final = 20
"""How often a file that does not hold still is looked at before it is read as it is."""

Hints = Callable[[Sequence[Path], Callable[[], Awaitable[None]]], Awaitable[None]]
"""Calls back whenever files may have changed, until it is cancelled."""

Raw = dict[Path, bytes | Problem]


async def watch(
    current: Loaded,
    env: Mapping[str, str],
    take: Callable[[Loaded], Awaitable[None]],
    *,
    home: Path | None = None,
    hints: Hints | None = None,
    settle: float = SETTLE,
) -> None:
    """Watches the files of `current` until it is cancelled.

    Args:
        current: what holds now. A broken file, and an unusable entry, keep what they said last; the
            problem is handed over.
        env: as for `load`.
        take: gets every reading whose settings or problems differ from the one before; called for
            one at a time.
        home: as for `load`.
        hints: where hints come from; None asks the system, and polls where it cannot tell.
        settle: seconds for which changed bytes must hold still.
    """
    watcher = _Watcher(current, env, home or Path.home(), take, settle)
    await watcher.look()  # whatever changed since `current` was loaded
    await (hints or system_hints)(current.files, watcher.look)


class _Watcher:
    """Looks at the bytes, and speaks when they mean something new."""

    def __init__(
        self,
        current: Loaded,
        env: Mapping[str, str],
        home: Path,
        take: Callable[[Loaded], Awaitable[None]],
        settle: float,
    ) -> None:
        self._current = current
        self._env = env
        self._home = home
        self._take = take
        self._settle = settle
        self._seen: object = None

    async def look(self) -> None:
        raw = await self._settled()
        if raw is None:
            return
        sources = [parse_source(path, found) for path, found in raw.items()]
        new = interpret(sources, self._env, self._home, previous=self._current)
        differs = _meaning(new) != _meaning(self._current)
        self._current = new
        if differs:
            await self._take(new)

    async def _settled(self) -> Raw | None:
        """The bytes once they hold still; None where they are those of the last look."""
        raw = await self._read()
        if _digest(raw) == self._seen:
            return None
        for _ in range(MOST_LOOKS):
            await anyio.sleep(self._settle)
            again = await self._read()
            if _digest(again) == _digest(raw):
                break
            raw = again
        self._seen = _digest(raw)
        return raw

    async def _read(self) -> Raw:
        return await anyio.to_thread.run_sync(
            lambda: {path: read_raw(path) for path in self._current.files}
        )


def _digest(raw: Raw) -> tuple[object, ...]:
    """What identifies bytes without keeping them: they hold secrets."""
    return tuple(
        hashlib.sha256(found).digest() if isinstance(found, bytes) else found
        for found in raw.values()
    )


def _meaning(loaded: Loaded) -> tuple[object, ...]:
    """What must differ for anybody to care: no line numbers."""
    return (
        _without_places(loaded.settings),
        [replace(problem, line=None) for problem in loaded.problems],
        dict(loaded.entries),
    )


def _without_places(settings: Settings) -> Settings:
    return replace(
        settings, servers=tuple(replace(server, source="") for server in settings.servers)
    )


async def system_hints(files: Sequence[Path], changed: Callable[[], Awaitable[None]]) -> None:
    """Hints from the system's file notifications; where there are none, from the clock.

    The folders are watched, not the files: a file that is replaced takes its watch with it. Links
    are watched at both ends.
    """
    folders = sorted({folder for path in files for folder in _folders(path) if folder.is_dir()})
    try:
        if folders:
            await _notifications(folders, changed)
    except* _NotWatchedError as errors:
        _log.warning("configuration files are polled instead of watched: %s", errors.exceptions[0])
    await clock_hints(files, changed)


async def clock_hints(files: Sequence[Path], changed: Callable[[], Awaitable[None]]) -> None:
    """A hint every second."""
    del files
    while True:
        await anyio.sleep(POLL_EVERY)
        await changed()


class _NotWatchedError(Exception):
    """The system has no more watches, or the file system has none at all."""


def _folders(path: Path) -> tuple[Path, Path]:
    return path.absolute().parent, path.resolve().parent


async def _notifications(folders: Sequence[Path], changed: Callable[[], Awaitable[None]]) -> None:
    stop = anyio.Event()

    async def stop_at_cancellation() -> None:
        # the thread that waits for the system is shielded: only this event ends it without delay
        try:
            await anyio.sleep_forever()
        finally:
            stop.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stop_at_cancellation)
        changes = awatch(
            *folders,
            watch_filter=None,
            stop_event=stop,
            rust_timeout=int(LOOK_EVERY * 1000),
            yield_on_timeout=True,
            recursive=False,
            ignore_permission_denied=True,
        )
        async with aclosing(changes):
            while await _heard(changes):
                await changed()


async def _heard(changes: AsyncGenerator[object, None]) -> bool:
    """Waits for the next hint; false once there will be none."""
    try:
        await anext(changes)
    except StopAsyncIteration:
        return False
    except (OSError, RuntimeError) as error:
        raise _NotWatchedError(str(error)) from error
    return True
