"""What the parts of this room ask of each other, as small Protocols."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from toolcrib.calls.call import Requester, Retry
from toolcrib.core.quoting import quoted
from toolcrib.ports import Progress

Shown = Literal["full", "search", "code"]
"""An exposure that was decided."""


def not_enabled(server: str) -> str:
    """What is said of a server on demand that a caller has not enabled."""
    return f"the server {quoted(server)} is not enabled: call enable_server for it first"


@dataclass(frozen=True, slots=True)
class Inner:
    """The call that a call of `call_tool` is about."""

    name: str
    """The exposed name of the tool."""
    arguments: Mapping[str, Any] | None
    """None: none were given."""


class Enabling(Protocol):
    """Which servers are there for a caller, where some are connected on demand only."""

    @property
    def dynamic(self) -> bool:
        """Whether any server is configured on demand, so that there is something to enable."""
        ...

    @property
    def unsure(self) -> str:
        """Why `searchable` may lack a server, in a sentence for a model; empty where it does not.

        The memory that is shared with other processes could not be asked.
        """
        ...

    @property
    def on_demand(self) -> Collection[str]:
        """The servers that have to be enabled first, whoever enabled them."""
        ...

    async def searchable(self, requester: Requester) -> Collection[str]:
        """The servers whose tools this caller can find and call: listed ones, and enabled ones."""
        ...

    def listed(self) -> Collection[str]:
        """The servers that `tools/list` may show: all that are not on demand."""
        ...

    async def to_enable(self, requester: Requester, name: str) -> Collection[str]:
        """The servers that this caller would have to enable, one of them, for an exposed name.

        What is known of that without connecting anything, and whoever else enabled it; mostly
        nothing or one server.
        """
        ...

    async def need(self, requester: Requester, server: str) -> None:
        """Have an enabled server there for a call, and count the use.

        Raises:
            NotAllowed: It is on demand, and this caller has not enabled it.
        """
        ...

    def forget(self, requester: Requester) -> None:
        """The connection ended behind a handle that is not durable."""
        ...


class MetaToolSet(Protocol):
    """The meta-tools of one principal (`discovery.meta`)."""

    def names(self) -> Collection[str]:
        """All names that are meta-tools under this configuration, whatever is shown now."""
        ...

    def definitions(self, exposure: Shown) -> tuple[Mapping[str, Any], ...]:
        """What is shown of them: `Tool` objects (MCP 2026-07-28, tools), always the same bytes.

        Empty under `full`, unless some servers are on demand: what they have is never listed, so it
        has to be enabled, found and called through them.
        """
        ...

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        requester: Requester,
        retry: Retry | None = None,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """The `CallToolResult` of any of them but `call_tool`; of a program it may ask for input.

        `retry` is what the request brings back where it asked before; `progress` hears of the calls
        of a program.

        Raises:
            BadArguments: They do not fit; it says how.
        """
        ...

    def inner(self, arguments: Mapping[str, Any]) -> Inner:
        """The call that the arguments of `call_tool` are about.

        Raises:
            BadArguments: They do not fit; it says how.
        """
        ...
