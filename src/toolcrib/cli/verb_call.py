"""`toolcrib call`: one call of one tool."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from toolcrib.calls.call import Requester
from toolcrib.catalog.reading import Reading
from toolcrib.cli.asking import asking_on
from toolcrib.cli.call_result import call_exit, call_view
from toolcrib.cli.consent import with_own_remedy
from toolcrib.cli.exits import Exit
from toolcrib.cli.missed import find_or_tell
from toolcrib.cli.opening import GATEWAY, Opened, Source, opened, read_all
from toolcrib.cli.output import Output
from toolcrib.cli.running_gateway import is_gateway
from toolcrib.core.snapshot import Kind
from toolcrib.discovery.meta.definitions import CALL
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
        if _is_deferred(open_, source, readings, name):
            tool, given = (GATEWAY, CALL), {"name": name, "args": dict(arguments)}
        else:
            original = await find_or_tell(open_, source, output, readings, Kind.TOOLS, name)
            tool, given = (original.server, original.item.key), dict(arguments)
        with output.progress(f"calling {name}"):
            try:
                result = await open_.crib.call(tool, given, requester=requester, timeout=timeout)
            except ConfirmationNeeded as needed:
                raise with_own_remedy(needed, as_json=output.as_json) from None
        output.show(call_view(result))
        return call_exit(result)


def _is_deferred(open_: Opened, source: Source, readings: Sequence[Reading], name: str) -> bool:
    """Whether a gateway may have a tool that it does not list, and says how it is called."""
    if source.url is None or not is_gateway(open_):
        return False
    listed = [it.snapshot for it in readings if it.snapshot is not None]
    return any(it.get(CALL) is not None and it.get(name) is None for it in listed)
