"""How long is waited, and how often something is tried."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Waits:
    """How long readers wait and how often walks begin, in seconds (DESIGN section 5)."""

    min_interval: float = 2.0
    """A listing that nothing invalidated is not walked again within this time."""
    list_wait: float = 1.0
    """How long a listing waits for a newer catalog where an older one is held."""
    cold_wait: float = 3.0
    """How long listings wait where nothing is held: together, from when the connection was begun,
    and once more when it is up."""
    admit_wait: float = 0.5
    """How long a call waits for a catalog that is being refreshed."""
    admit_max_age: float = 60.0
    """Up to this age a catalog that nothing invalidated is called from without a walk."""
    max_stale: float = 86_400.0
    """Calls from a catalog older than this are refused."""
    max_stale_list: float = 86_400.0
    """A catalog older than this is not listed."""
    debounce: float = 0.025
    """How long signals are collected before a walk answers them."""
    recheck: float = 0.25
    """When to walk again after a signal whose walk found nothing new."""
    confirm: float = 0.5
    """When to walk again after a listing that shrank by more than half."""
    settle_window: float = 10.0
    """How long after a connect or warm start a shrunken listing is confirmed before it is
    published.
    """
    poll_base: float = 60.0
    """Shortest interval of polling, where a server sends no signals."""
    poll_max: float = 600.0
    """Longest interval of polling, where nothing changes."""
    walks_per_minute: int = 10
    """Cap for a server that signals on each of our walks."""
    backoff_base: float = 0.5
    """Pause after the first failed walk."""
    backoff_max: float = 60.0
    """Longest pause after failed walks."""
    wanted_for: float = 900.0
    """Polling goes on this long after the last reader, and while somebody subscribes."""


@dataclass(frozen=True, slots=True)
class Reconnect:
    """Supervision of one connection, in seconds."""

    backoff_base: float = 0.5
    """Pause after the first failure."""
    backoff_max: float = 60.0
    """Longest pause, until attempts are given up."""
    slow_probe: float = 300.0
    """Interval of attempts once `give_up_after` attempts in a row failed."""
    give_up_after: int = 8
    """Failed attempts in a row after which only slow probing goes on."""
    sustained: float = 30.0
    """Uptime after which the backoff starts anew; a good handshake alone does not reset it."""
    probe_timeout: float = 5.0
    """How long a stdio server may be silent at the era probe before it is started anew."""
