"""What the rooms to the right may do with the catalogs of one principal, as a Protocol.

`Catalogs` implements it; the gateway, discovery and the command line are written against it.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from toolcrib.catalog.reading import Reading
from toolcrib.catalog.resource_news import NewsListener
from toolcrib.core.snapshot import Kind, Snapshot
from toolcrib.ports import Progress, RequestContext, ServerFacts


@dataclass(frozen=True, slots=True)
class PublishedChange:
    """A catalog's content became another one, or went away."""

    server: str
    kind: Kind
    before: Snapshot | None
    after: Snapshot | None
    """None: withdrawn, or the server was removed from the configuration."""
    generation: int


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """What is known of one configured server right now."""

    id: str
    state: str
    """idle, connecting, ready, backoff, slow_probe, disabled."""
    facts: ServerFacts | None
    detail: str
    """The last failure, in a sentence, or that the server has not answered; empty when all is well,
    or nothing is known yet."""
    stderr: str = ""
    """The tail of a process's stderr, for diagnosis; empty for other transports."""
    told: str = ""
    """Why there is no connection, as a model may read it; empty when there is one, or nothing is
    known."""


class CatalogAccess(Protocol):
    """The catalogs of one principal, over all configured servers."""

    def server_ids(self) -> tuple[str, ...]:
        """All enabled servers, sorted by code point."""
        ...

    def status(self, server: str) -> ServerStatus:
        """What is known of a server; KeyError for an unknown id."""
        ...

    async def read(self, kind: Kind) -> tuple[Reading, ...]:
        """Every server's catalog of that kind, sorted by server id, each within its own waits.

        Servers that do not declare the kind are read as fresh and empty. Filters (allow and deny)
        are applied.
        """
        ...

    async def lacking(self, kind: Kind, servers: Collection[str] | None = None) -> tuple[str, ...]:
        """Of these servers (None: all), those of which nothing is held of that kind, sorted.

        What is stale is renewed first, each within its own waits, as by `read`; for whoever needs
        no readings, which take time for each server. Unknown servers are left out.
        """
        ...

    async def read_one(self, server: str, kind: Kind) -> Reading:
        """One server's catalog as a call needs it: also what is too old to be listed.

        Waits for a newer one no longer than a call may. KeyError for an unknown id.

        Raises:
            CatalogTooOld: It is older than the server's `max_stale`.
        """
        ...

    async def renewed(self, server: str, kind: Kind) -> Reading:
        """One server's catalog as a listing would show it: for a call that would be refused.

        Unless it is `current` already, a walk is joined or begun and waited for, at most
        `list_wait`; `Reading.current` says whether it brought something. KeyError for an unknown
        id.
        """
        ...

    def peek(self, server: str, kind: Kind) -> Reading:
        """What is held right now, without any waiting or walking."""
        ...

    async def request(
        self,
        server: str,
        method: str,
        params: Mapping[str, Any],
        *,
        timeout: float | None = None,
        progress: Progress | None = None,
        context: RequestContext | None = None,
    ) -> dict[str, Any]:
        """Forward one request to a server: a call, a read, a prompt, a completion.

        Connects first where needed. Returns the raw result; raises as `ports.Upstream.request`
        does.
        """
        ...

    def invalidate(self, server: str, kind: Kind, *, why: str) -> None:
        """Mark a catalog stale: something contradicted it, such as an "unknown tool".

        Counts at most once per `min_interval`; the rest is made up for afterwards.
        """
        ...

    def watch(self, kind: Kind) -> Callable[[], None]:
        """Count a subscriber of a kind, for whom polls go on; the answer ends that."""
        ...

    def held_back(self, kind: Kind) -> Mapping[str, Snapshot]:
        """By server: the other listing of replicas that disagree, whose items stay callable."""
        ...

    def on_published(self, listener: Callable[[PublishedChange], None]) -> Callable[[], None]:
        """Call `listener` after each change of content; the answer ends that. Must not block."""
        ...

    def on_resources(self, listener: NewsListener) -> Callable[[], None]:
        """Call `listener` for each word of a server about single resources; the answer ends that.

        Must not block.
        """
        ...
