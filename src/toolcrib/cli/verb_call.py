"""`toolcrib call`: one call of one tool."""

from collections.abc import Mapping
from typing import Any

from toolcrib.cli.call_result import call_exit, call_view
from toolcrib.cli.exits import Exit
from toolcrib.cli.exposed import find
from toolcrib.cli.opening import Source, opened, read_all
from toolcrib.cli.output import Output
from toolcrib.core.snapshot import Kind


async def call(
    source: Source, output: Output, name: str, arguments: Mapping[str, Any], timeout: float | None
) -> Exit:
    """Calls the tool of that exposed name and shows its result."""
    async with opened(source, output) as open_:
        catalogs = open_.crib.catalogs()
        readings = await read_all(open_, source, output, Kind.TOOLS)
        original = find(open_.settings, readings, Kind.TOOLS, name)
        with output.progress(f"calling {name}"):
            result = await catalogs.request(
                original.server,
                "tools/call",
                {"name": original.item.key, "arguments": dict(arguments)},
                timeout=timeout,
            )
        output.show(call_view(result))
        return call_exit(result)
