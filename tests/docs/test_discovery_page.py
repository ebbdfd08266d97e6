"""docs/discovery.md: its answers are those that a gateway gives, and what it promises is so."""

import json
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import anyio
import pytest

from toolcrib.config.loading import load
from toolcrib.core.exposure import Threshold
from toolcrib.core.snapshot import Kind
from toolcrib.discovery.meta.arguments import DETAILS_MOST
from toolcrib.settings import (
    DynamicSettings,
    Exposure,
    ExposureSettings,
    GatewaySettings,
    Limits,
    ServerSettings,
    Skill,
    ToolFilter,
)
from toolcrib.testing.live.gateway import serving
from toolcrib.testing.live.room import Room
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import server_settings
from toolcrib.testing.scripted_gateway import ScriptedGateway, scripted_gateway
from toolcrib.testing.scripted_server import Content, scripted_stdio
from toolcrib.wire.faults import RpcFault

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/discovery.md").read_text()
TEXT = " ".join(PAGE.split())
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
TOML = [text for language, text in FENCE.findall(PAGE) if language == "toml"]
ANSWERS = [
    text.partition("\n")
    for language, text in FENCE.findall(PAGE)
    if language == "text" and text.startswith("> ")
]

BOTH: tuple[Exposure, ...] = ("full", "search")


def rows(name: str) -> list[list[str]]:
    """The cells of a marked table, without its head."""
    table = PAGE.partition(f"{name} -->\n")[2].partition("<!-- end -->")[0]
    return [[it.strip() for it in line.split("|")[1:-1]] for line in table.splitlines()[2:]]


def described(name: str, does: str, /, *required: str, **properties: Any) -> dict[str, Any]:
    made: dict[str, Any] = {**tool(name, **properties), "description": does}
    made["inputSchema"]["required"] = [*required]
    return made


STRING = {"type": "string"}
EXAMPLES: Any = runpy.run_path(str(ROOT / "examples/servers.py"))
"""The servers that a reader can start."""
TOOLS: Mapping[str, list[dict[str, Any]]] = {
    server: [it.definition for it in EXAMPLES["tools_of"](server)]
    for server in ("shop", "mail", "warehouse")
}
SETTINGS = {
    "shop": server_settings("shop", description="Orders and deliveries."),
    "mail": server_settings("mail"),
    "warehouse": server_settings("warehouse", on_demand=True, description="Stock and suppliers."),
}
SKILL = Skill("restock", ("warehouse",), "Order what runs out.")


@asynccontextmanager
async def shop(
    exposure: Exposure = "search",
    *servers: str,
    settings: Mapping[str, ServerSettings] = SETTINGS,
) -> AsyncGenerator[tuple[ScriptedGateway, Mapping[str, ScriptedUpstream]]]:
    scripts = {it: ScriptedUpstream(TOOLS[it]) for it in servers or TOOLS}

    for server, script in scripts.items():
        tools = {it.name: it for it in EXAMPLES["tools_of"](server)}

        async def answer(
            _: str, asked: Mapping[str, Any], tools: Mapping[str, Any] = tools
        ) -> dict[str, Any]:
            return EXAMPLES["called"](tools[asked["name"]], asked["arguments"])

        script.on_call = answer
    async with scripted_gateway(
        scripts,
        settings=settings,
        gateway=GatewaySettings(exposure=exposure),
        exposure=ExposureSettings(pinned=("mail__send_*",)),
        skills=(SKILL,),
    ) as gateway:
        await gateway.crib.catalogs().reach()
        yield gateway, scripts


def text_of(result: Mapping[str, Any]) -> str:
    return "\n".join(block["text"] for block in result["content"])


# ---------------------------------------------------------------- exposures


def test_every_exposure_is_in_the_table_and_nothing_else() -> None:
    assert [name.strip("`") for name, _ in rows("exposures")] == ["full", "search", "auto", "code"]
    assert {name.strip("`") for name, _ in rows("exposures")} == set(get_args(Exposure))
    assert GatewaySettings().exposure == "auto"


@pytest.mark.virtual_time
async def test_what_is_listed_under_each_exposure_is_what_the_table_says() -> None:
    everything = ["mail__search_messages", "mail__send_message"]
    everything += ["shop__cancel_order", "shop__create_order", "shop__late_deliveries"]
    finding = ["search_tools", "get_tool_details", "call_tool"]
    shown: dict[Exposure, list[str]] = {
        "full": everything,
        "auto": everything,
        "search": [*finding, "mail__send_message"],
        "code": [*finding, "run_code", "mail__send_message"],
    }
    for exposure, listed in shown.items():
        async with shop(exposure, "shop", "mail") as (gateway, _):
            assert await gateway.names() == listed


@pytest.mark.virtual_time
async def test_prompts_are_listed_under_each_exposure() -> None:
    for exposure in BOTH:
        async with shop(exposure, "shop") as (gateway, scripts):
            scripts["shop"].items[Kind.PROMPTS] = [{"name": "ask"}]
            assert await gateway.names(Kind.PROMPTS) == ["shop__ask"]


@pytest.mark.parametrize("text", TOML)
def test_an_example_of_a_file_has_no_problems(tmp_path: Path, text: str) -> None:
    (tmp_path / "toolcrib.toml").write_text(text)
    (tmp_path / "mcp.json").write_text(
        json.dumps({"mcpServers": {it: {"command": "x"} for it in ("mail", "shop")}})
    )
    found = load([tmp_path / "toolcrib.toml", tmp_path / "mcp.json"], {}, tmp_path)
    assert found.problems == ()
    settings = found.settings
    if "on_demand" in text:
        (server,) = (it for it in settings.servers if it.on_demand)
        assert server.description == SETTINGS[server.id].description
        assert [replace(it, source="") for it in settings.skills] == [SKILL]
    elif "pinned" in text:
        assert settings.exposure.pinned == ("mail__send_*", "shop__late_deliveries")
    else:
        assert settings.gateway.exposure == "search"


def test_auto_changes_over_where_the_page_says() -> None:
    settings = ExposureSettings()
    threshold = Threshold(settings.window, settings.share)
    assert f"{settings.share:g} of {settings.window:,} tokens are {threshold.up:,}" in TEXT
    assert f"below two thirds of that, {threshold.down:,}, and only when all servers" in TEXT


@pytest.mark.virtual_time
async def test_auto_holds_between_its_two_thresholds_and_over_a_restart() -> None:
    limits, store = ExposureSettings(window=10_000, share=0.05), None
    sizes = ((400, "full"), (600, "search"), (400, "search"), (200, "full"), (400, "full"))
    script = ScriptedUpstream([])
    for tokens, exposure in sizes:
        script.change([described(f"t{n}", "Does one of the things.") for n in range(tokens // 28)])
        async with scripted_gateway({"s": script}, exposure=limits, store=store) as gateway:
            store = gateway.world.store
            await gateway.crib.catalogs().reach()
            await anyio.sleep(20)
            shown = await gateway.names()
            cost = (await gateway.crib.discovery().showing.report()).full_tokens
            assert tokens * 0.8 < cost < tokens * 1.2
            assert (exposure == "search") == (shown[0] == "search_tools"), tokens


@pytest.mark.virtual_time
async def test_pinned_tools_keep_to_their_budget_and_the_log_says_so() -> None:
    assert f"pinned_tokens = {ExposureSettings().pinned_tokens:_}" in PAGE
    scripts = {"shop": ScriptedUpstream(TOOLS["shop"])}
    few = ExposureSettings(pinned=("*",), pinned_tokens=100)
    shown = GatewaySettings(exposure="search")
    async with scripted_gateway(scripts, gateway=shown, exposure=few) as gateway:
        names = await gateway.names()
        assert "`pinned_beyond_budget`" in PAGE
        assert "pinned_beyond_budget" in repr(gateway.recorder.facts)
    assert 3 < len(names) < 6


async def test_what_list_tokens_prints_is_what_it_says(tmp_path: Path) -> None:
    room = Room(tmp_path)
    (shown,) = (it for _, it in FENCE.findall(PAGE) if "meta-tools  " in it)
    async with (
        scripted_stdio(Content(tools=TOOLS["shop"])) as one,
        scripted_stdio(Content(tools=TOOLS["mail"])) as other,
    ):
        room.configure({"shop": one.entry(), "mail": other.entry()})
        ran = await room.run("list", "--tokens", "--config", "mcp.json", "--wait", "50")
    lines = [line.rstrip() for line in ran.out.strip("\n").splitlines()]
    assert lines == shown.rstrip("\n").splitlines()


# ---------------------------------------------------------------- meta-tools


@pytest.mark.virtual_time
async def test_the_answers_on_the_page_are_those_that_are_given() -> None:
    assert len(ANSWERS) >= 10
    async with shop() as (gateway, _):
        before = await gateway.listing()
        for head, _, shown in ANSWERS:
            _, name, arguments = head.split(" ", 2)
            result = await gateway.call(name, **json.loads(arguments))
            assert f"{text_of(result)}\n" == shown, head
        assert await gateway.listing() == before


@pytest.mark.timeout(60)
async def test_a_reader_can_start_the_servers_and_ask_what_the_model_asks(tmp_path: Path) -> None:
    serve, ask = (
        shlex.split(line.removeprefix("$ "))
        for language, text in FENCE.findall(PAGE)
        if language == "console" and "goods.toml" in text
        for line in text.splitlines()
    )
    config = ROOT / "examples/goods.toml"
    assert serve[1:] == ["serve", "--config", str(config.relative_to(ROOT)), *serve[4:]]
    assert serve[4:] == ["--http", "127.0.0.1:8770"]
    room = Room(tmp_path)
    async with serving(room, "--config", config) as gateway:
        said = [gateway.url if it == f"http://{serve[-1]}/mcp" else it for it in ask[1:]]
        ran = await room.run(*said)
        _, _, shown = ANSWERS[0]
        assert (ran.code, ran.out) == (0, shown)
        names = (await room.run("list", "--url", gateway.url, "--json")).document["tools"]
        assert "mail__send_message" in {it["name"] for it in names}
        assert "shop__late_deliveries" not in {it["name"] for it in names}


@pytest.mark.virtual_time
async def test_the_meta_tools_are_those_of_the_table_in_its_order() -> None:
    async with shop() as (gateway, _):
        listed = (await gateway.ask("tools/list"))["tools"][:6]
    signatures: list[str] = []
    for definition in listed:
        schema = definition["inputSchema"]
        required = schema.get("required", [])
        names = (it if it in required else f"{it}?" for it in schema["properties"])
        signatures.append(f"`{definition['name']}({', '.join(names)})`")
    assert [name for name, _ in rows("meta")] == signatures
    assert f"at most {DETAILS_MOST} tools at a time" in TEXT
    async with shop("full") as (gateway, _):
        assert (await gateway.names())[:6] == [it["name"] for it in listed]
    async with shop("search", "shop") as (gateway, _):
        assert "enable_server" not in await gateway.names()


@pytest.mark.virtual_time
async def test_a_definition_counts_as_read_where_it_was_shown_as_a_whole() -> None:
    reads: tuple[tuple[str, dict[str, Any]], ...] = (
        ("get_tool_details", {"names": ["shop__create_order"]}),
        ("search_tools", {"query": "order goods", "detail": "full"}),
        ("search_tools", {"query": "order goods"}),
    )
    codes: list[str] = []
    for name, arguments in reads:
        async with shop() as (gateway, scripts):
            assert "shop__create_order" in text_of(await gateway.call(name, **arguments))
            amount = described("create_order", "Orders.", "item", item=STRING, amount=STRING)
            scripts["shop"].change([amount])
            await anyio.sleep(5)
            order = {"name": "shop__create_order", "args": {"item": "tea"}}
            result = await gateway.call("call_tool", **order)
            codes.append(result.get("structuredContent", {}).get("error", {}).get("code", ""))
            assert not (await gateway.call("call_tool", **order)).get("isError"), "only once"
    assert codes == ["schema_changed", "schema_changed", ""]


# ---------------------------------------------------------------- deferred, denied, on demand


async def _works(gateway: ScriptedGateway, called: str, /, **arguments: Any) -> bool:
    try:
        return not (await gateway.call(called, **arguments)).get("isError")
    except RpcFault:
        return False


@pytest.mark.virtual_time
async def test_the_table_of_deferred_and_denied_is_so() -> None:
    table = PAGE.partition("| | found by a search")[2].partition("\n\n")[0].splitlines()[2:]
    said = [[it.strip() == "yes" for it in line.split("|")[2:-1]] for line in table]
    denied = replace(SETTINGS["shop"], tools=ToolFilter(deny=("cancel_*",)))
    cases: list[tuple[str, dict[str, Any]]] = [
        ("mail__send_message", {"to": "x"}),
        ("shop__create_order", {"item": "x"}),
        ("shop__cancel_order", {"id": "x"}),
        ("warehouse__stock", {"item": "x"}),
    ]
    found: list[list[bool]] = []
    async with shop(settings={**SETTINGS, "shop": denied}) as (gateway, _):
        for name, arguments in cases:
            query = {"query": name.partition("__")[2], "detail": "name"}
            hits = text_of(await gateway.call("search_tools", **query))
            found.append(
                [
                    f" {name}\n" in f"{hits}\n",
                    await _works(gateway, "call_tool", name=name, args=arguments),
                    await _works(gateway, name, **arguments),
                    name in await gateway.names(),
                ]
            )
    assert found == said


@pytest.mark.virtual_time
async def test_enabling_lists_nothing_and_connects_only_then() -> None:
    for exposure in BOTH:
        async with shop(exposure) as (gateway, scripts):
            before = await gateway.listing()
            assert scripts["warehouse"].connects == 0
            await gateway.call("enable_server", server="warehouse")
            assert scripts["warehouse"].connects == 1
            assert await gateway.listing() == before
            stock = {"name": "warehouse__stock", "args": {"item": "tea"}}
            assert await _works(gateway, "call_tool", **stock)


# ---------------------------------------------------------------- prompts


@pytest.mark.virtual_time
async def test_what_a_change_does_to_a_listing_is_what_the_table_says() -> None:
    others = [described("order", "Orders.", "item", item=STRING)]
    for exposure in BOTH:
        async with shop(exposure, "shop", "mail") as (gateway, scripts):
            before = await gateway.listing()
            scripts["mail"].change(TOOLS["mail"])
            scripts["mail"].drop()
            await anyio.sleep(20)
            assert await gateway.listing() == before, "the same tools again"
            scripts["shop"].change(others)
            await anyio.sleep(5)
            assert (await gateway.listing() != before) == (exposure == "full")
            before = await gateway.listing()
            scripts["mail"].change(others)  # the pinned tool is gone
            await anyio.sleep(20)
            assert await gateway.listing() != before


@pytest.mark.virtual_time
async def test_the_order_and_the_names_are_those_that_are_promised() -> None:
    listed: list[list[str]] = []
    for servers in (("shop",), ("shop", "mail"), ("mail", "shop")):
        async with shop("full", *servers) as (gateway, _):
            listed.append(await gateway.names())
    alone, both, turned = listed
    assert both == turned == sorted(both)
    assert set(alone) < set(both)


def program(*lines: str) -> list[dict[str, Any]]:
    """The figures that a program in `bench` prints."""
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        cwd=ROOT / "bench",
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.timeout(120)
def test_the_conversation_takes_what_the_page_says() -> None:
    table = rows("figures: conversation")
    sizes = tuple(dict.fromkeys(int(row[0]) - 1 for row in table))
    told = program(
        "import anyio, conversation",
        f"conversation.SIZES = {sizes}",
        "anyio.run(conversation.main, None)",
    )
    figures = {it["figure"]: it for it in told}
    keys = ("requests", "prompt_tokens", "cache_hits", "cache_misses", "weighed")
    for tools, variant, *cells, of_full, unchanged in table:
        named = f"{variant.replace('`', '')}, {tools} tools"
        changed = figures[f"{named}, a tool changes"]
        assert [int(it.replace(",", "")) for it in cells] == [changed[key] for key in keys]
        assert float(of_full) == changed["times_full"]
        assert float(unchanged) == figures[f"{named}, nothing changes"]["times_full"]
    weighed = {(row[0], row[1]): float(row[-2]) for row in table}
    assert weighed["2", "`search`"] > 1 > weighed["6", "`search`"]
    assert "With 2 tools `search` loses" in TEXT


@pytest.mark.timeout(120)
def test_what_stands_at_the_start_costs_what_the_page_says() -> None:
    table = rows("figures: context")
    told = program(
        "import anyio, context", "context.SIZES = (10, 500)", "anyio.run(context.main, {})"
    )
    figures = [[f"{it['full']:,}", f"{it['value']:,}"] for it in told]
    assert [row[1:] for row in table[:2]] == figures
    assert {row[2] for row in table} == {figures[0][1]}


def test_what_stands_at_the_start_is_measured_when_all_tools_are_there() -> None:
    (slow,) = program(
        "import anyio, context, trio.testing",
        "from functools import partial",
        "context.SIZES = (10,)",
        "context.ScriptedUpstream = partial(context.ScriptedUpstream, latency=9.0)",
        "options = {'clock': trio.testing.MockClock(autojump_threshold=0)}",
        "anyio.run(context.main, {}, backend='trio', backend_options=options)",
    )
    assert [f"{slow['full']:,}", f"{slow['value']:,}"] == rows("figures: context")[0][1:]


# ---------------------------------------------------------------- limits, privacy


def test_the_limits_on_the_page_are_the_defaults() -> None:
    limits = {name: getattr(Limits(), name) for name in Limits.__dataclass_fields__}
    limits |= {"pinned_tokens": ExposureSettings().pinned_tokens}
    limits |= {"idle_seconds": DynamicSettings().idle_seconds}
    for names, defaults, _ in rows("limits"):
        for name, default in zip(names.split(", "), defaults.split(", "), strict=True):
            amount, _, unit = default.partition(" ")
            factor = {"": 1, "KiB": 1_024, "s": 1}[unit]
            assert limits[name.strip("`")] == int(amount.replace(",", "")) * factor, name


async def test_a_query_is_neither_logged_nor_stored(tmp_path: Path) -> None:
    room = Room(tmp_path)
    async with scripted_stdio(Content(tools=TOOLS["shop"])) as server:
        config = room.configure({"shop": server.entry()})
        asked = ["search", "order xylophones", "--config", config, "--json", "--wait", "50"]
        ran = await room.run(*asked)
        assert ran.code == 0
    assert "xylophones" not in ran.err
    kept = [path.read_bytes() for path in room.home.rglob("*") if path.is_file()]
    assert kept
    assert not any(b"xylophones" in each for each in kept)
