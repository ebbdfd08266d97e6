"""Makes a catalog larger by servers that no task is about."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random

from toolcrib.discovery.evaluation.resampling import SEED
from toolcrib.discovery.evaluation.tasks import DataSet, KnownTool


def enlarged(
    known: DataSet, distractors: Sequence[DataSet], size: int, *, seed: int = SEED
) -> DataSet:
    """The data set with so many tools; its name ends in `@` and their number.

    Whole servers are added in an order that depends on the seed alone, the last of them in part, so
    that a larger catalog holds the smaller one. Servers and ids that the set has already are left
    out. ValueError where there are fewer tools than asked for, or the set has more.
    """
    if size < len(known.tools):
        raise ValueError(f"{known.name} has {len(known.tools):,} tools already")
    added = _others(known, distractors, seed)[: size - len(known.tools)]
    reached = len(known.tools) + len(added)
    if reached < size:
        raise ValueError(f"{known.name} and its distractors have {reached:,} tools together")
    return replace(known, name=f"{known.name}@{size}", tools=(*known.tools, *added))


def _others(known: DataSet, distractors: Iterable[DataSet], seed: int) -> list[KnownTool]:
    servers = {tool.server for tool in known.tools}
    ids = {tool.id for tool in known.tools}
    others: dict[str, list[KnownTool]] = {}
    for each in distractors:
        taken = servers | others.keys()
        for tool in each.tools:
            if tool.server not in taken and tool.id not in ids:
                ids.add(tool.id)
                others.setdefault(tool.server, []).append(tool)
    order = sorted(others)
    Random(seed).shuffle(order)  # noqa: S311 - the same order in every run
    return [tool for server in order for tool in others[server]]
