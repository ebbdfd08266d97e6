"""What a model is shown where it may write programs: little, and how tools are called in them."""

import json
from typing import Any

import pytest

from toolcrib.adapters.quicktok_counter import QuicktokCounter
from toolcrib.codemode.run_code import LACKED, RUN, definition
from toolcrib.core.exposure import Wanted
from toolcrib.discovery.meta.definitions import instructions
from toolcrib.settings import CodeSettings, ExposureSettings, GatewaySettings, Language
from toolcrib.testing.coded_server import CodedServer, CodingHost, coded, text_of
from toolcrib.testing.monty_rig import monty
from toolcrib.testing.scripted import tool
from toolcrib.testing.scripted_crib import server_settings

CODE = ["search_tools", "get_tool_details", "call_tool", "run_code"]
ENABLING = ["search_available_servers", "enable_server", "disable_server"]
LANGUAGES: list[tuple[Language, ...]] = [("python",), ("typescript",), ("python", "typescript")]


def tokens(value: object) -> int:
    text = value
    if not isinstance(text, str):
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return QuicktokCounter().count(text)


def shown(definitions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As a provider gets them: without what is for hosts."""
    return [{key: it for key, it in each.items() if key != "_meta"} for each in definitions]


@pytest.mark.parametrize("languages", LANGUAGES, ids="+".join)
async def test_everything_a_model_is_told_first_is_within_a_thousand_tokens(
    languages: tuple[Language, ...],
) -> None:
    servers = {f"s{n}": CodedServer({}, *(tool(f"t{m}") for m in range(30))) for n in range(5)}
    settings = {"s0": server_settings("s0", on_demand=True)}
    async with coded(servers, settings=settings, code=CodeSettings(languages)) as (_, gateway):
        listed = (await gateway.ask("tools/list"))["tools"]
        told = instructions("code")
        assert set(CODE + ENABLING) == {each["name"] for each in listed}
        assert tokens(shown(listed)) + tokens(told) <= 1_000


async def test_under_code_the_list_holds_meta_tools_and_pinned_ones() -> None:
    exposure = ExposureSettings(pinned=("s__b",))
    server = CodedServer({}, tool("a"), tool("b"))
    async with coded({"s": server}, exposure=exposure) as (_, gateway):
        assert await gateway.names() == [*CODE, "s__b"]


@pytest.mark.parametrize(("count", "there"), [(2, False), (200, True)])
async def test_auto_may_change_over_to_programs(count: int, *, there: bool) -> None:
    exposure = ExposureSettings(window=20_000, share=0.1, above="code")
    server = CodedServer({}, *(tool(f"t{n}") for n in range(count)))
    auto = GatewaySettings(exposure="auto")
    async with coded({"s": server}, gateway=auto, exposure=exposure) as (host, gateway):
        names = await gateway.names()
        assert (names == CODE) is there
        assert (RUN in names) is there
        if there:
            assert await host.value("import s\nreturn await s.t1(x=1)") == {"x": 1}


@pytest.mark.parametrize("wanted", ["full", "search", "auto"])
async def test_where_no_programs_are_wanted_none_runs(wanted: Wanted) -> None:
    server = CodedServer({}, tool("a"))
    settings = GatewaySettings(exposure=wanted)
    async with coded({"s": server}, gateway=settings) as (_, gateway):
        assert RUN not in await gateway.names()
        host = CodingHost(gateway)
        refused = await host.run("import s\nawait s.a()")
        assert refused.get("fault") == -32602
        assert server.calls == []


async def test_hits_and_details_say_what_programs_call_a_tool_where_it_is_not_plain() -> None:
    server = CodedServer({}, tool("make-it"), tool("make"))
    async with coded({"math": server, "plain": CodedServer({}, tool("make_all"))}) as (_, gateway):
        found = text_of(await gateway.call("search_tools", query="make"))
        assert "## math (module math_)" in found
        assert "math__make-it (in programs make_it)()" in found
        assert "math__make(" in found
        assert "## plain\n" in found
        assert "plain__make_all(" in found
        asked = await gateway.call("get_tool_details", names=["math__make-it", "plain__make_all"])
        headings = [line for line in text_of(asked).splitlines() if line.startswith("## ")]
        assert headings[0].endswith("(make-it of server math; in programs math_.make_it)")
        assert headings[1].endswith("(make_all of server plain; in programs plain.make_all)")


async def test_without_programs_nothing_is_said_of_them() -> None:
    settings = GatewaySettings(exposure="search")
    async with coded({"math": CodedServer({}, tool("go"))}, gateway=settings) as (_, gateway):
        found = text_of(await gateway.call("search_tools", query="go"))
        asked = text_of(await gateway.call("get_tool_details", names=["math__go"]))
        assert "module" not in found + asked
        assert "program" not in found + asked


# ---- the text of run_code ----


@pytest.mark.parametrize("languages", LANGUAGES, ids="+".join)
def test_the_definition_is_the_same_bytes_and_names_its_languages(
    languages: tuple[Language, ...],
) -> None:
    made = definition(languages)
    assert json.dumps(made) == json.dumps(definition(languages))
    assert ("Python: `" in made["description"]) is ("python" in languages)
    assert ("TypeScript: `" in made["description"]) is ("typescript" in languages)
    properties = made["inputSchema"]["properties"]
    assert ("language" in properties) is (len(languages) > 1)
    assert "For one or two calls, call them directly" in made["description"]


def test_the_instructions_of_code_and_of_no_other_exposure_speak_of_programs() -> None:
    assert RUN in instructions("code")
    assert not any(RUN in instructions(it) for it in ("full", "search"))


async def test_what_the_text_says_is_lacking_is_lacking_in_the_installed_version() -> None:
    common = {
        "class inheritance", "exception classes", "yield", "del", "with", "match", "lambda",
        "next(generator)", "property", "asyncio.create_task", "asyncio.wait_for",
        "asyncio.gather", "asyncio.run", "str.format", "json.dumps(indent=)", "sorted(key=)",
        "functools.partial",
    }  # fmt: skip
    async with monty() as sandbox:
        lacks = set((await sandbox.abilities()).lacks)
    assert set(LACKED) <= lacks
    assert common & lacks <= set(LACKED)
    described = definition(("python",))["description"]
    assert all(name in described for name in LACKED)
