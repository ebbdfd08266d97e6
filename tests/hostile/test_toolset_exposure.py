"""Exposure as nobody should configure it: a listing is there, and the same each time."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from toolcrib.config.loading import Loaded, interpret
from toolcrib.config.sources import parse_source
from toolcrib.core.exposure import pin
from toolcrib.core.partition import LOCAL, Principal
from toolcrib.settings import ExposureSettings, GatewaySettings
from toolcrib.testing.call_budget import within_calls
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import server_settings
from toolcrib.testing.scripted_gateway import scripted_gateway

ANNA = Principal("https://login", "anna")
META = ["search_tools", "get_tool_details", "call_tool"]
TOOLS = [f"mail__t{number}" for number in range(5)]


def gateway(exposure: ExposureSettings, wanted: Any, **options: Any) -> Any:
    scripts = {"mail": ScriptedUpstream([tool(it.removeprefix("mail__")) for it in TOOLS])}
    return scripted_gateway(
        scripts, gateway=GatewaySettings(exposure=wanted), exposure=exposure, **options
    )


ODD = {
    "no window": ({"window": 0}, META),
    "a negative window": ({"window": -(10**9)}, META),
    "a huge window": ({"window": 10**300}, TOOLS),
    "no share": ({"share": 0.0}, META),
    "a negative share": ({"share": -1.0}, META),
    "all of it": ({"share": 1.0}, TOOLS),
    "more than all": ({"share": 100.0}, TOOLS),
}


@pytest.mark.virtual_time
@pytest.mark.parametrize("kind", ODD)
async def test_odd_shares_and_windows_decide_once_and_for_all(kind: str) -> None:
    changes, shown = ODD[kind]
    async with gateway(replace(ExposureSettings(), **changes), "auto") as served:
        listing = await served.listing()
        assert await served.names() == shown
        assert "isError" not in await served.call("mail__t1")
        assert await served.listing() == listing
        assert await served.names(principal=ANNA) == shown
        await served.crib.toolset()


PINS: dict[str, tuple[tuple[str, ...], int, list[str]]] = {
    "everything": (("*",), 2_000, TOOLS),
    "everything twice": (("*", "mail__*", "mail__t1"), 2_000, TOOLS),
    "no budget": (("*",), 0, []),
    "a negative budget": (("*",), -1, []),
    "a budget beyond numbers": (("*",), 10**400, TOOLS),
    "nothing that is there": (("bank__*", "t1", "MAIL__T1", ""), 2_000, []),
    "meta-tools": (("search_tools", "call_*", "enable_server"), 2_000, []),
    "half a class": (("[", "mail__t[", "[!]", "[]"), 2_000, []),
    "a class": (("mail__t[1-2]", "[z-a]"), 2_000, ["mail__t1", "mail__t2"]),
    "an expression": ((".*", "(mail|bank)__t1", "mail__t\\d"), 2_000, []),
    "stars": (("*a" * 40 + "b",), 2_000, []),
    "many": (tuple(f"x{number}*" for number in range(2_000)), 2_000, []),
    "odd signs": (("\ud800*", "\u540d*", "\n", "**", "?" * 8), 2_000, TOOLS),
}


@pytest.mark.virtual_time
@pytest.mark.parametrize("kind", PINS)
async def test_odd_patterns_pin_what_they_match_and_never_meta_tools(kind: str) -> None:
    patterns, budget, pinned = PINS[kind]
    exposure = ExposureSettings(pinned=patterns, pinned_tokens=budget)
    async with gateway(exposure, "search") as served:
        assert await served.names() == [*META, *pinned]
        toolset = await served.crib.toolset()
        assert [it["name"] for it in toolset.for_anthropic()] == [*META, *pinned]
        listing = await served.listing()
        await served.call("search_tools", query="t1")
        await served.call("call_tool", name="mail__t1")
        assert await served.listing() == listing
        assert await served.names(principal=ANNA) == await served.names(principal=LOCAL)


def test_many_patterns_over_many_names_are_compiled_once_each() -> None:
    patterns = tuple(f"x{number}*" for number in range(600))
    with within_calls(1_500_000):
        found = pin(patterns, (f"s__t{n}" for n in range(500)), lambda _: 1, 10)
    assert found.names == ()
    assert len(found.unmatched) == 600


@pytest.mark.virtual_time
async def test_a_server_on_demand_pins_nothing_before_or_after_it_is_enabled() -> None:
    scripts = {it: ScriptedUpstream([tool("one")]) for it in ("mail", "more")}
    async with scripted_gateway(
        scripts,
        gateway=GatewaySettings(exposure="search"),
        exposure=ExposureSettings(pinned=("*",)),
        settings={"more": server_settings("more", on_demand=True)},
    ) as served:
        before = await served.listing()
        assert b"more__one" not in before
        await served.call("enable_server", server="more")
        await served.call("search_tools", query="one")
        await served.call("more__one")
        assert await served.listing() == before


# ---------------------------------------------------------------- files

HOSTS = json.dumps({"mcpServers": {"git": {"command": "git-server"}}})


def loaded(toml: str) -> Loaded:
    sources = [parse_source(Path("t.toml"), toml.encode()), parse_source(Path("h"), HOSTS.encode())]
    return interpret(sources, {}, Path("/"))


HUGE = "1" + "0" * 400


@pytest.mark.parametrize(
    "line",
    [
        f"window = {HUGE}",
        f"window = -{HUGE}",
        f"window = 0x{'f' * 3_000}",
        "window = 0",
        "window = 1.5",
        f"share = {HUGE}",
        "share = nan",
        "share = inf",
        "share = -0.1",
        "share = 100",
        "share = 0",
        f"pinned_tokens = {HUGE}",
        "pinned_tokens = -1",
        "token_factor = 0",
        f"token_factor = {HUGE}",
        "token_factor = 1e400",
        "token_factor = 1e308",
        "pinned = 'x'",
        "pinned = [1]",
        "pinned = ['']",
        "above = 'full'",
    ],
    ids=lambda it: it[:24],
)
def test_a_number_beyond_all_bounds_is_an_error_that_names_its_line(line: str) -> None:
    found = loaded(f"[exposure]\n{line}\n")
    assert found.settings.exposure == ExposureSettings()
    (problem,) = found.problems
    assert "t.toml:2" in str(problem)
    assert len(str(problem)) < 400
    assert [it.id for it in found.settings.servers] == ["git"]


@pytest.mark.parametrize("table", ["limits", "dynamic", "waits", "reconnect", "search.subagent"])
def test_no_table_of_numbers_ends_the_start(table: str) -> None:
    keys = ("search_hits", "idle_seconds", "cold_wait", "per_minute", "max_seconds", "clip_bytes")
    for key in keys:
        found = loaded(f"[{table}]\n{key} = {HUGE}\n")
        assert found.problems
        assert max(len(str(it)) for it in found.problems) < 2_000


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ('[skills." x "]\nservers = ["git"]', "unusable name"),
        ('[skills.""]\nservers = ["git"]', "unusable name"),
        ('[skills."a\\u202eb"]\nservers = ["git"]', "unusable name"),
        ('[skills."a\\nb"]\nservers = ["git"]', "unusable name"),
        ('[skills.git]\nservers = ["git"]', "name of a server"),
        ('[skills.a]\nservers = ["b"]\n[skills.b]\nservers = ["a"]', "no server"),
        ('[skills.a]\nservers = ["a"]', "no server"),
        ("[skills.a]\nservers = []", "is empty"),
        ("[skills.a]\nservers = 3", "not a list"),
        ("[skills.a]\n", "names no servers"),
        ('[skills.a]\nservers = ["git"]\ndescription = 5', "not a text"),
        ("[skills]\na = 1", "not a table"),
        ('[skills.a]\nservers = ["' + "y" * 100_000 + '"]', "no server"),
    ],
)
def test_a_skill_that_cannot_be_is_an_error_and_costs_itself_alone(table: str, why: str) -> None:
    found = loaded(f'{table}\n[skills.fine]\nservers = ["git"]\n')
    assert why in " ".join(map(str, found.problems))
    assert [it.name for it in found.settings.skills] == ["fine"]
    assert max(len(str(it)) for it in found.problems) < 1_000
