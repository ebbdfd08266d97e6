"""`[skills.<name>]` of `toolcrib.toml`: a piece of work, and the servers that it needs.

`servers`, a list of configured ids; `description`. An error costs that skill and nothing else.
"""

from collections.abc import Collection
from typing import Any, Final

from toolcrib.config import typed
from toolcrib.config.document import Node
from toolcrib.config.problem import Report
from toolcrib.settings import Skill

SKILL_KEYS: Final = frozenset({"servers", "description"})


def read_skills(node: Node, servers: Collection[str], report: Report) -> tuple[Skill, ...]:
    """The skills of the table, in the order written; what is wrong with them is reported.

    Args:
        node: `[skills]`.
        servers: The ids that any file configures.
        report: Takes the problems.
    """
    if not isinstance(node.value, dict):
        report.error(node, f"is {typed.kind_of(node)}, not a table", "write [skills.<name>]")
        return ()
    found = [_skill(name, member, servers, report) for name, member in node.value.items()]
    return tuple(skill for skill in found if skill is not None)


def _skill(name: str, node: Node, servers: Collection[str], report: Report) -> Skill | None:
    inner = Report(report.entry)
    if not name or name != name.strip() or not name.isprintable():
        remedy = "name the skill with printable characters, and no blanks around them"
        inner.error(node, "has an unusable name", remedy)
    if name in servers:
        remedy = "rename the skill: a model enables both by their names"
        inner.error(node, "has the name of a server", remedy)
    given = typed.members(node, SKILL_KEYS, inner)
    found: dict[str, Any] = {}
    if "description" in given:
        found["description"] = typed.text(given["description"], inner)
    if "servers" in given:
        found["servers"] = _servers(given["servers"], servers, inner)
    elif isinstance(node.value, dict):
        inner.error(node, "names no servers", 'add servers = ["id"]')
    report.problems += inner.problems
    return None if inner.failed else Skill(name, source=node.place, **found)


def _servers(node: Node, known: Collection[str], report: Report) -> tuple[str, ...]:
    ids = typed.texts(node, report)
    if ids == ():
        report.error(node, "is empty", 'name at least one server, such as ["id"]')
    for member in node.value if ids and isinstance(node.value, list) else ():
        if member.value not in known:
            remedy = typed.nearest(str(member.value), known) if known else "configure it first"
            report.error(member, "is no server that any file configures", remedy)
    return tuple(dict.fromkeys(ids or ()))
