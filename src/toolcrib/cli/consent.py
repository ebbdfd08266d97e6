"""`--yes`: the person who types a command approves beforehand what policy would ask them about."""

from dataclasses import replace

from toolcrib.errors import ConfirmationNeeded
from toolcrib.settings import ApprovalSettings


def allowed_beforehand(policy: ApprovalSettings) -> ApprovalSettings:
    """The policy of a person who says yes to all that it asks; what it denies stays denied."""
    rules = tuple(
        replace(rule, verdict="allow") if rule.verdict == "ask" else rule
        for rule in policy.rules
        if rule.verdict != "ask" or not rule.annotations  # hints never allow, so they just go
    )
    return ApprovalSettings(rules, "allow" if policy.otherwise == "ask" else policy.otherwise)


def with_own_remedy(needed: ConfirmationNeeded, *, as_json: bool) -> ConfirmationNeeded:
    """The error, with what whoever gave the command can do about a question besides.

    A program that reads JSON is never asked, at a terminal neither.
    """
    if "id" not in needed.details:
        return needed
    how = "or call again with --yes"
    if not as_json:
        how += ", or from a terminal, where you are asked"
    return ConfirmationNeeded(
        needed.message,
        server=needed.server,
        remedy=f"{needed.remedy}, {how}" if needed.remedy else how.removeprefix("or "),
        details=needed.details,
        operator_note=needed.operator_note,
    )
