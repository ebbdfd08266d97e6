"""Whether what one server answered may go into a call of another, within one program.

A program can carry anything it has received into any later call, in whatever disguise, so nothing
is looked for in the arguments: what a server answered before counts as part of what is sent after.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, Protocol

Verdict = Literal["allow", "ask", "deny"]


class Rule(Protocol):
    """A rule of the configuration (`settings.FlowRule`)."""

    @property
    def source(self) -> str:
        """Server ids, as a shell pattern."""
        ...

    @property
    def target(self) -> str:
        """Server ids, as a shell pattern."""
        ...

    @property
    def verdict(self) -> Verdict:
        """What holds for a flow that fits."""
        ...


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow that may not pass just like that."""

    sources: tuple[str, ...]
    """Of `ask` all servers that a person has to agree to, in order; of `deny` the first one."""
    target: str
    verdict: Literal["ask", "deny"]


def flow_verdict(rules: Sequence[Rule], received: Iterable[str], target: str) -> Flow | None:
    """The strictest of what holds between the servers that answered and the one to be called.

    For each pair the first rule that fits decides. What a server answered may always go back to it.
    None: the call may go out.
    """
    asked: list[str] = []
    for source in sorted(set(received) - {target}):
        match _between(rules, source, target):
            case "deny":
                return Flow((source,), target, "deny")
            case "ask":
                asked.append(source)
            case "allow":
                pass
    return Flow(tuple(asked), target, "ask") if asked else None


def _between(rules: Sequence[Rule], source: str, target: str) -> Verdict:
    for rule in rules:
        if fnmatchcase(source, rule.source) and fnmatchcase(target, rule.target):
            return rule.verdict
    return "allow"
