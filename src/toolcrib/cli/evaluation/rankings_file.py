"""Rankings that another search made, as a file: what a search is compared with.

    {"name": "…", "sets": {"<set>": {"rankings": {"<qid>": ["<tool id>", …]}, "seconds": [0.01]}}}

A set that was enlarged is called `<set>@<size>`. `seconds`, how long each answer took, may be left
out.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolcrib.cli.exits import UsageError
from toolcrib.core.jsontypes import is_array, is_object
from toolcrib.discovery.evaluation.ranking import Rankings
from toolcrib.discovery.evaluation.tasks import DataSet


class RankingsFile:
    """One file, read once."""

    def __init__(self, path: Path) -> None:
        """Raises `UsageError` where the file has another form, or cannot be read."""
        self._path = path
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UsageError(f"{path} cannot be read: {error}", remedy="see --help") from error
        sets = document.get("sets") if is_object(document) else None
        if not is_object(sets):
            raise self._wrong("it has no sets")
        name = document.get("name")
        self.name: str = name if isinstance(name, str) and name else path.stem
        self._sets: Mapping[str, Any] = sets

    def rankings(self, known: DataSet) -> Rankings:
        """Those of one data set.

        Raises:
            UsageError: It has none, lacks a task, or ranks what is not in the catalog.
        """
        entry = self._sets.get(known.name)
        if entry is None:
            raise self._wrong(f"it has no set {known.name!r}")
        ranked = entry.get("rankings") if is_object(entry) else None
        if not is_object(ranked):
            raise self._wrong(f"the set {known.name!r} has no rankings")
        ids = {tool.id for tool in known.tools}
        by_task = {
            task.qid: self._one(known, task.qid, ranked.get(task.qid)) for task in known.tasks
        }
        for qid, ranking in by_task.items():
            if strange := next((each for each in ranking if each not in ids), None):
                raise self._wrong(f"{known.name}, {qid}: no tool of the set has the id {strange!r}")
        seconds = entry.get("seconds")
        measured = (
            [each for each in seconds if isinstance(each, int | float)] if is_array(seconds) else []
        )
        return Rankings(self.name, by_task, tuple(measured))

    def _one(self, known: DataSet, qid: str, ranking: object) -> tuple[str, ...]:
        if not is_array(ranking):
            raise self._wrong(f"{known.name}: there is no ranking for {qid}")
        return tuple(map(str, ranking))

    def _wrong(self, message: str) -> UsageError:
        return UsageError(
            f"{self._path}: {message}", remedy="`toolcrib bench search --help` shows the form"
        )
