"""`[code]` of `toolcrib.toml`: how programs run, within which bounds, and what may flow where.

`languages`, `type_check`, the numbers of `CodeSettings`, and `[[code.flows]]` with `source`,
`target` (patterns of server ids) and `verdict`. A number that is wrong keeps its default; a flow
has no harmless one: whoever reads it must start no server after an error in it.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final, get_args

from toolcrib.config import typed
from toolcrib.config.document import Node
from toolcrib.config.problem import Report
from toolcrib.settings import CodeSettings, FlowRule, FlowVerdict, Language

CODE_KEYS: Final = frozenset(field.name for field in fields(CodeSettings))
FLOW_KEYS: Final = frozenset({"source", "target", "verdict"})
_FROM_0: Final = frozenset(
    {"print_bytes", "question_seconds", "queued", "sleep_seconds", "suspended"}
)


def read_flows(node: Node, report: Report) -> tuple[FlowRule, ...]:
    """The flows of the table; what is wrong with them is reported."""
    flows = node.table.get("flows")
    if flows is None:
        return ()
    if not isinstance(flows.value, list):
        report.error(flows, f"is {typed.kind_of(flows)}, not a list", "write [[code.flows]]")
        return ()
    found = [_flow(member, report) for member in flows.value]
    return tuple(rule for rule in found if rule is not None)


def read_code(node: Node, flows: tuple[FlowRule, ...], report: Report) -> CodeSettings:
    """Everything else of the table, together with its flows."""
    given = typed.members(node, CODE_KEYS, report)
    defaults = CodeSettings()
    found: dict[str, Any] = {"flows": flows}
    for key in sorted(given.keys() - {"flows", "languages", "type_check"}):
        whole, zero = isinstance(getattr(defaults, key), int), key in _FROM_0
        of = "" if whole else " of seconds"
        found[key] = typed.number(given[key], report, whole=whole, zero=zero, of=of)
    if "type_check" in given:
        found["type_check"] = typed.flag(given["type_check"], report)
    if "languages" in given:
        found["languages"] = _languages(given["languages"], report)
    return CodeSettings(**{key: value for key, value in found.items() if value is not None})


def _languages(node: Node, report: Report) -> tuple[str, ...] | None:
    found = typed.choices(node, get_args(Language), report)
    if found == ():
        report.error(node, "is empty", 'write languages = ["python"], or another exposure')
    return found or None


def _flow(node: Node, report: Report) -> FlowRule | None:
    given = typed.members(node, FLOW_KEYS, report)
    if not isinstance(node.value, dict):
        return None
    if missing := sorted(FLOW_KEYS - given.keys()):
        report.error(node, f"has no {missing[0]}", 'write source = "*", target = "mail", verdict')
        return None
    source, target = (_pattern(given, key, report) for key in ("source", "target"))
    verdict = typed.choice(given["verdict"], get_args(FlowVerdict), report)
    if source is None or target is None or verdict is None:
        return None
    named: dict[str, Any] = {"verdict": verdict}
    return FlowRule(source=source, target=target, name=node.place, **named)


def _pattern(given: Mapping[str, Node], key: str, report: Report) -> str | None:
    return typed.text(given[key], report)
