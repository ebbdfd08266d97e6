"""What to say where a value fits none of several alternatives: what they agree on, or the nearest.

A list of every fault of every alternative helps nobody. Where all refuse the same place for its
type or for a listed value, the sentence names what any of them would take. Else the faults of the
alternative that comes nearest are told.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from toolcrib.adapters.schema import fault_words as words
from toolcrib.adapters.schema.survey import Path

_BY_NEAREST = " (by the alternative that comes nearest)"


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault, with what is needed to put it together with others."""

    path: Path
    what: str
    rule: str = ""
    """The keyword."""
    value: object = None
    """What stands there, where the rule is about a type or listed values."""
    allowed: tuple[object, ...] = ()
    """Types or values that would do."""


def nearest(path: Path, tried: Sequence[Sequence[Finding]]) -> Iterator[Finding]:
    """The faults to tell of alternatives at `path`, none of which has none."""
    for rule in ("type", "enum"):
        together = _together(rule, tried)
        if together is not None:
            yield together
            return
    candidates = [found for found in tried if not _is_another_type(path, found)] or list(tried)
    best = max(candidates, key=lambda found: _nearness(path, found))
    for finding in best:
        more = _BY_NEAREST if len(candidates) > 1 else ""
        yield replace(finding, what=f"{finding.what.removesuffix(_BY_NEAREST)}{more}")


def _together(rule: str, tried: Sequence[Sequence[Finding]]) -> Finding | None:
    """One fault for all alternatives, where all have one of this rule at the same place."""
    for first in tried[0]:
        same = [
            one for found in tried for one in found if one.rule == rule and one.path == first.path
        ]
        if first.rule == rule and len(same) == len(tried):
            return _merged(rule, first, same)
    return None


def _merged(rule: str, first: Finding, same: Sequence[Finding]) -> Finding:
    allowed = tuple(value for one in same for value in one.allowed)
    if rule == "type":
        types = list(dict.fromkeys(map(str, allowed)))
        return replace(first, what=words.wrong_type(first.value, types), allowed=allowed)
    return replace(first, what=words.not_listed(first.value, allowed), allowed=allowed)


def _is_another_type(path: Path, found: Sequence[Finding]) -> bool:
    return found[0].rule == "type" and found[0].path is path


def _nearness(path: Path, found: Sequence[Finding]) -> tuple[bool, int]:
    """An alternative whose tag (a listed value of a member) fits is nearer; then fewer faults."""
    tags = any(one.rule == "enum" and one.path is not None and one.path[0] is path for one in found)
    return not tags, -len(found)
