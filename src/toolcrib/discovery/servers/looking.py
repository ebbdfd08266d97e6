"""`search_available_servers`: what can be enabled, a line for each."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import anyio
import anyio.to_thread

from toolcrib.calls.call import Requester
from toolcrib.core.jsontypes import described, is_integer
from toolcrib.core.naming import near
from toolcrib.core.quoting import enumerated, literal, quoted
from toolcrib.discovery.meta.one_line import exact, one_line, spoken
from toolcrib.discovery.servers.definitions import ENABLE, search_servers_definition
from toolcrib.discovery.servers.faults import told, wrong
from toolcrib.discovery.servers.offers import Offer, OfferSearch
from toolcrib.discovery.servers.servers import Servers
from toolcrib.settings import Limits

_AT_ONCE: Final = 20
"""Offers that are read on the event loop; more go into a thread."""
_ABOUT: Final = 240
"""Characters of what a server or skill is for."""
_TROUBLE: Final = 160
_NAMES: Final = 200
"""Characters of the names of a skill's servers."""


class SearchAvailableServers:
    """Implements `ExtraTool`."""

    def __init__(self, servers: Servers, search: OfferSearch, limits: Limits) -> None:
        self.definition: Mapping[str, Any] = search_servers_definition()
        self._servers = servers
        self._search = search
        self._limits = limits

    async def call(self, arguments: Mapping[str, Any], requester: Requester) -> dict[str, Any]:
        """The servers and skills that fit, the best first. Raises `BadArguments`."""
        query, limit = self._query(arguments.get("query")), self._limit(arguments.get("limit"))
        offers = await self._servers.offers(requester)
        if len(offers) <= _AT_ONCE:
            found = self._search.fitting(query, offers)
        else:
            found = await anyio.to_thread.run_sync(self._search.fitting, query, offers)
        unsure = [note] if (note := self._servers.unsure) else []
        if found:
            return told([*self._lines(found, limit, len(offers)), *unsure])
        if not offers:
            return told(["No servers are on demand: search_tools finds all tools there are."])
        names = [offer.name for offer in offers]
        similar = near(query, names)
        lead = "Similar names" if similar else "There are"
        known = enumerated((exact(name) for name in similar or sorted(names)), 600)
        return told([f"Nothing that can be enabled fits {quoted(query)}. {lead}: {known}."])

    def _lines(self, found: Iterable[Offer], limit: int, total: int) -> list[str]:
        ranked = tuple(found)
        head = f"{len(ranked)} of {total} fit; enable one by its name with {ENABLE}."
        lines, room = [head], self._limits.search_bytes - len(head.encode())
        for offer in ranked[:limit]:
            line = _line(offer)
            room -= len(line.encode()) + 1
            if room < 0:
                break
            lines.append(line)
        left = len(ranked) - (len(lines) - 1)
        return [*lines, f"{left} more: narrow the query, or raise limit."] if left else lines

    def _query(self, value: object) -> str:
        if value is None:
            return ""
        if not isinstance(value, str):
            raise wrong("query", f"is {described(value)}, but must be text")
        most = self._limits.search_chars
        if len(value) > most:
            what = f"has {len(value):,} characters, more than {most:,} (limit search_chars)"
            raise wrong("query", f"{what}: say in a few words what is needed")
        return "" if value.strip() == "*" else value.strip()

    def _limit(self, value: object) -> int:
        most = self._limits.search_hits_most
        if value is None:
            return self._limits.search_hits
        if isinstance(value, str) and value.strip().isdecimal() and len(value) < len("1000000000"):
            value = int(value)
        if not is_integer(value) or value < 1:
            raise wrong("limit", f"is {literal(value)}, but must be a number from 1 to {most}")
        return min(int(value), most)


def _line(offer: Offer) -> str:
    kind = "skill" if offer.servers else "server"
    about = spoken(offer.about, _ABOUT)
    return f"{kind} {exact(offer.name)} ({_state(offer)}){f': {about}' if about else ''}"


def _state(offer: Offer) -> str:
    if offer.servers:
        names = enumerated(map(exact, offer.servers), _NAMES)
        return f"{'enabled; ' if offer.enabled else ''}servers {names}"
    parts = ["enabled"] if offer.enabled else []
    if offer.trouble:
        parts.append(f"could not be reached: {one_line(offer.trouble, _TROUBLE)}")
    if offer.tools is not None:
        parts.append(f"{offer.tools} tool{'' if offer.tools == 1 else 's'}")
    return ", ".join(parts) or "not connected so far"
