"""One configured server."""

from dataclasses import dataclass
from typing import Literal

from toolcrib.settings.launch import Launch
from toolcrib.settings.pace import Reconnect, Waits

Strategy = Literal["auto", "notify", "poll", "notify+verify", "always"]
"""When to walk (DESIGN section 5): `auto` listens where the server acknowledges a stream and polls
where not.
"""

OnChange = Literal["publish", "ask"]

Connect = Literal["lazy", "eager"]


@dataclass(frozen=True, slots=True)
class ToolFilter:
    """Allow and deny of one server's tools by shell pattern over original names; deny wins."""

    allow: tuple[str, ...] = ("*",)
    """Tools to show."""
    deny: tuple[str, ...] = ()
    """Tools to hide, although they are allowed."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """One configured server."""

    id: str
    launch: Launch
    connect: Connect = "eager"
    """`eager`: at the start and after each loss; `lazy`: when somebody asks."""
    strategy: Strategy = "auto"
    """When to walk."""
    tools: ToolFilter = ToolFilter()
    trust_public: bool = False
    """Believe `cacheScope: public` although the listing was fetched with a credential."""
    stateful: bool = False
    """The server keeps state between calls: principals do not share a connection to it."""
    on_demand: bool = False
    """The server is neither listed nor connected until somebody enables it."""
    description: str = ""
    """What it is for, in a sentence for whoever looks for a server; without it, what the server
    says of itself."""
    disabled: bool = False
    """Whether the server is left out."""
    waits: Waits = Waits()
    reconnect: Reconnect = Reconnect()
    request_seconds: float | None = None
    """Seconds for one list request of this server; without it, those of the limits."""
    call_seconds: float | None = None
    """Seconds that a call, a read or a prompt of this server may take altogether, however much
    progress it tells; without it, those of the limits."""
    on_change: OnChange = "publish"
    """`ask`: a changed or new definition is kept out until a person has seen its difference."""
    version_from: str = ""
    """Where the server itself publishes a version whose change invalidates its catalogs:
    `meta:KEY` (a member of results' `_meta`), `header:NAME`, or `tool:NAME#POINTER` (a JSON pointer
    into the structured result of a tool of its own)."""
    source: str = ""
    """The file and line that configured it, for messages."""
