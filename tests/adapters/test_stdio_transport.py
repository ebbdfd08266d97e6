"""The stdio transport with real processes: noise, long lines, deaths, trees, and nothing left."""

import gc
import json
import os
import signal
import sys
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse

from toolcrib.adapters.stdio import process_group
from toolcrib.adapters.stdio.stdin_writer import BACKLOG, StdinWriter
from toolcrib.adapters.stdio.stdout_reader import StdoutReader
from toolcrib.adapters.stdio.transport import CLOSED_BY_US, StdioFacts, open_stdio
from toolcrib.errors import ConfigError, UpstreamUnreachable
from toolcrib.facts import Finding, NoiseSkipped
from toolcrib.settings import Limits, Secret, StdioLaunch
from toolcrib.testing.recorder import Recorder

PLAIN = str(Path(__file__).with_name("servers") / "plain.py")
BOTH_LOOPS = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])

Streams = tuple[StdoutReader, StdinWriter, StdioFacts]


def plain(*faults: str, **environment: str) -> StdioLaunch:
    env = {name: Secret(value) for name, value in environment.items()}
    return StdioLaunch(sys.executable, (PLAIN, *faults), env=env)


def script(code: str, *args: str) -> StdioLaunch:
    return StdioLaunch(sys.executable, ("-c", code, *args))


def shell(text: str, **environment: str) -> StdioLaunch:
    env = {name: Secret(value) for name, value in environment.items()}
    return StdioLaunch("/bin/sh", ("-c", text), env=env)


def request(request_id: int, name: str, **arguments: Any) -> SessionMessage:
    params = {"name": name, "arguments": arguments}
    return SessionMessage(
        JSONRPCRequest(jsonrpc="2.0", id=request_id, method="tools/call", params=params)
    )


async def call(streams: Streams, request_id: int, name: str, **arguments: Any) -> dict[str, Any]:
    read, write, _ = streams
    await write.send(request(request_id, name, **arguments))
    answer = (await read.receive()).message
    assert isinstance(answer, JSONRPCResponse), answer
    assert answer.id == request_id
    return answer.result


async def ends(read: StdoutReader) -> None:
    async for _ in read:
        pass


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped by somebody else does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def marked(mark: str) -> list[int]:
    """The processes with this value in their environment."""
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"MARK={mark}".encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return [pid for pid in found if is_alive(pid)]


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def has_children() -> bool:
    """Whether this process has a child, a zombie included."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give servers that ignore the end of their input less time than in earnest."""
    monkeypatch.setattr(process_group, "EOF_GRACE", 0.1)
    monkeypatch.setattr(process_group, "TERM_GRACE", 0.3)


LIMITS = Limits()
HERE = "looked for in '{here}', where toolcrib was started"
SECRET = {"KEY": Secret("sk-0123456789")}


def opened(launch: StdioLaunch, observer: Recorder | None = None, limits: Limits = LIMITS) -> Any:
    return open_stdio(launch, server="p", limits=limits, observer=observer or Recorder())


# ---- what comes out ----


@BOTH_LOOPS
@pytest.mark.parametrize("ending", ["lf", "crlf"])
async def test_what_is_no_message_is_skipped_and_counted(ending: str) -> None:
    seen = Recorder()
    with anyio.fail_after(5):
        async with opened(plain("noise", ending), seen) as streams:
            assert (await call(streams, 1, "echo"))["content"]
            noise = streams[2].noise
            assert (noise.lines, noise.first) == (4, "Server version : 1.0")
            assert seen.of(NoiseSkipped)[-1] == NoiseSkipped("p", 4, "Server version : 1.0")


async def test_a_flood_of_noise_is_reported_sparingly_and_completely() -> None:
    seen = Recorder()
    with anyio.fail_after(10):
        async with opened(plain(), seen) as streams:
            lines = [f"log {number}\n" for number in range(5000)]
            await call(streams, 1, "lines", lines=lines)
            assert streams[2].noise.lines == 5000
    facts = seen.of(NoiseSkipped)
    assert facts[-1].lines == 5000, "the rest is reported at the end"
    assert len(facts) < 30


async def test_the_first_noise_line_shows_no_secret() -> None:
    seen = Recorder()
    with anyio.fail_after(5):
        async with opened(plain(API_KEY="sk-0123456789"), seen) as streams:
            await call(streams, 1, "lines", lines=["key=sk-0123456789\n", "x\n"])
    assert seen.of(NoiseSkipped)[-1].first == "key=***"


@BOTH_LOOPS
async def test_a_message_cut_into_pieces_arrives_whole() -> None:
    code = """
import sys, time
for piece in ('{"jsonrpc":"2.0",', '"id":1,"resu', 'lt":{"a":"\\u00e9', '"}}\\n{"json'):
    sys.stdout.write(piece); sys.stdout.flush(); time.sleep(0.01)
sys.stdout.write('rpc":"2.0","id":2,"result":{}}')
"""
    with anyio.fail_after(5):
        async with opened(script(code)) as (read, _, facts):
            first = (await read.receive()).message
            second = (await read.receive()).message
            await ends(read)
    assert (first.id, first.result) == (1, {"a": "é"})
    assert second.id == 2, "the last line needs no line feed"
    assert facts.over == "the server process exited with status 0"


async def test_a_line_of_20_mb_is_skipped_in_bounded_memory_and_fails_only_its_request() -> None:
    seen = Recorder()
    limits = Limits(line_bytes=1024 * 1024)
    with anyio.fail_after(20):
        async with opened(plain(), seen, limits) as streams:
            read, write, facts = streams
            await call(streams, 1, "echo")
            tracemalloc.start()
            await write.send(request(2, "long", bytes=20_000_000))
            answer = (await read.receive()).message
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert isinstance(answer, JSONRPCError)
            assert answer.id == 2
            assert await call(streams, 3, "echo")
            assert (facts.noise.long_lines, facts.noise.lines) == (1, 0)
    assert peak < 8_000_000
    assert [fact.code for fact in seen.of(Finding)] == ["line_too_long"]
    assert "line_bytes" in seen.of(Finding)[0].detail


async def test_a_burst_of_messages_does_not_keep_other_tasks_from_running() -> None:
    burst = ['{"jsonrpc":"2.0","method":"n"}\n' * 1000] * 5
    ran = 0

    async def others() -> None:
        nonlocal ran
        while True:
            await anyio.lowlevel.checkpoint()
            ran += 1

    messages: list[SessionMessage] = []
    with anyio.fail_after(10):
        async with opened(plain()) as (read, write, _), anyio.create_task_group() as tasks:
            await write.send(request(1, "lines", lines=burst))
            first = await read.receive()
            tasks.start_soon(others)
            messages = [first] + [await read.receive() for _ in range(2000)]
            tasks.cancel_scope.cancel()
    assert len(messages) == 2001
    assert ran >= 20


# ---- what goes in ----


@BOTH_LOOPS
async def test_the_child_gets_few_variables_of_ours_and_all_that_are_configured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OUR_SECRET", "x")
    launch = StdioLaunch(sys.executable, (PLAIN,), env={"THEIRS": Secret("y")}, cwd=str(tmp_path))
    with anyio.fail_after(5):
        async with opened(launch) as streams:
            result = await call(streams, 1, "describe")
    assert result["env"]["THEIRS"] == "y"
    assert result["env"]["PATH"] == os.environ["PATH"]
    assert "OUR_SECRET" not in result["env"]
    assert result["cwd"] == str(tmp_path)


@pytest.mark.usefixtures("hurried")
@BOTH_LOOPS
async def test_a_server_that_reads_nothing_does_not_hold_the_senders() -> None:
    launch = script("import time; time.sleep(60)")
    with anyio.fail_after(10):
        async with opened(launch) as (_, write, _facts):
            for number in range(20):
                await write.send(request(number, "x", text="y" * 100_000))
            big = request(99, "x", text="y" * BACKLOG)
            await write.send(big)
            with anyio.move_on_after(0.05) as scope:
                await write.send(big)
            assert scope.cancelled_caught, "a full backlog makes the sender wait, cancellably"


@BOTH_LOOPS
async def test_a_sender_that_gives_up_leaves_no_half_line() -> None:
    code = """
import sys, time, json
time.sleep(0.3)
for line in sys.stdin:
    print(json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {}}), flush=True)
"""
    with anyio.fail_after(10):
        async with opened(script(code)) as (read, write, _):
            for number in range(8):
                with anyio.move_on_after(0.01):
                    await write.send(request(number, "x", text="y" * 900_000))
            answered = [(await read.receive()).message.id for _ in range(5)]
    assert answered == list(range(5))


async def test_what_was_accepted_before_closing_still_reaches_the_server(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with anyio.fail_after(5):
        async with opened(plain(PLAIN_LOG=str(log))) as (_, write, _facts):
            for number in range(3):
                await write.send(request(number, "never"))
    logged = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["id"] for line in logged if "id" in line] == [0, 1, 2]


async def test_a_closed_writer_accepts_nothing() -> None:
    with anyio.fail_after(5):
        async with opened(plain()) as (_, write, _facts):
            await write.aclose()
            with pytest.raises(anyio.ClosedResourceError):
                await write.send(request(1, "echo"))


# ---- how it ends ----


@pytest.mark.usefixtures("hurried")
@BOTH_LOOPS
@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("exit", {"status": 7}, "the server process exited with status 7"),
        ("exit", {"status": 0}, "the server process exited with status 0"),
        ("close-stdout", {}, "the server closed its output"),
    ],
)
async def test_the_read_stream_ends_with_a_reason(
    name: str, arguments: dict[str, Any], reason: str
) -> None:
    with anyio.fail_after(5):
        async with opened(plain()) as (read, write, facts):
            assert facts.over == ""
            await write.send(request(1, name, **arguments))
            await ends(read)
            assert facts.over == reason
    assert facts.over == reason


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
async def test_a_killed_server_is_noticed_at_once(sent: signal.Signals) -> None:
    with anyio.fail_after(2):
        async with opened(plain()) as streams:
            read, _, facts = streams
            await call(streams, 1, "echo")
            os.kill(facts.pid, sent)
            await ends(read)
            assert facts.over == f"the server process was ended by {sent.name}"
            assert facts.exit_status == -sent


@BOTH_LOOPS
async def test_the_answer_of_a_server_that_leaves_at_once_is_not_lost() -> None:
    with anyio.fail_after(5):
        async with opened(plain()) as streams:
            assert (await call(streams, 1, "answer-and-exit"))["bye"] is True
            await ends(streams[0])


@pytest.mark.usefixtures("hurried")
@BOTH_LOOPS
async def test_an_exit_is_noticed_though_a_grandchild_holds_the_pipes() -> None:
    with anyio.fail_after(4):
        async with opened(plain("grandchild")) as streams:
            read, _, facts = streams
            grandchild = (await call(streams, 1, "describe"))["children"][0]
            assert is_alive(grandchild)
            os.kill(facts.pid, signal.SIGKILL)
            await ends(read)
            assert "SIGKILL" in facts.over
    assert not is_alive(grandchild)


@pytest.mark.usefixtures("hurried")
async def test_all_output_before_the_exit_is_read_though_a_grandchild_holds_the_pipe() -> None:
    code = """
import subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
for number in range(2000):
    print('{"jsonrpc":"2.0","id":%d,"result":{"a":"%s"}}' % (number, "x" * 500))
"""
    with anyio.fail_after(10):
        async with opened(script(code)) as (read, _, _facts):
            for number in range(2000):
                assert (await read.receive()).message.id == number
            await ends(read)


async def write_until_refused(write: StdinWriter) -> None:
    while True:
        try:
            await write.send(request(1, "x"))
        except anyio.BrokenResourceError:
            return
        await anyio.sleep(0.01)


@pytest.mark.usefixtures("hurried")
@BOTH_LOOPS
async def test_a_server_that_closes_its_input_ends_the_connection() -> None:
    launch = script("import os, time; os.close(0); print('', flush=True); time.sleep(60)")
    with anyio.fail_after(10):
        async with opened(launch) as (read, write, facts):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ends, read)
                tasks.start_soon(write_until_refused, write)
            assert facts.over == "the server closed its input"


# ---- stderr ----


@BOTH_LOOPS
async def test_stderr_is_always_drained_and_its_end_is_kept() -> None:
    code = """
import sys
for number in range(40000):
    sys.stderr.write(f"line {number} key=sk-0123456789\\n")
sys.stderr.write("Error: no database\\n\\n")
sys.exit(3)
"""
    env = {"KEY": Secret("sk-0123456789")}
    launch = StdioLaunch(sys.executable, ("-c", code), env=env)
    with anyio.fail_after(10):
        async with opened(launch, limits=Limits(stderr_bytes=1000)) as (read, _, facts):
            await ends(read)
            assert facts.over == "the server process exited with status 3"
            assert facts.operator_note == "on stderr: Error: no database"
            assert len(facts.stderr) <= 1000
            assert "key=***" in facts.stderr
            assert "sk-" not in facts.stderr


@BOTH_LOOPS
async def test_a_program_that_is_no_mcp_server_is_told_by_what_it_printed() -> None:
    launch = StdioLaunch("/bin/sh", ("-c", "echo; echo hello $KEY; echo more"), SECRET)
    with anyio.fail_after(5):
        async with opened(launch) as (read, _, facts):
            await ends(read)
            assert facts.operator_note == "on stdout, where messages are expected: hello ***"


@pytest.mark.usefixtures("hurried")
async def test_what_a_server_printed_beside_its_messages_is_not_taken_for_the_cause() -> None:
    with anyio.fail_after(5):
        async with opened(plain("noise")) as streams:
            assert await call(streams, 1, "echo")
            await streams[1].send(request(2, "exit", status=7))
            await ends(streams[0])
            assert streams[2].noise.lines > 0
            assert streams[2].operator_note == "on stderr: last words"


# ---- the start ----


@BOTH_LOOPS
@pytest.mark.parametrize(
    ("launch", "what"),
    [
        (StdioLaunch("no-such-command-here"), "was not found"),
        (StdioLaunch("/etc/passwd"), "may not be executed"),
        (StdioLaunch("/tmp"), "may not be executed"),  # noqa: S108 - any directory will do
        (StdioLaunch(sys.executable, ("a\0b",)), "cannot be started"),
        (StdioLaunch(sys.executable, env={"A=B": Secret("x")}), "cannot be started"),
        (StdioLaunch(sys.executable, cwd="/no/such/place"), "working directory"),
    ],
)
async def test_a_command_that_cannot_be_used_says_what_to_do(
    launch: StdioLaunch, what: str
) -> None:
    with anyio.fail_after(5), pytest.raises(ConfigError) as caught:
        async with opened(launch):
            pytest.fail("started")
    assert what in caught.value.message
    assert caught.value.server == "p"
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("launch", "where"),
    [
        (StdioLaunch("bin/none"), HERE),
        (StdioLaunch("./none"), HERE),
        (StdioLaunch("bin/none", cwd="/"), "looked for in '/', its cwd"),
        (
            StdioLaunch(sys.executable, cwd="gone"),
            "looked for in '{here}', where toolcrib was started",
        ),
        (StdioLaunch("/no/such/none"), None),
        (StdioLaunch("/no/such/none", cwd="/"), None),
        (StdioLaunch("no-such-command-here"), None),
        (StdioLaunch(sys.executable, cwd="/no/such/place"), None),
    ],
)
async def test_a_relative_path_that_is_not_found_says_where_it_was_looked_for(
    launch: StdioLaunch, where: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with anyio.fail_after(5), pytest.raises(ConfigError) as caught:
        async with opened(launch):
            pytest.fail("started")
    configured = launch.cwd if "directory" in caught.value.message else launch.command
    note = caught.value.operator_note or ""
    assert note.removeprefix(f"it is {configured!r}").removeprefix(", ") == (
        where.format(here=tmp_path) if where else ""
    )
    assert str(tmp_path) not in caught.value.for_model()


@pytest.mark.parametrize(
    "launch",
    [
        StdioLaunch("/etc/passwd"),
        StdioLaunch("/etc/no-such-command"),
        StdioLaunch("../etc/none"),
        StdioLaunch("/etc/a\0b"),
        StdioLaunch("/"),
        StdioLaunch(sys.executable, ("x" * 4_000_000,)),
        StdioLaunch(sys.executable, cwd="/etc/no/such/place"),
    ],
    ids=range(7),
)
async def test_directories_are_named_to_whoever_runs_it_and_to_no_model(
    launch: StdioLaunch,
) -> None:
    with anyio.fail_after(5), pytest.raises((ConfigError, UpstreamUnreachable)) as caught:
        async with opened(launch):
            pytest.fail("started")
    assert "/" not in caught.value.for_model()
    assert repr(launch.cwd or launch.command) in caught.value.for_operator()


async def test_a_command_line_that_the_system_refuses_is_unreachable() -> None:
    launch = StdioLaunch(sys.executable, ("x" * 4_000_000,))
    with pytest.raises(UpstreamUnreachable, match="could not be started"):
        async with opened(launch):
            pytest.fail("started")


LAST = 500


@pytest.mark.usefixtures("hurried")
@BOTH_LOOPS
async def test_a_start_cancelled_at_any_moment_leaves_no_process(anyio_backend: str) -> None:
    mark = f"cancelled-{anyio_backend}"

    async def cancel(scope: anyio.CancelScope, turns: int, entered: anyio.Event) -> None:
        for _ in range(turns):
            await anyio.lowlevel.checkpoint()
        if turns == LAST:
            await entered.wait()
        scope.cancel()

    for moment in (0, 1, 2, 3, 4, 5, 6, 8, 13, 21, 34, 55, 200, LAST):
        entered = anyio.Event()
        with anyio.fail_after(5), anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(cancel, scope, moment, entered)
                if moment == 0:
                    scope.cancel()
                async with opened(plain(MARK=mark)):
                    entered.set()
                    await anyio.sleep_forever()
        assert entered.is_set() or moment < LAST
        assert not entered.is_set() or moment > 0
        assert marked(mark) == []
    assert not has_children()


# ---- the end ----


async def tree_of(read: StdoutReader) -> Sequence[int]:
    message = (await read.receive()).message
    assert isinstance(message, JSONRPCResponse)
    return message.result["pids"]


STUBBORN = """
import json, os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
pids = [os.getpid(), os.getppid(), int(sys.argv[1])]
print(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"pids": pids}}), flush=True)
sys.stdin.read()
while True:
    time.sleep(1)
"""


@pytest.mark.parametrize(
    ("anyio_backend", "how"),
    [
        ("asyncio", "leave"),
        ("asyncio", "error"),
        ("asyncio", "cancel"),
        ("asyncio", "leader-killed"),
        ("trio", "cancel"),
    ],
)
async def test_a_tree_that_ignores_eof_and_sigterm_is_gone_in_five_seconds(how: str) -> None:
    command = f"sh -c '{sys.executable} -c \"$CODE\" '$$'; true'; true"
    pids: Sequence[int] = ()
    with anyio.fail_after(6), anyio.CancelScope() as scope:
        try:
            async with opened(shell(command, CODE=STUBBORN)) as (read, _, facts):
                pids = await tree_of(read)
                assert len(set(pids)) == 3
                assert facts.pid == pids[2]
                match how:
                    case "error":
                        raise KeyError(how)  # noqa: TRY301 - this is the body of a caller
                    case "cancel":
                        scope.cancel()
                        await anyio.sleep_forever()
                    case "leader-killed":
                        os.kill(facts.pid, signal.SIGKILL)
                        await ends(read)
                    case _:
                        pass
        except KeyError:
            assert how == "error"
    assert [pid for pid in pids if is_alive(pid)] == []
    assert not has_children()


async def test_a_well_behaved_server_leaves_by_itself() -> None:
    with anyio.fail_after(5):
        async with opened(plain()) as streams:
            await call(streams, 1, "echo")
    facts = streams[2]
    assert (facts.over, facts.exit_status) == (CLOSED_BY_US, 0)


async def test_a_server_that_floods_its_output_while_leaving_can_still_leave(
    tmp_path: Path,
) -> None:
    done = tmp_path / "done"
    code = f"""
import sys
sys.stdin.read()
sys.stdout.write("x" * 1_000_000)
sys.stdout.flush()
open({str(done)!r}, "w").close()
"""
    with anyio.fail_after(5):
        async with opened(script(code)) as (_, _write, facts):
            pass
    assert done.exists()
    assert facts.exit_status == 0


DAEMON = """
import json, subprocess, sys
command = [sys.executable, "-c", "import time; time.sleep(60)"]
daemon = subprocess.Popen(command, start_new_session=True)
print(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"pids": [daemon.pid]}}), flush=True)
sys.stdin.read()
"""


@BOTH_LOOPS
async def test_a_daemon_that_left_the_group_with_our_pipes_holds_up_nothing() -> None:
    before = open_files()
    with anyio.fail_after(5):
        async with opened(script(DAEMON)) as (read, _, facts):
            (daemon,) = await tree_of(read)
    assert facts.exit_status == 0
    assert open_files() <= before
    os.kill(daemon, signal.SIGKILL)


@BOTH_LOOPS
async def test_fifty_connections_leave_no_zombie_and_no_open_file() -> None:
    async def cycle(number: int) -> None:
        async with opened(plain()) as streams:
            if number % 2:
                await call(streams, 1, "echo")

    with anyio.fail_after(60):
        await cycle(1)
        gc.collect()
        before = open_files()
        for number in range(50):
            await cycle(number)
        gc.collect()
        await anyio.lowlevel.checkpoint()
    assert open_files() <= before
    assert not has_children()
