"""The worker processes of Monty: in a jail where there is one, lent for one session each."""

import datetime as dt
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Literal

import pydantic_monty
from pydantic_monty import (
    Monty,
    MontyError,
    MontySession,
    OSPolicy,
    ResourceLimits,
    TypeCheckFormat,
)
from pydantic_monty._binary import (
    find_monty_binary,  # pyright: ignore[reportPrivateUsage] - what it would start itself
)

from toolcrib.adapters.jail.bubblewrap import Jail, NoJail
from toolcrib.adapters.jail.launcher import Launcher
from toolcrib.adapters.jail.libraries import libraries
from toolcrib.adapters.jail.order import Order
from toolcrib.adapters.monty.checkers import Checkers, Soon
from toolcrib.adapters.monty.defined import Defined
from toolcrib.adapters.monty.modules import Modules
from toolcrib.adapters.monty.probes import LIMITS
from toolcrib.errors import SandboxUnavailable
from toolcrib.ports import Program
from toolcrib.settings import CodeSettings

VERSION: Final = pydantic_monty.__version__
_SCRIPT: Final = "script.py"
_SESSIONS_EACH: Final = 50
"""A worker keeps what a program made it take from the system, and so it does not live for ever."""
_GRACE: Final = 5.0
"""Seconds after which a worker is killed that should have stopped by itself."""
_SPARE: Final = 2
"""Workers beside one for each program: to find out what they can do, and to read ahead."""
_SUSPENSIONS_A_CALL: Final = 4
_SUSPENSIONS: Final = 50
"""For imports, names that are not defined, sleeps."""


class Workers:
    """Workers that run until they are closed. Every method blocks.

    Whoever calls must do so from threads that live as long as the workers do.

    Args:
        settings: The limits of a program, and how many run at a time.
        jail: What a worker is started in.
        soon: Has work done in another such thread; None: nothing is made ready ahead.

    Raises:
        SandboxUnavailable: No worker answers.
    """

    def __init__(
        self, settings: CodeSettings, jail: Jail | NoJail, soon: Soon | None = None
    ) -> None:
        self._settings = settings
        try:
            self.jail = self._start(jail)
        except (OSError, MontyError, RuntimeError) as error:
            raise SandboxUnavailable(
                "programs in Python cannot run here",
                remedy="install toolcrib anew; its package pydantic-monty brings a program `monty`",
                operator_note=str(error),
            ) from error
        self.defined = Defined(lambda: self.to_try(LIMITS))
        self.checkers = Checkers(self.to_check, soon if settings.type_check else None)

    def _start(self, jail: Jail | NoJail) -> str:
        binary = Path(find_monty_binary()).absolute()
        if isinstance(jail, NoJail):
            self._pool = self._tried([str(binary)])
            return f"none: {jail.reason}"
        try:
            self._pool = self._tried(jail.command(Order(binary, (), libraries(binary))))
        except (OSError, MontyError, RuntimeError) as error:
            self._pool = self._tried([str(binary)])
            return f"none: Monty does not start in {jail.name}: {error}"
        return jail.name

    def _tried(self, command: list[str]) -> Monty:
        """Workers that a command starts, of which one has answered."""
        settings = self._settings
        launcher = _launcher(command)
        pool = Monty(
            binary_path=command[0] if launcher is None else launcher.path,
            max_processes=settings.programs + _SPARE,
            checkout_timeout=settings.wait_seconds,
            request_timeout=settings.interpreter_seconds + _GRACE,
            max_checkouts_per_worker=_SESSIONS_EACH,
        )
        with ExitStack() as undoing:
            if launcher is not None:
                undoing.callback(launcher.remove)
            pool.__enter__()
            undoing.callback(pool.__exit__, None, None, None)
            with pool.checkout() as session:
                session.feed_run("None")
            self._ending = undoing.pop_all()
        return pool

    def to_run(self, program: Program, modules: Modules) -> MontySession:
        """A session that runs the program."""
        settings = self._settings
        limits: ResourceLimits = {
            "max_feed_duration_secs": settings.interpreter_seconds,
            "max_turn_duration_secs": settings.turn_seconds,
            "max_memory": settings.memory_bytes,
            "max_suspensions": settings.calls * _SUSPENSIONS_A_CALL + _SUSPENSIONS,
        }
        return self._pool.checkout(
            script_name=_SCRIPT,
            limits=limits,
            os_policy=_policy(program),
            external_modules=modules,
        )

    def to_check(self, modules: Modules) -> MontySession:
        """A session that checks the types of a program; `checkers` lends them."""
        told: TypeCheckFormat = "json"
        limits: ResourceLimits = {"max_memory": self._settings.memory_bytes}
        return self._pool.checkout(
            script_name=_SCRIPT,
            limits=limits,
            type_check=True,
            type_check_format=told,
            external_modules=modules,
        )

    def to_try(self, limits: ResourceLimits) -> MontySession:
        """A session without modules, to find out what Monty can do."""
        return self._pool.checkout(limits=limits)

    def close(self) -> None:
        """End all workers."""
        self.checkers.close()
        self._ending.close()


def _launcher(command: list[str]) -> Launcher | None:
    """The command as a file; None where files are not programs by what is written in them."""
    return Launcher(command) if os.name == "posix" else None


def _policy(program: Program) -> OSPolicy:
    """Sleeping is ours, so that it blocks no thread and can be broken off."""
    asleep: Literal["call_host"] = "call_host"
    policy: OSPolicy = {"sleep": asleep}
    if program.started_at is not None:
        policy["datetime"] = dt.datetime.fromtimestamp(program.started_at, dt.UTC)
    if program.seed:
        policy["random_start"] = {"seed": program.seed}
    return policy
