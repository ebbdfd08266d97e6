"""What changed between two snapshots: added, removed, changed, and probably renamed.

Equal fingerprints are skipped, so the cost is that of what changed; sentences about a change are
made when somebody asks for them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from toolcrib.core.fingerprint import shape
from toolcrib.core.jsontypes import JsonObject, is_array, is_object
from toolcrib.core.quoting import enumerated, quoted
from toolcrib.core.schema_diff import schema_changes
from toolcrib.core.schema_words import same
from toolcrib.core.snapshot import Item, Kind, Snapshot

_GUESSED = 500
"""Removed and added items each, up to which renamings are guessed."""

_SCHEMAS = {"inputSchema": "the argument object", "outputSchema": "the result"}


@dataclass(frozen=True, slots=True)
class Changed:
    """One item that kept its key."""

    before: Item
    after: Item

    @property
    def contract_changed(self) -> bool:
        """Whether a call depends on the difference; otherwise only wording changed."""
        return self.before.contract != self.after.contract

    def in_words(self, limit: int = 12) -> tuple[str, ...]:
        """How the definition changed: at most `limit` sentences per schema, then what else did."""
        old, new = self.before.definition, self.after.definition
        said: list[str] = []
        for member, whole in _SCHEMAS.items():
            if member in old or member in new:
                was, now = old.get(member, True), new.get(member, True)
                said += schema_changes(was, now, whole=whole, limit=limit)
        if "arguments" in old or "arguments" in new:
            was, now = _as_schema(old.get("arguments")), _as_schema(new.get("arguments"))
            said += schema_changes(was, now, limit=limit)
        told = {*_SCHEMAS, "arguments"}
        others = [
            key for key in sorted((old.keys() | new.keys()) - told) if _differs(key, old, new)
        ]
        if others:
            said.append(f"other {enumerated(map(quoted, others), 200)}")
        return tuple(said) or ("only words inside its schemas changed",)


@dataclass(frozen=True, slots=True)
class Renamed:
    """A removed and an added tool with the same contract but for the name: a guess."""

    before: Item
    after: Item


@dataclass(frozen=True, slots=True)
class CatalogDiff:
    """The difference between two snapshots of one catalog; every part sorted by key."""

    added: tuple[Item, ...] = ()
    removed: tuple[Item, ...] = ()
    changed: tuple[Changed, ...] = ()
    renamed: tuple[Renamed, ...] = ()
    """Guesses; their items are among the added and the removed, too."""

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    def in_words(self, limit: int = 20) -> tuple[str, ...]:
        """One line per item, at most `limit` lines and one that counts the rest."""
        lines = chain(
            (
                f"{quoted(it.before.key)} is now {quoted(it.after.key)}, it seems"
                for it in self.renamed
            ),
            (f"{quoted(item.key)} was removed" for item in self.removed if not self._moved(item)),
            (f"{quoted(item.key)} was added" for item in self.added if not self._moved(item)),
            (f"{quoted(it.after.key)}: {'; '.join(it.in_words(4))}" for it in self.changed),
        )
        total = len(self.added) + len(self.removed) + len(self.changed) - len(self.renamed)
        said = tuple(islice(lines, limit))
        return said if total <= limit else (*said, f"and {total - limit:,} further items")

    def _moved(self, item: Item) -> bool:
        return any(item in (guess.before, guess.after) for guess in self.renamed)


def diff(before: Snapshot | None, after: Snapshot | None) -> CatalogDiff:
    """What has to be done to `before` to get `after`; None stands for an empty catalog."""
    old, new = before.items if before else (), after.items if after else ()
    added = tuple(item for item in new if before is None or before.get(item.key) is None)
    removed = tuple(item for item in old if after is None or after.get(item.key) is None)
    pairs = ((item, before.get(item.key)) for item in new) if before else ()
    changed = tuple(
        Changed(held, item)
        for item, held in pairs
        if held is not None and held.fingerprint != item.fingerprint
    )
    is_tools = after is not None and after.kind is Kind.TOOLS
    return CatalogDiff(added, removed, changed, _guess(added, removed) if is_tools else ())


def _guess(added: tuple[Item, ...], removed: tuple[Item, ...]) -> tuple[Renamed, ...]:
    """Pairs that fit each other alone; tools without parameters look alike and must share words."""
    if not added or not removed or max(len(added), len(removed)) > _GUESSED:
        return ()
    old, new = _alone(removed), _alone(added)
    return tuple(Renamed(old[mark], new[mark]) for mark in old if mark in new)


def _alone(items: Iterable[Item]) -> dict[tuple[str, object], Item]:
    """Items by what a renaming leaves unchanged, without those that share it."""
    found: dict[tuple[str, object], Item | None] = {}
    for item in items:
        schema = item.definition.get("inputSchema")
        speaks = is_object(schema) and bool(schema.get("properties"))
        words = None if speaks else str(item.definition.get("description"))
        mark = shape(item.definition), words
        found[mark] = None if mark in found else item
    return {mark: item for mark, item in found.items() if item is not None}


def _differs(key: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    return (key in old) != (key in new) or not same([old.get(key)], [new.get(key)])


def _as_schema(arguments: object) -> JsonObject:
    """The arguments of a prompt as the schema they amount to."""
    named = [one for one in arguments if is_object(one)] if is_array(arguments) else []
    return {
        "type": "object",
        "properties": {str(one.get("name")): {} for one in named},
        "required": [str(one.get("name")) for one in named if one.get("required") is True],
    }
