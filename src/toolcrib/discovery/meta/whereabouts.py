"""Which servers there are for a caller, which were not reached, and which could be enabled."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from toolcrib.calls.call import Requester
from toolcrib.catalog.absence import away
from toolcrib.catalog.access import CatalogAccess
from toolcrib.catalog.reading import Reading
from toolcrib.core.naming import Present, near
from toolcrib.core.quoting import enumerated, quoted
from toolcrib.core.snapshot import Kind
from toolcrib.discovery.meta.seams import Surroundings
from toolcrib.errors import BadArguments


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """The servers as one caller finds them."""

    searched: tuple[str, ...]
    """Whose tools can be found, sorted."""
    on_demand: tuple[str, ...]
    """Whose tools could be, once they are enabled."""
    present: Present | None = None
    """The first of these, as far as names are concerned; None: nothing is on demand."""
    unsure: str = ""
    """Why one of them may be missing, in a sentence."""

    @classmethod
    async def of(cls, around: Surroundings, who: Requester) -> "Whereabouts":
        """The servers that are configured now."""
        enabling = around.enabling
        searched, others, present = _parted(
            tuple(await enabling.searchable(who)),
            around.access.server_ids(),
            tuple(around.on_demand()),
            tuple(enabling.listed()) if enabling.dynamic else None,
        )
        return cls(searched, others, present, enabling.unsure)

    def chosen(self, asked: Sequence[str]) -> tuple[str, ...]:
        """The asked servers by their ids; none asked is all of them.

        Raises:
            BadArguments: There is no such server, or it has to be enabled first.
        """
        return tuple(sorted({self._one(name) for name in asked})) if asked else self.searched

    def _one(self, name: str) -> str:
        known = {*self.searched, *self.on_demand}
        alike = [server for server in known if server.casefold() == name.strip().casefold()]
        if name not in known and len(alike) == 1:
            name = alike[0]
        if name in self.searched:
            return name
        if name in self.on_demand:
            what = f"The tools of server {quoted(name)} can be found once you call enable_server"
            raise BadArguments(f"{what} for it.", details={"enable": [name]})
        similar = near(name, sorted(known))
        hint = similar or tuple(sorted(known))
        lead = "similar ones" if similar else "there are"
        told = enumerated(map(quoted, hint)) or "none"
        raise BadArguments(
            f"There is no server {quoted(name)}; {lead}: {told}.",
            details={"near": list(similar)},
        )


@lru_cache(maxsize=64)
def _parted(
    open_to: tuple[str, ...],
    servers: tuple[str, ...],
    on_demand: tuple[str, ...],
    listed: tuple[str, ...] | None,
) -> tuple[tuple[str, ...], tuple[str, ...], Present | None]:
    """What is searched, what could be, and what is there: the same from one search to the next."""
    there = frozenset(open_to)
    # What another caller of this principal enabled has catalogs, too.
    others = {*servers, *on_demand} - there
    searched = tuple(server for server in servers if server in there)
    present = None if listed is None else Present.of(listed, there)
    return searched, tuple(sorted(others)), present


def readings(access: CatalogAccess, servers: Sequence[str]) -> list[Reading]:
    """What is held of the tools of these servers, without waiting; one that is gone is left out."""
    there = set(access.server_ids())
    return [access.peek(server, Kind.TOOLS) for server in servers if server in there]


def not_reached(access: CatalogAccess, servers: Sequence[str]) -> str:
    """A sentence on the servers of which nothing is held, and why; empty where there are none."""
    missing = away(access, servers)
    return f"Not reached: {missing}." if missing else ""
