"""A home of its own for commands under test: nothing of the user's is read or written."""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio

from toolcrib.settings import Secret, StdioLaunch

__all__ = ["COMMAND", "Ran", "Room"]

COMMAND: Final = (sys.executable, "-m", "toolcrib")
"""toolcrib as it is installed for this interpreter."""

_SOURCE: Final = str(Path(__file__).resolve().parents[3])
"""Commands run the very code that the test has imported, installed or not."""

_PATIENCE: Final = 60.0
"""Seconds after which a command that should have ended is killed."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """What it wrote for programs."""
        return json.loads(self.out)

    @property
    def documents(self) -> list[Any]:
        """What it wrote for programs, a line each."""
        return [json.loads(line) for line in self.out.splitlines()]


class Room:
    """A directory that is the home, and the working directory, of every command run in it.

    Programs that these start inherit the home, so it marks them too: see `census`.
    """

    def __init__(self, path: Path, **variables: str) -> None:
        self.path = path
        self.home = path / "home"
        self.home.mkdir()
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        ours = {"HOME": str(self.home), "NO_COLOR": "1", "PYTHONPATH": _SOURCE}
        self.env: Mapping[str, str] = {**kept, **ours, **variables}
        """The environment; the directories of the XDG rules follow from the home."""

    @property
    def store(self) -> Path:
        """The file in which commands keep catalogs."""
        return self.home / ".local/share/toolcrib/catalogs.sqlite"

    def write(self, name: str, text: str) -> Path:
        """Writes a file, in one step, so that whoever watches it never sees a half."""
        path = self.path / name
        draft = path.with_name(f"{name}.draft")
        draft.write_text(text)
        return draft.replace(path)

    def configure(self, servers: Mapping[str, Mapping[str, Any]], name: str = "mcp.json") -> Path:
        """Writes an `mcp.json` of these entries."""
        return self.write(name, json.dumps({"mcpServers": servers}, indent=2))

    def launch(self, *arguments: str | Path) -> StdioLaunch:
        """How a host starts toolcrib here."""
        command, *rest = [*COMMAND, *map(str, arguments)]
        env = {name: Secret(value) for name, value in self.env.items()}
        return StdioLaunch(command, tuple(rest), env, str(self.path))

    async def run(self, *arguments: str | Path, stdin: bytes = b"", cwd: Path | None = None) -> Ran:
        """Runs a command of toolcrib to its end.

        Raises `TimeoutError`, and kills it, where it does not end.
        """
        with anyio.fail_after(_PATIENCE):
            done = await anyio.run_process(
                [*COMMAND, *map(str, arguments)],
                input=stdin,
                check=False,
                env=self.env,
                cwd=cwd or self.path,
            )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())
