"""How often a catalog is walked and how long its readers wait, as plain numbers handed in."""

from dataclasses import dataclass
from typing import Literal

Strategy = Literal["auto", "notify", "poll", "notify+verify", "always"]
"""When to walk: `auto` trusts signals where the server acknowledged a stream and polls where it did
not; `notify` never polls, and while the stream is open a catalog that nothing invalidated is good;
`poll` polls in spite of a stream; `notify+verify` is `auto` beside a peer whose answers carry a
digest; `always` walks before each call."""

NEVER = float("inf")
"""A time that does not come."""


@dataclass(frozen=True, slots=True)
class Tempo:
    """The waits and intervals of one catalog in seconds, and the limits of one of its walks."""

    strategy: Strategy = "auto"
    min_interval: float = 2.0
    list_wait: float = 1.0
    cold_wait: float = 3.0
    admit_wait: float = 0.5
    admit_max_age: float = 60.0
    max_stale: float = 86_400.0
    max_stale_list: float = 86_400.0
    debounce: float = 0.025
    recheck: float = 0.25
    confirm: float = 0.5
    settle_window: float = 10.0
    poll_base: float = 60.0
    poll_max: float = 600.0
    walks_per_minute: int = 10
    backoff_base: float = 0.5
    backoff_max: float = 60.0
    wanted_for: float = 900.0
    look_wait: float = 0.05
    """How long a listing waits for a LOOK at a remote store."""
    look_every: float = 30.0
    """How often a remote store is looked at where nothing else is said to it."""
    after_loss: Literal["wait", "serve"] = "serve"
    """After a store lost its memory: keep last good hidden until a walk replaced it, or only for
    `cold_wait` and as long as the server can be reached."""
    walk_pages: int = 1_000
    walk_items: int = 50_000
    walk_bytes: int = 64 * 1024 * 1024
    walk_seconds: float = 60.0
