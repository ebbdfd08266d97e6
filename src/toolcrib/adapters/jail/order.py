"""What a jail is to hold: one program, what it may read, and nothing else of this machine."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

NOBODY: Final = "65534"


@dataclass(frozen=True, slots=True)
class Order:
    """A program, as a jail runs it. Whatever is not named here does not exist for it."""

    program: Path
    arguments: tuple[str, ...] = ()
    readable: tuple[Path, ...] = ()
    """Files and directories that it may read, at the same place; the program is one of them."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    """All of its environment."""
    scratch: Mapping[str, int] = field(default_factory=dict[str, int])
    """Directories that are empty at first and gone afterwards, with the bytes they may hold."""
    processes: bool = False
    """Whether it has a `/proc`: of its own namespace, which holds its own processes alone."""
    devices: bool = False
    """Whether it has a `/dev` with `null`, `zero`, `random` and the like."""
    placed: Mapping[str, Path] = field(default_factory=dict[str, Path])
    """Files and directories that it may read at another place than where they are."""


def arguments(order: Order, *, lock_namespaces: bool) -> list[str]:
    """The command line for bubblewrap, without bubblewrap itself.

    No network, no processes, users, names or shared memory of this machine; nobody's rights; a
    root that cannot be written. It ends when the thread that started it ends.

    Args:
        order: What to run.
        lock_namespaces: Whether the program is kept from making namespaces of its own, which is
            how most escapes through the kernel begin.
    """
    line = ["--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--clearenv"]
    if lock_namespaces:
        line.append("--disable-userns")
    line += ["--uid", NOBODY, "--gid", NOBODY, "--cap-drop", "ALL", "--hostname", "jail"]
    for name, value in order.environment.items():
        line += ["--setenv", name, value]
    for path in dict.fromkeys((*order.readable, order.program)):
        line += ["--ro-bind", str(path), str(path)]
    for place, path in order.placed.items():
        line += ["--ro-bind", str(path), place]
    if order.processes:
        line += ["--proc", "/proc"]
    if order.devices:
        line += ["--dev", "/dev"]
    for place, size in order.scratch.items():
        line += ["--size", str(size), "--tmpfs", place]
    return [*line, "--remount-ro", "/", "--chdir", "/", "--", str(order.program), *order.arguments]
