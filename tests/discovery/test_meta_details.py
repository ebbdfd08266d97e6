"""What `get_tool_details` answers: definitions as they are now, and help for unknown names."""

import json
from typing import Any

import pytest

from toolcrib.calls.ledger.sights import Sight, Sights
from toolcrib.core.snapshot import Kind
from toolcrib.errors import BadArguments
from toolcrib.settings import Limits
from toolcrib.testing.meta_rig import MetaRig
from toolcrib.testing.scripted import tool

FORECAST: dict[str, Any] = {
    "name": "get_forecast",
    "title": "Forecast",
    "description": "Forecast of the weather.\nIn two lines.",
    "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}},
    "outputSchema": {"type": "object", "properties": {"sky": {"type": "string"}}},
    "annotations": {"readOnlyHint": True},
    "icons": [{"src": "https://example.com/icon.png"}],
    "_meta": {"com.example/x": 1},
}


def rig() -> MetaRig:
    return MetaRig({"weather": [FORECAST, tool("get_alerts")], "maps": [tool("get_map")]})


def contract(made: MetaRig, server: str, key: str) -> str:
    snapshot = made.access.peek(server, Kind.TOOLS).snapshot
    assert snapshot is not None
    item = snapshot.get(key)
    assert item is not None
    return item.contract


async def test_a_definition_is_shown_with_everything_a_model_needs() -> None:
    answer = await rig().ask("get_tool_details", names=["weather__get_forecast"])
    head, body = answer.split("\n")
    assert head == "## weather__get_forecast (get_forecast of server weather)"
    members = ("title", "description", "inputSchema", "outputSchema", "annotations")
    assert json.loads(body) == {member: FORECAST[member] for member in members}
    assert list(json.loads(body)) == list(members)


async def test_what_is_shown_counts_as_seen_and_nothing_else() -> None:
    made = rig()
    await made.ask("get_tool_details", names=["weather__get_forecast", "maps__get_map"])
    for server, key in (("weather", "get_forecast"), ("maps", "get_map")):
        assert await made.saw(server, key) == contract(made, server, key)
    assert await made.saw("weather", "get_alerts") is None


async def test_definitions_come_in_the_order_asked_and_each_once() -> None:
    names = ["maps__get_map", "weather__get_alerts", "maps__get_map"]
    answer = await rig().ask("get_tool_details", names=names)
    heads = [line for line in answer.split("\n") if line.startswith("##")]
    assert heads == [
        "## maps__get_map (get_map of server maps)",
        "## weather__get_alerts (get_alerts of server weather)",
    ]


async def test_a_single_name_needs_no_list() -> None:
    answer = await rig().ask("get_tool_details", names="maps__get_map")
    assert answer.startswith("## maps__get_map")


async def test_an_unknown_name_costs_itself_and_is_answered_with_candidates() -> None:
    made = rig()
    answer = await made.ask("get_tool_details", names=["maps__getmap", "weather__get_alerts"])
    assert answer.split("\n")[0].startswith("## weather__get_alerts")
    assert answer.endswith("There is no tool `maps__getmap`; similar: maps__get_map.")


async def test_candidates_are_found_by_words_where_no_name_looks_alike() -> None:
    made = rig()
    answer = await made.ask("get_tool_details", names=["mcp__crib__forecast"])
    assert answer == "There is no tool `mcp__crib__forecast`; similar: weather__get_forecast."
    (query,) = made.search.queries
    assert (query.method, query.limit) == ("lexical", 3)


async def test_a_search_that_refuses_a_name_costs_only_the_candidates() -> None:
    made = rig()
    made.search.refuses = BadArguments("no such query")
    answer = await made.ask("get_tool_details", names=["zzz", "maps__get_map"])
    assert answer.startswith("## maps__get_map")
    assert answer.endswith("There is no tool `zzz`; search for what it does.")


async def test_a_server_that_was_not_reached_explains_a_missing_name() -> None:
    made = rig()
    made.access.fail("files", Kind.TOOLS, "connection refused")
    answer = await made.ask("get_tool_details", names=["files__read"])
    assert answer == (
        "There is no tool `files__read`; search for what it does.\n"
        "Not reached: `files` (connection refused)."
    )


async def test_a_tool_whose_server_went_away_is_said_to_be_out_of_reach() -> None:
    made = rig()
    shown = Sight("weather", "get_alerts", contract(made, "weather", "get_alerts"))
    await made.ledger.listed(made.who, Sights({"weather__get_alerts": shown}))
    made.access.fail("weather", Kind.TOOLS, "connection refused")
    answer = await made.ask("get_tool_details", names=["weather__get_alerts"])
    assert answer.startswith(
        "`weather__get_alerts`: its server was not reached (connection refused)."
    )


async def test_a_tool_that_was_shown_once_and_removed_is_unknown() -> None:
    made = rig()
    shown = Sight("weather", "get_alerts", contract(made, "weather", "get_alerts"))
    await made.ledger.listed(made.who, Sights({"weather__get_alerts": shown}))
    made.access.put("weather", Kind.TOOLS, [tool("get_alarms")])
    answer = await made.ask("get_tool_details", names=["weather__get_alerts"])
    assert answer.startswith("There is no tool `weather__get_alerts`; ")
    made.access.remove("weather")
    answer = await made.ask("get_tool_details", names=["weather__get_alerts"])
    assert answer.startswith("There is no tool `weather__get_alerts`; ")


async def test_a_catalog_that_is_too_old_costs_only_its_own_tools() -> None:
    made = rig()
    made.access.age("maps", Kind.TOOLS, 100.0)
    made.access.max_stale["maps"] = 10.0
    names = ["maps__get_map", "weather__get_alerts"]
    answer = await made.ask("get_tool_details", names=names)
    assert answer.startswith("## weather__get_alerts")
    assert "`maps__get_map`: the last good listing is 100 s old" in answer
    assert await made.saw("maps", "get_map") is None


async def test_the_newest_definition_is_shown() -> None:
    made = rig()
    before = contract(made, "maps", "get_map")

    async def change(_: Kind) -> None:
        made.access.put("maps", Kind.TOOLS, [tool("get_map", zoom={"type": "integer"})])

    made.access.on_read = change
    answer = await made.ask("get_tool_details", names=["maps__get_map"])
    assert '"zoom"' in answer
    seen = await made.saw("maps", "get_map")
    assert seen == contract(made, "maps", "get_map") != before


async def test_each_server_is_read_once_however_many_of_its_tools_are_asked_for() -> None:
    made = MetaRig({"s": [tool(f"t{i}") for i in range(15)]})
    await made.ask("get_tool_details", names=[f"s__t{i}" for i in range(15)])
    assert made.access.walks == {"s": 1}


async def test_at_most_twenty_names_are_answered_and_the_others_named() -> None:
    made = MetaRig({"s": [tool(f"t{i:02}") for i in range(30)]})
    answer = await made.ask("get_tool_details", names=[f"s__t{i:02}" for i in range(30)])
    assert answer.count("\n## ") + answer.startswith("## ") == 20
    assert "Left out: `s__t20`, `s__t21`" in answer
    assert answer.endswith("`s__t29`. Ask for a few at a time, 20 at most.")
    assert await made.saw("s", "t19") is not None
    assert await made.saw("s", "t20") is None


async def test_an_answer_is_bounded_and_names_what_is_missing() -> None:
    long: dict[str, Any] = {"type": "string", "description": 'Wo"rds ' * 200}
    made = MetaRig({"s": [tool(f"t{i}", a=long) for i in range(20)]})
    made.limits = Limits(clip_bytes=10_000)
    answer = await made.ask("get_tool_details", names=[f"s__t{i}" for i in range(20)])
    assert len(json.dumps(answer)) <= 10_000
    shown = answer.count('{"description"')
    assert 0 < shown < 20
    assert "Left out: " in answer
    assert answer.count("`s__t") == 20 - shown
    seen = [await made.saw("s", f"t{i}") is not None for i in range(20)]
    assert sum(seen) == shown


async def test_a_small_definition_behind_a_large_one_still_finds_room() -> None:
    long: dict[str, Any] = {"type": "string", "description": "words " * 300}
    made = MetaRig({"s": [tool("a"), tool("big", x=long, y=long), tool("z")]})
    made.limits = Limits(clip_bytes=2_048)
    answer = await made.ask("get_tool_details", names=["s__a", "s__big", "s__z"])
    assert "## s__z" in answer
    assert "Left out: `s__big`." in answer


async def test_a_definition_that_has_no_room_at_all_does_not_count_as_seen() -> None:
    made = rig()
    made.limits = Limits(clip_bytes=128)
    answer = await made.ask("get_tool_details", names=["weather__get_forecast"])
    assert answer.endswith("\n(city?: string) (there is no room for its definition)")
    assert await made.saw("weather", "get_forecast") is None


async def test_a_tool_on_demand_has_to_be_enabled_first() -> None:
    made = rig()
    made.enabling.on_demand = {"maps"}
    answer = await made.ask("get_tool_details", names=["maps__get_map", "weather__get_alerts"])
    told = "`maps__get_map` is of server `maps`, which is not enabled: call enable_server for it"
    assert told in answer
    assert await made.saw("maps", "get_map") is None
    made.enabling.enabled = {"maps"}
    assert "## maps__get_map" in await made.ask("get_tool_details", names=["maps__get_map"])


async def test_a_name_of_a_server_that_was_never_connected_says_to_enable_it() -> None:
    made = rig()
    made.enabling.on_demand = {"github"}
    answer = await made.ask("get_tool_details", names=["github__create_issue", "github"])
    first, second = answer.split("\n")
    told = "`github__create_issue` is of server `github`, which is not enabled: call enable_server"
    assert first == f"{told} for it first."
    assert second == "There is no tool `github`; search for what it does."


async def test_what_only_others_can_find_is_never_shown() -> None:
    made = rig()
    made.enabling.others = {"maps"}
    made.enabling.configured = True
    answer = await made.ask("get_tool_details", names=["maps__get_map"])
    assert "inputSchema" not in answer
    assert await made.saw("maps", "get_map") is None


async def test_candidates_never_come_from_servers_that_are_not_enabled() -> None:
    made = rig()
    made.enabling.on_demand = {"weather"}
    await made.ask("get_tool_details", names=["zzz"])
    (query,) = made.search.queries
    assert query.servers == ("maps",)


@pytest.mark.parametrize("name", ["search_tools", "get_tool_details", "call_tool"])
async def test_a_meta_tool_is_known_without_details(name: str) -> None:
    answer = await rig().ask("get_tool_details", names=[name])
    assert answer == f"{name} is in your own list of tools: call it directly."


async def test_the_same_state_gives_the_same_bytes() -> None:
    names = ["weather__get_forecast", "zzz", "maps__get_map"]
    answers = {await rig().ask("get_tool_details", names=names) for _ in range(5)}
    assert len(answers) == 1


async def test_endless_names_are_answered_shortly() -> None:
    made = rig()
    answer = await made.ask("get_tool_details", names=["x\n" * 100_000, *("y" * 5_000,) * 3])
    assert len(answer) < 500
    names = [f"{i}{'z' * 9_000}" for i in range(500)]
    assert len(await made.ask("get_tool_details", names=names)) < 8_000
