"""Servers that are not there do not pass in silence where a name is missing or a program runs."""

import io
from collections.abc import Awaitable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolcrib.cli import opening
from toolcrib.cli.exits import Exit
from toolcrib.cli.opening import Source
from toolcrib.cli.output import Output
from toolcrib.cli.verb_call import call
from toolcrib.cli.verb_list import list_servers
from toolcrib.cli.verb_run import Script, run
from toolcrib.cli.verb_show import show
from toolcrib.compose import Parts
from toolcrib.config.keys import InstallationKey
from toolcrib.errors import ToolGone, UpstreamUnreachable
from toolcrib.settings import Settings
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import ScriptedWorld

CONFIG = "[servers.shop]\ncommand = 's'\n[servers.x]\ncommand = 'x'\n"


class Line:
    """A command line over a server that is there, and one that is not."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.scripts = {"shop": ScriptedUpstream([tool("price")]), "x": ScriptedUpstream()}
        why = "the command 'nothere' was not found"
        self.scripts["x"].faults.connect = UpstreamUnreachable(
            why, server="x", operator_note="PATH is short"
        )
        self.config = tmp_path / "two words.toml"
        self.config.write_text(CONFIG)
        self.script = tmp_path / "p.py"
        self.script.write_text("1 + 1")
        self.source = Source((self.config,), patience=5.0)
        self.stdout, self.stderr = io.StringIO(), io.StringIO()
        self.output = Output(as_json=False, stdout=self.stdout, stderr=self.stderr, env={})
        monkeypatch.setattr(opening, "open_parts", self._parts)
        monkeypatch.setattr(opening, "installation_key", lambda: (InstallationKey(b"k" * 32), None))

    @contextmanager
    def _parts(self, settings: Settings, **_: Any) -> Generator[Parts]:
        del settings
        yield ScriptedWorld(self.scripts, None).parts()

    def told(self, server: str) -> str:
        """The line of standard error that begins with a server."""
        lines = self.stderr.getvalue().splitlines()
        (line,) = [line for line in lines if line.split()[:1] == [server]]
        return line


async def refusal(doing: Awaitable[Exit]) -> ToolGone:
    """The error that a verb ends with."""
    with anyio.fail_after(5), pytest.raises(ToolGone) as refused:
        await doing
    return refused.value


@pytest.fixture
def line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Line:
    return Line(tmp_path, monkeypatch)


@pytest.mark.parametrize("verb", ["call", "show"])
async def test_a_missing_name_comes_with_why_a_server_was_not_reached(
    line: Line, verb: str
) -> None:
    if verb == "call":
        error = await refusal(call(line.source, line.output, "x__go", {}, None))
    else:
        error = await refusal(show(line.source, line.output, "x__go", "tools"))
    assert error.message == "there is no tool 'x__go'; not reached: x"
    assert error.remedy == f"see `toolcrib list --servers --config '{line.config}'`"
    assert line.told("x").endswith("the command 'nothere' was not found; PATH is short")


async def test_names_that_look_like_it_are_the_better_remedy(line: Line) -> None:
    error = await refusal(call(line.source, line.output, "shop__pric", {}, None))
    assert error.remedy == "similar names: shop__price"


async def test_a_program_runs_and_what_is_not_there_is_told_first(line: Line) -> None:
    with anyio.fail_after(20):
        code = await run(line.source, line.output, Script.of(str(line.script), None))
    assert code == Exit.FINE, "it did not need the server"
    assert "the command 'nothere' was not found" in line.told("x")
    assert "shop" not in line.stderr.getvalue()


async def test_a_listing_that_broke_off_is_a_finding_though_the_server_is_there(
    line: Line,
) -> None:
    line.scripts["x"].faults.connect = None
    line.scripts["x"].faults.lists = UpstreamUnreachable("the list broke off")
    with anyio.fail_after(5):
        assert await list_servers(line.source, line.output) == Exit.FOUND
    (row,) = [it for it in line.stdout.getvalue().splitlines() if it.split()[:1] == ["x"]]
    assert row.split()[1] == "ready"
    assert row.endswith("nothing was listed so far: the list broke off")
    line.scripts["x"].faults.lists = None
    with anyio.fail_after(5):
        assert await list_servers(line.source, line.output) == Exit.FINE
