"""A fresh read of a catalog: what the heart takes to allow it, and the keeper to give it.

Beside them: one look at the clock, below which no read can be.
"""

import argparse

import anyio

from figures import microseconds_each, microseconds_each_of, tell
from made import CLOCK, HOUR_MS, SERVER, crib_over, made_contents
from toolcrib.core.freshness import need
from toolcrib.core.freshness.entry import Entry
from toolcrib.core.freshness.events import Needed
from toolcrib.core.freshness.replica import step
from toolcrib.core.snapshot import Kind
from toolcrib.testing.scripted_server import Pages, scripted_http

HEART_AIM = 5.0
KEEPER_AIM = 20.0


def in_the_heart(entry: Entry) -> object:
    """What a fresh read asks of it: may it be answered at once, and with what."""
    now = CLOCK.now().mono
    assert need.peek(entry, now) is not None
    return need.standing(entry, now)


async def measure(tools: int, batches: int) -> None:
    """Every figure over one catalog that stays fresh."""
    pages = Pages(ttl_ms=HOUR_MS)
    async with (
        scripted_http(*made_contents(tools), pages) as server,
        crib_over(server.settings(SERVER)) as (crib, keeper),
    ):
        catalogs = crib.catalogs()
        await catalogs.reach()
        reading = await keeper.read()
        assert reading.fresh
        assert len(reading.snapshot or ()) == tools
        entry = keeper._entry  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - it is measured
        asked = Needed(CLOCK.now(), CLOCK.lots())
        clock = microseconds_each(CLOCK.now, batches)
        heart = microseconds_each(lambda: in_the_heart(entry), batches)
        stepped = microseconds_each(lambda: step(entry, asked), batches)
        read = await microseconds_each_of(keeper.read, batches)
        over = await microseconds_each_of(lambda: catalogs.read(Kind.TOOLS), batches)
    size: dict[str, float] = {"tools": tools, "clock_us": clock}
    tell("fresh_read_in_the_heart_p50", heart, "us", aim=HEART_AIM, **size)
    tell("step_of_a_reader_that_is_answered_p50", stepped, "us", **size)
    tell("fresh_read_through_the_keeper_p50", read, "us", aim=KEEPER_AIM, **size)
    tell("fresh_read_of_all_catalogs_p50", over, "us", **size)


def main() -> None:
    """Measures a small and a large catalog: neither may cost more."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=300)
    options = parser.parse_args()
    for tools in (10, 1_000):
        anyio.run(measure, tools, options.batches)


if __name__ == "__main__":
    main()
