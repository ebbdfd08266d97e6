"""docs/search.md, on ranking and measuring: what it says of them is so."""

import json
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from toolcrib.adapters.linear_patterns import LONGEST
from toolcrib.adapters.stemming import EnglishStemmer
from toolcrib.core.search import diversity, fitting, fusion, weights
from toolcrib.core.search.lexicon import Lexicon
from toolcrib.core.search.meant import meant_by
from toolcrib.core.search.words import words
from toolcrib.discovery.hits import Query, ToolSearch
from toolcrib.errors import BadArguments
from toolcrib.settings import GatewaySettings
from toolcrib.testing.fake_exhibits import item_of
from toolcrib.testing.live.room import Room
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import scripted_crib

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/search.md").read_text()
TEXT = " ".join(PAGE.split())
FENCES = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def rows(name: str) -> list[list[str]]:
    """The cells of a marked table, without its head."""
    table = PAGE.partition(f"{name} -->\n")[2].partition("<!-- end -->")[0]
    return [[it.strip() for it in line.split("|")[1:-1]] for line in table.splitlines()[2:]]


def described(name: str, does: str = "", **properties: Any) -> dict[str, Any]:
    return {**tool(name, **properties), "description": does}


@asynccontextmanager
async def searching(**servers: list[dict[str, Any]]) -> AsyncGenerator[ToolSearch]:
    """The search of a crib over these tools."""
    scripts = {server: ScriptedUpstream(tools) for server, tools in servers.items()}
    hidden = GatewaySettings(exposure="search")
    async with scripted_crib(scripts, gateway=hidden) as (crib, _):
        await crib.catalogs().reach()
        yield crib.discovery().search


async def found(search: ToolSearch, query: str, **how: Any) -> list[str]:
    return [hit.name for hit in (await search.find(Query(query, **how))).hits]


# ---------------------------------------------------------------- by words


def test_the_worth_of_a_field_is_the_one_of_the_table() -> None:
    order = ("NAME", "TITLE", "DESCRIPTION", "LEAD", "PARAMETERS", "EXPLANATIONS", "CHOICES")
    order += ("SERVER", "SERVER_TITLE", "SERVER_DESCRIPTION", "UNITED")
    fields = [getattr(weights, name) for name in order]
    assert [row[1:] for row in rows("weights")] == [
        [f"{it.worth:g}", f"{it.most}"] for it in fields
    ]
    known = {it for it in vars(weights).values() if isinstance(it, weights.Weight)}
    assert known == set(fields), "no field is left out"


def test_identifiers_fall_apart_as_the_page_says() -> None:
    numbers = {"one": 1, "two": 2, "three": 3}
    pattern = r"`(\w+)` has (three)[^`]*`(\w+)` (two)[^`]*`(\w+)` (one)"
    (parts,) = re.findall(pattern, TEXT)
    for name, number in zip(parts[::2], parts[1::2], strict=True):
        assert len([*words(name)]) == numbers[number], name


@pytest.mark.virtual_time
async def test_endings_synonyms_and_languages_are_no_obstacle() -> None:
    tools = [
        described("get_page"),
        described("send_email"),
        described("listTasks"),
        described("查询天气", "查询城市的天气预报"),
    ]
    async with searching(s=tools) as search:
        for query, name in (
            ("fetch", "get_page"),
            ("sending emails", "send_email"),
            ("发送邮件", "send_email"),
            ("listing task", "listTasks"),
        ):
            assert (await found(search, query))[0] == f"s__{name}", query
        (chinese, *_) = (await search.find(Query("weather"))).hits
        assert chinese.item.key == "查询天气"
        assert "s__listTasks" not in await found(search, "please show me how to send an email")
        assert (await found(search, "please show me the"))[0] == "s__listTasks"


def test_a_synonym_counts_the_share_that_the_page_says() -> None:
    weighed = dict(Lexicon(EnglishStemmer()).question("fetch").weights)
    assert weighed["fetch"] == 1
    assert f"count {weighed['get']:g} of the word that was written" in TEXT


@pytest.mark.virtual_time
async def test_a_query_of_steps_finds_a_tool_for_each() -> None:
    does = "Writes the monthly sales report with revenue, margin and churn of each region."
    servers = {f"s{n}": [described("report", does)] for n in range(4)}
    partly = "Writes the monthly report."
    servers |= {f"p{n}": [described("report", partly)] for n in range(8)}
    speakers = [described(f"mute_{n}", "Silences the speaker.") for n in range(3)]
    query = f"{does} Then silence a speaker."
    servers |= {f"z{n}": [described(f"other_{n}", "Something else.")] for n in range(100)}
    async with searching(speakers=speakers, **servers) as search:
        names = await found(search, query)
    assert any(name.startswith("speakers__") for name in names)


@pytest.mark.virtual_time
async def test_what_hardly_fits_beside_the_second_best_is_no_hit() -> None:
    assert f"less than {fitting.SHARE:g} of what the *second* best" in TEXT
    clock = [described("get_current_time", "Tells the time."), described("convert_time", "Time.")]
    others = [described(f"tool_{n}", "Takes its time " + "for much else " * 20) for n in range(8)]
    async with searching(clock=clock, others=others) as search:
        names = await found(search, "what time is it")
    assert sorted(names) == ["clock__convert_time", "clock__get_current_time"]


# ---------------------------------------------------------------- stuffing


def test_how_many_tools_of_a_server_count_in_full_is_what_the_page_says() -> None:
    assert (diversity.FREE, diversity.LEAST) == (5, 0.5)
    assert "Five tools of one server count in full" in TEXT
    assert f"counts {diversity.FURTHER:g} of what the one before it did" in TEXT
    assert f"the same words) {diversity.COPY:g} of that; no tool less than half" in TEXT


@pytest.mark.virtual_time
@pytest.mark.parametrize("kind", ["repeated", "listed", "named"])
async def test_a_server_that_repeats_everybodys_words_buries_nobody(kind: str) -> None:
    honest = {
        "calendar": described("create_event", "Adds an event to a calendar."),
        "weather": described("forecast", "Tells the weather of a city."),
        "bank": described("transfer", "Sends money to an account."),
    }
    said = " ".join(f"{it['name']} {it['description']}" for it in honest.values())
    many = {
        "repeated": described("x", f"{said} " * 15),
        "listed": described("x", f"{said} " + " ".join(f"word{n}" for n in range(400))),
        "named": described("x", "", **{word: {"type": "string"} for word in said.split()}),
    }[kind]
    stuffed = [{**many, "name": f"x{n}"} for n in range(50)]
    servers = {server: [definition] for server, definition in honest.items()}
    async with searching(aaa=stuffed, **servers) as search:
        for server, definition in honest.items():
            first = (await found(search, definition["description"]))[0]
            assert first == f"{server}__{definition['name']}"


# ---------------------------------------------------------------- by meaning, by a pattern


def test_what_is_embedded_of_a_tool_is_what_the_page_says() -> None:
    long = described("a", "d" * 5_000, **{"p" * 300: {"type": "string"}})
    text = meant_by("server", item_of(long)).whole
    assert (text.count("d"), text.count("p")) == (1_000, 200)
    assert "at most 1,000 characters of its description and 200 of its parameters' names" in TEXT
    assert f"and {fusion.MEANING_WEIGHT:g} times the cosine" in TEXT


def test_scores_are_added_as_they_are() -> None:
    doc: Any = "tool"
    assert fusion.fused({doc: 7.0}, {doc: 0.5}) == {doc: 7.0 + 0.5 * fusion.MEANING_WEIGHT}


@pytest.mark.virtual_time
async def test_patterns_are_looked_for_where_and_as_the_page_says() -> None:
    tools = [described("a", "An ORDER."), described("order"), described("z", q={"const": "order"})]
    assert f"at most {LONGEST} characters" in TEXT
    async with searching(s=tools) as search:
        assert await found(search, "order", method="regex") == ["s__order", "s__a"]
        for refused in ("(?=a)", r"(a)\1", "a" * (LONGEST + 1)):
            with pytest.raises(BadArguments):
                await found(search, refused, method="regex")


# ---------------------------------------------------------------- measured


def test_every_data_set_that_is_asked_has_its_figures_and_its_licence() -> None:
    sets = re.findall(
        r"^\| `(\w+)` \| .* \| (MIT|Apache-2.0) \| .* \| ([\d,]+|none) \|$", PAGE, re.MULTILINE
    )
    asked = [name for name, _, queries in sets if queries != "none"]
    assert len(sets) == len(asked) + 1
    assert list(dict.fromkeys(row[0].strip("`") for row in rows("figures: quality"))) == asked


async def test_the_form_of_a_data_set_is_the_one_that_is_read(tmp_path: Path) -> None:
    known, asked = (text for language, text in FENCES if language == "json")
    room = Room(tmp_path)
    folder = tmp_path / "FOLDER/made_up"
    folder.mkdir(parents=True)
    (folder / "tools.jsonl").write_text(known)
    (folder / "queries.jsonl").write_text(asked)
    (command,) = (text for language, text in FENCES if language == "console")
    words_of = command.removeprefix("$ toolcrib ").split()
    ran = await room.run(*words_of[:-1], "lexical", "--json")
    assert ran.code == 0
    (one,) = ran.document["sets"]
    assert (one["name"], one["tools"], one["tasks"]) == ("made_up", 1, 1)
    fields = re.findall(r'"(\w+)"\??', (ROOT / "docs/cli.md").read_text())
    told: Mapping[str, Any] = {**json.loads(known), **json.loads(asked)}
    assert set(told) <= set(fields)
    for option in ("--baseline", "--distractors", "--size", "--json"):
        assert f"`{option}" in PAGE
        assert option in (await room.run("bench", "search", "--help")).out
