"""What a model is shown at the start, in tokens: everything, or what exposure `search` shows.

For any number of tools the second is the same. Tokens are o200k, exact.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio

from figures import tell
from made import made_tools
from toolcrib.adapters.quicktok_counter import QuicktokCounter
from toolcrib.core.snapshot import Kind
from toolcrib.crib import Crib
from toolcrib.settings import Exposure, GatewaySettings, Limits
from toolcrib.testing.scripted import ScriptedUpstream
from toolcrib.testing.scripted_gateway import scripted_gateway

SIZES = (10, 500, 2_500, 20_000)
AIM = 1_000
SERVER = "server"
PATIENCE = 240
"""Seconds that all of a catalog may take."""


async def tokens(exposure: Exposure, tools: Sequence[Mapping[str, Any]]) -> int:
    """Tokens of everything that a host is listed, as a provider is sent it."""
    count = QuicktokCounter().count
    server = ScriptedUpstream(tools)
    gateway = GatewaySettings(exposure=exposure)
    async with scripted_gateway({SERVER: server}, gateway=gateway, limits=Limits()) as made:
        await everything(made.crib, len(tools))
        listed = (await made.ask("tools/list"))["tools"]
    if exposure == "full" and len(listed) != len(tools):
        raise RuntimeError(f"{len(listed):,} of {len(tools):,} tools were listed")
    sent = [
        {"name": it["name"], "description": it["description"], "input_schema": it["inputSchema"]}
        for it in listed
    ]
    return sum(count(json.dumps(it, ensure_ascii=False, separators=(",", ":"))) for it in sent)


async def everything(crib: Crib, count: int) -> None:
    """Waits until all tools of the server are there: the first walk of many takes a while."""
    catalogs = crib.catalogs()
    await catalogs.reach()
    with anyio.fail_after(PATIENCE):
        while True:
            snapshot = catalogs.peek(SERVER, Kind.TOOLS).snapshot
            if snapshot is not None and len(snapshot) == count:
                return
            await anyio.sleep(0.05)


async def measure(tools: Sequence[Mapping[str, Any]], named: str) -> None:
    """Both exposures of a catalog."""
    full = await tokens("full", tools)
    shown = await tokens("search", tools)
    tell(f"shown at the start, {named}", shown, "tokens", aim=AIM, full=full)


async def main(listings: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """All sizes, and real listings where they are given."""
    for size in SIZES:
        await measure(made_tools(size), f"{size:,} tools")
    for named, tools in listings.items():
        await measure(tools, f"{named}, {len(tools):,} tools")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("listings", nargs="*", type=Path, help="tools/list results in files")
    files: list[Path] = parser.parse_args().listings
    anyio.run(main, {it.stem: json.loads(it.read_text(encoding="utf-8"))["tools"] for it in files})
