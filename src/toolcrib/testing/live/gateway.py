"""A gateway as a process of its own: what it logs is heard, and it is ended by its id."""

import json
import signal
import subprocess
import threading
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread

from toolcrib.core.jsontypes import is_object
from toolcrib.testing.live.room import COMMAND, Room

__all__ = ["LiveGateway", "live_gateway", "serving"]

_PATIENCE: Final = 60.0
"""Seconds in which whatever is waited for must have happened."""

_SERVING: Final = "serving "

Record = Mapping[str, Any]


class LiveGateway:
    """`toolcrib serve --http`, started; its log is kept as records."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.log: list[Record] = []
        """What it logged so far; lines that are no records stand as `{"event": line}`."""
        self._heard = threading.Condition()
        self._silent = False
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def url(self) -> str:
        """Its endpoint, once it said so."""
        record = self.wait_for(_SERVING)
        return str(record["event"]).removeprefix(_SERVING)

    def records(self, event: str, **fields: object) -> list[Record]:
        """The records of an event so far, those with these fields."""
        with self._heard:
            return [record for record in self.log if _is(record, event, fields)]

    def wait_for(self, event: str, count: int = 1, **fields: object) -> Record:
        """The record with that number (from 1) of those that begin with `event`.

        Raises `TimeoutError` with the whole log where it does not come in time, or never can.
        """
        with self._heard:
            found = self._heard.wait_for(
                lambda: self._nth(event, count, fields) or self._silent, _PATIENCE
            )
            record = self._nth(event, count, fields)
        if not found or record is None:
            raise TimeoutError(f"no {event!r} {fields} in {self.told()}")
        return record

    async def heard(self, event: str, count: int = 1, **fields: object) -> Record:
        """As `wait_for`, for asynchronous tests."""
        return await anyio.to_thread.run_sync(partial(self.wait_for, event, count, **fields))

    def told(self) -> str:
        """The log as text, for a failing test."""
        return "\n".join(json.dumps(record) for record in self.log)

    def end(self, how: int = signal.SIGTERM) -> int:
        """Sends a signal and waits for the end; the exit status."""
        self.process.send_signal(how)
        status = self.process.wait(_PATIENCE)
        self._listener.join(_PATIENCE)
        return status

    async def ended(self, how: int = signal.SIGTERM) -> int:
        """As `end`, for asynchronous tests."""
        return await anyio.to_thread.run_sync(self.end, how)

    def _nth(self, event: str, count: int, fields: Mapping[str, object]) -> Record | None:
        found = (record for record in self.log if _is(record, event, fields))
        return next((record for number, record in enumerate(found, 1) if number == count), None)

    def _listen(self) -> None:
        if self.process.stderr is None:
            raise RuntimeError("the gateway was started without a pipe for its log")
        for line in self.process.stderr:
            with self._heard:
                self.log.append(_record(line))
                self._heard.notify_all()
        with self._heard:
            self._silent = True
            self._heard.notify_all()


@contextmanager
def live_gateway(
    room: Room, *options: str | Path, cwd: Path | None = None
) -> Generator[LiveGateway]:
    """A gateway on a free port of the loopback; whatever a test does, its process is ended."""
    command = [*COMMAND, "serve", "--http", "127.0.0.1:0", "--json", "--log-level", "debug"]
    process = subprocess.Popen(  # noqa: S603 - toolcrib itself, with the arguments of a test
        [*command, *map(str, options)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=room.env,
        cwd=cwd or room.path,
    )
    with process:
        gateway = LiveGateway(process)
        try:
            yield gateway
        finally:
            if process.poll() is None:
                _end(gateway)


@asynccontextmanager
async def serving(
    room: Room, *options: str | Path, cwd: Path | None = None
) -> AsyncGenerator[LiveGateway]:
    """As `live_gateway`, for tests whose own servers run in the event loop meanwhile."""
    context = live_gateway(room, *options, cwd=cwd)
    gateway = await anyio.to_thread.run_sync(context.__enter__)
    try:
        await gateway.heard(_SERVING)
        yield gateway
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(context.__exit__, None, None, None)


def _end(gateway: LiveGateway) -> None:
    try:
        gateway.end()
    except subprocess.TimeoutExpired:
        gateway.process.kill()


def _record(line: str) -> Record:
    try:
        found: object = json.loads(line)
    except ValueError:
        found = None
    return found if is_object(found) else {"event": line.rstrip("\n")}


def _is(record: Record, event: str, fields: Mapping[str, object]) -> bool:
    said = str(record.get("event", ""))
    return said.startswith(event) and all(record.get(name) == it for name, it in fields.items())
