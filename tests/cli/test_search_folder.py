"""Data sets and rankings as files: what is read, and what is said of what cannot be."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from toolcrib.cli.evaluation.rankings_file import RankingsFile
from toolcrib.cli.evaluation.set_folder import read_set, set_names
from toolcrib.cli.exits import UsageError
from toolcrib.discovery.evaluation.tasks import DataSet

Row = Mapping[str, Any]

TOOL: Row = {"id": "s::a", "server": "s", "name": "a", "description": "does a"}
OTHER: Row = {"id": "s::b", "server": "s", "name": "b"}
QUERY: Row = {"qid": "q1", "query": "do a", "gold_groups": [["s::a"]]}


def write(
    folder: Path, name: str, tools: Sequence[Row | str], queries: Sequence[Row | str] | None
) -> None:
    place = folder / name
    place.mkdir(parents=True)
    for file, rows in (("tools.jsonl", tools), ("queries.jsonl", queries)):
        if rows is not None:
            lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
            (place / file).write_text("\n".join(lines) + "\n")


def told(folder: Path) -> list[str]:
    _, problems = read_set(folder, "one")
    return [f"{Path(it.file).name}:{it.line}: {it.message}" for it in problems]


def test_the_sets_of_a_folder_are_told_apart_by_their_queries(tmp_path: Path) -> None:
    write(tmp_path, "b", [TOOL], [QUERY])
    write(tmp_path, "a", [TOOL], [QUERY])
    write(tmp_path, "c", [TOOL], None)
    (tmp_path / "notes").mkdir()
    assert set_names(tmp_path) == (("a", "b"), ("c",))


@pytest.mark.parametrize("place", ["", "nowhere"])
def test_a_folder_without_sets_is_told_with_the_form_of_one(tmp_path: Path, place: str) -> None:
    with pytest.raises(UsageError) as refused:
        set_names(tmp_path / place)
    assert "<set>/tools.jsonl" in str(refused.value.remedy)


def test_a_set_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    write(tmp_path, "here", [TOOL], None)
    with pytest.raises(UsageError, match="no data set 'gone'") as refused:
        read_set(tmp_path, "gone")
    assert refused.value.remedy == "there are: here"


def test_a_tool_is_its_definition_and_what_its_server_says_of_itself(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string"}}}
    about = {"server_title": "S", "server_description": "all of s"}
    write(tmp_path, "one", [{**TOOL, **about, "inputSchema": schema}, OTHER], [QUERY])
    known, problems = read_set(tmp_path, "one")
    assert problems == []
    first, second = known.tools
    assert first.definition == {"name": "a", "inputSchema": schema, "description": "does a"}
    assert (first.server_title, first.server_description) == ("S", "all of s")
    assert second.definition == {"name": "b", "inputSchema": {"type": "object"}}


@pytest.mark.parametrize("schema", [None, [], "text"])
def test_a_schema_that_is_no_object_is_an_empty_one(tmp_path: Path, schema: object) -> None:
    write(tmp_path, "one", [{**TOOL, "inputSchema": schema}], [QUERY])
    known, _ = read_set(tmp_path, "one")
    assert known.tools[0].definition["inputSchema"] == {"type": "object"}


@pytest.mark.parametrize(
    ("gold", "needed"),
    [
        ({"gold_groups": [["s::a", "s::b"]]}, ({"s::a", "s::b"},)),
        ({"gold_groups": [["s::a"], ["s::b"]]}, ({"s::a"}, {"s::b"})),
        ({"gold": ["s::a", "s::b"]}, ({"s::a"}, {"s::b"})),
        ({"gold": ["s::b"], "gold_groups": [["s::a"]]}, ({"s::a"},)),
    ],
)
def test_a_group_is_one_needed_tool(tmp_path: Path, gold: Row, needed: tuple[set[str]]) -> None:
    write(tmp_path, "one", [TOOL, OTHER], [{"qid": "q", "query": "x", **gold}])
    known, problems = read_set(tmp_path, "one")
    assert problems == []
    assert known.tasks[0].needed == tuple(frozenset(group) for group in needed)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("{", "the line is no JSON"),
        ("[1]", "the line is no JSON object"),
        ({**OTHER, "id": ""}, "the tool has no id"),
        ({**OTHER, "server": None}, "the tool has no server"),
        ({"id": "x", "server": "s"}, "the tool has no name"),
        ({**OTHER, "name": 7}, "the tool has no name"),
        ({**OTHER, "id": "s::a"}, "the id 's::a' is taken"),
        ({**OTHER, "name": "a"}, "server 's' has a tool 'a' already"),
    ],
)
def test_a_faulty_tool_is_told_by_its_line(tmp_path: Path, row: Row | str, said: str) -> None:
    write(tmp_path, "one", [TOOL, "", row], [QUERY])
    (problem,) = told(tmp_path)
    assert problem.startswith(f"tools.jsonl:3: {said}")


FAULTY_QUERIES: list[tuple[Row | str, str]] = [
    ("nothing", "the line is no JSON"),
    ({**QUERY, "qid": "q1"}, "the qid 'q1' is taken"),
    ({**QUERY, "qid": 1}, "the query has no qid"),
    ({**QUERY, "qid": "q2", "query": " "}, "the query is empty"),
    ({"qid": "q2", "query": "x"}, "gold_groups is no list of lists of ids"),
    ({"qid": "q2", "query": "x", "gold_groups": []}, "gold_groups is no list of lists"),
    ({"qid": "q2", "query": "x", "gold_groups": [[]]}, "gold_groups is no list of lists"),
    ({"qid": "q2", "query": "x", "gold_groups": ["s::a"]}, "gold_groups is no list of lists"),
    ({"qid": "q2", "query": "x", "gold_groups": [["s::a", 1]]}, "gold_groups is no list"),
    ({"qid": "q2", "query": "x", "gold_groups": [["s::z"]]}, "no tool has the id 's::z'"),
]


@pytest.mark.parametrize(("row", "said"), FAULTY_QUERIES)
def test_a_faulty_query_is_told_by_its_line(tmp_path: Path, row: Row | str, said: str) -> None:
    write(tmp_path, "one", [TOOL], [QUERY, row])
    (problem,) = told(tmp_path)
    assert problem.startswith(f"queries.jsonl:2: {said}")


def test_every_faulty_line_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    write(tmp_path, "one", ["{", TOOL, "[]"], ["{", QUERY])
    known, problems = read_set(tmp_path, "one")
    assert [it.line for it in problems] == [1, 3, 1]
    assert (len(known.tools), len(known.tasks)) == (1, 1)


def test_a_line_may_hold_every_character(tmp_path: Path) -> None:
    said = "one\u2028two\u0085three"
    write(tmp_path, "one", [{**TOOL, "description": said}], None)
    path = tmp_path / "one/tools.jsonl"
    path.write_text(json.dumps({**TOOL, "description": said}, ensure_ascii=False) + "\n")
    known, problems = read_set(tmp_path, "one")
    assert problems == []
    assert known.tools[0].definition["description"] == said


def test_a_file_of_another_encoding_is_told(tmp_path: Path) -> None:
    write(tmp_path, "one", [TOOL], None)
    (tmp_path / "one/tools.jsonl").write_bytes(b'{"id": "\xff"}')
    with pytest.raises(UsageError, match=r"tools\.jsonl cannot be read"):
        read_set(tmp_path, "one")


# ---- rankings ----


@pytest.fixture
def known(tmp_path: Path) -> DataSet:
    write(tmp_path, "one", [TOOL, OTHER], [QUERY])
    return read_set(tmp_path, "one")[0]


def rankings(tmp_path: Path, document: object) -> RankingsFile:
    path = tmp_path / "other.json"
    path.write_text(json.dumps(document))
    return RankingsFile(path)


def test_rankings_are_read_with_their_name_and_times(tmp_path: Path, known: DataSet) -> None:
    entry = {"rankings": {"q1": ["s::b", "s::a"], "q9": []}, "seconds": [0.5]}
    found = rankings(tmp_path, {"name": "Other 1", "sets": {"one": entry}}).rankings(known)
    assert (found.name, found.seconds) == ("Other 1", (0.5,))
    assert found.by_task == {"q1": ("s::b", "s::a")}, "queries of others are passed over"


def test_rankings_without_name_and_times_are_called_like_their_file(
    tmp_path: Path, known: DataSet
) -> None:
    found = rankings(tmp_path, {"sets": {"one": {"rankings": {"q1": []}}}}).rankings(known)
    assert (found.name, found.seconds) == ("other", ())


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ([], "it has no sets"),
        ({"sets": []}, "it has no sets"),
        ({"sets": {"two": {}}}, "it has no set 'one'"),
        ({"sets": {"one": {}}}, "the set 'one' has no rankings"),
        ({"sets": {"one": {"rankings": {}}}}, "one: there is no ranking for q1"),
        ({"sets": {"one": {"rankings": {"q1": "s::a"}}}}, "one: there is no ranking for q1"),
        ({"sets": {"one": {"rankings": {"q1": ["x"]}}}}, "no tool of the set has the id 'x'"),
    ],
)
def test_rankings_that_do_not_fit_the_set_are_refused(
    tmp_path: Path, known: DataSet, document: object, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        rankings(tmp_path, document).rankings(known)


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        RankingsFile(tmp_path / "nowhere.json")
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(UsageError, match="cannot be read"):
        RankingsFile(tmp_path / "x.json")
