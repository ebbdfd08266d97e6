"""A service for tests of the wire: it answers what a test says, and remembers what it was asked."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio

from toolcrib.core.partition import LOCAL, Principal
from toolcrib.wire.audience import Audience
from toolcrib.wire.jsonwire import Result
from toolcrib.wire.service import HostRequest, Identity


async def discard(_method: str, _params: Mapping[str, Any]) -> None:
    """Takes a notification of a request that nobody listens to."""


def host_request(
    method: str, params: Mapping[str, Any] | None = None, version: str = "2026-07-28", **rest: Any
) -> HostRequest:
    """A request as an entry would hand it to a kernel; a modern one gets its envelope."""
    whole = dict(params or {})
    if version == "2026-07-28":
        envelope: dict[str, Any] = {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        whole["_meta"] = {**envelope, **whole.get("_meta", {})}
    fields: dict[str, Any] = {"id": 1, "principal": LOCAL, "notify": discard, **rest}
    return HostRequest(method=method, params=whole, version=version, **fields)


class FakeService:
    """Answers every request with `result`, or as `script` does."""

    def __init__(self, result: Result | None = None) -> None:
        self.identity = Identity("fake", "1", "Fake", "Ask anything.")
        self.result: Result = {"content": []} if result is None else result
        self.script: Callable[[HostRequest], Awaitable[Result]] | None = None
        self.asked: list[HostRequest] = []
        self.cancelled: list[str] = []
        """Methods of requests that were cancelled while they were answered."""
        self.declared: dict[str, Any] = {"tools": {"listChanged": True}}
        """What it declares."""
        self.subscribed: list[str] = []
        """The resources that it was told to watch."""
        self.unwatchable: dict[str, Exception] = {}
        """What it raises for a resource, by URI."""
        self.audiences: dict[Principal, Audience] = {}
        self.gone: list[tuple[Principal, str]] = []
        """Whose connections and sessions it was told are over."""
        self.reached = anyio.Event()
        """Set when a request arrives; put a new one to wait for the next."""

    def capabilities(self) -> Mapping[str, Any]:
        """Tools, and word of their changes, where a test does not say otherwise."""
        return self.declared

    def audience(self, principal: Principal) -> Audience:
        """One audience per principal."""
        return self.audiences.setdefault(principal, Audience())

    async def subscribe(self, principal: Principal, uri: str) -> None:
        """Remember the resource, or raise what a test says."""
        del principal
        if uri in self.unwatchable:
            raise self.unwatchable[uri]
        self.subscribed.append(uri)

    def left(self, principal: Principal, handle: str) -> None:
        """Remember who went."""
        self.gone.append((principal, handle))

    async def answer(self, request: HostRequest) -> Result:
        """Remember the request and answer it."""
        self.asked.append(request)
        self.reached.set()
        try:
            return self.result if self.script is None else await self.script(request)
        except anyio.get_cancelled_exc_class():
            self.cancelled.append(request.method)
            raise
