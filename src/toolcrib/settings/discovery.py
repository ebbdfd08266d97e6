"""What the model is shown of all tools, and how it finds the rest (DESIGN section 7)."""

from dataclasses import dataclass
from typing import Literal

from toolcrib.settings.secret import Secret

Exposure = Literal["auto", "full", "search", "code"]
SearchMethod = Literal["auto", "lexical", "regex", "semantic", "hybrid", "subagent"]
Counting = Literal["heuristic", "exact"]
ModelApi = Literal["openai", "anthropic"]


@dataclass(frozen=True, slots=True)
class ExposureSettings:
    """When definitions are shown as a whole, and which stay visible when they are not."""

    window: int = 200_000
    """Tokens of the model's context window."""
    share: float = 0.03
    """Up to this share of the window `auto` shows all definitions; 0.01 to 0.05 is useful. It goes
    back to showing them below two thirds of it."""
    above: Literal["search", "code"] = "search"
    """What `auto` shows above the share."""
    pinned: tuple[str, ...] = ()
    """Exposed names, or shell patterns over them, of tools that stay visible."""
    pinned_tokens: int = 2_000
    """Tokens that pinned tools may cost together; the ones beyond it are deferred, and reported."""
    counting: Counting = "heuristic"
    """`exact` counts o200k tokens and takes `toolcrib[tokens]`."""
    token_factor: float = 1.0
    """By what counts are multiplied for models whose tokens cannot be counted offline."""


@dataclass(frozen=True, slots=True)
class SubagentSettings:
    """A small model that chooses among the first candidates of a search."""

    url: str
    """Where its API is, such as `http://127.0.0.1:11434/v1`."""
    model: str
    """Its name there."""
    api: ModelApi = "openai"
    """`openai`: chat completions, as many servers speak it; `anthropic`: messages."""
    key: Secret | None = None
    """Its API key, if it takes one."""
    candidates: int = 30
    """Candidates that it chooses from."""
    timeout_seconds: float = 5.0
    """How long one choice may take; then the order of the search stands."""
    output_tokens: int = 300
    """Tokens of one answer."""
    per_minute: int = 30
    """Questions to it in a minute; beyond it the order of the search stands."""


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How tools are searched."""

    method: SearchMethod = "auto"
    """`auto`: `hybrid` where `toolcrib[semantic]` is installed, else `lexical`."""
    subagent: SubagentSettings | None = None
    """Needed by method `subagent`."""
    index_wait_seconds: float = 0.5
    """How long a search waits for tools that are not in its index yet, counted from when that was
    noticed; then it answers from what is there, and says what is missing."""


@dataclass(frozen=True, slots=True)
class DynamicSettings:
    """Servers that are connected when somebody enables them."""

    idle_seconds: float = 900.0
    """How long the connection of an enabled server may be idle before it is ended; the next need
    opens it again."""
    enabled_seconds: float = 2_592_000.0
    """How long an enabling is remembered after its last use."""


@dataclass(frozen=True, slots=True)
class Skill:
    """A named piece of work, and the servers that are enabled with it."""

    name: str
    servers: tuple[str, ...]
    """Ids of the servers that it needs."""
    description: str = ""
    """What it is for, in a sentence for the model."""
    source: str = ""
    """The file and line that configured it, for messages."""
