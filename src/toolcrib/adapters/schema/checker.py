"""The `SchemaChecker` port over jsonschema-rs: bounded in time and memory, fetching nothing."""

from collections import OrderedDict
from typing import Final

from toolcrib.adapters.schema.compiled import Compiled, compiled
from toolcrib.adapters.schema.explain import explained
from toolcrib.adapters.schema.survey import oddity, readable, survey
from toolcrib.adapters.schema.work import TooMuch, must_fit
from toolcrib.core.quoting import quoted
from toolcrib.ports import SchemaFault, Unchecked
from toolcrib.settings import Limits

_MOST_KEPT: Final = 2_000
_MOST_WEIGHT: Final = 1_000_000
"""Schemas, and values in all of them together, that are kept compiled."""

_DEEPEST_VALUE: Final = 128
"""Levels of a value: the library recurses on the stack of whoever calls it."""

_WEIGHT_OF_NONE: Final = 1


class JsonSchemaChecker:
    """Checks values against JSON Schemas by the dialect that each declares, 2020-12 without one.

    `format` is an annotation in every dialect: nothing is refused for it. `contentEncoding` and
    `contentMediaType` are asserted in drafts 6 and 7 alone, as the library does. Values that hold
    something that is no JSON (NaN, an infinity, a key that is no string) never pass, whatever the
    schema is.
    """

    def __init__(self, limits: Limits) -> None:
        """Check within `schema_work`, `schema_depth` and `schema_bytes`."""
        self._limits = limits
        self._kept: OrderedDict[str, Compiled | Unchecked] = OrderedDict()
        self._weight = 0

    def check(
        self, schema: object, value: object, *, mark: str
    ) -> tuple[SchemaFault, ...] | Unchecked:
        """Where the value does not fit: nothing, or the first few faults (see `SchemaChecker`)."""
        size = survey(value)
        if size.odd:
            return (SchemaFault(*oddity(value)),)
        ready = self._ready(schema, mark)
        if isinstance(ready, Unchecked):
            return ready
        if size.endless or size.depth > _DEEPEST_VALUE:
            return Unchecked(f"the value is nested more than {_DEEPEST_VALUE} levels deep")
        limit = self._limits.schema_work
        if ready.patterns.trial_work(size.units) > limit:
            steps = f"more than {limit:,} steps (limit schema_work)"
            return Unchecked(f"patterns that look around may take {steps} on this value")
        try:
            must_fit(ready.layout, ready.for_anything, value, size, limit)
        except TooMuch as reason:
            return Unchecked(str(reason))
        except RecursionError:  # the caller left little room on the stack
            return Unchecked("schema and value go too many steps into each other")
        return _judged(ready, readable(value) if size.surrogates else value)

    def _ready(self, schema: object, mark: str) -> Compiled | Unchecked:
        found = self._kept.get(mark)
        if found is not None:
            self._kept.move_to_end(mark)
            return found
        found = self._kept[mark] = compiled(schema, self._limits)
        self._weight += _weight(found)
        while len(self._kept) > _MOST_KEPT or (self._weight > _MOST_WEIGHT and len(self._kept) > 1):
            _, dropped = self._kept.popitem(last=False)
            self._weight -= _weight(dropped)
        return found


def _weight(kept: Compiled | Unchecked) -> int:
    return _WEIGHT_OF_NONE if isinstance(kept, Unchecked) else kept.weight


def _judged(ready: Compiled, value: object) -> tuple[SchemaFault, ...] | Unchecked:
    stuck = ready.patterns.stuck(value)
    if stuck is not None:
        return Unchecked(f"the pattern {quoted(stuck)} takes too many steps on this value")
    return () if ready.validator.is_valid(value) else explained(ready, value)
