"""One schema made ready: judged by its own dialect, everything it may cost known."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from jsonschema_rs import (
    Draft4Validator,
    Draft6Validator,
    Draft7Validator,
    Draft201909Validator,
    Draft202012Validator,
    ValidationError,
    ValidationErrorKind,
    Validator,
)

from toolcrib.adapters.schema.layout import Layout, LeadsOutside
from toolcrib.adapters.schema.patterns import BACKTRACKING, LINEAR, Patterns, in_schemas, states
from toolcrib.adapters.schema.references import References
from toolcrib.adapters.schema.survey import readable, survey
from toolcrib.adapters.schema.work import steps_for_anything
from toolcrib.core.jsontypes import is_object
from toolcrib.core.metaschema import is_known_dialect
from toolcrib.core.quoting import quoted
from toolcrib.core.schema import positions, shown
from toolcrib.ports import Unchecked
from toolcrib.settings import Limits

if TYPE_CHECKING:
    from jsonschema_rs import PatternOptionsType

_OLD: Final = {
    "draft-04": Draft4Validator,
    "draft-06": Draft6Validator,
    "draft-07": Draft7Validator,
    "draft/2019-09": Draft201909Validator,
}

_STATES_PER_WORK: Final = 10
"""States of all patterns together, for each step that a check may take: compiling them is quick."""

_PLACE_ROOM: Final = 120


@dataclass(frozen=True, slots=True, eq=False)
class Compiled:
    """A schema that can be checked against."""

    schema: object
    """As compiled: characters stand in for unpaired surrogates."""
    validator: Validator
    references: References
    patterns: Patterns
    layout: Layout
    for_anything: int | None
    """Steps for each node of a value, where the schema alone says so."""
    draft: str
    """`draft-04`, `draft-06`, `draft-07`, `draft/2019-09`, or empty for 2020-12."""
    weight: int
    """Values in the schema: about what it costs to keep."""


def compiled(schema: object, limits: Limits) -> Compiled | Unchecked:
    """A schema made ready, or why nothing can be checked against it."""
    if not (is_object(schema) or isinstance(schema, bool)):
        return Unchecked("the schema is neither an object nor a boolean")
    size = survey(schema)
    if size.odd or size.endless:
        return Unchecked("the schema holds something that is no JSON")
    if size.depth > limits.schema_depth:
        levels = f"more than {limits.schema_depth} levels deep (limit schema_depth)"
        return Unchecked(f"the schema is nested {levels}")
    if size.units > limits.schema_bytes:
        return Unchecked("the schema is too large (limit schema_bytes)")
    if not is_known_dialect(schema):
        named = quoted(str(schema["$schema"])) if is_object(schema) else ""
        return Unchecked(f"the schema declares the unknown dialect {named}")
    return _ready(readable(schema) if size.surrogates else schema, size.nodes, limits)


def _ready(schema: object, weight: int, limits: Limits) -> Compiled | Unchecked:
    nodes = [node for _, node in positions(schema)]
    named = in_schemas(nodes)
    if sum(map(states, named)) > limits.schema_work * _STATES_PER_WORK:
        return Unchecked("the patterns in the schema are too large (limit schema_work)")
    draft = _draft(schema)
    try:
        validator, backtracks = _validator(schema, draft)
        patterns = Patterns(named, backtracking=backtracks)
    except ValidationError as fault:
        return Unchecked(_reason(fault))
    except ValueError:
        return Unchecked("the schema cannot be read")
    references = References(schema, "id" if draft == "draft-04" else "$id")
    try:
        layout = Layout(schema, references, patterns)
    except LeadsOutside:
        return Unchecked(_OUTSIDE)
    for_anything = steps_for_anything(layout)
    return Compiled(schema, validator, references, patterns, layout, for_anything, draft, weight)


_OUTSIDE: Final = "a reference in the schema leads nowhere, or outside, where nothing is fetched"


def _draft(schema: object) -> str:
    dialect = schema.get("$schema") if is_object(schema) else None
    return next((name for name in _OLD if isinstance(dialect, str) and name in dialect), "")


def _validator(schema: object, draft: str) -> tuple[Validator, bool]:
    """A validator, and whether a pattern made the backtracking engine necessary.

    `format` is never asserted: it is an annotation in 2020-12 and 2019-09, a choice before, and a
    false alarm would hold back a call that its server takes.
    """
    try:
        return _built(schema, draft, LINEAR), False
    except ValidationError as fault:
        if isinstance(fault.kind, ValidationErrorKind.Referencing):
            raise
    return _built(schema, draft, BACKTRACKING), True


def _built(schema: Any, draft: str, engine: "PatternOptionsType") -> Validator:
    kind = _OLD.get(draft, Draft202012Validator)
    return kind(schema, offline=True, validate_formats=False, pattern_options=engine)


def _reason(fault: ValidationError) -> str:
    if isinstance(fault.kind, ValidationErrorKind.Referencing):
        return _OUTSIDE
    where = shown(tuple(map(str, fault.instance_path)))
    at = f" at {quoted(where, _PLACE_ROOM)}" if where else ""
    if isinstance(fault.kind, ValidationErrorKind.Format | ValidationErrorKind.PropertyNames):
        return f"a pattern in the schema cannot be read{at}"
    return f"the schema is no valid JSON Schema{at}"
