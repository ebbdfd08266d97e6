"""How Deno is started: with no permission, in a jail that holds its libraries and the runner."""

from pathlib import Path
from typing import Final

from toolcrib.adapters.jail.bubblewrap import Jail
from toolcrib.adapters.jail.libraries import libraries
from toolcrib.adapters.jail.order import Order
from toolcrib.errors import SandboxUnavailable
from toolcrib.settings import CodeSettings

REMEDY: Final = "pip install 'toolcrib[typescript]'"
RUNNER: Final = Path(__file__).parent / "runner"

_MIB: Final = 1024 * 1024
_LEAST_HEAP: Final = 24
"""MiB; with less, Deno itself does not start."""
_RUNNER: Final = "/runner"
"""Where it is in the jail: traces name it, and no path of this machine."""
_SCRATCH: Final = "/deno"
_SCRATCH_BYTES: Final = 32 * _MIB
_DENIED: Final = ("read", "write", "net", "env", "sys", "run", "ffi", "import")
_OFF: Final = (
    "--quiet",
    "--no-prompt",
    "--no-remote",
    "--no-npm",
    "--no-config",
    "--no-lock",
    "--cached-only",
)


def find_deno() -> Path:
    """The program of the package `deno`.

    Raises:
        SandboxUnavailable: It is not installed.
    """
    try:
        from deno import (  # noqa: PLC0415 # pyright: ignore[reportMissingTypeStubs]
            find_deno_bin,  # an extra; nobody else needs it
        )
    except ImportError as error:
        raise SandboxUnavailable(
            "programs in TypeScript cannot run here: the package deno is not installed",
            remedy=REMEDY,
        ) from error
    try:
        return Path(find_deno_bin()).resolve(strict=True)
    except OSError as error:
        raise SandboxUnavailable(
            "programs in TypeScript cannot run here: the package deno lacks its program",
            remedy=REMEDY,
            operator_note=str(error),
        ) from error


def command(jail: Jail, deno: Path, settings: CodeSettings) -> list[str]:
    """The command of one worker, which takes one program.

    Its cache and storage are in memory and end with it: what one program puts there, no other sees.
    """
    heap = max(settings.memory_bytes // _MIB, _LEAST_HEAP)
    order = Order(
        deno,
        (
            "run",
            *_OFF,
            *(f"--deny-{each}" for each in _DENIED),
            f"--v8-flags=--max-old-space-size={heap}",
            f"{_RUNNER}/main.js",
        ),
        libraries(deno),
        {
            "DENO_DIR": _SCRATCH,
            "HOME": _SCRATCH,
            "DENO_NO_UPDATE_CHECK": "1",
            "NO_COLOR": "1",
        },
        {_SCRATCH: _SCRATCH_BYTES},
        placed={_RUNNER: RUNNER},
    )
    return jail.command(order)
