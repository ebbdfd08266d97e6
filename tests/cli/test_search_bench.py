"""`toolcrib bench search`: what is measured, what is shown, and how it ends."""

import io
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from toolcrib.cli.evaluation.score_table import scores_view
from toolcrib.cli.exits import Exit, UsageError
from toolcrib.cli.output import Output
from toolcrib.cli.verb_bench_search import Trials, bench_search
from toolcrib.core.snapshot import Item
from toolcrib.discovery.evaluation.comparison import compare
from toolcrib.discovery.evaluation.ranking import Rankings
from toolcrib.discovery.evaluation.tasks import DataSet, KnownTool, Task
from toolcrib.discovery.hits import Found, Hit, Query, ToolSearch


class Exactly:
    """Finds the tools of exactly that name."""

    def __init__(self, known: DataSet) -> None:
        self._tools = known.tools

    async def find(self, query: Query) -> Found:
        found = [it for it in self._tools if it.name == query.text]
        items = [(it.server, Item(it.name, it.definition, "", "")) for it in found]
        hits = tuple(Hit(server, item, item.key, 1.0) for server, item in items)
        return Found(hits, "lexical" if query.method == "auto" else query.method)


@asynccontextmanager
async def open_exactly(known: DataSet) -> AsyncGenerator[ToolSearch]:
    yield Exactly(known)


QIDS = "abcdefgh"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two sets with eight queries each, and one of distractors."""
    for name in ("one", "two", "others"):
        (tmp_path / name).mkdir()
        servers = range(5) if name == "others" else [0]
        tools = [
            {"id": f"{name}{server}::{tool}", "server": f"{name}{server}", "name": tool}
            for server in servers
            for tool in ("read", "send")
        ]
        lines = "\n".join(map(json.dumps, tools))
        (tmp_path / name / "tools.jsonl").write_text(lines)
        if name != "others":
            ask(tmp_path / name, "read", f"{name}0::read")
    return tmp_path


def ask(place: Path, query: str, needed: str) -> None:
    """The same query eight times: fewer tasks make no difference sure."""
    queries = ({"qid": qid, "query": query, "gold_groups": [[needed]]} for qid in QIDS)
    (place / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))


async def measured(folder: Path, **trials: Any) -> tuple[Exit, dict[str, Any], str]:
    """The exit code, the document, and what stands on standard error."""
    out, err = io.StringIO(), io.StringIO()
    output = Output(as_json=True, stdout=out, stderr=err, env={})
    code = await bench_search(Trials(folder, **trials), output, open_exactly)
    return code, json.loads(out.getvalue()), err.getvalue()


def baseline(folder: Path, rankings: Mapping[str, list[str]]) -> Path:
    path = folder / "baseline.json"
    sets = {name: {"rankings": dict.fromkeys(QIDS, ranking)} for name, ranking in rankings.items()}
    path.write_text(json.dumps({"name": "Other 1", "sets": sets}))
    return path


async def test_all_sets_with_queries_are_measured(folder: Path) -> None:
    code, document, err = await measured(folder)
    assert (code, err) == (Exit.FINE, "")
    assert [(it["name"], it["tools"], it["tasks"]) for it in document["sets"]] == [
        ("one", 2, 8),
        ("two", 2, 8),
    ]
    (row,) = document["sets"][0]["rows"]
    assert row["name"] == "lexical"
    assert row["scores"]["nDCG@10"] == {"mean": 1.0, "low": 1.0, "high": 1.0}
    assert row["differences"] is None
    assert 0 <= row["milliseconds"]["p50"] <= row["milliseconds"]["p99"]


async def test_every_method_has_its_row(folder: Path) -> None:
    _, document, _ = await measured(folder, sets=("two",), methods=("lexical", "hybrid"))
    (only,) = document["sets"]
    assert [row["name"] for row in only["rows"]] == ["lexical", "hybrid"]


async def test_catalogs_are_made_as_large_as_asked_for(folder: Path) -> None:
    _, document, _ = await measured(
        folder, sets=("one",), distractors=("others",), sizes=(2, 5, 12)
    )
    assert [(it["name"], it["tools"]) for it in document["sets"]] == [
        ("one@2", 2),
        ("one@5", 5),
        ("one@12", 12),
    ]


async def test_a_baseline_stands_first_and_is_compared_with(folder: Path) -> None:
    path = baseline(folder, {"one": [], "two": []})
    code, document, _ = await measured(folder, baseline=path)
    assert code == Exit.FINE
    other, own = document["sets"][0]["rows"]
    assert (other["name"], other["differences"]) == ("Other 1", None)
    assert other["milliseconds"] == {"p50": None, "p99": None}
    assert own["differences"]["MRR"]["mean"] == 1.0
    assert own["differences"]["MRR"]["verdict"] == "above"


async def test_it_is_a_finding_to_be_below_the_baseline_on_any_set(folder: Path) -> None:
    ask(folder / "two", "fetch", "two0::read")
    path = baseline(folder, {"one": [], "two": ["two0::read"]})
    code, document, _ = await measured(folder, baseline=path)
    assert code == Exit.FOUND
    assert document["sets"][1]["rows"][1]["differences"]["nDCG@10"]["verdict"] == "below"


async def test_an_enlarged_set_is_looked_up_in_the_baseline_by_its_size(folder: Path) -> None:
    path = baseline(folder, {"one": [], "one@4": ["one0::read"]})
    sizes: Any = {"sets": ("one",), "distractors": ("others",), "baseline": path}
    _, document, _ = await measured(folder, sizes=(4,), **sizes)
    assert document["sets"][0]["rows"][0]["scores"]["R@5"]["mean"] == 1.0
    with pytest.raises(UsageError, match="it has no set 'one@6'"):
        await measured(folder, sizes=(6,), **sizes)


async def test_steps_are_told_on_standard_error_where_that_is_wanted(folder: Path) -> None:
    _, _, err = await measured(folder, sets=("one",), progress=True)
    assert err.splitlines() == [
        "one: taking in 2 tools",
        "one: 8 queries, method auto",
        "one: comparing",
    ]


@pytest.mark.parametrize(
    ("trials", "said"),
    [
        ({"sets": ("three",)}, "no data set 'three'"),
        ({"sets": ("others",)}, "'others' has no queries"),
        ({"distractors": ("others",)}, "--distractors needs --size"),
        ({"sizes": (1,)}, "no catalog of 1 tools: one has 2 tools already"),
        ({"sizes": (30,), "distractors": ("others",)}, "have 12 tools together"),
    ],
)
async def test_what_cannot_be_measured_is_an_error_of_usage(
    folder: Path, trials: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        await measured(folder, **trials)


async def test_nothing_is_measured_while_a_line_is_faulty(folder: Path) -> None:
    path = folder / "one/tools.jsonl"
    path.write_text(path.read_text() + "\n{")
    err = io.StringIO()
    output = Output(as_json=True, stdout=io.StringIO(), stderr=err, env={})
    with pytest.raises(UsageError, match="'one' has 1 line that cannot be used"):
        await bench_search(Trials(folder), output, open_exactly)
    assert f"{path}:3: the line is no JSON" in err.getvalue()


# ---- the table ----


def shown(view: Any) -> list[str]:
    out = io.StringIO()
    Output(as_json=False, stdout=out, stderr=io.StringIO(), env={}).show(view)
    lines = (" ".join(line.split()) for line in out.getvalue().splitlines())
    return [line for line in lines if line.strip("─ ")]


KNOWN = DataSet(
    "known",
    (KnownTool("s::a", "s", "a", {"name": "a"}), KnownTool("s::b", "s", "b", {"name": "b"})),
    (Task("1", "x", (frozenset({"s::a"}),)), Task("2", "y", (frozenset({"s::b"}),))),
)
HALF = Rankings("Other 1", {"1": ("s::a",), "2": ()}, (0.31, 0.31))
WHOLE = Rankings("hybrid", {"1": ("s::a",), "2": ("s::b",)}, (0.0021, 0.0021), notes=("a note",))


def test_people_see_scores_confidence_difference_and_time() -> None:
    assert shown(scores_view([compare(KNOWN, [WHOLE], HALF, resamples=100)])) == [
        "known: 2 queries, 2 tools on 1 server",
        "search nDCG@10 R@5 R@10 MRR p50 p99",
        f"Other 1{' .500 [.000 1.000]' * 4} 310 310",
        f"hybrid{' 1.000 [1.000 1.000]' * 4} 2.1 2.1",
        f"difference{' +.500 p=.500' * 4}",
        "note: hybrid: a note",
        "95 % confidence in brackets; p two-sided, of a paired bootstrap; milliseconds.",
    ]


def test_a_sure_difference_says_so() -> None:
    tasks = tuple(replace(KNOWN.tasks[0], qid=str(each)) for each in range(40))
    many = DataSet("many", KNOWN.tools, tasks)
    good = Rankings("good", {task.qid: ("s::a",) for task in tasks})
    bad = Rankings("bad", {task.qid: ("s::b", "s::a") for task in tasks})
    lines = shown(scores_view([compare(many, [bad], good, resamples=4_000)]))
    assert lines[4].startswith("difference -.369 p<.001 +.000 p=1.000 ")
