"""Why a database file cannot be used, in words an operator can act on."""

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from toolcrib.core.quoting import clipped


@dataclass(frozen=True, slots=True)
class Trouble:
    """What is wrong with a file, what to do about it, and whether it can pass by itself."""

    what: str
    """Continues a sentence that begins with the path."""
    remedy: str
    passes: bool = True
    """Whether a later attempt may succeed with nobody replacing the file."""
    locked: bool = False
    """Whether only the time was too short, so that the connection is as good as before."""

    def alone(self, path: Path) -> str:
        """What happened where, for a process that goes on without the file."""
        return (
            f"the store {path} {self.what}; this process keeps catalogs in memory, alone, and "
            f"leaves the file as it is ({self.remedy})"
        )

    def anew(self, path: Path) -> str:
        """What happened where, for a process that goes on with the file."""
        return (
            f"the store {path} {self.what}; it is listed anew by its server, and nothing else is "
            f"lost ({self.remedy})"
        )

    def waiting(self, path: Path) -> str:
        """What happened where, for a process that goes on trying."""
        return (
            f"the store {path} {self.what}; catalogs stay as they are and grow old until it can be "
            f"used again ({self.remedy})"
        )


class UnusableFile(Exception):
    """The file cannot serve as a store, now or later, until somebody changes something."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.what)
        self.trouble = trouble


DAMAGED = Trouble(
    "is damaged or is no SQLite database",
    "move the file away or set another path, then start again; catalogs are walked anew",
    passes=False,
)
"""What a damaged file, or one that is something else, means."""

SPOILT = Trouble(
    "holds a catalog that cannot be read",
    "check the disk, and that nothing but toolcrib writes to the file",
)
"""What a row or a body that says nothing means."""

_PERMISSION = Trouble(
    "cannot be written",
    "give this user write access to the file and its directory, or set another path",
)
_TROUBLES = {
    sqlite3.SQLITE_CORRUPT: DAMAGED,
    sqlite3.SQLITE_NOTADB: DAMAGED,
    sqlite3.SQLITE_BUSY: Trouble(
        "is locked by another process",
        "find out which process holds it and end that one",
        locked=True,
    ),
    sqlite3.SQLITE_READONLY: _PERMISSION,
    sqlite3.SQLITE_PERM: _PERMISSION,
    sqlite3.SQLITE_CANTOPEN: Trouble(
        "cannot be opened", "the path must be a file this user may write, in a directory likewise"
    ),
    sqlite3.SQLITE_FULL: Trouble("cannot grow: the disk is full", "free some space"),
    sqlite3.SQLITE_IOERR: Trouble("gave an I/O error", "check the disk, or set another path"),
}


def trouble_of(error: Exception) -> Trouble:
    """What an exception of opening or using a file means."""
    if isinstance(error, UnusableFile):
        return error.trouble
    if isinstance(error, OSError):
        reason = error.strerror or type(error).__name__
        return Trouble(
            f"cannot be reached: {reason}",
            "the path must be a file this user may write, in a directory likewise",
        )
    if not isinstance(error, sqlite3.Error):
        reason = f"{type(error).__name__}: {clipped(str(error), 200)}"
        return Trouble(
            f"cannot be used, for a reason nobody foresaw ({reason})",
            "move the file away or set another path, and report this",
        )
    # The low byte is the kind; the rest tells apart what an operator would treat alike.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    return _TROUBLES.get(code) or Trouble(
        f"cannot be used: {error}", "set another path, and report this if it stays"
    )
