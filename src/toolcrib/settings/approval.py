"""Which calls a person is asked about."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

ApprovalVerdict = Literal["allow", "deny", "ask"]

Remember = Literal["call", "run", "principal"]


def _no_hints() -> Mapping[str, bool]:
    return {}


def _no_patterns() -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """One rule about calls; shell patterns over original names."""

    verdict: ApprovalVerdict
    servers: tuple[str, ...] = ("*",)
    tools: tuple[str, ...] = ("*",)
    annotations: Mapping[str, bool] = field(default_factory=_no_hints)
    """Hints of the tool that must be so, such as `destructiveHint`; one that is absent counts as
    the specification says. Hints come from the server, so such a rule never allows."""
    arguments: Mapping[str, str] = field(default_factory=_no_patterns)
    """Patterns that arguments must match, by dotted path, such as `{"path": "/etc/*"}`."""
    remember: Remember = "call"
    """How long a yes is good: for this call, for this run of the process, or for the principal."""
    seconds: float = 86_400.0
    """When a yes for the principal expires."""
    source: str = ""
    """The file and line of the rule, for messages."""


@dataclass(frozen=True, slots=True)
class ApprovalSettings:
    """Which calls a person is asked about: the first rule that matches decides, deny apart.

    A matching `deny` always wins, wherever it stands.
    """

    rules: tuple[ApprovalRule, ...] = ()
    otherwise: ApprovalVerdict = "allow"
