"""Whole results are read by those who were shown a part, part by part, and by nobody else."""

# pyright: reportPrivateUsage=false
# What is kept and never shown is looked at here.

import base64
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib.adapters.store.memory_entries import MemoryEntries
from toolcrib.calls.call import Requester
from toolcrib.calls.results import kept as kept_results
from toolcrib.calls.results.encoding import encode
from toolcrib.calls.results.kept import KeptResults, is_kept_uri, part_uri
from toolcrib.config.keys import InstallationKey
from toolcrib.core.partition import Principal
from toolcrib.errors import StoreUnreachable
from toolcrib.settings import Limits
from toolcrib.testing.store_contract import SteppedClock

ANN = Requester(Principal("https://issuer", "ann"), "h")
BOB = Requester(Principal("https://issuer", "bob"), "h")
URI = re.compile(r"toolcrib://result/[0-9a-f]{32}")


class World:
    def __init__(self, limits: Limits | None = None, key: bytes = b"k" * 32) -> None:
        self.clock = SteppedClock()
        self.store = MemoryEntries(self.clock)
        self.limits = limits or Limits()
        self.kept = self.process(key)

    def process(self, key: bytes = b"k" * 32) -> KeptResults:
        return KeptResults(self.store, keys=InstallationKey(key), limits=self.limits)

    async def keep(self, content: bytes, mime: str = "text/plain", who: Requester = ANN) -> str:
        uri = await self.kept.keep(who, content, mime)
        assert uri is not None
        assert URI.fullmatch(uri)
        assert is_kept_uri(uri)
        return uri


async def parts_of(kept: KeptResults, uri: str) -> list[dict[str, Any]]:
    """All parts, by following the notes as a model would."""
    parts: list[dict[str, Any]] = []
    while True:
        result = await kept.read(ANN, uri)
        assert result is not None
        contents = result["contents"]
        parts.append(contents[0])
        found = re.search(r"the next part is the resource (\S+)]", contents[-1].get("text", ""))
        if len(contents) == 1 or found is None:
            return parts
        uri = found[1]
        assert contents[-1]["uri"] == uri


async def test_a_small_result_is_read_whole_as_what_it_is() -> None:
    world = World()
    uri = await world.keep(b'{"a": [1, 2]}', "application/json")
    content = {"uri": uri, "mimeType": "application/json", "text": '{"a": [1, 2]}'}
    assert await world.kept.read(ANN, uri) == {"contents": [content]}
    assert await world.process().read(ANN, uri) == {"contents": [content]}, "another process"


async def test_an_empty_result_is_empty() -> None:
    world = World()
    uri = await world.keep(b"")
    result = await world.kept.read(ANN, uri)
    assert result == {"contents": [{"uri": uri, "mimeType": "text/plain", "text": ""}]}


TEXTS = {
    "words": "The quick brown fox, jumping. " * 9_000,
    "lines": "\n".join(f"line {number}: {number**3}" for number in range(9_000)),
    "digits": "1234567890" * 20_000,
    "controls": "\x00\x01\x1f" * 50_000,
    "wide": "äß€😀" * 20_000,
    "quotes": '\\"' * 60_000,
    "json": json.dumps([{"id": number, "v": "x" * (number % 50)} for number in range(4_000)]),
}


@pytest.mark.parametrize("clip", [1, 4_096, 65_536])
@pytest.mark.parametrize("name", TEXTS)
async def test_a_large_text_is_read_in_parts_that_fit_and_join(name: str, clip: int) -> None:
    text = TEXTS[name] if clip > 1 else TEXTS[name][:20_000]
    world = World(Limits(clip_bytes=clip))
    uri = await world.keep(text.encode(), "application/json")
    parts = await parts_of(world.kept, uri)
    assert "".join(part["text"] for part in parts) == text
    assert len(parts) > 1
    for part in parts:
        assert len(encode(part["text"])) <= max(1_024, clip - 1_024)
        assert part["mimeType"] == "text/plain", "a part of JSON is none"
    whole = await world.kept.read(ANN, uri)
    assert len(encode(whole)) <= max(2_048, clip)
    assert len(parts) < 10 * len(encode(text)) // max(1_024, clip) + 2


async def test_no_part_ends_inside_a_number() -> None:
    """Half a number is another number."""
    world = World(Limits(clip_bytes=4_096))
    numbers = list(range(1_000_000, 1_005_000))
    uri = await world.keep(json.dumps(numbers).encode())
    parts = await parts_of(world.kept, uri)
    read = [int(it) for part in parts for it in re.findall(r"\d+", part["text"])]
    assert read == numbers


@settings(max_examples=50, deadline=None)
@given(st.text(st.sampled_from("aä€😀"), min_size=1, max_size=30), st.integers(0, 90))
async def test_a_part_may_begin_anywhere_and_begins_with_a_character(text: str, at: int) -> None:
    world = World()
    content = text.encode()
    uri = await world.keep(content)
    result = await world.kept.read(ANN, part_uri(uri, at))
    assert result is not None
    if 0 < at >= len(content):
        assert [it["text"] for it in result["contents"]] == [
            f"[toolcrib: nothing follows byte {at:,}: the whole has {len(content):,}]"
        ]
        return
    part = result["contents"][0]["text"]
    assert text.endswith(part)
    assert 0 <= len(part.encode()) - (len(content) - at) <= 3


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\xff", b"text \xed\xa0\x80", b"\xff" * 300_000])
async def test_what_is_no_text_is_read_as_a_blob(content: bytes) -> None:
    world = World()
    uri = await world.keep(content, "image/png")
    parts = await parts_of(world.kept, uri)
    assert b"".join(base64.b64decode(part["blob"]) for part in parts) == content
    whole = len(parts) == 1
    assert parts[0]["mimeType"] == ("image/png" if whole else "application/octet-stream")
    for part in parts:
        assert len(part["blob"]) <= 65_536 - 1_024


async def test_the_last_part_says_that_it_is_the_last() -> None:
    world = World()
    uri = await world.keep(b"x" * 100)
    result = await world.kept.read(ANN, part_uri(uri, 60))
    assert result is not None
    assert result["contents"][1]["text"] == "[toolcrib: bytes 60 to 100 of 100: the end]"


async def test_nobody_else_reads_a_result_and_nobody_learns_that_there_is_one() -> None:
    """Unknown, another's, expired, of another installation, no URI of ours: all the same."""
    world = World(Limits(kept_seconds=60))
    uri = await world.keep(b"secret")
    strangers = [BOB, replace(ANN, handle="other"), replace(ANN, handle=""), Requester()]
    assert [await world.kept.read(one, uri) for one in strangers] == [None] * 4
    assert await world.process(b"x" * 32).read(ANN, uri) is None
    assert await world.kept.read(ANN, f"{uri[:-1]}{'0' if uri[-1] != '0' else '1'}") is None
    world.clock.advance(59.9)
    assert await world.kept.read(ANN, uri) is not None
    world.clock.advance(0.1)
    assert await world.kept.read(ANN, uri) is None


@pytest.mark.parametrize(
    "change",
    [
        *("{}?", "{}?from=", "{}?from=-1", "{}?from=01", "{}?from=1.5", "{}?from=1&x=2", "{}?x=1"),
        *(
            "{}#1",
            "{}/",
            " {}",
            "{}\n",
            "{}?from=1\n",
            "{}?from=" + "9" * 30,
            "{}?from=\u0661",
            "x{}",
        ),
        *("toolcrib://result/", "toolcrib://server/a/b", "", "\ud800"),
    ],
)
async def test_a_uri_that_is_spelled_otherwise_is_none(change: str) -> None:
    world = World()
    uri = await world.keep(b"content")
    assert await world.kept.read(ANN, change.format(uri)) is None
    assert await world.kept.read(ANN, uri.upper()) is None


async def test_the_same_result_has_the_same_uri_and_is_kept_once() -> None:
    """For one owner; nothing about another's can be told from one's own."""
    world = World()
    uris = {await world.keep(b"x") for _ in range(5)}
    assert len(uris) == 1
    uris |= {await world.keep(b"y"), await world.keep(b"x", "text/html")}
    uris |= {await world.keep(b"x", who=BOB), await world.keep(b"x", who=replace(ANN, handle="i"))}
    other = await world.process(b"x" * 32).keep(ANN, b"x", "text/plain")
    assert len(uris | {other}) == 6


async def test_the_oldest_of_a_principal_go_first() -> None:
    """Over all its handles; those of others stay."""
    world = World(Limits(kept_results=3))
    theirs = await world.keep(b"theirs", who=BOB)
    callers = [replace(ANN, handle=str(number)) for number in range(5)]
    uris = [await world.keep(b"%d" % n, who=caller) for n, caller in enumerate(callers)]
    left = [await world.kept.read(*pair) is not None for pair in zip(callers, uris, strict=True)]
    assert left == [False, False, True, True, True]
    assert await world.kept.read(BOB, theirs) is not None


async def test_results_of_a_principal_have_bounded_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_results, "_BYTES", 10_000)
    world = World()
    uris = [await world.keep(b"%d" % number + b"x" * 4_000) for number in range(5)]
    left = [await world.kept.read(ANN, uri) is not None for uri in uris]
    assert left == [False, False, False, True, True]
    large = await world.keep(b"x" * 20_000)
    assert await world.kept.read(ANN, large) is not None, "one result is always taken"
    assert await world.kept.read(ANN, uris[-1]) is None


async def test_a_result_that_no_store_takes_has_no_uri() -> None:
    """Too large, none wanted, or nobody there: the clipped one is all there is."""
    world = World()
    assert await world.kept.keep(ANN, b"x" * (16 * 1024 * 1024), "text/plain") is None
    assert await World(Limits(kept_results=0)).kept.keep(ANN, b"x", "text/plain") is None


class Unreachable(MemoryEntries):
    async def put(self, *args: Any, **kwargs: Any) -> None:
        raise StoreUnreachable("out of order")

    async def get(self, space: str, owner: str, key: str) -> bytes | None:
        raise StoreUnreachable("out of order")


async def test_a_store_out_of_order_keeps_nothing_and_says_so_to_a_reader() -> None:
    world = World()
    uri = await world.keep(b"x")
    world.store = Unreachable(world.clock)
    broken = world.process()
    assert await broken.keep(ANN, b"x", "text/plain") is None
    with pytest.raises(StoreUnreachable):
        await broken.read(ANN, uri)


@pytest.mark.parametrize("garbage", [b"", b"x", b"\n", b"[]\nx", b'{"mime": 5}\nx', b"[" * 99_999])
async def test_garbage_in_the_store_is_no_result(garbage: bytes) -> None:
    world = World()
    uri = await world.keep(b"content")
    ((space, owner),) = world.store._owners
    for key in await world.store.entries(space, owner):
        await world.store.put(space, owner, {key: garbage}, lifetime=9, most=9)
    assert await world.kept.read(ANN, uri) is None


async def test_no_name_of_an_owner_is_in_the_store() -> None:
    world = World()
    who = Requester(Principal("https://issuer", "canary"), "canary")
    await world.keep(b"content", who=who)
    assert "canary" not in repr(world.store._owners)
