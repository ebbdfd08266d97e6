"""Scripted MCP servers on real wires (stdio, Streamable HTTP, HTTP+SSE), switched as they run.

Where `ScriptedUpstream` takes the place of a connection in this process, these are servers that any
client can be pointed at: they speak the stateless revision and the handshake, with sessions, GET
streams and `subscriptions/listen`, and they misbehave on request. They are written without an SDK,
so that they can send what no SDK would let them send.

    async with scripted_http(Content(tools=[tool("add")])) as server:
        crib = ...  # a client of server.launch, server.settings() or server.entry()
        await server.on("tools/list", Refuse(503, {"retry-after": "2"}), times=2)
        await server.change(Content(tools=[tool("add"), tool("sub")]))
        with anyio.fail_after(5):
            await server.until(lambda seen: seen.walks["tools"] >= 3)

What a server is comes in three groups, each replaced as a whole by `set`: `Content`, `Pages` (how
listings are cut, hinted and timed) and `Profile` (revisions, capabilities, sessions). What goes
wrong is a rule: `on(name, action, ...)`. Names are JSON-RPC methods, shell patterns over them (`*`:
every request), `tools/list:2` for the second page of a walk, `tools/call:echo` for a call of one
tool, `GET`, `DELETE`, and `connect` for a process that starts or a TCP connection that is accepted.
Some faults, and how they are made:

    exits at the eleventh request       on("*", Exit(), skip=10, times=1)
    crashes in a loop                   on("tools/list", Leave(1))
    exits during the probe, or hangs    on("server/discover", Exit()), on("server/discover", Hang())
    breaks off in mid-answer            on("tools/call", Cut(), times=1)
    wants a credential                  on("*", Refuse(401, {"www-authenticate": "Bearer"}))
    loses the session                   on("tools/list", Forget(), times=1), or forget_sessions()
    offers no GET stream                on("GET", Refuse(405))
    drops it three times                on("GET", Drop(), times=3), or drop_streams()
    a proxy swallows its events         on("GET", Mute())
    acknowledges a listen late          on("subscriptions/listen", Delay(1))
    never, or only for some kinds       Mute(acknowledges=False), Honour((Kind.TOOLS,))
    signals on every listing            on("tools/list", Signal(late=True))
    a storm                             signal(count=10_000)
    signals without declaring it        Profile(declares_changes=False), signal(unasked=True)
    signals before it commits           change(content, lag=0.3)
    a call changes the tools            on("tools/call:grow", Change(content), Signal())
    noise, a giant line, a giant answer Noise("starting"), Noise(size=2**25), Pad(2**25)
    a page that is slow, or fails       on("tools/list:2", Delay(3)), or Fail(-32603)
    cursors that cycle, or are refused  Pages(cursors="cycle"), Fail(-32602)
    replicas that disagree              Content(tools=a, other_tools=b)
    is down for a while                 stop(), start()

All of it runs in the event loop of the test, the stdio processes apart, which only pass bytes on:
one script lasts through any number of them, whoever starts them. `apart=True` runs it in a process
of its own, for tests that block the loop and for measurements; nothing else changes.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeVar

from toolcrib.settings import HttpLaunch, StdioLaunch
from toolcrib.testing.scripted import tool
from toolcrib.testing.server.actions import (
    Action,
    Answer,
    Ask,
    Change,
    Cut,
    Delay,
    Drop,
    Exit,
    Fail,
    Forget,
    Garble,
    Hang,
    Honour,
    Leave,
    Mute,
    Noise,
    Pad,
    Progress,
    Refuse,
    Say,
    Signal,
)
from toolcrib.testing.server.apart import main, open_apart
from toolcrib.testing.server.behaviour import Content, Cursors, Group, Pages, Profile
from toolcrib.testing.server.handle import ScriptedServer
from toolcrib.testing.server.opening import open_here
from toolcrib.testing.server.rulebook import Wire
from toolcrib.testing.server.stdio_wire import ProcessSeen
from toolcrib.testing.server.tally import Counts, Heard

__all__ = [
    "Action",
    "Answer",
    "Ask",
    "Change",
    "Content",
    "Counts",
    "Cursors",
    "Cut",
    "Delay",
    "Drop",
    "Exit",
    "Fail",
    "Forget",
    "Garble",
    "Group",
    "Hang",
    "Heard",
    "Honour",
    "Leave",
    "Mute",
    "Noise",
    "Pad",
    "Pages",
    "ProcessSeen",
    "Profile",
    "Progress",
    "Refuse",
    "Say",
    "ScriptedServer",
    "Signal",
    "scripted_http",
    "scripted_sse",
    "scripted_stdio",
    "tool",
]

L = TypeVar("L", StdioLaunch, HttpLaunch)


@asynccontextmanager
async def _scripted(
    wire: Wire, launch_type: type[L], groups: Sequence[Group], *, apart: bool
) -> AsyncGenerator[ScriptedServer[L]]:
    opened = open_apart(wire, groups) if apart else open_here(wire, groups)
    async with opened as (launch, perform):
        if not isinstance(launch, launch_type):
            raise TypeError(f"{wire} came up as {type(launch).__name__}")
        yield ScriptedServer(launch, perform)


def scripted_stdio(
    *groups: Group, apart: bool = False
) -> AbstractAsyncContextManager[ScriptedServer[StdioLaunch]]:
    """A server on stdio: each use of its launch starts one more process of it."""
    return _scripted("stdio", StdioLaunch, groups, apart=apart)


def scripted_http(
    *groups: Group, apart: bool = False
) -> AbstractAsyncContextManager[ScriptedServer[HttpLaunch]]:
    """A server that speaks Streamable HTTP, at `/mcp` on a loopback port."""
    return _scripted("http", HttpLaunch, groups, apart=apart)


def scripted_sse(
    *groups: Group, apart: bool = False
) -> AbstractAsyncContextManager[ScriptedServer[HttpLaunch]]:
    """A server that speaks HTTP+SSE, at `/sse`; without a `Profile` in the handshake era only."""
    return _scripted("sse", HttpLaunch, (Profile(modern=()), *groups), apart=apart)


if __name__ == "__main__":
    main()
