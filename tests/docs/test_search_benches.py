"""The benchmarks of docs/search.md, small and alone, print what stands there."""

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/search.md").read_text()
README = (ROOT / "bench/README.md").read_text()


def rows(name: str) -> list[list[str]]:
    """The cells of a marked table, without its head."""
    table = PAGE.partition(f"{name} -->\n")[2].partition("<!-- end -->")[0]
    return [[it.strip() for it in line.split("|")[1:-1]] for line in table.splitlines()[2:]]


def put(place: Path, name: str, names: Iterable[str], server: str) -> None:
    """One data set of tools that are asked for by their own names."""
    (place / name).mkdir()
    tools = [
        {
            "id": f"{server}::{it}",
            "server": server,
            "name": it,
            "description": f"Does what {it} says.",
            "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
        }
        for it in names
    ]
    asked = [{"qid": it["name"], "query": it["name"], "gold_groups": [[it["id"]]]} for it in tools]
    (place / name / "tools.jsonl").write_text("\n".join(map(json.dumps, tools)))
    (place / name / "queries.jsonl").write_text("\n".join(map(json.dumps, asked)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    names = ["get_file", "delete_file", "create_folder", "search_image", "send-message", "runQuery"]
    put(tmp_path, "livemcp_steps", names, "known")
    put(tmp_path, "livemcp", names[:2], "known")
    put(tmp_path, "metatool", names[2:], "known")
    put(tmp_path, "toucan_catalog", ["get_files", "other_tool"], "others")
    put(tmp_path, "stabletoolbench", ["further_tool"], "more")
    return tmp_path


def printed(script: str, *words: str | Path) -> str:
    """What a program in `bench` prints."""
    done = subprocess.run(
        [sys.executable, f"bench/{script}.py", *map(str, words)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def told(script: str, *words: str | Path) -> list[dict[str, Any]]:
    """The figures that a program in `bench` prints."""
    lines = printed(script, *words).splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def tables(script: str, *words: str | Path) -> list[list[list[str]]]:
    """The tables that a program in `bench` prints: the cells of their rows, the head first."""
    return [
        [cells(line) for line in table.splitlines() if set(line) - set("|-")]
        for table in printed(script, *words).strip().split("\n\n")
    ]


def cells(line: str) -> list[str]:
    return [it.strip() for it in line.split("|")[1:-1]]


def head(name: str) -> list[str]:
    """The first row of a marked table."""
    return cells(PAGE.partition(f"{name} -->\n")[2].splitlines()[0])


def asking(*lines: str) -> Any:
    """What those lines print, in `bench`."""
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        cwd=ROOT / "bench",
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return json.loads(done.stdout)


@pytest.mark.timeout(120)
def test_a_host_finds_and_calls_through_a_gateway_on_both_transports(folder: Path) -> None:
    figures = told("searching_hosts", folder, "--tools", "8", "--servers", "2", "--alone")
    names = [it["figure"] for it in figures]
    assert names == [
        f"{what}_{method}_over_{transport}_p50"
        for transport in ("stdio", "http")
        for method in ("lexical", "hybrid")
        for what in ("bare_call", "search_tools", "search_beyond_a_call")
    ]
    assert {(it["tools"], it["servers"], it["queries"]) for it in figures} == {(8, 2, 8)}
    assert all(0 < it["value"] <= it["p99"] for it in figures if "p99" in it)


@pytest.mark.timeout(120)
def test_the_tables_of_steps_are_those_that_the_ladder_prints(folder: Path) -> None:
    words, meaning = tables("ladder", folder, "--alone")
    for name, made in (("ladder", words), ("meaning", meaning)):
        steps = [row[0] for row in rows(f"figures: {name}") if not row[0].startswith("FastMCP")]
        assert steps == [row[0] for row in made[1:]]
        assert head(f"figures: {name}")[-1] == made[0][-1] == "mean"
    # Tools are asked for by their own names.
    assert words[-1][1:] == ["1.000"] * 5
    assert meaning[1][1:] == words[-1][1:], "words alone are the last step"


@pytest.mark.timeout(120)
def test_the_tables_of_stuffing_are_those_that_are_printed(folder: Path) -> None:
    for name, made in zip(("stuffing", "imitation"), tables("stuffing", folder), strict=True):
        assert head(f"figures: {name}") == made[0]
        assert [row[0] for row in rows(f"figures: {name}")] == [row[0] for row in made[1:]]


@pytest.mark.timeout(120)
def test_known_tools_are_asked_for_in_every_way_that_the_page_has(folder: Path) -> None:
    figures = told("known_items", folder, "--sizes", "9", "--each", "3", "--alone", "--words")
    by_kind = {it["figure"]: it for it in figures}
    assert list(by_kind) == asking(
        "import item_queries", "import json; print(json.dumps(item_queries.KINDS))"
    )
    assert [row[0].strip("`") for row in rows("figures: known items")] == list(by_kind)
    assert by_kind["plural"]["value"] == by_kind["gerund"]["value"] == 1
    assert by_kind["snake_case"]["value"] == by_kind["camelCase"]["value"] == 1
    assert by_kind["plural"]["queries"] == 3


def test_queries_are_made_from_names_as_the_page_says() -> None:
    said = asking(
        "import item_queries as it, json",
        "words = ['get', 'file']",
        "ways = (it.said_in_plural, it.said_as_gerund, it.said_in_other_words)",
        "print(json.dumps([way(words) for way in ways]))",
    )
    for query in said:
        assert f'"{query}"' in PAGE, query


def test_a_tool_whose_name_says_the_same_serves_and_no_other() -> None:
    needed = asking(
        "import item_queries as it, json",
        "from toolcrib.discovery.evaluation.tasks import DataSet, KnownTool",
        "def tool(id, name): return KnownTool(id, id, name, {'inputSchema': {}})",
        "known = DataSet('known', (tool('a', 'get_file'),))",
        "more = (tool('b', 'getFiles'), tool('c', 'get_file_info'), tool('d', 'file_get'))",
        "catalog = DataSet('all', (*known.tools, *more))",
        "tasks = it.asked_as_they_are(known, catalog, 9)",
        "print(json.dumps({task.qid: sorted(task.needed[0]) for task in tasks}))",
    )
    assert needed["plural 0"] == ["a", "b"]
    assert all(it == ["a", "b"] for it in needed.values())


def test_no_way_to_ask_for_a_known_tool_is_below_what_it_is_compared_with() -> None:
    table = [
        [*map(float, re.findall(r"\d?\.\d{3}", " ".join(row)))]
        for row in rows("figures: known items")
    ]
    assert table
    for foreign, lexical, hybrid, foreign_many, lexical_many, hybrid_many in table:
        assert foreign <= lexical <= hybrid <= 1
        assert foreign_many <= lexical_many <= hybrid_many <= 1


def test_a_search_through_a_gateway_takes_less_time_than_what_it_is_compared_with() -> None:
    table = [row for row in rows("figures: hosts") if row[1] == "`search_tools`"]
    assert [row[0] for row in table] == ["stdio", "HTTP"]
    for _, _, lexical, _, foreign in table:
        ours, theirs = (float(it.partition(" ")[0].replace(",", "")) for it in (lexical, foreign))
        assert ours < theirs


@pytest.mark.parametrize("bench", ["searching_hosts", "known_items"])
def test_the_command_of_a_figure_is_on_the_page(bench: str) -> None:
    assert f"make bench BENCH={bench} ARGS=FOLDER" in " ".join(PAGE.split())
    assert f"| `{bench}` |" in README
    (line,) = re.findall(r"^bench: .*$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert bench in line, "FastMCP is installed for it"
