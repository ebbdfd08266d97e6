"""server-everything decides by what its client declares, and says so five times in a row."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolcrib.compose import open_parts
from toolcrib.config.keys import InstallationKey
from toolcrib.core.snapshot import Kind
from toolcrib.crib import Crib
from toolcrib.facts import Invalidated, Refreshed, WalkEnded
from toolcrib.ports import ClientProfile
from toolcrib.settings import ServerSettings, Settings, StdioLaunch
from toolcrib.testing.recorder import Recorder

ROOT = Path(__file__).resolve().parents[2]
MODULE = "peers/node_modules/@modelcontextprotocol/server-everything/dist/index.js"
EVERYTHING = ServerSettings("everything", StdioLaunch("node", (MODULE,), cwd=str(ROOT)))
WHATEVER_COMES_LATE = 0.6
"""Seconds: longer than the debounce and the re-check together."""

pytestmark = pytest.mark.peers


@pytest.mark.parametrize(
    ("capabilities", "signals", "tools"),
    [
        pytest.param({}, 1, 13, id="a client that can do nothing"),
        pytest.param({"roots": {}}, 2, 14, id="one with roots"),
        pytest.param(
            {"roots": {}, "sampling": {}, "elicitation": {"form": {}, "url": {}}},
            5,
            17,
            id="one with roots, sampling and elicitation",
        ),
    ],
)
async def test_a_burst_of_signals_ends_in_the_whole_list_after_two_walks_at_most(
    capabilities: Mapping[str, Any], signals: int, tools: int
) -> None:
    recorder = Recorder()
    settings = Settings(servers=(EVERYTHING,))
    keys = InstallationKey(b"k" * 32)
    with anyio.fail_after(100), open_parts(settings, observer=recorder, keys=keys) as parts:
        profile = ClientProfile(capabilities)
        async with Crib.open(settings, parts, profile=profile) as crib:
            catalogs = crib.catalogs()
            seen: list[int] = []
            published = anyio.Event()

            def heard() -> None:
                snapshot = catalogs.peek("everything", Kind.TOOLS).snapshot
                seen.append(0 if snapshot is None else len(snapshot))
                if seen[-1] == tools:
                    published.set()

            catalogs.on_published(lambda _: heard())
            await published.wait()
            await anyio.sleep(WHATEVER_COMES_LATE)
            snapshot = catalogs.peek("everything", Kind.TOOLS).snapshot
    assert snapshot is not None
    assert len(snapshot) == tools
    assert seen == sorted(seen)
    said = [fact for fact in recorder.of(Invalidated) if fact.reason == "signal"]
    assert len(said) == signals
    walks = [fact for fact in recorder.of(WalkEnded) if fact.kind == "tools"]
    assert 1 <= len(walks) <= 2
    assert recorder.of(Refreshed)[-1].items == tools
