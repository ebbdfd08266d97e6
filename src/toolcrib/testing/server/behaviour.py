"""What a scripted server is, in groups: its content, how it pages, and how it presents itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from toolcrib.core.snapshot import Kind

__all__ = ["Content", "Cursors", "Group", "Pages", "Profile"]

Cursors = Literal["offset", "empty", "cycle", "refill", "endless"]

_MODERN = ("2026-07-28",)
_HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")


@dataclass(frozen=True, slots=True)
class Content:
    """What the server lists. Items go out as they are: malformed ones and doubles are welcome."""

    tools: Sequence[Any] = ()
    prompts: Sequence[Any] = ()
    resources: Sequence[Any] = ()
    templates: Sequence[Any] = ()
    other_tools: Sequence[Any] | None = None
    """The tools that every second walk is shown: two replicas that disagree. None: they agree."""

    def of(self, kind: Kind, walk: int) -> Sequence[Any]:
        """The items of a kind that the walk with this number (from 1) is shown."""
        match kind:
            case Kind.TOOLS if self.other_tools is not None and walk % 2 == 0:
                return self.other_tools
            case Kind.TOOLS:
                return self.tools
            case Kind.PROMPTS:
                return self.prompts
            case Kind.RESOURCES:
                return self.resources
            case Kind.TEMPLATES:
                return self.templates


@dataclass(frozen=True, slots=True)
class Pages:
    """How listings are cut into pages, hinted and timed."""

    size: int | None = None
    """Items on a page; None: all on one."""
    cursors: Cursors = "offset"
    """`empty`: the second page has the cursor "". `cycle`: the last page points to itself.
    `refill`: the same, but with a new item each time. `endless`: after the last page one new item a
    page, for ever."""
    ttl_ms: Any = 0
    """`ttlMs`: one value for all pages, or a list with one for each (the last one repeats)."""
    scope: Any = "private"
    """`cacheScope`, in the same way."""
    latency: float | Sequence[float] = 0.0
    """Seconds from arrival, when the content is read, to the answer; in the same way."""
    turning: bool = False
    """Each walk begins one item further on: the same list in another order."""
    extra: Mapping[str, Any] | None = None
    """Members that every list result has besides, or instead."""
    without: Sequence[str] = ()
    """Members that every list result lacks, such as `ttlMs`."""

    def __post_init__(self) -> None:
        if self.size is not None and self.size < 1:
            raise ValueError(
                f"Pages.size is {self.size}; a page holds 1 item or more, or None for all"
            )


@dataclass(frozen=True, slots=True)
class Profile:
    """Which revisions the server speaks, and what it says of itself."""

    modern: Sequence[str] = _MODERN
    """Stateless revisions; empty: it speaks the handshake only and knows no `server/discover`."""
    handshake: Sequence[str] = _HANDSHAKE
    """Revisions with a handshake, the preferred one first; empty: it refuses `initialize`."""
    capabilities: Mapping[str, Any] | None = None
    """None: tools, and what there is content of."""
    declares_changes: bool = True
    """Whether those capabilities say `listChanged`; signals go out either way."""
    name: str = "scripted"
    version: str = "1"
    instructions: str | None = None
    sessions: bool = True
    """Over HTTP, the handshake gives a session id that later requests must carry."""
    event_answers: bool = False
    """Over HTTP, requests are answered as event streams, not as JSON."""
    strict: bool = True
    """Over HTTP, the headers of modern requests must agree with their bodies."""
    stubborn: bool = False
    """On stdio, neither the end of stdin nor SIGTERM ends a process that starts with this."""


Group = Content | Pages | Profile
"""What `set` replaces, each as a whole."""
