"""A jailed program as one executable file, for libraries that start a program by its path."""

import shlex
import tempfile
from pathlib import Path
from typing import Final

_SHELL: Final = "#!/bin/sh\n"


class Launcher:
    """An executable file in a directory of its own, which nobody else can enter.

    What it is started with becomes the last arguments of the command. What the program writes to
    its standard error is nobody's: a worker that is told to die says so there.
    """

    def __init__(self, command: list[str]) -> None:
        # Nothing but the file is in it, so that whatever cannot be removed is worth no error.
        self._directory = tempfile.TemporaryDirectory(
            prefix="toolcrib-jail-", ignore_cleanup_errors=True
        )
        self.path = Path(self._directory.name) / "run"
        self.path.write_text(
            f'{_SHELL}exec {shlex.join(command)} "$@" 2>/dev/null\n', encoding="utf-8"
        )
        self.path.chmod(0o500)

    def remove(self) -> None:
        """Remove the file and its directory; programs that were started go on."""
        self._directory.cleanup()
