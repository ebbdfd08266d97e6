"""Patterns that people search with, on an engine whose time grows with the text alone.

The engine is the one that checks schemas (`jsonschema-rs`, over Rust's `regex`), in its linear
form: it has neither look-around nor back references, and repetitions that would make an automaton
too large are refused when the pattern is compiled. So no pattern can run away.
"""

from collections.abc import Callable
from typing import Final

from jsonschema_rs import Draft202012Validator, ValidationError

from toolcrib.adapters.schema.patterns import LINEAR, states

LONGEST: Final = 200
"""Characters of a pattern."""
_MOST_STATES: Final = LONGEST
"""Of an automaton, about: with more, a text of a tool may take a millisecond, and there are tens of
thousands."""


def linear_pattern(pattern: str) -> Callable[[str], bool]:
    """Whether a text contains the pattern, in any case of letters; a `ports.PatternEngine`.

    Raises:
        ValueError: The pattern is refused; the message says why, and what to write.
    """
    if len(pattern) > LONGEST:
        raise ValueError(f"it has {len(pattern):,} characters; {LONGEST} are taken")
    if states(pattern) > _MOST_STATES:
        raise ValueError("it repeats too much: use smaller numbers in {…}")
    try:
        compiled = Draft202012Validator(
            {"pattern": f"(?i){pattern}"}, pattern_options=LINEAR, offline=True
        )
    except (ValidationError, ValueError) as error:
        raise ValueError(
            "it is no regular expression of the kind that is taken: no look-around, no back "
            "references, brackets in pairs, and a \\ before a character that is meant literally"
        ) from error
    return compiled.is_valid
