"""Which calls go, which never do, and which a person is asked about.

A matching rule that denies always wins, wherever it stands; otherwise the first rule that matches
decides, and where none does, the default. Two things in a rule come from parties that are not
trusted, so both can only make a verdict stricter:

- *hints* (a tool's annotations) are the server's own claims (MCP 2026-07-28, tools: annotations).
  A rule that looks at them never allows, and never asks where the other rules would have denied:
  else a hint could turn a denial into a question.
- *arguments* are the model's. Where an argument is an array, one element that matches is enough to
  deny or to ask, but all of them have to match to allow.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final, Generic, Literal, Protocol, TypeVar

from toolcrib.core.canonical import canonical
from toolcrib.core.fingerprint import hashed
from toolcrib.core.jsontypes import is_array, is_object
from toolcrib.core.snapshot import Item

Verdict = Literal["allow", "deny", "ask"]

READ_ONLY: Final = "readOnlyHint"
DESTRUCTIVE: Final = "destructiveHint"
HINTS: Final[Mapping[str, bool]] = {
    READ_ONLY: False,
    DESTRUCTIVE: True,
    "idempotentHint": False,
    "openWorldHint": True,
}
"""What a tool is taken to be where it does not say (MCP 2026-07-28, schema: ToolAnnotations)."""

_LOOKED_AT: Final = 2_000
"""Values at one path that are looked at: whoever writes more of them must not stop everything."""

_DOT: Final = re.compile(r"(?<!\\)\.")


class _TooMany(Exception):
    """More values stand at a path than anybody looks at."""


class Rule(Protocol):
    """One rule; every part of it has to match. Patterns are those of shells, case-sensitive."""

    @property
    def verdict(self) -> Verdict:
        """What it says of the calls it matches."""
        ...

    @property
    def servers(self) -> tuple[str, ...]:
        """Patterns of server ids, of which one matches."""
        ...

    @property
    def tools(self) -> tuple[str, ...]:
        """Patterns of original names, of which one matches."""
        ...

    @property
    def annotations(self) -> Mapping[str, bool]:
        """Hints that are all so."""
        ...

    @property
    def arguments(self) -> Mapping[str, str]:
        r"""Patterns of arguments, by dotted path (`\.` for a dot), which all match."""
        ...


R = TypeVar("R", bound=Rule)


@dataclass(frozen=True, slots=True)
class Allowed:
    """The call may go."""


@dataclass(frozen=True, slots=True)
class Denied(Generic[R]):
    """The call never goes."""

    rule: R | None
    """None: no rule matched, and that is denied."""


@dataclass(frozen=True, slots=True)
class AskFirst(Generic[R]):
    """A person says whether it goes."""

    rule: R | None
    """None: no rule matched, and that is asked about."""
    category: str
    """Marks what the rule matches: a yes that is remembered for it is void when it is changed."""


def decide(
    rules: Sequence[R],
    otherwise: Verdict,
    server: str,
    tool: Item,
    arguments: Mapping[str, Any],
) -> Allowed | Denied[R] | AskFirst[R]:
    """What the rules say of one call.

    Args:
        rules: In the order of their file.
        otherwise: The verdict where no rule matches.
        server: The configured id.
        tool: As in the newest snapshot.
        arguments: As the model wrote them.
    """
    matching = [rule for rule in rules if matches(rule, server, tool, arguments)]
    for rule in matching:
        if rule.verdict == "deny":
            return Denied(rule)
    plain = next((rule for rule in matching if not rule.annotations), None)
    unhinted = _decision(plain, otherwise)
    if isinstance(unhinted, Denied) or not matching:
        return unhinted
    return _decision(matching[0], otherwise)


def _decision(rule: R | None, otherwise: Verdict) -> Allowed | Denied[R] | AskFirst[R]:
    match otherwise if rule is None else rule.verdict:
        case "allow":
            return Allowed()
        case "deny":
            return Denied(rule)
        case "ask":
            return AskFirst(rule, category(rule))


def matches(rule: Rule, server: str, tool: Item, arguments: Mapping[str, Any]) -> bool:
    """Whether a rule speaks about this call; one that would allow because of hints never does."""
    strict = rule.verdict == "allow"
    if strict and rule.annotations:
        return False
    return (
        _any_matches(rule.servers, server)
        and _any_matches(rule.tools, tool.key)
        and all(hint(tool, name) in {wanted, None} for name, wanted in rule.annotations.items())
        and all(
            _argument_matches(arguments, path, pattern, strict=strict)
            for path, pattern in rule.arguments.items()
        )
    )


def hint(tool: Item, name: str) -> bool | None:
    """A hint as far as the tool says so, else as the specification presumes.

    A tool that says it only reads is not presumed to destroy, for that hint has no meaning there.
    None: neither the tool nor the specification says anything; a rule counts that as a match.
    """
    given = tool.definition.get("annotations")
    said: Mapping[str, Any] = given if is_object(given) else {}
    value = said.get(name)
    if isinstance(value, bool):
        return value
    if name == DESTRUCTIVE and said.get(READ_ONLY) is True:
        return False
    return HINTS.get(name)


def category(rule: Rule | None) -> str:
    """The mark of what a rule matches, 64 hex digits; of the default, where there is no rule."""
    if rule is None:
        return hashed(canonical("otherwise"))
    parts = [list(rule.servers), list(rule.tools), dict(rule.annotations), dict(rule.arguments)]
    return hashed(canonical([rule.verdict, *parts]))


def written(value: object) -> str:
    """A value as patterns see it: a string as it is, anything else as compact JSON.

    Numbers have one spelling (`1.0` is `1`) and members one order, so that a pattern cannot be
    evaded by writing the same value otherwise. What JSON cannot write has no text.
    """
    if isinstance(value, str):
        return value
    try:
        return canonical(value).decode()
    except (TypeError, ValueError):
        return ""


def _any_matches(patterns: Sequence[str], text: str) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns)


def _argument_matches(
    arguments: Mapping[str, Any], path: str, pattern: str, *, strict: bool
) -> bool:
    """Whether the values at a path match: all of them and at least one if `strict`, else any.

    Where there are more than anybody looks at, the stricter verdict holds.
    """
    steps = [step.replace(r"\.", ".") for step in _DOT.split(path)]
    try:
        ends = list(_ends(dict(arguments), steps))
    except _TooMany:
        return not strict
    found = [bool(end) and fnmatchcase(written(end[0]), pattern) for end in ends]
    return bool(found) and (all(found) if strict else any(found))


def _ends(arguments: object, steps: Sequence[str]) -> Iterator[tuple[object, ...]]:
    """Every value at the path, through the elements of arrays; empty where a way ends before.

    Raises `_TooMany` where there are more than anybody looks at.
    """
    stack = [(arguments, 0)]
    looked_at = 0
    while stack:
        value, depth = stack.pop()
        looked_at += 1
        if looked_at + len(stack) > _LOOKED_AT or (is_array(value) and len(value) > _LOOKED_AT):
            raise _TooMany
        if is_array(value):
            stack += [(element, depth) for element in value]
        elif depth == len(steps):
            yield (value,)
        elif is_object(value) and steps[depth] in value:
            stack.append((value[steps[depth]], depth + 1))
        else:
            yield ()
