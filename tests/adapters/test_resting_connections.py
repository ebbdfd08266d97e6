"""A real connection that nobody uses is let go, process and all, and opened again."""

import os

import anyio
import pytest

from toolcrib.adapters.connector import McpConnector
from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.adapters.system_clock import SystemClock
from toolcrib.ports import ClientProfile, Era
from toolcrib.settings import Limits
from toolcrib.testing.connected import PAIRS
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.scripted_server import Content, Profile, scripted_http, scripted_stdio, tool
from toolcrib.testing.server.rulebook import Wire
from toolcrib.upstreams.supervisor import Supervisor, Wiring


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(("wire", "era"), PAIRS)
async def test_a_connection_that_was_let_go_is_opened_again_and_works(wire: Wire, era: Era) -> None:
    clock, recorder = SystemClock(), Recorder()
    own = Profile() if era == "modern" else Profile(modern=(), event_answers=True)
    connector = McpConnector(limits=Limits(), observer=recorder, clock=clock)
    open_server = scripted_stdio if wire == "stdio" else scripted_http
    with anyio.fail_after(20):
        async with (
            open_server(Content(tools=[tool("one")]), own) as server,
            anyio.create_task_group() as tasks,
        ):
            wiring = Wiring(connector, MemoryStore(clock), clock, recorder)
            supervisor = Supervisor(server.settings(), ClientProfile(), wiring, note_key="era:s")
            tasks.start_soon(supervisor.run)
            first = await supervisor.ready()
            for _ in range(2):
                supervisor.rest(0.0)
                assert supervisor.upstream is None
                while not first.closed or any(alive(it.pid) for it in await server.processes()):  # noqa: ASYNC110 - an end that tells nobody
                    await anyio.sleep(0.01)
                again = await supervisor.ready()
                assert again is not first
                listed = await again.request("tools/list", {})
                assert [each["name"] for each in listed["tools"]] == ["one"]
                first = again
            assert supervisor.trouble is None
            tasks.cancel_scope.cancel()
