"""Where one term occurs: in which tools of which servers."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from toolcrib.core.search.segment import Posting, joined


class Term:
    """The postings of one term, by server; changed one server at a time."""

    __slots__ = ("_all", "_by_server", "tools")

    def __init__(self) -> None:
        self._by_server: dict[str, Posting] = {}
        self._all: Posting | None = None
        """All of it in one piece, from the first search after a change on."""
        self.tools = 0
        """Tools of all servers that have it."""

    def with_(self, others: Mapping[str, Posting]) -> "Term":
        """The same term, where it occurs with these servers, too."""
        whole = Term()
        whole._by_server = {**self._by_server, **others}
        whole.tools = self.tools + sum(len(posting.docs) for posting in others.values())
        return whole

    def put(self, server: str, posting: Posting) -> None:
        """Takes in where a server has it that had it nowhere."""
        self._by_server[server] = posting
        self._all = None
        self.tools += len(posting.docs)

    def drop(self, server: str) -> None:
        """Forgets a server; KeyError for one that does not have it."""
        self.tools -= len(self._by_server.pop(server).docs)
        self._all = None

    @property
    def servers(self) -> int:
        """How many servers have it."""
        return len(self._by_server)

    @property
    def posting(self) -> Posting:
        """Where it occurs, as one posting."""
        if self._all is None:
            self._all = joined(self._by_server.values())
        return self._all

    def among(self, servers: AbstractSet[str]) -> tuple[Posting, int]:
        """Where it occurs in these servers, as one posting, and how many of them have it."""
        there = self._by_server.keys() & servers
        return joined(self._by_server[server] for server in there), len(there)
