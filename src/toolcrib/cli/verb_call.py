"""`toolcrib call`: one call of one tool."""

import sys
from collections.abc import Mapping
from typing import Any

from toolcrib.calls.call import Requester
from toolcrib.cli.asking import asking_on
from toolcrib.cli.call_result import call_exit, call_view
from toolcrib.cli.consent import with_own_remedy
from toolcrib.cli.exits import Exit
from toolcrib.cli.exposed import find
from toolcrib.cli.opening import Source, opened, read_all
from toolcrib.cli.output import Output
from toolcrib.core.snapshot import Kind
from toolcrib.errors import ConfirmationNeeded


async def call(
    source: Source, output: Output, name: str, arguments: Mapping[str, Any], timeout: float | None
) -> Exit:
    """Calls the tool of that exposed name, as admission and policy allow, and shows its result.

    Whoever sits at the terminal is asked what policy or the server wants to know.
    """
    asking = asking_on(output, sys.stdin, sys.stderr)
    requester = Requester(ask=asking.ask, capabilities=asking.capabilities)
    async with opened(source, output) as open_:
        readings = await read_all(open_, source, output, Kind.TOOLS)
        original = find(open_.settings, readings, Kind.TOOLS, name)
        tool = original.server, original.item.key
        with output.progress(f"calling {name}"):
            try:
                result = await open_.crib.call(
                    tool, arguments, requester=requester, timeout=timeout
                )
            except ConfirmationNeeded as needed:
                raise with_own_remedy(needed, as_json=output.as_json) from None
        output.show(call_view(result))
        return call_exit(result)
