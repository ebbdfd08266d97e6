"""Why a value does not fit: the first few faults, found lazily, in the words of `fault_words`.

The verdict is the library's. This only looks for the reasons, in bounds of its own, and where it
cannot tell (`unevaluated…`, dynamic references, a pattern that ran out of steps) it says nothing
rather than something wrong; a verdict without a reason gets a general one.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from toolcrib.adapters.schema import fault_words as words
from toolcrib.adapters.schema.alternatives import Finding, nearest
from toolcrib.adapters.schema.compiled import Compiled
from toolcrib.adapters.schema.rules import (
    broken_rules,
    is_listed,
    is_of,
    listed,
    required,
    types_of,
)
from toolcrib.adapters.schema.survey import Path, legible, place
from toolcrib.core.jsontypes import JsonArray, JsonObject, is_array, is_object
from toolcrib.core.quoting import clipped, enumerated
from toolcrib.ports import SchemaFault

MOST: Final = 8
"""Faults that are told."""

_STEPS: Final = 20_000
"""Places that are looked at."""

_OF_ONE: Final = 4
"""Faults of one alternative that are looked at."""

_ALTERNATIVES: Final = 64
"""Alternatives of one place that are looked at."""

_UNTOLD: Final = ("$dynamicRef", "$recursiveRef", "unevaluatedItems", "unevaluatedProperties")
"""Keywords whose faults are not looked for."""


_CONTAINED: Final = "items that fit `contains`"


class _Spent(Exception):
    """The search took all its steps."""


def explained(compiled: Compiled, value: object) -> tuple[SchemaFault, ...]:
    """At least one and at most `MOST` faults of a value that does not fit."""
    told: dict[tuple[str, str], None] = {}
    try:
        for finding in _Search(compiled).faults(compiled.schema, value, None):
            told[legible(place(finding.path)), words.bounded(legible(finding.what))] = None
            if len(told) == MOST:
                break
    except (_Spent, RecursionError):
        pass
    if not told:
        told["", _in_general(compiled.schema)] = None
    return tuple(SchemaFault(where, what) for where, what in told)


def _in_general(schema: object) -> str:
    if not is_object(schema):
        return "is not allowed: the schema accepts nothing"
    rules = enumerated(sorted(f"`{clipped(key)}`" for key in schema), 200)
    return f"breaks a rule of the schema that has no short description (it has {rules})"


class _Search:
    """One search for faults."""

    def __init__(self, compiled: Compiled) -> None:
        self._references = compiled.references
        self._matches = compiled.patterns.matches
        self._alone = compiled.draft.startswith("draft-0")
        """Whether a `$ref` makes everything beside it void, as up to draft 7."""
        self._whole = compiled.draft == "draft-04"
        self._left = _STEPS
        self._unsure = False
        """Whether some rule could not be told."""

    def faults(self, schema: object, value: object, path: Path) -> Iterator[Finding]:
        """Faults of a value at one place, in the order of their weight."""
        self._left -= 1
        if self._left < 0:
            raise _Spent
        if schema is False:
            yield Finding(path, "is not allowed here")
        if is_object(schema):
            yield from self._referred(schema, value, path)
            if not (self._alone and "$ref" in schema):
                yield from self._own(schema, value, path)

    def _own(self, schema: JsonObject, value: object, path: Path) -> Iterator[Finding]:
        """Faults by what stands in the schema itself."""
        types = types_of(schema)
        if types and not is_of(value, types, whole=self._whole):
            yield Finding(path, words.wrong_type(value, types), "type", value, types)
            return
        yield from self._rules(schema, value, path)
        if is_object(value):
            yield from self._of_object(schema, value, path)
        elif is_array(value):
            yield from self._of_array(schema, value, path)
        yield from self._combined(schema, value, path)
        yield from self._conditional(schema, value, path)
        self._unsure |= any(key in schema for key in _UNTOLD)

    def _fits(self, schema: object, value: object, path: Path) -> bool | None:
        """Whether a value fits; None where that cannot be told."""
        found, sure = self._tried(schema, value, path)
        return False if found else True if sure else None

    def _tried(self, schema: object, value: object, path: Path) -> tuple[list[Finding], bool]:
        """The first faults, and whether nothing was left untold."""
        before, self._unsure = self._unsure, False
        found = list(islice(self.faults(schema, value, path), _OF_ONE))
        sure, self._unsure = not self._unsure, before
        return found, sure

    def _referred(self, schema: JsonObject, value: object, path: Path) -> Iterator[Finding]:
        if "$ref" in schema:
            target = self._references.target(schema, str(schema["$ref"]))
            yield from self.faults(target, value, path)

    def _rules(self, schema: JsonObject, value: object, path: Path) -> Iterator[Finding]:
        values = listed(schema)
        if values is not None and not is_listed(value, values):
            what = words.not_listed(value, values)
            yield Finding(path, what, "enum", value, tuple(values))
        for rule, what in broken_rules(schema, value, self._matches):
            if what is None:
                self._unsure = True
            else:
                yield Finding(path, what, rule)

    def _of_object(self, schema: JsonObject, value: JsonObject, path: Path) -> Iterator[Finding]:
        missing = required(schema, value)
        if missing:
            yield Finding(path, words.missing(missing), "required")
        others = schema.get("additionalProperties", True)
        own = _object(schema.get("properties"))
        strangers: list[str] = []
        for key, member in value.items():
            inner = self._of_member(schema, key)
            if not inner and others is False:
                strangers.append(key)
            else:
                for one in inner or [others]:
                    yield from self.faults(one, member, (path, key))
        if strangers:
            yield Finding(path, words.unexpected(strangers, list(own)), "additionalProperties")
        if "propertyNames" in schema:
            yield from self._of_keys(schema["propertyNames"], value, path)

    def _of_member(self, schema: JsonObject, key: str) -> list[object]:
        """The schemas that name a member, by its key or by a pattern."""
        own = _object(schema.get("properties"))
        found: list[object] = [own[key]] if key in own else []
        matched = _object(schema.get("patternProperties"))
        return found + [matched[one] for one in matched if self._may_match(one, key)]

    def _may_match(self, pattern: str, key: str) -> bool:
        found = self._matches(pattern, key)
        self._unsure |= found is None
        return bool(found)

    def _of_keys(self, schema: object, value: JsonObject, path: Path) -> Iterator[Finding]:
        for key in value:
            for finding in islice(self.faults(schema, key, (path, key)), 1):
                yield Finding(finding.path, f"has a name that {finding.what}", "propertyNames")

    def _of_array(self, schema: JsonObject, value: JsonArray, path: Path) -> Iterator[Finding]:
        items = schema.get("items", True)
        first = items if is_array(items) else schema.get("prefixItems")
        others = schema.get("additionalItems", True) if is_array(items) else items
        lead: JsonArray = first if is_array(first) else []
        for at, item in enumerate(value):
            inner = lead[at] if at < len(lead) else others
            if inner is False:
                most = f"has {len(value):,} items, but must have at most {len(lead):,}"
                yield Finding(path, most, "items")
                break
            if inner is not True:
                yield from self.faults(inner, item, (path, at))
        if "contains" in schema:
            yield from self._containing(schema, value, path)

    def _containing(self, schema: JsonObject, value: JsonArray, path: Path) -> Iterator[Finding]:
        judged = [self._fits(schema["contains"], item, path) for item in value]
        if None in judged:
            self._unsure = True
            return
        found, most = judged.count(True), schema.get("maxContains")
        if found < (least := schema.get("minContains", 1)):
            yield Finding(path, words.counted(found, _CONTAINED, "at least", least), "contains")
        elif most is not None and found > most:
            yield Finding(path, words.counted(found, _CONTAINED, "at most", most), "contains")

    def _combined(self, schema: JsonObject, value: object, path: Path) -> Iterator[Finding]:
        for inner in _array(schema.get("allOf")):
            yield from self.faults(inner, value, path)
        for keyword in ("anyOf", "oneOf"):
            branches = _array(schema.get(keyword))
            if branches:
                yield from self._one_of(branches, value, path, alone=keyword == "oneOf")
        if "not" in schema:
            excluded = self._fits(schema["not"], value, path)
            self._unsure |= excluded is None
            if excluded:
                yield Finding(path, "is what the schema excludes (`not`)", "not")

    def _conditional(self, schema: JsonObject, value: object, path: Path) -> Iterator[Finding]:
        """Faults by schemas that apply only under a condition."""
        if "if" in schema:
            condition = self._fits(schema["if"], value, path)
            if condition is None:
                self._unsure = True
            else:
                yield from self.faults(schema.get("then" if condition else "else"), value, path)
        for keyword in ("dependentSchemas", "dependencies"):
            for key, inner in _object(schema.get(keyword)).items():
                if is_object(value) and key in value:
                    yield from self.faults(inner, value, path)

    def _one_of(
        self, branches: Sequence[object], value: object, path: Path, *, alone: bool
    ) -> Iterator[Finding]:
        tried: list[list[Finding]] = []
        fitting, unsure = 0, len(branches) > _ALTERNATIVES
        for branch in branches[:_ALTERNATIVES]:
            found, sure = self._tried(branch, value, path)
            if found:
                tried.append(found)
            elif sure:
                fitting += 1
            else:
                unsure = True
        if alone and fitting > 1:
            what = f"fits {fitting} alternatives at once, but must fit exactly one"
            yield Finding(path, what, "oneOf")
        elif not fitting and not unsure:
            yield from nearest(path, tried)
        self._unsure |= unsure


def _object(value: object) -> JsonObject:
    return value if is_object(value) else {}


def _array(value: object) -> JsonArray:
    return value if is_array(value) else []
