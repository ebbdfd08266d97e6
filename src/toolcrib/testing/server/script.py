"""The state of one scripted server: what it is, its rules, what it has seen, who listens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, assert_never

import anyio

from toolcrib.core.snapshot import Kind
from toolcrib.testing.server.actions import Action
from toolcrib.testing.server.answers import KINDS
from toolcrib.testing.server.behaviour import Content, Group, Pages, Profile
from toolcrib.testing.server.listing import Lister, Place, UnknownCursor
from toolcrib.testing.server.outlets import Outlets
from toolcrib.testing.server.revision import is_modern, params_of
from toolcrib.testing.server.rulebook import Rulebook, Wire
from toolcrib.testing.server.tally import Heard, Tally

__all__ = ["Arrival", "Script"]

NEVER_GIVEN: Final = "unknown cursor"


@dataclass(frozen=True, slots=True)
class Arrival:
    """A request as it was received: what it is, and what the rules want done with it."""

    request: Mapping[str, Any]
    modern: bool
    """Whether it is served as one of a stateless revision."""
    actions: tuple[Action, ...]
    place: Place | str | None = None
    """Where in its walk a list request is, or what is wrong with its cursor."""

    @property
    def method(self) -> str:
        """The JSON-RPC method."""
        return str(self.request["method"])


class Script:
    """One scripted server, before any wire."""

    def __init__(self, wire: Wire, groups: Sequence[Group] = ()) -> None:
        self.wire: Final = wire
        self.tally = Tally()
        self.rules = Rulebook(wire)
        self.outlets = Outlets(self.tally)
        self.lister = Lister()
        self.profile = Profile()
        self._asked = 0
        self._asks: dict[object, anyio.Event] = {}
        self._flying: dict[tuple[object, object], anyio.CancelScope] = {}
        for group in groups:
            self.set(group)

    @property
    def content(self) -> Content:
        """What it lists now."""
        return self.lister.content

    def set(self, group: Group) -> None:
        """Replace one group as a whole."""
        match group:
            case Content():
                self.lister.content = group
            case Pages():
                self.lister.pages = group
            case Profile():
                self.profile = group
            case _:
                assert_never(group)

    # ------------------------------------------------------------ what arrives

    def receive(self, request: Mapping[str, Any], heard: Heard) -> Arrival:
        """Count a request, find its place in a walk, and ask the rules."""
        self.tally.keep(heard)
        method = str(request["method"])
        modern = is_modern(request) and bool(self.profile.modern)
        place: Place | str | None = None
        names = [method]
        params = params_of(request)
        if kind := KINDS.get(method):
            place = self._find(kind, params.get("cursor"))
            if isinstance(place, Place):
                names.append(f"{method}:{self.lister.number(kind, place)}")
        elif method == "tools/call":
            names.append(f"{method}:{params.get('name')}")
            self.tally.count("calls", str(params.get("name")))
        self.tally.count("requests", method)
        return Arrival(request, modern, self.rules.take(*names, request=True), place)

    def _find(self, kind: Kind, cursor: object) -> Place | str:
        if cursor is None:
            self.tally.count("walks", kind.label)
        try:
            return self.lister.find(kind, cursor)
        except UnknownCursor:
            return NEVER_GIVEN

    def notice(self, message: Mapping[str, Any], heard: Heard, peer: object) -> tuple[Action, ...]:
        """Count a notification, or take an answer to a request of ours; what rules want done."""
        self.tally.keep(heard)
        method = message.get("method")
        if method is None:
            if asked := self._asks.get(message.get("id")):
                asked.set()
            return ()
        self.tally.count("notifications", str(method))
        if method == "notifications/cancelled":
            self._cancel(peer, params_of(message).get("requestId"))
        return self.rules.take(str(method), request=False)

    # ------------------------------------------------------------ requests under way

    def fly(self, peer: object, request_id: object) -> anyio.CancelScope:
        """A scope for one request, which a cancellation by that peer cancels."""
        scope = anyio.CancelScope()
        self._flying[peer, request_id] = scope
        return scope

    def land(self, peer: object, request_id: object) -> None:
        """The request is through."""
        del self._flying[peer, request_id]

    def _cancel(self, peer: object, request_id: object) -> None:
        if scope := self._flying.get((peer, request_id)):
            scope.cancel()
            self.tally.add(gave_up=1)

    # ------------------------------------------------------------ what it asks

    def ask(self, method: str, params: Mapping[str, Any]) -> tuple[Mapping[str, Any], anyio.Event]:
        """A request of ours to the client, and what is set once it is answered."""
        self._asked += 1
        request_id = f"asked-{self._asked}"
        answered = self._asks[request_id] = anyio.Event()
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": dict(params)}
        return message, answered
