"""Runs the official conformance suite (`@modelcontextprotocol/conformance`) and reads its verdicts.

The suite counts what it skips as neither passed nor failed, and a check that only warns as passed.
Here a scenario passes only if something was checked and nothing was skipped, failed or warned of.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio

__all__ = ["Scenario", "Suite"]

PATIENCE: Final = 60_000
"""Milliseconds that a scenario may take."""

HARMLESS: Final = frozenset({"SUCCESS", "INFO"})
"""What checks may say in a scenario that passed; at least one has to be a success."""


_FOLDER: Final = re.compile(r"(?:server-)?(.+)-\d{4}-\d\d-\d\dT[\d-]+Z")
"""How the suite names the folder of a scenario: what it is, and when it was played."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """What one scenario found."""

    name: str
    checks: tuple[dict[str, Any], ...]
    """As the suite wrote them."""

    @property
    def passed(self) -> bool:
        """Whether something succeeded, and nothing did anything else."""
        said = [check["status"] for check in self.checks]
        return "SUCCESS" in said and HARMLESS.issuperset(said)

    def told(self) -> str:
        """The name, and what did not succeed."""
        wrong = [
            f"{check['status']} {check['id']}: {check.get('errorMessage', '')}"
            for check in self.checks
            if check["status"] not in HARMLESS
        ]
        return f"{self.name}: {'; '.join(wrong) or ('fine' if self.passed else 'nothing checked')}"


class Suite:
    """The installed suite.

    Args:
        node: The program that runs it: Node 22 or newer.
        package: The folder of the npm package.
        results: An empty folder for what it writes.
        env: The environment of the suite and of the client it starts.
    """

    def __init__(self, node: Path, package: Path, results: Path, env: dict[str, str]) -> None:
        self._node = node
        self._package = package
        self._results = results
        self._env = env
        self._runs = 0

    def required(self, revision: str, side: str) -> tuple[str, ...]:
        """The scenarios that a revision requires of `server` or `client`, in the suite's order."""
        lines = (self._package / "requirements" / f"{revision}.yaml").read_text().splitlines()
        return tuple(_listed(lines, side))

    async def every_server(self, url: str, revision: str) -> dict[str, Scenario]:
        """Plays all that a revision requires against a server, and what else it knows of it."""
        folder = await self._run("server", "--url", url, "--requirements", revision)
        return {name: Scenario(name, tuple(_checks(folder, name))) for name in _played(folder)}

    async def server(self, url: str, scenario: str, revision: str) -> Scenario:
        """Plays one scenario against a server."""
        return await self._play(scenario, revision, "server", "--url", url)

    async def client(self, command: str, scenario: str, revision: str) -> Scenario:
        """Plays one scenario against a client program, which is given the URL to go to."""
        return await self._play(scenario, revision, "client", "--command", command)

    async def _play(self, scenario: str, revision: str, side: str, *target: str) -> Scenario:
        which = ("--scenario", scenario, "--spec-version", revision)
        folder = await self._run(side, *target, *which)
        return Scenario(scenario, tuple(_checks(folder, scenario)))

    async def _run(self, side: str, *options: str) -> Path:
        self._runs += 1
        folder = self._results / f"{self._runs}"
        program = (str(self._node), str(self._package / "dist" / "index.js"))
        kept = ("--timeout", str(PATIENCE), "--output-dir", str(folder))
        await anyio.run_process(
            [*program, side, *options, *kept], check=False, env=self._env, cwd=self._results
        )
        return folder


def _played(folder: Path) -> list[str]:
    """The scenarios that left something in a folder of results."""
    found = (_FOLDER.fullmatch(path.name) for path in sorted(folder.iterdir()))
    return [match[1] for match in found if match]


def _checks(folder: Path, scenario: str) -> Iterator[dict[str, Any]]:
    for file in sorted(folder.rglob("checks.json")):
        match = _FOLDER.fullmatch(file.parent.relative_to(folder).as_posix())
        if match and match[1] == scenario:
            yield from json.loads(file.read_text())


def _listed(lines: Sequence[str], side: str) -> Iterator[str]:
    """The members of one list of a file that holds lists of names at its top level."""
    inside = False
    for line in lines:
        if line and not line.startswith((" ", "#")):
            inside = line.rstrip() == f"{side}:"
        elif inside and line.lstrip().startswith("- "):
            yield line.lstrip().removeprefix("- ").strip()
