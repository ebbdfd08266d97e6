"""Rules: what arrives under a name meets what the rule says instead of what is right.

Names are JSON-RPC methods, `tools/list:2` for the second page of a walk, `tools/call:echo` for a
call of one tool, `GET` and `DELETE` for those verbs, and `connect` for a process that starts or a
connection that is accepted.
"""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, get_args

from toolcrib.core.snapshot import Kind
from toolcrib.testing.server.actions import (
    Action,
    Change,
    Delay,
    Drop,
    Ending,
    Exit,
    Forget,
    Hang,
    Honour,
    Mute,
    Noise,
    Refuse,
    Signal,
)

__all__ = ["LISTEN", "Rulebook", "Wire"]

Wire = Literal["stdio", "http", "sse"]

LISTEN = "subscriptions/listen"
_STREAMS = ("GET", LISTEN)
_ENDINGS: tuple[type, ...] = get_args(Ending)
_EVERY_REQUEST = "*"
_KNOWN = frozenset(
    {
        *(kind.method for kind in Kind),
        *_STREAMS,
        "DELETE",
        "connect",
        "completion/complete",
        "initialize",
        "logging/setLevel",
        "notifications/cancelled",
        "notifications/initialized",
        "notifications/progress",
        "ping",
        "prompts/get",
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
        "server/discover",
        "tools/call",
    }
)
_ONLY_ON: dict[type, tuple[str, ...]] = {
    Noise: ("stdio",),
    Refuse: ("http", "sse"),
    Forget: ("http",),
}
_ONLY_FOR: dict[type, tuple[str, ...]] = {Honour: (LISTEN,), Mute: _STREAMS}
_PASSING_BY: tuple[type, ...] = (Delay, Change, Signal)
_NO_REQUEST: dict[str, tuple[type, ...]] = {
    "connect": (*_PASSING_BY, Noise, Hang, Drop, Exit),
    "GET": (*_PASSING_BY, Refuse, Drop, Mute, Hang, Forget, Exit),
    "DELETE": (*_PASSING_BY, Refuse, Drop, Hang, Exit),
    "notifications": (*_PASSING_BY, Refuse, Drop, Exit),
}
"""What can be done with what is no request and has no answer."""


@dataclass(slots=True)
class _Rule:
    event: str
    actions: tuple[Action, ...]
    skip: int
    times: int | None

    def matches(self, names: Sequence[str], *, request: bool) -> bool:
        if self.event == _EVERY_REQUEST:
            return request
        return any(fnmatchcase(name, self.event) for name in names)

    def has_its_turn(self) -> bool:
        """Count one match; whether the rule acts on it."""
        if self.skip > 0:
            self.skip -= 1
            return False
        if self.times is None:
            return True
        self.times -= 1
        return self.times >= 0


class Rulebook:
    """The rules of one server, in the order in which they were made."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._rules: list[_Rule] = []

    def add(
        self, event: str, actions: Sequence[Action], *, times: int | None = None, skip: int = 0
    ) -> None:
        """Make a rule: from the match after `skip` on, `times` times (None: always).

        Raises `ValueError` for a name that never arrives and an action that cannot be done here.
        """
        self._check_event(event)
        for action in actions:
            self._check_action(event, action)
        self._rules.append(_Rule(event, tuple(actions), skip, times))

    def clear(self) -> None:
        """Forget all rules."""
        self._rules.clear()

    def take(self, *names: str, request: bool) -> tuple[Action, ...]:
        """What is to be done with something that arrives under these names.

        At most the last action is an ending; rules behind it are not asked and do not count it.
        """
        taken: list[Action] = []
        for rule in self._rules:
            if rule.matches(names, request=request) and rule.has_its_turn():
                for action in rule.actions:
                    taken.append(action)
                    if isinstance(action, _ENDINGS):
                        return tuple(taken)
        return tuple(taken)

    def _check_event(self, event: str) -> None:
        bare = event.partition(":")[0]
        if bare in _KNOWN or set(event) & set("*?["):
            return
        near = difflib.get_close_matches(bare, _KNOWN, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"nothing ever arrives under the name {event!r}{hint}")

    def _check_action(self, event: str, action: Action) -> None:
        name = type(action).__name__
        wires = _ONLY_ON.get(type(action))
        if wires is not None and self._wire not in wires:
            raise ValueError(f"{name} can be done on {' or '.join(wires)}, not on {self._wire}")
        events = _ONLY_FOR.get(type(action))
        if events is not None and event not in events:
            raise ValueError(f"{name} can be done with {' or '.join(events)}, not with {event!r}")
        able = _NO_REQUEST.get(event.partition("/")[0])
        if able is not None and not isinstance(action, able):
            names = ", ".join(one.__name__ for one in able)
            raise ValueError(f"{event!r} is no request: {names} can be done with it, {name} cannot")
        if isinstance(action, Signal) and action.late and action.unasked:
            raise ValueError("a Signal cannot be late and unasked: after the answer nobody listens")
