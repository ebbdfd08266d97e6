"""Data sets of searches as folders: `<set>/tools.jsonl`, and `<set>/queries.jsonl` for its tasks.

A set without queries can only serve as distractors.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from toolcrib.cli.evaluation.json_lines import Line, read_lines
from toolcrib.cli.exits import UsageError
from toolcrib.config.problem import Problem
from toolcrib.core.jsontypes import is_array, is_object
from toolcrib.discovery.evaluation.tasks import DataSet, KnownTool, Task

TOOLS: Final = "tools.jsonl"
QUERIES: Final = "queries.jsonl"


def set_names(folder: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the data sets in a folder: those with queries, and those without.

    Raises:
        UsageError: There is none.
    """
    found = sorted(path.parent.name for path in folder.glob(f"*/{TOOLS}"))
    if not found:
        raise UsageError(
            f"there is no data set in {folder}", remedy=f"name a folder that has <set>/{TOOLS}"
        )
    asked = tuple(name for name in found if (folder / name / QUERIES).exists())
    return asked, tuple(name for name in found if name not in asked)


def read_set(folder: Path, name: str) -> tuple[DataSet, list[Problem]]:
    """One data set, and what is wrong with its lines; a line with a fault is left out.

    Raises:
        UsageError: There is no such set, or a file of it cannot be read.
    """
    place = folder / name
    if not (place / TOOLS).exists():
        asked, others = set_names(folder)
        raise UsageError(
            f"there is no data set {name!r}", remedy=f"there are: {', '.join((*asked, *others))}"
        )
    lines, problems = read_lines(place / TOOLS)
    tools = _tools(lines, problems)
    tasks: list[Task] = []
    if (place / QUERIES).exists():
        lines, faults = read_lines(place / QUERIES)
        problems += faults
        tasks = _tasks(lines, {tool.id for tool in tools}, problems)
    return DataSet(name, tuple(tools), tuple(tasks)), problems


def _tools(lines: Sequence[Line], problems: list[Problem]) -> list[KnownTool]:
    tools: list[KnownTool] = []
    ids: set[str] = set()
    names: set[tuple[str, str]] = set()
    for line in lines:
        tool = KnownTool(
            id=line.text("id"),
            server=line.text("server"),
            name=line.text("name"),
            definition=_definition(line),
            server_title=line.text("server_title"),
            server_description=line.text("server_description"),
        )
        missing = [part for part in ("id", "server", "name") if not line.text(part)]
        if missing:
            problems.append(line.problem(f"the tool has no {missing[0]}", "give it one, as a text"))
        elif tool.id in ids:
            problems.append(line.problem(f"the id {tool.id!r} is taken", "ids are unique in a set"))
        elif (tool.server, tool.name) in names:
            what = f"server {tool.server!r} has a tool {tool.name!r} already"
            problems.append(line.problem(what, "a server lists each name once"))
        else:
            ids.add(tool.id)
            names.add((tool.server, tool.name))
            tools.append(tool)
    return tools


def _definition(line: Line) -> Mapping[str, Any]:
    schema = line.members.get("inputSchema")
    definition: dict[str, Any] = {
        "name": line.text("name"),
        "inputSchema": schema if is_object(schema) else {"type": "object"},
    }
    if description := line.text("description"):
        definition["description"] = description
    return definition


def _tasks(lines: Sequence[Line], ids: set[str], problems: list[Problem]) -> list[Task]:
    tasks: dict[str, Task] = {}
    for line in lines:
        qid, query = line.text("qid"), line.text("query")
        needed = _needed(line)
        unknown = sorted({each for group in needed or () for each in group} - ids)
        if not qid or qid in tasks:
            what = f"the qid {qid!r} is taken" if qid else "the query has no qid"
            problems.append(line.problem(what, "give it one of its own, as a text"))
        elif not query.strip():
            problems.append(line.problem("the query is empty", "write what is searched for"))
        elif not needed:
            what = "gold_groups is no list of lists of ids"
            problems.append(line.problem(what, "give each needed tool a list of ids that serve"))
        elif unknown:
            what = f"no tool has the id {unknown[0]!r}"
            problems.append(line.problem(what, f"name ids of {TOOLS}"))
        else:
            tasks[qid] = Task(qid, query, needed)
    return list(tasks.values())


def _needed(line: Line) -> tuple[frozenset[str], ...] | None:
    """The groups, or each gold id as a group of its own; None where that cannot be understood."""
    groups = line.members.get("gold_groups")
    if groups is None:
        gold = line.members.get("gold")
        groups = [[each] for each in gold] if is_array(gold) else None
    if not is_array(groups):
        return None
    needed: list[frozenset[str]] = []
    for group in groups:
        members = [each for each in group if isinstance(each, str)] if is_array(group) else []
        if not members or len(members) != len(group):
            return None
        needed.append(frozenset(members))
    return tuple(needed)
