"""What happened to the tools of a conversation between two turns, and one text about it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from toolcrib.context.conversation import (
    Altered,
    Appeared,
    Conversation,
    Event,
    Mark,
    Searchable,
    Vanished,
)
from toolcrib.context.shown_schema import shown_schema
from toolcrib.core.canonical import canonical
from toolcrib.core.diff import Changed
from toolcrib.core.quoting import enumerated, quoted

_NAME: Final = 128
_SCHEMA: Final = 4_096
_TEXT: Final = 12_288
"""Bytes of one schema, and characters of schemas and sentences in all; what is beyond is left to
the refusal of a call that does not fit, which shows the schema."""


@dataclass(frozen=True, slots=True)
class Delta:
    """The difference between two moments of one conversation."""

    since: str
    """The mark it begins at."""
    mark: str
    """The mark of now, to ask from at the next turn."""
    added: tuple[str, ...] = ()
    """Names of tools that were appended to what is shown, or came back."""
    removed: tuple[str, ...] = ()
    """Names of shown tools that are gone; their definitions may still stand in the prefix."""
    changed: tuple[Changed, ...] = ()
    """Shown tools whose contract changed."""
    changed_names: tuple[str, ...] = ()
    """Their exposed names, in the same order."""
    reworded: tuple[str, ...] = ()
    """Names of shown tools of which only words changed; nothing is said of them."""
    joined: Mapping[str, int] = field(default_factory=dict[str, int])
    """By server: how many more tools can be found."""
    left: Mapping[str, int] = field(default_factory=dict[str, int])
    """By server: how many fewer tools can be found."""
    prefix_survives: bool = True
    """Whether the definitions of then stand unchanged at the front of those of now."""
    cost_of_a_miss: int = 0
    """Tokens, estimated, that the next request has to read anew because of the difference."""
    unsaid: frozenset[str] = frozenset()
    """Names of changed tools of which the text has no room to say how; a call by what was seen of
    them is refused, and the refusal does."""
    text: str = ""
    """One text for the model, to be put behind what was said so far; empty: there is nothing."""

    def __bool__(self) -> bool:
        return bool(self.text or self.reworded or not self.prefix_survives)


class _Folded:
    """Events, by what they come to in the end."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.appeared: dict[str, None] = {}
        self.vanished: dict[str, None] = {}
        self.altered: dict[str, Changed] = {}
        self.joined: dict[str, int] = {}
        self.left: dict[str, int] = {}
        for event in events:
            self._fold(event)
        for name in (*self.vanished, *self.appeared):
            self.altered.pop(name, None)

    def _fold(self, event: Event) -> None:
        match event:
            case Appeared(name):
                _either(name, self.appeared, self.vanished)
            case Vanished(name):
                if name in self.appeared:
                    self.altered.pop(name, None)
                _either(name, self.vanished, self.appeared)
            case Altered(name, before, after):
                earlier = self.altered.pop(name, None)
                change = Changed(earlier.before if earlier else before, after)
                if change.before.fingerprint != after.fingerprint:
                    self.altered[name] = change
            case Searchable(joined, left):
                _net(self.joined, self.left, joined)
                _net(self.left, self.joined, left)


def _either(name: str, into: dict[str, None], undone: dict[str, None]) -> None:
    """One that went and came back, or the reverse, is news of neither kind."""
    if name in undone:
        del undone[name]
    else:
        into[name] = None


def delta_of(
    conversation: Conversation, since: Mark, *, cost: int = 0, can_search: bool = False
) -> Delta:
    """The difference between a mark and now.

    Args:
        conversation: What was shown, and what happened.
        since: From when on.
        cost: Goes into `cost_of_a_miss`.
        can_search: Whether the model has a tool that finds others, so that it is told of them.
    """
    folded = _Folded(conversation.events_since(since))
    contracts = {name: it for name, it in folded.altered.items() if it.contract_changed}
    survives = conversation.goes_on_since(since)
    text, unsaid = _text(folded, contracts, keeps_old=survives, can_search=can_search)
    return Delta(
        since=str(since),
        mark=str(conversation.mark),
        added=tuple(folded.appeared),
        removed=tuple(folded.vanished),
        changed=tuple(contracts.values()),
        changed_names=tuple(contracts),
        reworded=tuple(name for name in folded.altered if name not in contracts),
        joined=folded.joined,
        left=folded.left,
        prefix_survives=survives,
        cost_of_a_miss=cost,
        unsaid=unsaid,
        text=text,
    )


def _net(more: dict[str, int], fewer: dict[str, int], counts: Iterable[tuple[str, int]]) -> None:
    for server, number in counts:
        undone = min(number, fewer.get(server, 0))
        if undone:
            fewer[server] -= undone
        if number > undone:
            more[server] = more.get(server, 0) + number - undone
    for server in [server for server, number in fewer.items() if not number]:
        del fewer[server]


def _text(
    folded: _Folded, contracts: Mapping[str, Changed], *, keeps_old: bool, can_search: bool
) -> tuple[str, frozenset[str]]:
    parts: list[str] = []
    unsaid: list[str] = []
    if folded.vanished:
        parts.append(f"Removed, not to be called any more: {_names(folded.vanished)}.")
    room = _TEXT
    for name, change in contracts.items():
        if room <= 0:
            unsaid.append(name)
            continue
        part = _change(name, change, room if keeps_old else 0)
        room -= len(part)
        parts.append(part)
    if unsaid:
        parts.append(f"Changed, too: {_names(unsaid)}.")
    if folded.appeared:
        parts.append(f"New: {_names(folded.appeared)}; see their definitions.")
    if can_search and folded.joined:
        parts.append(f"More tools can be found now: {_numbers(folded.joined)}.")
    if can_search and folded.left:
        parts.append(f"Fewer tools can be found now: {_numbers(folded.left)}.")
    text = "\n".join(["Your tools have changed.", *parts]) if parts else ""
    return text, frozenset(unsaid)


def _change(name: str, change: Changed, room: int) -> str:
    """How a tool changed, with its schema as it is now where there is room for it."""
    said = f"Changed: {quoted(name, _NAME)}: {'; '.join(change.in_words(6))}."
    schema = change.after.definition.get("inputSchema", {})
    if room <= len(said):
        return said
    shown = canonical(shown_schema(dict(schema), room=_SCHEMA)).decode("utf-8", "replace")
    if len(said) + len(shown) > room:
        return said
    return f"{said} Its input schema as it is now, whatever its definition says: {shown}"


def _names(names: Iterable[str]) -> str:
    return enumerated((quoted(name, _NAME) for name in names), 2_000)


def _numbers(numbers: Mapping[str, int]) -> str:
    return enumerated((f"{quoted(it)} ({numbers[it]:,})" for it in sorted(numbers)), 1_000)
