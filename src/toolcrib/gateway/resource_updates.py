"""Updates of single resources: from the servers that have them to the hosts that follow them.

What is watched is what the streams of the audience follow at the moment: a host that leaves takes
its subscriptions with it, and a resource that several follow is watched once.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup

from toolcrib.catalog.access import CatalogAccess
from toolcrib.catalog.resource_news import ResourceNews
from toolcrib.core.jsontypes import is_object
from toolcrib.core.quoting import quoted
from toolcrib.core.snapshot import Kind
from toolcrib.errors import LimitExceeded, UpstreamRefused, UpstreamUnreachable
from toolcrib.gateway.server_watch import ServerWatch
from toolcrib.gateway.target import Target
from toolcrib.gateway.uris import qualified
from toolcrib.wire.audience import Audience
from toolcrib.wire.faults import RpcFault, invalid_params

PER_SERVER: Final = 5_000
"""Resources of one server that are watched at one time."""

PART_MARKS: Final = "/#?"
"""What may follow the URI of a resource in that of a part of it."""


class ResourceUpdates:
    """Keeps the servers of one principal telling of what its hosts follow. Its task is `run`.

    Args:
        access: Its catalogs.
        find: Leads a URI to the server that has it; raises `RpcFault` -32602 where none does.
        audience: Its hosts.
    """

    def __init__(
        self,
        access: CatalogAccess,
        find: Callable[[str], Awaitable[Target]],
        audience: Audience,
    ) -> None:
        self._access = access
        self._find = find
        self._audience = audience
        self._targets: dict[str, Target] = {}
        self._watches: dict[str, ServerWatch] = {}
        self._tasks: TaskGroup | None = None
        audience.on_change(self._review)
        self._stop_listening = access.on_resources(self._heard)

    def leave(self) -> None:
        """Stop listening to the servers; idempotent."""
        self._stop_listening()

    async def run(self) -> None:
        """Have servers asked, until cancelled."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            for watch in self._watches.values():
                tasks.start_soon(watch.run)
            try:
                await anyio.sleep_forever()
            finally:
                self._tasks = None

    async def subscribe(self, uri: str) -> None:
        """Have a resource watched that somebody in the audience follows.

        Raises `RpcFault` -32602 for one that nobody has, or whose server tells of no updates, and
        what kept the server from being asked.
        """
        target = await self._find(uri)
        await self._check_watches(target.server)
        if sum(other.server == target.server for other in self._targets.values()) >= PER_SERVER:
            raise LimitExceeded(
                f"too many resources of {quoted(target.server)} are watched (limit {PER_SERVER})",
                server=target.server,
            )
        self._targets[uri] = target
        self._review()
        watch = self._watches.get(target.server)
        if watch is None:
            return  # nobody follows it any more
        try:
            await watch.established(target.key)
        except UpstreamRefused as refused:
            shown = {"uri": uri, "server": target.server}
            raise invalid_params(f"cannot be subscribed to: {refused.message}", shown) from None

    async def _check_watches(self, server: str) -> None:
        facts = self._access.status(server).facts
        if facts is None:
            await self._access.read_one(server, Kind.RESOURCES)  # connects
            facts = self._access.status(server).facts
        if facts is None:
            raise UpstreamUnreachable("it is not connected", server=server)
        declared: Any = facts.capabilities.get("resources")
        if not (is_object(declared) and declared.get("subscribe") is True):
            raise unwatched(server)

    def _review(self) -> None:
        """Watch what is followed and nothing else."""
        followed = self._audience.follows()
        for uri in [uri for uri in self._targets if uri not in followed]:
            del self._targets[uri]
        keys: dict[str, set[str]] = {server: set() for server in self._watches}
        for target in self._targets.values():
            keys.setdefault(target.server, set()).add(target.key)
        for server, wanted in keys.items():
            self._watch_of(server).want(wanted)

    def _watch_of(self, server: str) -> ServerWatch:
        watch = self._watches.get(server)
        if watch is None:
            watch = self._watches[server] = ServerWatch(self._access, server)
            if self._tasks is not None:
                self._tasks.start_soon(watch.run)
        return watch

    def _heard(self, news: ResourceNews) -> None:
        watch = self._watches.get(news.server)
        if watch is None:
            return
        if news.what == "updated":
            self._tell(news.server, news.uris)
            return
        watch.heard(news)
        if news.what == "connected":
            # What was updated while it was away is not known, so everything may have been.
            for uri, target in self._targets.items():
                if target.server == news.server:
                    self._audience.tell_updated(uri, uri)

    def _tell(self, server: str, keys: Iterable[str]) -> None:
        for key in keys:
            for uri, target in self._targets.items():
                if target.server != server:
                    continue
                if key == target.key:
                    self._audience.tell_updated(uri, uri)
                elif _is_part(key, target.key):
                    shown = key if uri == target.key else qualified(server, key)
                    self._audience.tell_updated(shown, uri)


def unwatched(server: str) -> RpcFault:
    """-32602 for a resource whose server tells of no updates."""
    return invalid_params(f"{quoted(server)} does not tell of updates of single resources")


def _is_part(uri: str, whole: str) -> bool:
    """Whether a URI is that of a part: servers may tell of a part of what was subscribed to."""
    if not uri.startswith(whole):
        return False
    return whole.endswith("/") or uri[len(whole)] in PART_MARKS
