"""What a test holds of a scripted server: how to reach it, the switches, and what it has seen."""

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

import anyio

from toolcrib.core.snapshot import Kind
from toolcrib.settings import HttpLaunch, ServerSettings, StdioLaunch
from toolcrib.testing.server.actions import Action
from toolcrib.testing.server.behaviour import Content, Group
from toolcrib.testing.server.stdio_wire import ProcessSeen
from toolcrib.testing.server.tally import Counts, Heard

__all__ = ["Perform", "ScriptedServer"]

L = TypeVar("L", StdioLaunch, HttpLaunch)


class Perform(Protocol):
    """Carries out an operation on the server, wherever it runs."""

    async def __call__(self, operation: str, /, **arguments: Any) -> Any:
        """Carry it out. Raises `ValueError` where it cannot be done."""
        ...


class ScriptedServer(Generic[L]):
    """A scripted server that is up. Everything takes effect before the method returns.

    Every method raises `ValueError` for what this server's wire cannot do.
    """

    def __init__(self, launch: L, perform: Perform) -> None:
        self.launch: L = launch
        """How a client reaches it; for a `ServerSettings`."""
        self._perform = perform

    def settings(self, server: str = "scripted", **others: Any) -> ServerSettings:
        """The settings of a configured server with that id; `others` are its further fields."""
        return ServerSettings(id=server, launch=self.launch, **others)

    def entry(self) -> dict[str, Any]:
        """The server as an entry of an `mcp.json`."""
        launch: StdioLaunch | HttpLaunch = self.launch
        if isinstance(launch, StdioLaunch):
            return {"command": launch.command, "args": list(launch.args)}
        kind = "sse" if launch.transport == "sse" else "http"
        return {"type": kind, "url": launch.url.reveal()}

    # ------------------------------------------------------------ what it is

    async def set(self, *groups: Group) -> None:
        """Replace groups of its behaviour, each as a whole; clients are told nothing."""
        await self._perform("set", groups=groups)

    async def change(
        self,
        content: Content,
        *,
        signal: Kind | None = Kind.TOOLS,
        lag: float = 0.0,
    ) -> None:
        """Replace the content and say so (None: say nothing).

        With a `lag` the signal comes first and the content so many seconds later, as with a server
        that signals before it commits; this returns once both are done.
        """
        if lag and signal is not None:
            await self.signal(signal)
            await anyio.sleep(lag)
            await self.set(content)
            return
        await self.set(content)
        if signal is not None:
            await self.signal(signal)

    # ------------------------------------------------------------ what goes wrong

    async def on(
        self, event: str, *actions: Action, times: int | None = None, skip: int = 0
    ) -> None:
        """Make a rule: what arrives under that name meets these actions.

        It acts from the match after `skip` on, `times` times (None: always). Rules are asked in the
        order in which they were made, up to the first that puts something in the answer's place.
        """
        await self._perform("on", event=event, actions=actions, times=times, skip=skip)

    async def calm(self) -> None:
        """Forget all rules: everything is answered right again."""
        await self._perform("calm")

    async def signal(
        self, kind: Kind = Kind.TOOLS, count: int = 1, *, unasked: bool = False
    ) -> None:
        """Send `list_changed` so many times to everybody who listens.

        `unasked`: on every stdio process instead, whether or not it has subscribed.
        """
        await self._perform("signal", kind=kind, count=count, unasked=unasked)

    async def drop_streams(self, *, graceful: bool = False) -> None:
        """End every open stream of signals; connections and sessions stay."""
        await self._perform("drop_streams", graceful=graceful)

    async def drop(self) -> None:
        """End every connection, on stdio every process; new ones are served."""
        await self._perform("drop")

    async def forget_sessions(self) -> None:
        """Know no session any longer: 404 for each of them. Streamable HTTP only."""
        await self._perform("forget_sessions")

    async def stop(self) -> None:
        """Go down: connections are refused, processes exit at once.

        Where an `Exit` over HTTP has begun it already, this waits for it.
        """
        await self._perform("stop")

    async def start(self) -> None:
        """Come up again, at the same address."""
        await self._perform("start")

    # ------------------------------------------------------------ what it has seen

    async def counts(self) -> Counts:
        """What has arrived so far."""
        _, counts = await self._perform("counts")
        return counts

    async def until(self, holds: Callable[[Counts], bool]) -> Counts:
        """Wait until something holds of the counts; for ever, so wrap it in `anyio.fail_after`."""
        revision, counts = await self._perform("counts")
        while not holds(counts):
            revision, counts = await self._perform("counts", after=revision)
        return counts

    async def heard(self, method: str | None = None) -> tuple[Heard, ...]:
        """The last ten thousand messages, of one method or of all, the newest last."""
        heard: tuple[Heard, ...] = tuple(await self._perform("heard"))
        return tuple(one for one in heard if method is None or one.method == method)

    async def processes(self) -> tuple[ProcessSeen, ...]:
        """Every process that was started so far; none over HTTP."""
        return tuple(await self._perform("processes"))
