"""Catalogs of several servers brought up to date side by side, each within its own wait."""

from collections.abc import Awaitable, Callable, Iterable

import anyio

from toolcrib.catalog.reading import Reading
from toolcrib.errors import ToolcribError

Look = Callable[[str], Awaitable[Reading]]


async def looked_up(
    servers: Iterable[str], look: Look
) -> tuple[dict[str, Reading], dict[str, ToolcribError]]:
    """What `look` brought of each server, and of which it raised.

    A server that was taken out of the configuration meanwhile is in neither.
    """
    found: dict[str, Reading] = {}
    failed: dict[str, ToolcribError] = {}

    async def one(server: str) -> None:
        try:
            found[server] = await look(server)
        except KeyError:
            return
        except ToolcribError as error:
            failed[server] = error

    async with anyio.create_task_group() as tasks:
        for server in sorted(set(servers)):
            tasks.start_soon(one, server)
    return found, failed
