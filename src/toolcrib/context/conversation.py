"""What one conversation was shown: an append-only list, and a log of what happened meanwhile.

A provider's prompt cache holds a prefix, byte by byte, and definitions stand at its very front. So
nothing that was shown is taken away, replaced or moved: a tool that is gone is told to be gone, one
that changed keeps its old definition in the prefix and the change is told in words, and what is new
is appended. Only `begin` makes a new list, where the conversation may pay for it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from toolcrib.context.exhibit import Exhibit, Exposed
from toolcrib.context.front import Entry, Front, Line
from toolcrib.core.quoting import quoted
from toolcrib.core.snapshot import Item

_LOGGED: Final = 20_000
"""Events that are remembered; what is older is forgotten, and a mark from then counts as later."""


@dataclass(frozen=True, slots=True)
class Appeared:
    """A tool was appended, or came back."""

    name: str


@dataclass(frozen=True, slots=True)
class Vanished:
    """A tool is not there any more."""

    name: str


@dataclass(frozen=True, slots=True)
class Altered:
    """A tool has another definition now."""

    name: str
    before: Item
    after: Item


@dataclass(frozen=True, slots=True)
class Searchable:
    """Other tools can be found now, or cannot any more; numbers by server."""

    joined: tuple[tuple[str, int], ...]
    left: tuple[tuple[str, int], ...]


_PARTS: Final = 4
_NUMBER: Final = re.compile("[0-9]{1,15}")

Event = Appeared | Vanished | Altered | Searchable


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment of a conversation."""

    events: int
    lists: int
    """How many lists were begun before."""
    lines: int
    """Definitions that the list had."""
    entries: int
    """What stood in front of a provider that searches by itself; 0: none was asked yet."""

    def __str__(self) -> str:
        return f"{self.events}.{self.lists}.{self.lines}.{self.entries}"

    @classmethod
    def read(cls, text: str) -> "Mark":
        """The mark that was written as this text; ValueError for any other text."""
        parts = text.split(".")
        if len(parts) != _PARTS or not all(map(_NUMBER.fullmatch, parts)):
            raise ValueError(f"{quoted(text)} is no mark of a conversation; use one that it gave")
        return cls(*map(int, parts))


class Conversation:
    """The definitions that one model was shown, and what became of them."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        """Shown from the front of the prompt, in this order."""
        self.begun_with = 0
        """How many lines the list began with: the stable prefix, before anything was appended."""
        self.now: Mapping[str, Exposed] = {}
        """Every tool that may be called now, by exposed name."""
        self._front: Front | None = None
        """Once a provider searches by itself: what was offered must stay as it is, too."""
        self._deferred: Mapping[str, Exposed] = {}
        self._about: Mapping[str, str] = {}
        self._shown: dict[str, Line] = {}
        self._latest: dict[str, Item] = {}
        self._gone: set[str] = set()
        self._told: dict[str, str] = {}
        self._events: list[Event] = []
        self._forgotten = 0
        self._lists = 0

    @property
    def mark(self) -> Mark:
        """This moment."""
        entries = 0 if self._front is None else len(self._front.entries)
        return Mark(self._forgotten + len(self._events), self._lists, len(self.lines), entries)

    @property
    def deferred(self) -> int:
        """How many tools a provider that searches by itself has to take."""
        return sum(1 for _ in self._hidden()) if self._front is None else len(self._offered)

    def front(self, *, by_server: bool) -> Front:
        """What a provider that searches by itself is offered, from now on kept as it is.

        Args:
            by_server: Whether it is told of servers.
        """
        if self._front is None:
            self._front = self._new_front(by_server=by_server)
        elif by_server and not self._front.by_server:
            self._front.announce(self._about)
        return self._front

    def begin(self, exhibit: Exhibit, *, used: Iterable[Exposed] = ()) -> None:
        """Show what is there now as a new list; where it goes on as the old one, it is no new one.

        Deferred tools that were used stand behind what is visible. Differences from what was shown
        before are logged all the same.
        """
        before, held = list(self.lines), set(self._shown)
        self._note_differences(exhibit)
        self.lines = [*_meta_lines(exhibit), *map(_line, (*exhibit.visible, *used))]
        self._shown = {line.name: line for line in self.lines}
        goes_on = self.lines[: len(before)] == before
        if self._front is not None:
            earlier = self._front
            self._front = self._new_front(by_server=earlier.by_server)
            goes_on = goes_on and self._front.goes_on(earlier)
            if goes_on:
                self._front.begun_with = earlier.begun_with
        self._lists += not goes_on
        if not (before and goes_on):
            self.begun_with = len(self.lines)
        # One that is gone may come back as another one, which those who saw it have to be told.
        gone = {name: self._latest[name] for name in self._latest if name not in self.now}
        self._latest = gone | {name: it.item for name, it in self.now.items()}
        self._gone, self._told = set(), {}
        for line in self.lines if before else ():
            if line.item is not None and line.name not in held:
                self._log(Appeared(line.name))

    def take(self, exhibit: Exhibit) -> None:
        """Keep the list, note what changed, and append what is new."""
        self._note_differences(exhibit)
        self._append(it for it in _meta_lines(exhibit) if it.name not in self._shown)
        self.append(exhibit.visible)
        if self._front is not None:
            self._front.defer(self._hidden(), self._about)

    def append(self, exposed: Iterable[Exposed]) -> None:
        """Show further tools, behind everything else; not those that a provider finds itself."""
        self._append(_line(it) for it in exposed if not self.is_shown(it.name))

    def told(self, name: str, item: Item) -> None:
        """The model was told of the tool as it is in this item."""
        self._told[name] = item.contract

    def informed(self, name: str) -> None:
        """A refusal showed the model the tool as it is now; the one who refused remembers it."""
        self._told[name] = ""

    def seen(self, name: str) -> str:
        """The contract under which the model knows a tool; empty where it is not known here."""
        if name in self._told:
            return self._told[name]
        line = self._shown.get(name) or self._offered.get(name)
        return "" if line is None or line.item is None else line.item.contract

    def since(self, text: str) -> Mark:
        """The mark of this conversation that was written as this text.

        Raises:
            ValueError: It is none, or of a moment that has not come: it is another one's.
        """
        mark, now = Mark.read(text), self.mark
        if mark.events > now.events or mark.lists > now.lists:
            raise ValueError(f"{quoted(text)} is a mark of another conversation")
        return mark

    def events_since(self, mark: Mark) -> list[Event]:
        """What happened after a mark, as far back as is remembered."""
        return self._events[max(0, mark.events - self._forgotten) :]

    def is_shown(self, name: str) -> bool:
        """Whether a tool stands in the list, or where a provider finds it, gone or not."""
        return name in self._shown or name in self._offered

    def goes_on_since(self, mark: Mark) -> bool:
        """Whether the list of that moment is the beginning of the list of now."""
        return mark.lists == self._lists

    def fresh_since(self, mark: Mark) -> Sequence[Entry]:
        """What stands in the prompt now behind what stood there at that moment.

        What a provider that searches was offered at first is not told from what it had before.
        """
        goes_on = self.goes_on_since(mark)
        if self._front is None:
            return self.lines[mark.lines if goes_on else 0 :]
        return self._front.entries[max(mark.entries, self._front.begun_with) if goes_on else 0 :]

    @property
    def _offered(self) -> Mapping[str, Line]:
        """Deferred tools as they were offered first, where a provider searches for them."""
        return {} if self._front is None else self._front.deferred

    def _hidden(self) -> Iterable[Line]:
        """Deferred tools that are not shown."""
        return (_line(it) for it in self._deferred.values() if it.name not in self._shown)

    def _new_front(self, *, by_server: bool) -> Front:
        return Front(self.lines, self._hidden(), self._about, by_server=by_server)

    def _append(self, lines: Iterable[Line]) -> None:
        for line in lines:
            self.lines.append(line)
            self._shown[line.name] = line
            if self._front is not None:
                self._front.show(line)
            if line.item is not None:
                self._log(Appeared(line.name))
                self._alter(line.name, line.item)

    def _note_differences(self, exhibit: Exhibit) -> None:
        self.now = {it.name: it for it in (*exhibit.visible, *exhibit.deferred)}
        for name in sorted({*self._shown, *self._offered}):
            if name in self._latest:
                self._note(name, self.now.get(name))
        earlier, later = self._deferred, {it.name: it for it in exhibit.deferred}
        joined = _counted(later[name].server for name in later.keys() - earlier.keys())
        left = _counted(earlier[name].server for name in earlier.keys() - later.keys())
        self._deferred, self._about = later, exhibit.about
        if self.lines and (joined or left):
            self._log(Searchable(joined, left))

    def _note(self, name: str, now: Exposed | None) -> None:
        if now is None:
            if name not in self._gone:
                self._gone.add(name)
                self._log(Vanished(name))
            return
        if name in self._gone:
            self._gone.discard(name)
            self._log(Appeared(name))
        self._alter(name, now.item)

    def _alter(self, name: str, now: Item) -> None:
        latest = self._latest.get(name)
        if latest is not None and latest.fingerprint != now.fingerprint:
            self._log(Altered(name, latest, now))
        self._latest[name] = now

    def _log(self, event: Event) -> None:
        self._events.append(event)
        if len(self._events) > _LOGGED:
            self._forgotten += _LOGGED // 2
            del self._events[: _LOGGED // 2]


def _line(exposed: Exposed) -> Line:
    return Line(exposed.name, exposed.item.definition, exposed.item, exposed.server)


def _meta_lines(exhibit: Exhibit) -> list[Line]:
    kept = {str(it["name"]) for it in exhibit.meta_beside_native}
    names = [str(it["name"]) for it in exhibit.meta]
    return [
        Line(name, it, finds=name not in kept) for name, it in zip(names, exhibit.meta, strict=True)
    ]


def _counted(servers: Iterable[str]) -> tuple[tuple[str, int], ...]:
    numbers: dict[str, int] = {}
    for server in servers:
        numbers[server] = numbers.get(server, 0) + 1
    return tuple(sorted(numbers.items()))
