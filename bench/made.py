"""Made-up tools of a realistic size, and a crib of real parts for those who measure it."""

import gc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from toolcrib.adapters.system_clock import SystemClock
from toolcrib.catalog.keeper import Keeper
from toolcrib.compose import open_parts
from toolcrib.config.keys import InstallationKey
from toolcrib.core.snapshot import Kind
from toolcrib.crib import Crib, Deaf
from toolcrib.settings import ServerSettings, Settings
from toolcrib.testing.scripted_server import Content

SERVER = "measured"
HOUR_MS = 3_600_000


def made_tool(number: int, revision: int = 0) -> dict[str, Any]:
    """About a kilobyte of JSON: the median of the listings of real servers is a little below."""
    return {
        "name": f"tool_{number:05}",
        "title": f"Tool {number}",
        "description": f"Does thing {number} (revision {revision}) with a repository. " * 4,
        "inputSchema": {
            "type": "object",
            "properties": {
                "owner": {"type": "string", "description": "Who owns the repository."},
                "repository": {"type": "string", "description": "Its name, without the owner."},
                "state": {"type": "string", "enum": ["open", "closed", "all"], "default": "open"},
                "labels": {"type": "array", "items": {"type": "string"}, "maxItems": 20},
                "page": {"type": "integer", "minimum": 1, "description": "From 1."},
                "per_page": {"type": "integer", "minimum": 1, "maximum": 100},
            },
            "required": ["owner", "repository"],
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": True, "openWorldHint": True},
    }


def made_tools(count: int, *, changed: int = 0, revision: int = 1) -> list[dict[str, Any]]:
    """So many tools, of which `changed` are in that revision and the others in the first."""
    every = count // changed if changed else count + 1
    return [
        made_tool(number, revision if number % every == every - 1 else 0) for number in range(count)
    ]


def made_contents(count: int, revisions: int = 0) -> list[Content]:
    """What a server lists at first, and revisions of it in which one tool in a hundred differs.

    Make them before the measured side: they are kept out of the garbage collector's sight, so that
    only its own objects cost it time.
    """
    changed = count // 100
    contents = [Content(tools=made_tools(count))]
    contents += [
        Content(tools=made_tools(count, changed=changed, revision=revision + 1))
        for revision in range(revisions)
    ]
    gc.collect()
    gc.freeze()
    return contents


@asynccontextmanager
async def crib_over(server: ServerSettings) -> AsyncGenerator[tuple[Crib, Keeper]]:
    """A crib of real parts, in memory, with one server; and the keeper of its tools."""
    settings = Settings(servers=(server,))
    with open_parts(settings, observer=Deaf(), keys=InstallationKey(b"k" * 32)) as parts:
        async with Crib.open(settings, parts) as crib:
            yield crib, crib.catalogs().server(server.id).keeper(Kind.TOOLS)


CLOCK = SystemClock()
