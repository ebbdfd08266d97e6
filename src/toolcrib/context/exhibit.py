"""What a `Toolset` is handed in: what may be shown now, and who makes calls."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from toolcrib.core.exposure import Shown, Wanted
from toolcrib.core.snapshot import Item
from toolcrib.errors import ToolcribError


@dataclass(frozen=True, slots=True)
class Exposed:
    """One tool of a server under the name it is exposed by."""

    name: str
    server: str
    item: Item


@dataclass(frozen=True, slots=True)
class Exhibit:
    """What a model may be shown at one moment. Nothing in it depends on a conversation."""

    exposure: Shown
    visible: tuple[Exposed, ...]
    """All tools under `full`; else the pinned ones."""
    deferred: tuple[Exposed, ...] = ()
    """Callable tools that are not shown at the start; empty under `full`."""
    meta: tuple[Mapping[str, Any], ...] = ()
    """Meta-tools, as `Tool` objects, in the order in which they are shown."""
    meta_beside_native: tuple[Mapping[str, Any], ...] = ()
    """Those of them that are still shown where the provider searches for tools by itself."""
    about: Mapping[str, str] = field(default_factory=dict[str, str])
    """By server id: what it says of itself."""


class Exhibits(Protocol):
    """Knows what may be shown to one principal."""

    async def current(self, exposure: Wanted) -> Exhibit:
        """What may be shown now, published content only.

        Args:
            exposure: `auto` at the start of a conversation; later what was decided then, so that
                nothing flips in the middle of one.
        """
        ...


class Caller(Protocol):
    """Makes the calls of one conversation."""

    async def call(self, name: str, arguments: dict[str, Any], *, seen: str) -> dict[str, Any]:
        """The `CallToolResult` of a tool or meta-tool, for a model to read.

        Args:
            name: As exposed.
            arguments: Never None: without arguments it is empty.
            seen: The contract under which the model saw the tool, for `call_tool` the one that it
                calls; empty: not known, so that what was shown to this caller otherwise counts.

        Raises:
            ToolcribError: It was not made, or brought nothing.
        """
        ...

    def refusal(self, error: ToolcribError, name: str) -> dict[str, Any]:
        """The `CallToolResult` that tells a model of an error (DESIGN section 9)."""
        ...
