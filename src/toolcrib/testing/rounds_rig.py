"""Rounds without a gateway: servers that ask, callers that answer, processes that share keys."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio

from toolcrib.adapters.sealing import AesSealer
from toolcrib.adapters.store.memory_entries import MemoryEntries
from toolcrib.calls.call import Requester, Retry, ToolCall
from toolcrib.calls.ledger.owners import Owners
from toolcrib.calls.rounds.outgoing import Outgoing
from toolcrib.calls.rounds.parked import Parking
from toolcrib.calls.rounds.rounds import Rounds
from toolcrib.config.keys import InstallationKey
from toolcrib.core.partition import LOCAL, Principal
from toolcrib.core.snapshot import Kind
from toolcrib.errors import UpstreamRefused
from toolcrib.ports import Ask, Era, RequestContext
from toolcrib.settings import Limits, Relayed
from toolcrib.testing.fake_access import FakeAccess, Request
from toolcrib.testing.virtual_clock import LoopClock

FORM: Mapping[str, Any] = {
    "message": "Which branch?",
    "requestedSchema": {
        "type": "object",
        "properties": {"branch": {"type": "string"}},
        "required": ["branch"],
    },
}
VISIT: Mapping[str, Any] = {
    "mode": "url",
    "message": "Connect your account",
    "url": "https://example.com/connect",
}
BOTH: Mapping[str, Any] = {"elicitation": {"form": {}, "url": {}}}
MAIN: Mapping[str, Any] = {"action": "accept", "content": {"branch": "main"}}
DONE: Mapping[str, Any] = {"content": [{"type": "text", "text": "done"}], "resultType": "complete"}
SERVER, TOOL = "github", "release"


def eliciting(
    params: Mapping[str, Any] = FORM, *, key: str = "q", state: str | None = None
) -> dict[str, Any]:
    """The result of a modern server that asks one question."""
    asked = {key: {"method": "elicitation/create", "params": dict(params)}}
    result: dict[str, Any] = {"resultType": "input_required", "inputRequests": asked}
    return result if state is None else {**result, "requestState": state}


def refused(code: int, data: object = None) -> UpstreamRefused:
    """A JSON-RPC error of the server."""
    return UpstreamRefused(f"error {code}", rpc_code=code, data=data, server=SERVER)


def by_rounds(
    capabilities: Mapping[str, Any] = BOTH,
    *,
    principal: Principal = LOCAL,
    handle: str = "",
) -> Requester:
    """A caller that is asked by results."""
    return Requester(
        principal=principal, handle=handle, capabilities=capabilities, takes_rounds=True
    )


def at_once(ask: Ask, capabilities: Mapping[str, Any] = BOTH) -> Requester:
    """A caller that is asked while its request is under way."""
    return Requester(capabilities=capabilities, ask=ask)


def outgoing(
    requester: Requester,
    *,
    arguments: Mapping[str, Any] | None = None,
    answered: Mapping[str, Any] | None = None,
    state: str | None = None,
    **members: Any,
) -> Outgoing:
    """A call of `release`, or its retry: with what `answered` and `state` say."""
    given = {"tag": "v1"} if arguments is None else dict(arguments)
    retry = None if answered is None and state is None else Retry(state, answered or {})
    known: dict[str, Any] = {
        "server": SERVER,
        "method": "tools/call",
        "key": TOOL,
        "params": {"name": TOOL, "arguments": given},
        "requester": requester,
        "arguments": given,
        "contract": "contract-1",
        "retry": retry,
        "context": RequestContext(input_schema={"type": "object"}),
        **members,
    }
    return Outgoing(**known)


CALLER: Requester = by_rounds()
"""A caller that is asked by results, and can be asked anything."""


def retry(result: Mapping[str, Any], answer: Mapping[str, Any] = MAIN, **members: Any) -> Outgoing:
    """The same call of `CALLER`, with every question of a result answered alike."""
    answered = dict.fromkeys(result["inputRequests"], answer)
    return outgoing(CALLER, answered=answered, state=result["requestState"], **members)


def tool_call(sent: Outgoing) -> ToolCall:
    """The same as the call that the pipeline knows."""
    return ToolCall(
        f"{SERVER}__{TOOL}", SERVER, TOOL, sent.arguments, sent.requester, retry=sent.retry
    )


class Questioner:
    """A handshake-era server that asks in turn, and then is done.

    Its `body` is for `Process.serves`.
    """

    def __init__(self, *questions: Mapping[str, Any]) -> None:
        self.questions = questions
        self.heard: list[Mapping[str, Any]] = []
        """The answers."""
        self.runs = 0
        self.cancelled = 0

    async def body(self, ask: Ask) -> Mapping[str, Any]:
        """Answers one call."""
        self.runs += 1
        try:
            for question in self.questions:
                self.heard.append(await ask("elicitation/create", dict(question)))
        except anyio.get_cancelled_exc_class():
            self.cancelled += 1
            raise
        return DONE


class Process:
    """One process of an installation: its rounds, its open calls, its servers."""

    def __init__(
        self,
        installation: "Installation",
        name: str,
        relay: tuple[Relayed, ...],
        limits: Limits,
    ) -> None:
        self.access = FakeAccess()
        self.access.put(SERVER, Kind.TOOLS, ())
        self.access.eras[SERVER] = installation.era
        self.parking = Parking(limits, process_id=name)
        self.rounds = Rounds(
            self.access,
            parking=self.parking,
            sealer=AesSealer(installation.keys, installation.clock),
            entries=installation.entries,
            owner=Owners(installation.keys, "rounds").caller,
            relay=relay,
            limits=limits,
        )

    @property
    def sent(self) -> list[Mapping[str, Any]]:
        """The parameters of everything that reached a server."""
        return [request.params for request in self.access.requests]

    def answers(self, *replies: Mapping[str, Any] | Exception) -> None:
        """Let the server answer with these in turn, and then with the last one for ever."""
        left = list(replies)

        async def answer(_: Request) -> dict[str, Any]:
            reply = left.pop(0) if len(left) > 1 else left[0]
            if isinstance(reply, Exception):
                raise reply
            return dict(reply)

        self.access.answer = answer

    def serves(self, body: Callable[[Ask], Awaitable[Mapping[str, Any]]]) -> None:
        """Let a handshake-era server answer with this, which may ask meanwhile."""

        async def answer(request: Request) -> dict[str, Any]:
            if request.context is None or request.context.ask is None:
                raise TypeError("a request came without a way to ask")
            return dict(await body(request.context.ask))

        self.access.answer = answer


class Installation:
    """Processes that share keys and a store."""

    def __init__(self, era: Era = "modern", *, key: bytes = b"k" * 32) -> None:
        self.era: Era = era
        self.clock = LoopClock()
        self.keys = InstallationKey(key)
        self.entries = MemoryEntries(self.clock)

    @asynccontextmanager
    async def process(
        self,
        name: str = "p1",
        *,
        relay: tuple[Relayed, ...] = ("elicitation",),
        limits: Limits | None = None,
    ) -> AsyncGenerator[Process]:
        """A running process."""
        process = Process(self, name, relay, limits or Limits())
        async with process.parking.running():
            yield process
