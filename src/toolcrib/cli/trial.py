"""What would become of a call with some arguments, told without making it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from toolcrib.cli.json_text import json_text
from toolcrib.cli.output import View
from toolcrib.cli.tables import BAD, GOOD, UNSURE
from toolcrib.cli.terminal_text import one_line
from toolcrib.core.approval import Allowed, AskFirst, Denied, decide
from toolcrib.core.snapshot import Item
from toolcrib.ports import SchemaChecker, SchemaFault, Unchecked
from toolcrib.settings import ApprovalSettings


@dataclass(frozen=True, slots=True)
class Trial:
    """Some arguments, held against a tool's schema and the policy."""

    arguments: Mapping[str, Any]
    faults: tuple[SchemaFault, ...] = ()
    unchecked: str = ""
    """Why the schema was not checked; empty: it was."""
    approval: Literal["allow", "deny", "ask"] = "allow"
    rule: str = ""
    """The file and line of the rule that decides; empty: none matches."""

    @property
    def passes(self) -> bool:
        """Whether such a call could go out."""
        return not self.faults and self.approval != "deny"


def tried(
    server: str,
    item: Item,
    arguments: Mapping[str, Any],
    *,
    checker: SchemaChecker,
    policy: ApprovalSettings,
) -> Trial:
    """The trial of these arguments."""
    found = checker.check(item.definition.get("inputSchema"), arguments, mark=item.contract)
    faults, unchecked = ((), found.reason) if isinstance(found, Unchecked) else (found, "")
    match decide(policy.rules, policy.otherwise, server, item, arguments):
        case Allowed():
            return Trial(arguments, faults, unchecked)
        case Denied(rule):
            return Trial(arguments, faults, unchecked, "deny", "" if rule is None else rule.source)
        case AskFirst(rule, _):
            return Trial(arguments, faults, unchecked, "ask", "" if rule is None else rule.source)


def trial_view(trial: Trial) -> View:
    """The arguments as they would be sent, what is wrong with them, and what policy says."""
    document = {
        "arguments": dict(trial.arguments),
        "faults": [{"where": fault.where, "what": fault.what} for fault in trial.faults],
        "unchecked": trial.unchecked or None,
        "approval": trial.approval,
        "rule": trial.rule or None,
    }
    return View(Group(*_parts(trial)), document)


def _parts(trial: Trial) -> list[RenderableType]:
    parts: list[RenderableType] = [Text("\nThese arguments", "bold")]
    parts.append(Padding(json_text(dict(trial.arguments)), (0, 0, 0, 2), expand=False))
    for fault in trial.faults:
        where = f"{one_line(fault.where)}: " if fault.where else ""
        parts.append(Text(f"  {where}{one_line(fault.what)}", BAD))
    if trial.unchecked:
        parts.append(Text(f"  not checked: {one_line(trial.unchecked)}", UNSURE))
    elif not trial.faults:
        parts.append(Text("  they fit", GOOD))
    by = f" ({one_line(trial.rule)})" if trial.rule else ""
    match trial.approval:
        case "deny":
            parts.append(Text(f"  policy denies the call{by}", BAD))
        case "ask":
            parts.append(Text(f"  a person is asked first{by}", UNSURE))
        case "allow":
            pass
    return parts
