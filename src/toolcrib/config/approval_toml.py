"""`[approval]` of `toolcrib.toml`: which calls a person is asked about.

- `otherwise`: the verdict where no rule matches.
- `[[approval.rules]]`: `verdict`, and what it is about: `servers`, `tools` (lists of patterns),
  `annotations` (hints that must be so), `arguments` (patterns by dotted path; a table inside is a
  further step of the path); where it asks also `remember`, and `seconds` with
  `remember = "principal"`.

Nothing in it has a harmless default: whoever reads it must start no server after an error.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, get_args

from toolcrib.config import typed
from toolcrib.config.document import Node
from toolcrib.config.problem import Report
from toolcrib.core.approval import HINTS
from toolcrib.settings import ApprovalRule, ApprovalSettings, ApprovalVerdict, Remember

APPROVAL_KEYS: Final = frozenset({"otherwise", "rules"})
RULE_KEYS: Final = frozenset(
    {"verdict", "servers", "tools", "annotations", "arguments", "remember", "seconds"}
)


def read_approval(node: Node, report: Report) -> ApprovalSettings:
    """The rules of the table; what is wrong with them is reported."""
    given = typed.members(node, APPROVAL_KEYS, report)
    found: dict[str, Any] = {}
    if "otherwise" in given:
        found["otherwise"] = typed.choice(given["otherwise"], get_args(ApprovalVerdict), report)
    if "rules" in given:
        found["rules"] = _rules(given["rules"], report)
    return ApprovalSettings(**{key: value for key, value in found.items() if value is not None})


def _rules(node: Node, report: Report) -> tuple[ApprovalRule, ...]:
    if not isinstance(node.value, list):
        report.error(node, f"is {typed.kind_of(node)}, not a list", "write [[approval.rules]]")
        return ()
    found = [_rule(member, report) for member in node.value]
    return tuple(rule for rule in found if rule is not None)


def _rule(node: Node, report: Report) -> ApprovalRule | None:
    given = typed.members(node, RULE_KEYS, report)
    if not isinstance(node.value, dict):
        return None
    if "verdict" not in given:
        words = ", ".join(get_args(ApprovalVerdict))
        report.error(node, "has no verdict", f"write verdict = one of {words}")
        return None
    verdict = typed.choice(given["verdict"], get_args(ApprovalVerdict), report)
    found: dict[str, Any] = {"verdict": verdict, "source": node.place}
    for key in ("servers", "tools"):
        if key in given:
            found[key] = _patterns(given[key], report)
    if "annotations" in given:
        found["annotations"] = _hints(given["annotations"], verdict, report)
    if "arguments" in given:
        found["arguments"] = dict(_arguments(given["arguments"], "", report))
    found |= _memory(given, verdict, report)
    if None in found.values():
        return None
    return ApprovalRule(**found)


def _patterns(node: Node, report: Report) -> tuple[str, ...] | None:
    found = typed.texts(node, report)
    if found == ():
        report.error(node, "is empty, so the rule matches nothing", 'write ["*"], or leave it out')
        return None
    return found


def _hints(node: Node, verdict: str | None, report: Report) -> dict[str, bool] | None:
    if verdict == "allow":
        message = "cannot allow: annotations are the server's own claims"
        report.error(node, message, "name tools instead, or let the rule ask or deny")
        return None
    found = {key: typed.flag(it, report) for key, it in typed.members(node, HINTS, report).items()}
    return {key: value for key, value in found.items() if value is not None}


def _arguments(node: Node, before: str, report: Report) -> Iterator[tuple[str, str]]:
    """Every pattern with its path; the tables inside are steps of it."""
    if not isinstance(node.value, dict):
        remedy = 'write { "path" = "/etc/*" }'
        report.error(node, f"is {typed.kind_of(node)}, not a table", remedy)
        return
    for key, member in node.value.items():
        path = f"{before}{key}"
        if not all(path.split(".")):
            remedy = r"name arguments, with dots between them and \. for a dot in a name"
            report.error(member, "has a step without a name", remedy)
        elif isinstance(member.value, dict):
            yield from _arguments(member, f"{path}.", report)
        elif isinstance(member.value, str):
            yield path, member.value
        else:
            remedy = 'write a pattern in quotes, such as "/etc/*", "3" or "true"'
            report.error(member, f"is {typed.kind_of(member)}, not a pattern", remedy)


def _memory(given: Mapping[str, Node], verdict: str | None, report: Report) -> dict[str, Any]:
    """How long a yes is good."""
    found: dict[str, Any] = {}
    if "remember" in given:
        found["remember"] = typed.choice(given["remember"], get_args(Remember), report)
    if "seconds" in given:
        found["seconds"] = typed.number(given["seconds"], report, whole=False, zero=False)
    for key in found:
        if verdict in {"allow", "deny"}:
            report.error(given[key], f"says nothing where the rule is to {verdict}", "remove it")
    if "seconds" in found and found.get("remember", "call") != "principal":
        remedy = 'write remember = "principal" too, or remove it'
        report.error(given["seconds"], "says when a yes for the principal expires", remedy)
    return found
