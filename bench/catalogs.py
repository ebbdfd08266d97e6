"""Work on whole catalogs: hashing and comparing 1,000 and 10,000 tools, a refresh of 10,000.

Hashing stands beside the plain JSON of the same tools with one hash over all of it; the refresh,
over HTTP, beside a client that fetches the same pages and reads their JSON, and nothing else.
"""

import argparse
import hashlib
import json
from collections.abc import Sequence
from typing import Any

import anyio

from figures import in_turns, median, seconds_of, tell
from made import CLOCK, HOUR_MS, SERVER, crib_over, made_contents, made_tools
from toolcrib.core.diff import diff
from toolcrib.core.fingerprint import digest, fingerprint
from toolcrib.core.freshness.events import Reason
from toolcrib.core.snapshot import Item, Kind, Page, Snapshot
from toolcrib.protocol.listing import parse_page
from toolcrib.settings import Waits
from toolcrib.testing.raw_client import RawHttp, raw_http
from toolcrib.testing.scripted_server import Pages, scripted_http

SIZES = (1_000, 10_000)
PAGE = 1_000


def parsed(tools: Sequence[Any], known: dict[str, Item] | None = None) -> Page:
    """One page of these tools, judged one by one; those that are known are not judged again."""
    result = {"tools": tools, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    return parse_page(
        Kind.TOOLS, result, era="modern", received=CLOCK.now(), size=0, known=known or {}
    )


def snapshot(tools: Sequence[Any]) -> Snapshot:
    """The catalog of these tools."""
    items = sorted(parsed(tools).items, key=lambda item: item.key)
    return Snapshot(Kind.TOOLS, tuple(items), digest(Kind.TOOLS, items))


def hash_plainly(tools: Sequence[Any]) -> str:
    """The least that any digest of their content costs."""
    return hashlib.sha256(json.dumps(tools, separators=(",", ":")).encode()).hexdigest()


def hash_and_compare(count: int, rounds: int) -> None:
    """Digest, parsing and difference of one catalog in memory."""
    tools = made_tools(count)
    before, same = snapshot(tools), snapshot(made_tools(count))
    after = snapshot(made_tools(count, changed=count // 100))
    known = {item.fingerprint: item for item in before.items}
    assert len(diff(before, after).changed) == count // 100
    assert not diff(before, same)

    def hash_all() -> str:
        for one in tools:
            fingerprint(one)
        return digest(Kind.TOOLS, before.items)

    taken = in_turns(
        {
            "plain": lambda: hash_plainly(tools),
            "digest": hash_all,
            "parsed": lambda: parsed(tools),
            "parsed_again": lambda: parsed(tools, known),
            "equal": lambda: diff(before, same),
            "changed": lambda: diff(before, after),
            "words": lambda: diff(before, after).in_words(count),
        },
        rounds,
    )
    ms = {name: one * 1e3 for name, one in taken.items()}
    tell(
        "fingerprints_and_digest", ms["digest"], "ms", tools=count, plain_json_and_hash=ms["plain"]
    )
    tell("page_judged_for_the_first_time", ms["parsed"], "ms", tools=count)
    tell("page_judged_again_unchanged", ms["parsed_again"], "ms", tools=count)
    tell("diff_of_equal_catalogs", ms["equal"], "ms", tools=count)
    tell("diff_with_1_percent_changed", ms["changed"], "ms", tools=count, with_words=ms["words"])


async def fetch_plainly(client: RawHttp) -> int:
    """Every page of one walk, read as JSON; how many tools there were."""
    count, cursor = 0, {}
    while True:
        result = (await client.ask("tools/list", cursor)).json()["result"]
        count += len(result["tools"])
        if "nextCursor" not in result:
            return count
        cursor = {"cursor": result["nextCursor"]}


async def refresh_over_http(count: int, rounds: int) -> None:
    """A walk over ten pages: unchanged, with one tool in a hundred changed, and fetched plainly."""
    contents = made_contents(count, 4)
    taken: dict[str, list[float]] = {"plain": [], "unchanged": [], "changed": []}
    pages = Pages(size=PAGE, ttl_ms=HOUR_MS)
    async with (
        scripted_http(contents[0], pages, apart=True) as server,
        raw_http(server.launch, keep_alive=True) as client,
        crib_over(server.settings(SERVER, waits=Waits(list_wait=60, cold_wait=60))) as (_, keeper),
    ):

        async def refresh() -> None:
            keeper.invalidate(Reason.REQUESTED)
            reading = await keeper.read()
            assert reading.fresh
            assert len(reading.snapshot or ()) == count

        first = await seconds_of(keeper.read)
        for turn in range(rounds):
            taken["plain"].append(await seconds_of(lambda: fetch_plainly(client)))
            taken["unchanged"].append(await seconds_of(refresh))
            # Four, because two contents that take turns count as replicas that disagree.
            await server.set(contents[1 + turn % 4])
            taken["changed"].append(await seconds_of(refresh))
    ms = {name: median(samples) * 1e3 for name, samples in taken.items()}
    size: dict[str, float] = {"tools": count, "fetched_plainly": ms["plain"]}
    tell("first_walk_over_http_connection_included", first * 1e3, "ms", **size)
    tell("refresh_over_http_unchanged", ms["unchanged"], "ms", **size)
    tell("refresh_over_http_1_percent_changed", ms["changed"], "ms", **size)


def main() -> None:
    """Measures both sizes in memory, and the large one over HTTP."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    for count in SIZES:
        hash_and_compare(count, options.rounds)
    anyio.run(refresh_over_http, SIZES[-1], options.rounds)


if __name__ == "__main__":
    main()
