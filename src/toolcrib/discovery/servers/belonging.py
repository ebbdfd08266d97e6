"""To which servers an exposed name belongs, as far as that is known without connecting them."""

from collections.abc import Callable

from toolcrib.core.naming import JOINT
from toolcrib.discovery.servers.known import Known, KnownServers


class Belonging:
    """Judges names by what they say themselves, and by the tools that servers had.

    Args:
        known: What is remembered of servers.
        exposed: (server, original name) -> exposed name.
    """

    def __init__(self, known: KnownServers, exposed: Callable[[str, str], str]) -> None:
        self._known = known
        self._exposed = exposed
        self._names: dict[str, tuple[Known, frozenset[str]]] = {}
        """By server: the exposed names of the tools that it had."""

    def has(self, server: str, name: str) -> bool:
        """Whether an exposed name is of this server."""
        key = name.removeprefix(f"{server}{JOINT}")
        says_so = key != name and self._exposed(server, key) == name
        return says_so or name in self._had(server)

    def _had(self, server: str) -> frozenset[str]:
        known = self._known.get(server)
        if known is None:
            return frozenset()
        before = self._names.get(server)
        if before is None or before[0] is not known:
            names = frozenset(self._exposed(server, it) for it in known.names)
            before = self._names[server] = known, names
        return before[1]
