"""What a search answers to every task of a data set, and how long it takes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from toolcrib.discovery.evaluation.metrics import DEPTH
from toolcrib.discovery.evaluation.tasks import DataSet
from toolcrib.discovery.hits import Found, Query, ToolSearch
from toolcrib.errors import BadArguments
from toolcrib.settings import SearchMethod


@dataclass(frozen=True, slots=True)
class Rankings:
    """The answers of one search to the tasks of one data set."""

    name: str
    """Who ranked: a method, or another product."""
    by_task: Mapping[str, tuple[str, ...]]
    """By qid: ids of tools, the best first."""
    seconds: tuple[float, ...] = ()
    """How long each answer took; empty where nobody measured."""
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    """What was said beside answers, each once: that a method fell back, or a query was refused."""


async def ranked(
    search: ToolSearch, tasks: DataSet, method: SearchMethod, now: Callable[[], float]
) -> Rankings:
    """Asks a search every query of a data set, one after the other.

    The rankings are named after the method that was really used. A query that is refused counts
    as one that finds nothing, and is noted. `now` gives seconds.
    """
    ids = {(tool.server, tool.name): tool.id for tool in tasks.tools}
    by_task: dict[str, tuple[str, ...]] = {}
    seconds: list[float] = []
    notes: dict[str, None] = {}
    used: set[str] = set()
    for task in tasks.tasks:
        began = now()
        try:
            found = await search.find(Query(task.query, limit=DEPTH, method=method))
        except BadArguments as refused:
            found = Found((), method, notes=(f"a query was refused: {refused.message}",))
        seconds.append(now() - began)
        by_task[task.qid] = tuple(ids[hit.server, hit.item.key] for hit in found.hits)
        notes.update(dict.fromkeys(found.notes))
        used.add(found.method)
    name = ", ".join(sorted(used)) or method
    return Rankings(name, by_task, tuple(seconds), notes=tuple(notes))
