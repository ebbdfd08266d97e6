"""The texts that stand for a tool: as a person would say it, equal for equal definitions."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.core.search.meant import asked, meant_by, spoken
from toolcrib.core.snapshot import Item


def item(name: str, **members: Any) -> Item:
    return Item(name, {"name": name, **members}, "f", "c")


@pytest.mark.parametrize(
    ("identifier", "words"),
    [
        ("getPullRequest_v2", "get Pull Request v 2"),
        ("read-file.text", "read file text"),
        ("HTTPServer", "HTTP Server"),
        ("a__b//c", "a b c"),
        ("查询天气", "查询天气"),
        ("__", ""),
    ],
)
def test_an_identifier_is_spoken_as_words(identifier: str, words: str) -> None:
    assert spoken(identifier) == words


def test_a_tool_is_server_name_description_and_parameters() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            "cityName": {"type": "string", "description": "left out"},
            "options": {"type": "object", "properties": {"unit_system": {}}},
        },
    }
    meant = meant_by(
        "weather-hub", item("getWeather", description="Says how it is.", inputSchema=schema)
    )
    assert meant.name == "get Weather"
    assert meant.whole.startswith("weather hub: get Weather. Says how it is. city Name")
    assert "unit system" in meant.whole
    assert "left out" not in meant.whole


def test_a_title_that_says_more_is_part_of_the_name() -> None:
    assert meant_by("s", item("t1", title="Read mail")).name == "t 1 Read mail"
    assert meant_by("s", item("read_mail", title="Read Mail")).name == "read mail"


def test_what_server_and_tool_are_both_called_is_said_once() -> None:
    assert meant_by("Air_quality", item("airQuality", description="d")).whole == "air Quality. d"


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("open the /data/txt/paper_list.bib", "open the  file "),
        ("list ~/notes/old/ and ../x/y", "list  file  and  file "),
        ("merge sales-2024.xlsx with a.csv.", "merge  file  with  file ."),
        ("打开 /root/md/a.md 转成pdf", "打开  file  转成pdf"),
        ("打开/root/md/a.md", "打开 file "),
        ("fetch https://example.org/a/b.html", "fetch https://example.org/a/b.html"),
        ("read and/or write at 10/12/2024, 24/7", "read and/or write at 10/12/2024, 24/7"),
        ("a pdf of v1.2 and node.js", "a pdf of v1.2 and node.js"),
    ],
)
def test_of_paths_and_files_in_a_query_is_meant_that_they_are_files(query: str, text: str) -> None:
    assert asked(query) == text


def test_a_query_of_slashes_and_dots_takes_no_longer_than_another() -> None:
    for piece in ("/a", "./", "a.", "~/", "a-.", "/.-"):
        asked(piece * 20_000)


def test_long_texts_end_where_they_stop_telling() -> None:
    properties: dict[str, Any] = {f"parameter{number}": {} for number in range(1000)}
    meant = meant_by(
        "s",
        item("t", description="d" * 100_000, inputSchema={"properties": properties}),
    )
    assert len(meant.whole) < 1_300


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["properties", "items", "a"]), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(st.text(max_size=10), JSON, JSON, JSON)
def test_whatever_a_definition_holds_there_is_a_text(
    name: str, title: object, description: object, schema: object
) -> None:
    one = item(name, title=title, description=description, inputSchema=schema)
    assert meant_by("s", one) == meant_by("s", one)
