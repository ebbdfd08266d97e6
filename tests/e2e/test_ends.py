"""However a command is ended, it ends well: status 0 for a gateway, and no process remains."""

import os
import signal
import sys

import anyio
import pytest

from toolcrib.testing.live.census import Resident, children_of, residents, until_gone
from toolcrib.testing.live.gateway import serving
from toolcrib.testing.live.room import COMMAND, Room
from toolcrib.testing.raw_client import raw_pipe
from toolcrib.testing.scripted_server import Content, Hang, scripted_stdio, tool

STUBBORN = "trap '' TERM HUP INT; sh -c \"trap '' TERM HUP INT; while :; do sleep 1; done\" & wait"
"""A shell with a child, both deaf to everything but SIGKILL, and to the end of their input."""

AWKWARD = {
    "stubborn": {"command": "sh", "args": ["-c", f"while :; do {STUBBORN}; done"]},
    "silent": {"command": "sleep", "args": ["1000"]},
    "crashing": {"command": "sh", "args": ["-c", "exit 3"]},
    "missing": {"command": "no-such-command-anywhere"},
    "chatty": {"command": "yes"},
}
"""Servers that are hard to get rid of, or to start at all."""


async def nobody_is_left(room: Room, known: list[Resident]) -> None:
    """Neither a process of the room, nor a zombie of one that the gateway started."""
    assert residents(room) == []
    with anyio.fail_after(100):
        await until_gone(known)


async def children_that_come(pid: int) -> list[Resident]:
    """The children of a process, once there are any."""
    while not (found := children_of(pid)):  # noqa: ASYNC110 - no event tells of them
        await anyio.sleep(0.05)
    return found


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT], ids=lambda how: how.name)
async def test_a_gateway_takes_its_servers_with_it(room: Room, how: signal.Signals) -> None:
    async with scripted_stdio(Content(tools=[tool("add")])) as good:
        config = room.configure({"good": good.entry(), **AWKWARD})
        async with serving(room, "--config", config) as gateway:
            await gateway.heard("refreshed", server="good")
            for server in ("crashing", "missing"):
                await gateway.heard("connection_changed", server=server, state="backoff")
            known = children_of(gateway.process.pid)
            assert len(known) >= 4
            assert await gateway.ended(how) == 0, gateway.told()
        await nobody_is_left(room, known)


async def test_further_signals_change_nothing_while_it_ends(room: Room) -> None:
    config = room.configure({"stubborn": AWKWARD["stubborn"]})
    async with serving(room, "--config", config) as gateway:
        known = await children_that_come(gateway.process.pid)
        gateway.process.send_signal(signal.SIGINT)
        await gateway.heard("ending: SIGINT")
        for how in [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]:
            gateway.process.send_signal(how)
        assert await gateway.ended(signal.SIGINT) == 0, gateway.told()
        assert len(gateway.records("ending")) == 1
    await nobody_is_left(room, known)


async def test_a_gateway_that_is_ended_while_it_starts_leaves_nobody(room: Room) -> None:
    async with scripted_stdio(Content(tools=[tool("add")])) as slow:
        await slow.on("server/discover", Hang())
        config = room.configure({f"slow-{number}": slow.entry() for number in range(8)})
        async with serving(room, "--config", config) as gateway:
            await slow.until(lambda seen: seen.requests["server/discover"] >= 1)
            assert await gateway.ended() == 0, gateway.told()
        await nobody_is_left(room, [])


async def test_a_host_that_closes_standard_input_ends_the_gateway(room: Room) -> None:
    async with scripted_stdio(Content(tools=[tool("add")])) as good:
        config = room.configure({"good": good.entry(), "stubborn": AWKWARD["stubborn"]})
        with anyio.fail_after(100):
            async with raw_pipe(room.launch("serve", "--config", config)) as host:
                answer = await host.ask("tools/list")
                assert [it["name"] for it in answer["result"]["tools"]] == ["good__add"]
                known = children_of(host.process.pid)
                await host.stdin.aclose()
                assert await host.process.wait() == 0
        await nobody_is_left(room, known)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP], ids=lambda how: how.name)
async def test_a_gateway_on_stdio_is_ended_by_a_signal_too(room: Room, how: signal.Signals) -> None:
    config = room.configure({"silent": AWKWARD["silent"]})
    with anyio.fail_after(100):
        async with raw_pipe(room.launch("serve", "--config", config)) as host:
            await host.shake_hands()
            known = await children_that_come(host.process.pid)
            host.process.send_signal(how)
            assert await host.process.wait() == 0
    await nobody_is_left(room, known)


async def test_a_host_that_dies_takes_the_gateway_with_it(room: Room) -> None:
    config = room.configure({"silent": AWKWARD["silent"]})
    host = (
        "import subprocess, sys, time\n"
        "gateway = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)\n"
        "print(gateway.pid, flush=True)\n"
        "time.sleep(1000)\n"
    )
    command = [sys.executable, "-c", host, *COMMAND, "serve", "--config", str(config)]
    with anyio.fail_after(100):
        async with await anyio.open_process(
            command, env=room.env, cwd=room.path, stderr=None
        ) as process:
            assert process.stdout is not None
            gateway = int(await process.stdout.receive())
            known = await children_that_come(gateway)
            process.kill()
            await until_gone(known)
            await until_gone(residents(room))


@pytest.mark.parametrize(
    ("verb", "options", "how"),
    [
        ("list", ["--wait", "60"], signal.SIGINT),
        ("call", ["silent__any", "--wait", "60"], signal.SIGTERM),
        ("watch", [], signal.SIGINT),
    ],
)
async def test_other_commands_take_their_servers_with_them_too(
    room: Room, verb: str, options: list[str], how: signal.Signals
) -> None:
    config = room.configure({"silent": AWKWARD["silent"]})
    command = [*COMMAND, verb, *options, "--config", str(config)]
    with anyio.fail_after(100):
        async with await anyio.open_process(command, env=room.env, cwd=room.path) as process:
            known = await children_that_come(process.pid)
            process.send_signal(how)
            process.send_signal(how)
            assert await process.wait() == (0 if verb == "watch" else 1)
    await nobody_is_left(room, known)


async def test_under_nohup_a_hang_up_is_nothing(room: Room) -> None:
    config = room.configure({})
    command = ["nohup", *COMMAND, "serve", "--http", "127.0.0.1:0", "--config", str(config)]
    with anyio.fail_after(100):
        async with await anyio.open_process(command, env=room.env, cwd=room.path) as process:
            assert process.stderr is not None
            said = b""
            while b"serving http" not in said:
                said += await process.stderr.receive()
            os.kill(process.pid, signal.SIGHUP)
            process.terminate()
            while b"ending: SIGTERM" not in said:
                said += await process.stderr.receive()
            assert await process.wait() == 0
    assert b"SIGHUP" not in said
