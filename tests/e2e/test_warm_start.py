"""A new process answers from disk before any server is up, and refreshes behind it."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolcrib.testing.live.gateway import serving
from toolcrib.testing.live.host import http_host, stdio_host
from toolcrib.testing.live.room import Room
from toolcrib.testing.raw_client import RawPipe, enveloped
from toolcrib.testing.scripted_server import (
    Content,
    Delay,
    Hang,
    scripted_http,
    scripted_stdio,
    tool,
)

OLD = Content(tools=[tool("a"), tool("b")])
NEW = Content(tools=[tool("a"), tool("c")])
AT_ONCE = 15.0
"""Seconds: less than a host waits (see `PATIENT`) for a server that might still come, so nobody was
waited for."""
PATIENTLY = ("--wait", "50")
PATIENT = "[waits]\nlist_wait = 60\ncold_wait = 60\n"


async def keep(room: Room, config: Path) -> None:
    """Lets one process fill the store for the local user."""
    assert (await room.run("list", "--config", config, *PATIENTLY)).code == 0


async def listed(pipe: RawPipe) -> dict[str, Any]:
    return (await pipe.ask("tools/list"))["result"]


def names_of(result: dict[str, Any]) -> list[str]:
    return [item["name"] for item in result["tools"]]


async def told_that_tools_changed(pipe: RawPipe) -> None:
    while (await pipe.next()).get("method") != "notifications/tools/list_changed":
        pass


async def test_what_was_kept_is_served_while_servers_hang_and_replaced_once_they_come(
    room: Room,
) -> None:
    async with scripted_stdio(OLD) as good:
        config = room.configure({"good": good.entry()})
        await keep(room, config)
        await good.on("*", Hang())
        patient = room.write("toolcrib.toml", PATIENT)
        with anyio.fail_after(100):
            async with stdio_host(room, "--config", config, "--config", patient) as pipe:
                await good.until(lambda seen: seen.connects == 2)
                with anyio.fail_after(AT_ONCE):
                    first = await listed(pipe)
                assert names_of(first) == ["good__a", "good__b"]
                assert first["ttlMs"] == 0
                await pipe.begin(
                    "subscriptions/listen",
                    enveloped({"notifications": {"toolsListChanged": True}}),
                )
                await good.set(NEW)
                await good.calm()
                await good.drop()
                await told_that_tools_changed(pipe)
                assert names_of(await listed(pipe)) == ["good__a", "good__c"]


async def test_a_server_whose_command_is_gone_keeps_its_tools_and_a_call_says_why(
    room: Room,
) -> None:
    async with scripted_stdio(OLD) as good:
        entry = good.entry()
        script = room.write("server.sh", f'#!/bin/sh\nexec "{entry["command"]}" "$@"\n')
        script.chmod(0o755)
        config = room.configure({"good": {"command": str(script), "args": entry["args"]}})
        await keep(room, config)
        script.unlink()
        with anyio.fail_after(100):
            async with stdio_host(room, "--config", config) as pipe:
                assert names_of(await listed(pipe)) == ["good__a", "good__b"]
                answer = await pipe.ask("tools/call", {"name": "good__a", "arguments": {}})
                error = answer["result"]["structuredContent"]["error"]
                assert error["server"] == "good"
                assert "was not found" in error["message"]


async def test_the_store_knows_servers_by_their_launch_and_hosts_by_who_they_are(
    room: Room,
) -> None:
    async with scripted_http(OLD) as good:
        config = room.configure({"good": good.entry()})
        await keep(room, config)
        await good.stop()
        with anyio.fail_after(100):
            async with (
                serving(room, "--config", config) as gateway,
                http_host(gateway) as http,
            ):
                # Whoever comes over HTTP is nobody in particular, not the local user.
                answer = await http.ask("tools/list")
                assert answer.json()["result"]["tools"] == []
            renamed = room.configure({"other": good.entry()}, "renamed.json")
            async with stdio_host(room, "--config", renamed) as pipe:
                assert names_of(await listed(pipe)) == ["other__a", "other__b"]


async def test_several_gateways_share_one_file_and_all_come_to_the_same(room: Room) -> None:
    async with scripted_http(OLD) as good:
        config = room.configure({"good": good.entry()})
        options = ("--config", config, "--config", room.write("toolcrib.toml", PATIENT))

        async def work(number: int, results: dict[int, bytes], ready: Callable[[], None]) -> None:
            async with stdio_host(room, *options, "--log-level", "warning") as pipe:
                while names_of(await listed(pipe)) != ["good__a", "good__b"]:
                    pass
                await pipe.begin(
                    "subscriptions/listen",
                    enveloped({"notifications": {"toolsListChanged": True}}),
                )
                ready()
                await told_that_tools_changed(pipe)
                results[number] = json.dumps(await listed(pipe)).encode()

        results: dict[int, bytes] = {}
        waiting = [anyio.Event() for _ in range(3)]
        with anyio.fail_after(100):
            async with anyio.create_task_group() as tasks:
                for number, event in enumerate(waiting):
                    tasks.start_soon(work, number, results, event.set)
                for event in waiting:
                    await event.wait()
                await good.change(NEW)
        assert len(set(results.values())) == 1
        assert names_of(json.loads(results[0])) == ["good__a", "good__c"]
    with sqlite3.connect(room.store) as store:
        assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    store.close()


async def test_who_comes_while_another_process_lists_waits_for_what_that_one_finds(
    room: Room,
) -> None:
    async with scripted_stdio(OLD) as good:
        await good.on("tools/list", Delay(0.8))
        config = room.configure({"good": good.entry()})
        async with anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(keep, room, config)


async def test_an_end_in_the_middle_of_a_listing_does_not_hold_up_the_next_process(
    room: Room,
) -> None:
    async with scripted_stdio(OLD) as good:
        config = room.configure({"good": good.entry()})
        await good.on("tools/list", Hang(), times=1)
        async with serving(room, "--config", config) as gateway:
            await good.until(lambda seen: seen.requests["tools/list"] == 1)
            assert await gateway.ended() == 0
        async with serving(room, "--config", config) as gateway:
            with anyio.fail_after(10):  # half of what it takes a right to walk to lapse
                await gateway.heard("refreshed", server="good")


# ---------------------------------------------------------------- files that cannot be used


def damage(path: Path) -> None:
    path.write_bytes(b"this is no database" * 100)


def be_newer(path: Path) -> None:
    with sqlite3.connect(path) as store:
        store.execute("PRAGMA user_version = 9999")
    store.close()


@pytest.mark.parametrize("spoil", [damage, be_newer])
async def test_a_store_that_cannot_be_used_costs_a_warning_and_stays_as_it_is(
    room: Room, spoil: Callable[[Path], None]
) -> None:
    async with scripted_stdio(OLD) as good:
        config = room.configure({"good": good.entry()})
        await keep(room, config)
        spoil(room.store)
        before = room.store.read_bytes()
        ran = await room.run("list", "--config", config, "--json", *PATIENTLY)
        assert ran.code == 0
        assert [item["name"] for item in ran.document["tools"]] == ["good__a", "good__b"]
        assert ran.err.startswith("warning: the store cannot be used: ")
        assert str(room.store) in ran.err
        assert room.store.read_bytes() == before


async def test_a_home_in_which_nothing_can_be_made_costs_warnings_and_nothing_else(
    room: Room,
) -> None:
    for folder in (".config", ".local"):
        (room.home / folder).write_text("in the way")
    async with scripted_stdio(OLD) as good:
        config = room.configure({"good": good.entry()})
        ran = await room.run("list", "--config", config, *PATIENTLY)
        assert ran.code == 0
        assert "good__a" in ran.out
        assert ran.err.count("the store cannot be used") == 1
        assert str(room.home / ".config/toolcrib/key") in ran.err
        async with serving(room, "--config", config) as gateway:
            await gateway.heard("store_degraded", level="warning")
            await gateway.heard("refreshed", server="good")


async def test_without_a_store_nothing_is_written(room: Room) -> None:
    async with scripted_stdio(OLD) as good:
        config = room.configure({"good": good.entry()})
        assert (await room.run("list", "--config", config, "--no-store", *PATIENTLY)).code == 0
    assert not room.store.exists()
