"""The rankings of FastMCP for data sets, as a file that `toolcrib bench search` compares with."""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from toolcrib.discovery.evaluation.metrics import DEPTH
from toolcrib.discovery.evaluation.tasks import DataSet

PYTHON = Path(".peers/fastmcp/bin/python")


def fastmcp_rankings(known: DataSet) -> dict[str, Any]:
    """What it answers to every query of a data set: {"name", "rankings", "seconds"}."""
    asked = {
        "tools": [
            {"id": it.id, "server": it.server, "name": it.name, "definition": it.definition}
            for it in known.tools
        ],
        "queries": [{"qid": task.qid, "query": task.query} for task in known.tasks],
        "hits": DEPTH,
    }
    ranked = subprocess.run(
        [PYTHON, "bench/fastmcp_search.py"],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
    )
    if ranked.returncode:
        raise SystemExit(f"{PYTHON} bench/fastmcp_search.py failed:\n{ranked.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(ranked.stdout)
    assert len(found["rankings"]) == len(known.tasks)
    return found


def write_rankings(sets: Iterable[DataSet], path: Path) -> None:
    """Ranks the queries of all these sets and writes the file."""
    found = {each.name: fastmcp_rankings(each) for each in sets}
    names = {one.pop("name") for one in found.values()}
    path.write_text(json.dumps({"name": ", ".join(sorted(names)), "sets": found}))
