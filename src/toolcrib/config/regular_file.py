"""Opening what a path of the configuration names, if it is a file with bytes in it.

A pipe would block whoever opens it until somebody writes, and a device may never end.
"""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, Final

_NO_FILE: Final = "is no regular file but a pipe, socket or device"
_NEVER_BLOCKS: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


class NotRegularError(OSError):
    """The path leads to something that is neither a file nor a directory."""


def open_regular(path: Path) -> BinaryIO:
    """The file, open for reading, links followed.

    Raises:
        IsADirectoryError: It is a directory.
        NotRegularError: It is something else that is no regular file.
        OSError: It cannot be opened.
    """
    _check(path, path.stat())
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | _NEVER_BLOCKS)
    try:
        # Again, of what was opened: the path may lead elsewhere by now.
        _check(path, os.fstat(descriptor))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _check(path: Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularError(errno.EINVAL, _NO_FILE, str(path))
