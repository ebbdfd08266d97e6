"""What `search_tools` answers: hits by server, a bounded answer, and a hint where nothing fits."""

import json
from typing import Any

import pytest

from toolcrib.calls.ledger.sights import Sight, Sights
from toolcrib.core.snapshot import Kind
from toolcrib.discovery.hits import Query
from toolcrib.errors import BadArguments
from toolcrib.settings import Limits
from toolcrib.testing.meta_rig import MetaRig
from toolcrib.testing.scripted import tool

CITY: dict[str, Any] = {"type": "string"}


def described(name: str, description: str, **properties: Any) -> dict[str, Any]:
    return {**tool(name, **properties), "description": description}


def rig(**settings: Any) -> MetaRig:
    weather = [
        described("get_forecast", "Forecast of the weather.", city=CITY),
        described("get_alerts", "Warnings."),
    ]
    maps = [described("get_map", "A map with the weather.", place=CITY)]
    made = MetaRig({"weather": weather, "maps": maps}, limits=Limits(**settings))
    made.introduced.words["weather"] = "Weather of the whole world."
    return made


def many(count: int, *, about: str = "tool", server: str = "s") -> MetaRig:
    tools = [described(f"t{i:04}", f"A {about} {'x' * 90}") for i in range(count)]
    return MetaRig({server: tools})


@pytest.mark.duty("D2")
async def test_hits_stand_under_their_servers_and_keep_their_ranks() -> None:
    assert await rig().ask("search_tools", query="get weather") == (
        "Numbers are ranks. What follows a name is its server's own text.\n"
        "## maps\n"
        "1. maps__get_map(place?: string): A map with the weather.\n"
        '## weather: "Weather of the whole world."\n'
        "2. weather__get_forecast(city?: string): Forecast of the weather.\n"
        "3. weather__get_alerts(): Warnings."
    )


async def test_the_group_of_the_best_hit_comes_first() -> None:
    answer = await rig().ask("search_tools", query="get forecast weather")
    heads = [line for line in answer.split("\n") if line.startswith(("#", "1", "2", "3"))]
    assert heads == [
        '## weather: "Weather of the whole world."',
        "1. weather__get_forecast(city?: string): Forecast of the weather.",
        "3. weather__get_alerts(): Warnings.",
        "## maps",
        "2. maps__get_map(place?: string): A map with the weather.",
    ]


@pytest.mark.duty("D2")
async def test_names_alone_are_names_alone() -> None:
    answer = await rig().ask("search_tools", query="forecast", detail="name")
    assert answer == (
        'Numbers are ranks.\n## weather: "Weather of the whole world."\n1. weather__get_forecast'
    )


async def test_whole_definitions_are_shown_and_count_as_seen() -> None:
    made = rig()
    answer = await made.ask("search_tools", query="forecast", detail="full")
    name, definition = answer.split("\n")[2:]
    assert name == "1. weather__get_forecast"
    assert json.loads(definition) == {
        "description": "Forecast of the weather.",
        "inputSchema": {"type": "object", "properties": {"city": CITY}},
    }
    snapshot = made.access.peek("weather", Kind.TOOLS).snapshot
    assert snapshot is not None
    item = snapshot.get("get_forecast")
    assert item is not None
    assert await made.saw("weather", "get_forecast") == item.contract
    assert await made.saw("weather", "get_alerts") is None


@pytest.mark.parametrize("detail", ["name", "brief"])
async def test_what_is_only_named_does_not_count_as_seen(detail: str) -> None:
    made = rig()
    await made.ask("search_tools", query="forecast", detail=detail)
    assert await made.saw("weather", "get_forecast") is None


async def test_the_search_is_asked_what_the_model_asked() -> None:
    made = rig()
    for arguments in (
        {"query": "mail"},
        {"query": "mail", "server": "maps", "limit": 3},
        {"query": "/^get/", "detail": "full"},
        {"query": "mail", "limit": 999},
    ):
        await made.ask("search_tools", **arguments)
    assert made.search.queries == [
        Query("mail"),
        Query("mail", servers=("maps",), limit=3),
        Query("^get", limit=5, method="regex"),
        Query("mail", limit=50),
    ]


async def test_a_limit_that_was_clamped_is_told() -> None:
    answer = await rig().ask("search_tools", query="get", limit=51)
    assert answer.endswith("At most 50 hits are given (limit search_hits_most), not `51`.")


async def test_what_the_search_has_to_say_is_told() -> None:
    made = rig()
    made.search.notes = ("The small model did not answer; these are the hits of hybrid.",)
    answer = await made.ask("search_tools", query="get")
    assert answer.endswith("\nThe small model did not answer; these are the hits of hybrid.")


async def test_a_query_that_the_search_refuses_is_refused() -> None:
    made = rig()
    made.search.refuses = BadArguments("no such pattern")
    with pytest.raises(BadArguments, match="no such pattern"):
        await made.ask("search_tools", query="/(/")


# ---- what there is no room for ----


@pytest.mark.parametrize("detail", ["name", "brief"])
@pytest.mark.parametrize("room", [2_000, 3_000, 8_192])
async def test_an_answer_is_bounded_and_says_what_is_missing(detail: str, room: int) -> None:
    made = many(900)
    made.limits = Limits(search_bytes=room, search_hits_most=900)
    answer = await made.ask("search_tools", query="tool", limit=900, detail=detail)
    assert len(answer.encode()) <= room
    shown = answer.count(". s__t")
    assert f"{900 - shown} more left out (limit search_bytes, {room:,} bytes)" in answer
    assert shown > (room - 1_600) // 150


async def test_what_a_server_says_of_itself_takes_room_once() -> None:
    made = many(900)
    made.introduced.words["s"] = "words " * 50
    made.limits = Limits(search_hits_most=900)
    answer = await made.ask("search_tools", query="tool", limit=900, detail="name")
    assert answer.count(". s__t") > 300
    assert answer.count('"words words') == 1


async def test_ten_hits_have_room_by_default() -> None:
    answer = await many(30).ask("search_tools", query="tool")
    assert answer.count(". s__t") == 10
    assert "left out" not in answer


async def test_whole_definitions_are_bounded_by_what_a_model_is_shown() -> None:
    made = many(50)
    made.limits = Limits(clip_bytes=4_096)
    answer = await made.ask("search_tools", query="tool", limit=50, detail="full")
    assert len(answer.encode()) <= 4_096
    shown = answer.count(". s__t")
    assert f"{50 - shown} more left out (limit clip_bytes, 4,096 bytes): s__t" in answer
    assert await made.saw("s", "t0000") is not None
    assert await made.saw("s", "t0049") is None


async def test_a_definition_that_fills_the_answer_alone_is_cut_and_not_left_out() -> None:
    big = {f"p{i}": {"type": "string", "description": "y" * 200} for i in range(100)}
    made = MetaRig({"s": [described("big", "A tool.", **big), described("b", "A tool.")]})
    made.limits = Limits(clip_bytes=3_072)
    answer = await made.ask("search_tools", query="big tool", detail="full")
    assert len(answer.encode()) <= 3_072
    assert "\n1. s__big\n" in answer
    assert '"p0"' in answer
    assert "y" * 100 not in answer


async def test_a_model_gets_at_least_the_parameters_of_what_has_no_room() -> None:
    made = MetaRig({"s": [described("big", "A tool.", city=CITY)]})
    made.limits = Limits(clip_bytes=1_080)
    answer = await made.ask("search_tools", query="tool", detail="full")
    assert "1. s__big\n(city?: string) (there is no room for its definition)" in answer
    assert await made.saw("s", "big") is None


async def test_a_long_enumeration_is_shown_by_its_beginning() -> None:
    values = [f"v{i}" for i in range(6_000)]
    made = MetaRig({"s": [described("pick", "Picks.", value={"type": "string", "enum": values})]})
    brief = await made.ask("search_tools", query="pick")
    assert "s__pick(value?: one of 6000): Picks." in brief
    full = await made.ask("search_tools", query="pick", detail="full")
    assert "v39" in full
    assert "v40" not in full
    assert "6,000" in full


# ---- nothing found ----


async def test_nothing_found_says_where_was_searched_and_what_is_missing() -> None:
    made = rig()
    made.search.near = ("maps__get_map",)
    made.access.fail("files", Kind.TOOLS, "connection refused")
    made.access.put("lazy", Kind.TOOLS, [tool("x")])
    made.enabling.on_demand = {"lazy"}
    assert await made.ask("search_tools", query="send mail") == (
        "No tool found for `send mail`.\n"
        "Similar names: maps__get_map.\n"
        "Searched: `maps` (1 tool), `weather` (2 tools).\n"
        "Not reached: `files` (connection refused).\n"
        "Not enabled: `lazy`. search_available_servers describes them, enable_server adds one.\n"
        "Try other words, or fewer; an empty query tells of all servers."
    )


async def test_nothing_found_on_one_server_speaks_of_that_server() -> None:
    answer = await rig().ask("search_tools", query="mail", server="maps")
    assert "Searched: `maps` (1 tool)." in answer
    assert "weather" not in answer


async def test_with_no_server_at_all_nothing_was_searched() -> None:
    answer = await MetaRig({}).ask("search_tools", query="mail")
    assert answer == "No tool found for `mail`.\nNo server was there to be searched."


async def test_a_server_that_was_not_reached_is_told_beside_hits() -> None:
    made = rig()
    made.access.fail("files", Kind.TOOLS, "")
    made.access.states["files"] = "connecting"
    answer = await made.ask("search_tools", query="forecast")
    assert answer.endswith("\nNot reached: `files` (connecting).")
    assert "Not reached" not in await made.ask("search_tools", query="map", server="maps")


async def test_a_server_that_comes_back_is_not_told_any_more() -> None:
    made = rig()
    made.access.fail("files", Kind.TOOLS, "connection refused")
    assert "Not reached" in await made.ask("search_tools", query="forecast")
    made.access.put("files", Kind.TOOLS, [described("read", "Reads a forecast.")])
    answer = await made.ask("search_tools", query="forecast")
    assert "Not reached" not in answer
    assert "files__read" in answer


@pytest.mark.parametrize("detail", ["name", "brief", "full"])
async def test_hundreds_of_servers_out_of_reach_stay_within_the_answer(detail: str) -> None:
    made = rig()
    for i in range(500):
        made.access.fail(f"server-{i}", Kind.TOOLS, "connection refused " * 50)
    for query in ("weather", "zzz", ""):
        answer = await made.ask("search_tools", query=query, detail=detail)
        assert len(answer.encode()) < 8_192
        assert "more." in answer


# ---- servers that are asked for ----


@pytest.mark.parametrize("server", ["weather", "Weather", " WEATHER "])
async def test_a_server_is_known_in_any_case(server: str) -> None:
    answer = await rig().ask("search_tools", query="get", server=server)
    assert "weather__get_alerts" in answer
    assert "maps" not in answer


async def test_servers_that_differ_in_case_only_are_told_apart() -> None:
    made = MetaRig({"S": [tool("get_a")], "s": [tool("get_b")]})
    assert "s__get_b" in await made.ask("search_tools", query="get", server="s")
    made = MetaRig({"Ab": [tool("get_a")], "aB": [tool("get_b")]})
    with pytest.raises(BadArguments, match="no server `ab`; similar ones: `Ab`, `aB`"):
        await made.ask("search_tools", query="get", server="ab")


@pytest.mark.parametrize(
    ("server", "hint", "near"),
    [("wether", "similar ones: `weather`.", ["weather"]), ("zzz", "are: `maps`, `weather`.", [])],
)
async def test_an_unknown_server_is_answered_with_known_ones(
    server: str, hint: str, near: list[str]
) -> None:
    with pytest.raises(BadArguments) as raised:
        await rig().ask("search_tools", query="get", server=server)
    assert raised.value.message.endswith(hint)
    assert raised.value.details == {"near": near}


async def test_a_server_on_demand_has_to_be_enabled_first() -> None:
    made = rig()
    made.enabling.on_demand = {"maps"}
    with pytest.raises(BadArguments, match="call enable_server") as raised:
        await made.ask("search_tools", query="get", server="maps")
    assert raised.value.details == {"enable": ["maps"]}
    assert "maps__" not in await made.ask("search_tools", query="get")
    made.enabling.enabled = {"maps"}
    assert "maps__get_map" in await made.ask("search_tools", query="get", server="maps")


async def test_a_server_that_was_never_connected_can_be_enabled() -> None:
    made = rig()
    made.enabling.on_demand = {"github"}
    with pytest.raises(BadArguments, match="`github` can be found once you call enable_server"):
        await made.ask("search_tools", query="issue", server="GitHub")
    for query in ("", "zzz"):
        assert "\nNot enabled: `github`. " in await made.ask("search_tools", query=query)


async def test_what_another_caller_enabled_is_not_searched_for_this_one() -> None:
    made = rig()
    made.enabling.on_demand = {"maps"}
    await made.ask("search_tools", query="get")
    (query,) = made.search.queries
    assert query.servers == ("weather",)


# ---- without a query ----


@pytest.mark.parametrize("query", ["", "  ", "*", None])
async def test_an_empty_query_tells_of_all_servers(query: str | None) -> None:
    made = rig()
    made.access.fail("files", Kind.TOOLS, "connection refused")
    assert await made.ask("search_tools", query=query) == (
        "3 tools on 2 servers:\n"
        "- maps (1 tool)\n"
        '- weather (2 tools): "Weather of the whole world."\n'
        "Not reached: `files` (connection refused).\n"
        "Search by what a tool should do; with server and an empty query, all tools of a server."
    )
    assert made.search.queries == []


async def test_an_overview_brings_catalogs_up_to_date() -> None:
    made = rig()

    async def grow(_: Kind) -> None:
        made.access.put("maps", Kind.TOOLS, [tool("a"), tool("b"), tool("c")])

    made.access.on_read = grow
    assert "- maps (3 tools)" in await made.ask("search_tools", query="")


async def test_an_overview_of_many_servers_leaves_out_words_first() -> None:
    made = MetaRig({f"server-{i:03}": [tool("a")] for i in range(150)})
    made.introduced.words = {f"server-{i:03}": "What it does. " * 20 for i in range(150)}
    answer = await made.ask("search_tools", query="")
    assert len(answer.encode()) <= 8_192
    assert "- server-149 (1 tool)" in answer
    assert "What it does" not in answer
    made = MetaRig({f"server-{i:03}": [tool("a")] for i in range(600)})
    answer = await made.ask("search_tools", query="")
    assert len(answer.encode()) <= 8_192
    shown = answer.count("\n- ")
    assert f"{600 - shown} more servers left out." in answer


async def test_the_tools_of_a_server_are_told_without_a_search() -> None:
    made = rig()
    assert await made.ask("search_tools", query="", server="weather", detail="name") == (
        "In the order of their names.\n"
        '## weather: "Weather of the whole world."\n'
        "1. weather__get_alerts\n"
        "2. weather__get_forecast"
    )
    assert made.search.queries == []


async def test_of_a_large_server_the_first_tools_are_told_and_how_many_there_are() -> None:
    answer = await many(200).ask("search_tools", query="*", server="s", detail="name")
    assert answer.count(". s__t") == 50
    assert answer.endswith("These are the first of 200 tools: find others by a query.")
    answer = await many(200).ask("search_tools", query="*", server="s", detail="full")
    assert answer.count(". s__t") == 5


async def test_a_server_without_tools_has_none_to_show() -> None:
    made = MetaRig({"s": []})
    made.access.fail("t", Kind.TOOLS, "connection refused")
    assert await made.ask("search_tools", query="", server="s") == "No tools to show of `s`."
    assert await made.ask("search_tools", query="", server="t") == (
        "No tools to show of `t`.\nNot reached: `t` (connection refused)."
    )


async def test_names_that_two_servers_claim_are_not_told_as_callable() -> None:
    made = MetaRig({"a": [tool("same"), tool("own")], "b": [tool("same")]}, style="plain")
    answer = await made.ask("search_tools", query="", server="a", detail="name")
    assert "1. own" in answer
    assert "same" not in answer
    # Not even where the name once led this caller to the other one of the two.
    await made.ledger.listed(made.who, Sights({"same": Sight("b", "same", "c")}))
    assert "same" not in await made.ask("search_tools", query="", server="a", detail="name")


# ---- always the same ----


@pytest.mark.parametrize("detail", ["name", "brief", "full"])
@pytest.mark.parametrize("query", ["get weather", "zzz", ""])
async def test_the_same_state_gives_the_same_bytes(detail: str, query: str) -> None:
    def made() -> MetaRig:
        one = rig()
        one.access.fail("files", Kind.TOOLS, "connection refused")
        one.access.put("lazy", Kind.TOOLS, [tool("x")])
        one.enabling.on_demand = {"lazy"}
        return one

    answers = {await made().ask("search_tools", query=query, detail=detail) for _ in range(5)}
    assert len(answers) == 1
