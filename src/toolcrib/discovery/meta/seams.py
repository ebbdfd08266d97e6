"""What the meta-tools are handed in."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Protocol

from toolcrib.calls.call import Requester, Retry
from toolcrib.calls.seams import Sights
from toolcrib.catalog.access import CatalogAccess
from toolcrib.core.naming import Present
from toolcrib.discovery.hits import Introduced, ToolSearch
from toolcrib.discovery.seams import Enabling
from toolcrib.ports import Progress
from toolcrib.settings import Limits


class Naming(Protocol):
    """Leads exposed names back to tools (`calls.names.Names`)."""

    async def find(
        self, name: str, requester: Requester, present: Present | None = None
    ) -> tuple[str, str]:
        """The server, and the tool's own name on it, of the servers that are there for a caller.

        Raises:
            ToolGone: No server has it, and this caller was never shown it; `details["near"]` may
                hold names that look like it.
        """
        ...


class ExtraTool(Protocol):
    """A meta-tool that another part answers, such as enabling servers."""

    @property
    def definition(self) -> Mapping[str, Any]:
        """The `Tool` object (MCP 2026-07-28, tools); always the same bytes."""
        ...

    async def call(self, arguments: Mapping[str, Any], requester: Requester) -> dict[str, Any]:
        """The `CallToolResult`.

        Raises:
            BadArguments: They do not fit; it says how.
        """
        ...


@dataclass(frozen=True, slots=True)
class Spoken:
    """What programs call a server and its tools."""

    module: str
    functions: Mapping[str, str]
    """By the tool's own name."""


UNSPOKEN: Final[Mapping[str, Spoken]] = MappingProxyType({})


class Speaking(Protocol):
    """Says how programs call tools (`codemode.modules`)."""

    def spoken(self, server: str, keys: Collection[str], servers: Iterable[str]) -> Spoken:
        """What programs call these tools of a server, of all `servers` that there are."""
        ...


class ProgramTool(Protocol):
    """A meta-tool that runs programs (`codemode.run_code`)."""

    @property
    def speaking(self) -> Speaking:
        """Says what its programs call tools."""
        ...

    @property
    def definition(self) -> Mapping[str, Any]:
        """The `Tool` object (MCP 2026-07-28, tools); always the same bytes."""
        ...

    async def call(
        self,
        arguments: Mapping[str, Any],
        requester: Requester,
        retry: Retry | None = None,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """The `CallToolResult`, or an `input_required` result.

        `retry` is what the request brings back of an earlier one that was answered so; `progress`
        hears of each call.

        Raises:
            ToolcribError: Why it was not run, or how it ended.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Surroundings:
    """What the meta-tools of one principal work with."""

    search: ToolSearch
    introduced: Introduced
    enabling: Enabling
    access: CatalogAccess
    naming: Naming
    exposed: Callable[[str, str], str]
    """(server, original name) -> exposed name."""
    on_demand: Callable[[], Collection[str]]
    """The servers that are configured on demand: who has not enabled one is told of it."""
    sights: Sights
    """Hears of every definition that was shown, so that a later call is admitted against it."""
    limits: Limits
    speaking: Speaking | None = None
    """Says how programs call tools; None: models are not told."""
