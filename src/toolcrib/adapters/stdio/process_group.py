"""Starts a server in a process group of its own, and ends the whole group.

A command such as `sh -c "exec …"` or `npx …` starts others; what must be gone in the end is the
group. On Windows there are no process groups of this kind: there only the started process itself
is ended, at once and hard, and its descendants are left to notice that their input has closed.
"""

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.lowlevel
from anyio.abc import ByteReceiveStream, ByteSendStream, Process
from mcp.client.stdio import get_default_environment

from toolcrib.errors import ConfigError, UpstreamUnreachable
from toolcrib.settings import StdioLaunch

EOF_GRACE: Final = 2.0
"""Seconds a server has to leave by itself once its input is closed."""

TERM_GRACE: Final = 1.0
"""Seconds the group has to leave after SIGTERM."""

REAP_WAIT: Final = 1.5
"""Seconds after SIGKILL until the system must have reported the leader's end."""

_KILL_WAIT: Final = 0.25
"""Seconds the rest of the group is given to be gone then; all of them where nobody reaps orphans,
as in a container whose first process is no init."""

_POLL: Final = 0.02

_ON_WINDOWS: Final = os.name == "nt"
_OWN_GROUP: Final[dict[str, Any]] = (
    {"creationflags": 0x200}  # CREATE_NEW_PROCESS_GROUP
    if _ON_WINDOWS
    else {"start_new_session": True}
)


class ProcessGroup:
    """A running server and whatever it has started, as one thing to be ended."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.pid: Final = process.pid
        """The leader's process id, which is the group's id too."""
        self._swept = False

    @property
    def exit_status(self) -> int | None:
        """The leader's exit status, negative for a signal; None while it runs."""
        return self.process.returncode

    async def wait(self) -> int:
        """Wait until the leader has exited, even if descendants still hold its pipes."""
        return await self.process.wait()

    async def end(self) -> bool:
        """Close the input, wait, SIGTERM, wait, SIGKILL, reap; whether the leader is gone.

        MCP 2026-07-28, stdio: shutdown. Takes at most the three waits of this module together;
        the caller shields it.
        """
        await close_pipe(self.process.stdin)
        await self._exited(EOF_GRACE)
        await self.sweep()
        if self.exit_status is None:
            return False
        await self.process.aclose()
        # The pipes' transports report their end one turn later; a loop that stops first warns.
        await anyio.lowlevel.checkpoint()
        return True

    async def sweep(self) -> None:
        """SIGTERM the group, wait, SIGKILL it, reap the leader; at once where nobody is left.

        Done once, and soon after the leader's exit: when the whole group is gone the system may
        give its id to somebody else.
        """
        if not self._swept and self._lives():
            self._signal("SIGTERM")
            await self._emptied(TERM_GRACE)
            self._signal("SIGKILL")
            await self._exited(REAP_WAIT)
            await self._emptied(_KILL_WAIT)
        self._swept = True

    async def _exited(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            await self.process.wait()

    async def _emptied(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            while self._lives():  # noqa: ASYNC110 - no event tells that a group is empty
                await anyio.sleep(_POLL)

    def _lives(self) -> bool:
        """Whether anybody is left in the group; zombies that nobody has reaped yet count."""
        if self.exit_status is None or _ON_WINDOWS:
            return self.exit_status is None
        try:
            os.killpg(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True

    def _signal(self, name: str) -> None:
        with suppress(ProcessLookupError, PermissionError):
            if _ON_WINDOWS:
                self.process.kill()
            else:
                os.killpg(self.pid, getattr(signal, name))


async def start(launch: StdioLaunch, *, server: str) -> "ProcessGroup":
    """Start the command with pipes on all three streams, as the leader of its own group.

    The child inherits the few variables the SDK holds to be harmless, and gets the configured
    ones. A cancellation is held back until the process is known, so that none is ever lost.

    Raises:
        ConfigError: The command or the directory is missing, unusable or not executable.
        UpstreamUnreachable: The system could not start another process.
    """
    environment = get_default_environment()
    environment.update((name, value.reveal()) for name, value in launch.env.items())
    _check_directory(launch, server)
    await anyio.lowlevel.checkpoint()
    try:
        with anyio.CancelScope(shield=True):
            process = await anyio.open_process(
                [launch.command, *launch.args], env=environment, cwd=launch.cwd, **_OWN_GROUP
            )
    except (FileNotFoundError, NotADirectoryError):
        raise ConfigError(
            f"the command {_name(launch)!r} was not found",
            server=server,
            remedy="install it and the interpreter it names, or configure its full path",
            operator_note=_noted(_path(launch), _looked_for(launch)),
        ) from None
    except PermissionError:
        raise ConfigError(
            f"the command {_name(launch)!r} may not be executed",
            server=server,
            remedy="make the file executable, or configure another command",
            operator_note=_noted(_path(launch)),
        ) from None
    except ValueError as error:
        raise ConfigError(
            f"the command {_name(launch)!r} cannot be started: {error}",
            server=server,
            remedy="remove NUL characters, and `=` from the names of variables",
            operator_note=_noted(_path(launch)),
        ) from None
    except OSError as error:
        raise UpstreamUnreachable(
            f"the command {_name(launch)!r} could not be started: {error.strerror}",
            server=server,
            operator_note=_noted(_path(launch)),
        ) from None
    # A shield swallows nothing, but its type does not say so.
    return ProcessGroup(process)  # pyright: ignore[reportPossiblyUnboundVariable]


def _check_directory(launch: StdioLaunch, server: str) -> None:
    if launch.cwd is not None and not Path(launch.cwd).is_dir():
        raise ConfigError(
            "its working directory does not exist",
            server=server,
            remedy="create it, or configure another `cwd`",
            operator_note=_noted(f"it is {launch.cwd!r}", _from_here(launch.cwd)),
        )


# What a message says may be read by models, and by hosts elsewhere: no directory stands in it.


def _name(launch: StdioLaunch) -> str:
    """The command without its directory."""
    return Path(launch.command).name


def _path(launch: StdioLaunch) -> str | None:
    """The whole command, where that says more."""
    return None if _name(launch) == launch.command else f"it is {launch.command!r}"


def _noted(*notes: str | None) -> str | None:
    return ", ".join(filter(None, notes)) or None


def _looked_for(launch: StdioLaunch) -> str | None:
    """Where a command was looked for; None: where its full path says, or on the PATH."""
    if _path(launch) is None:
        return None
    if launch.cwd is None or _ON_WINDOWS:
        return _from_here(launch.command)
    # The child has entered its working directory by the time it looks.
    return None if Path(launch.command).is_absolute() else f"looked for in {launch.cwd!r}, its cwd"


def _from_here(path: str) -> str | None:
    """Where a relative path begins; None for a full one."""
    if Path(path).is_absolute():
        return None
    with suppress(OSError):  # that directory may be gone
        return f"looked for in {str(Path.cwd())!r}, where toolcrib was started"
    return None


async def close_pipe(pipe: ByteSendStream | ByteReceiveStream | None) -> None:
    """Close a pipe that may be broken, closed or busy."""
    if pipe is not None:
        with suppress(OSError, RuntimeError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await pipe.aclose()


def describe_exit(status: int) -> str:
    """How a process ended, in words: `exited with status 1`, `was ended by SIGKILL`."""
    if status >= 0:
        return f"exited with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"
