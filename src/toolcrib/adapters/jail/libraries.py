"""Which shared libraries a program loads, so that a jail shows it those and nothing more."""

import re
import shutil
import subprocess
from os.path import normpath
from pathlib import Path
from typing import Final

_PATH: Final = re.compile(r"(?:=>\s+|^\s+)(/\S+)\s+\(0x", re.MULTILINE)
"""`ldd` writes `libc.so.6 => /lib/libc.so.6 (0x...)`, and the loader as `/lib/ld.so (0x...)`."""
_EVERYWHERE: Final = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
_SECONDS: Final = 10.0


def libraries(program: Path) -> tuple[Path, ...]:
    """The files that the loader maps for a program, by the paths it looks for.

    The program has to be one that we trust: some loaders run it in order to answer. Where they
    cannot be asked, these are the directories that hold libraries.
    """
    asking = shutil.which("ldd")
    listed = _asked(asking, program) if asking else None
    if listed is None:
        return tuple(path for path in map(Path, _EVERYWHERE) if path.exists())
    return tuple(dict.fromkeys(Path(normpath(path)) for path in _PATH.findall(listed)))


def _asked(ldd: str, program: Path) -> str | None:
    """What `ldd` says; None where it fails for another reason than a program without libraries."""
    try:
        done = subprocess.run(  # noqa: S603 - both paths are ours, and no shell reads them
            [ldd, str(program)],
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = done.stdout + done.stderr
    alone = "not a dynamic executable" in said or "statically linked" in said
    return said if done.returncode == 0 or alone else None
