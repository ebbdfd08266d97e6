"""Who lives in a room: processes by the home that they were given, dead ones included."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import anyio
import psutil

from toolcrib.testing.live.room import Room

__all__ = ["Resident", "children_of", "residents", "until_gone"]

_POLL: Final = 0.05
_UNTELLING: Final = (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess)


@dataclass(frozen=True, slots=True)
class Resident:
    """A process, told apart from a later one with the same id."""

    pid: int
    began: float
    """When it was started, in seconds since the epoch."""
    command: str

    @property
    def exists(self) -> bool:
        """Whether the system still knows it: a zombie exists."""
        try:
            return psutil.Process(self.pid).create_time() == self.began
        except psutil.NoSuchProcess:
            return False

    def kill(self) -> None:
        """Ends it hard, if it is still there."""
        with suppress(psutil.NoSuchProcess):
            if self.exists:
                psutil.Process(self.pid).kill()


def residents(room: Room) -> list[Resident]:
    """Every running process whose home is that of the room."""
    home = str(room.home)
    found = [_resident(process) for process in psutil.process_iter() if _home_of(process) == home]
    return [resident for resident in found if resident is not None]


def children_of(pid: int) -> list[Resident]:
    """The processes that a process has started and not reaped yet, zombies included."""
    try:
        children = psutil.Process(pid).children()
    except psutil.NoSuchProcess:
        return []
    return [resident for child in children if (resident := _resident(child)) is not None]


async def until_gone(wanted: Iterable[Resident]) -> None:
    """Waits until the system knows none of them; for ever, so wrap it in `anyio.fail_after`."""
    for resident in wanted:
        while resident.exists:  # noqa: ASYNC110 - no event tells of a stranger's end
            await anyio.sleep(_POLL)


def _resident(process: psutil.Process) -> Resident | None:
    try:
        with process.oneshot():
            return Resident(process.pid, process.create_time(), " ".join(process.cmdline()))
    except psutil.ZombieProcess:
        return Resident(process.pid, process.create_time(), "(zombie)")
    except _UNTELLING:
        return None


def _home_of(process: psutil.Process) -> str:
    try:
        return process.environ().get("HOME", "")
    except _UNTELLING:
        return ""
