"""From the settings of a server to the numbers its catalogs are kept by."""

from toolcrib.core.freshness.tempo import Tempo
from toolcrib.settings import Limits, ServerSettings


def tempo_of(server: ServerSettings, limits: Limits) -> Tempo:
    """The waits, intervals and limits of this server's catalogs."""
    waits = server.waits
    return Tempo(
        strategy=server.strategy,
        min_interval=waits.min_interval,
        list_wait=waits.list_wait,
        cold_wait=waits.cold_wait,
        admit_wait=waits.admit_wait,
        admit_max_age=waits.admit_max_age,
        max_stale=waits.max_stale,
        max_stale_list=waits.max_stale_list,
        debounce=waits.debounce,
        recheck=waits.recheck,
        confirm=waits.confirm,
        settle_window=waits.settle_window,
        poll_base=waits.poll_base,
        poll_max=waits.poll_max,
        walks_per_minute=waits.walks_per_minute,
        backoff_base=waits.backoff_base,
        backoff_max=waits.backoff_max,
        wanted_for=waits.wanted_for,
        walk_pages=limits.walk_pages,
        walk_items=limits.walk_items,
        walk_bytes=limits.walk_bytes,
        walk_seconds=limits.walk_seconds,
    )
