"""Whatever servers define, every form of a conversation passes the rules of its provider."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import anyio
import pytest
from hypothesis import strategies as st

from toolcrib.context.providers import anthropic, gemini, openai_chat, openai_responses
from toolcrib.context.toolset import Toolset
from toolcrib.core.exposure import Wanted
from toolcrib.testing.odd_schemas import DEFINITIONS
from toolcrib.testing.planted_code import CodeFault
from toolcrib.testing.plays import Plays
from toolcrib.testing.scripted import ScriptedUpstream
from toolcrib.testing.scripted_crib import scripted_crib

pytestmark = pytest.mark.hypothesis

Lint = Callable[[Mapping[str, Any]], list[str]]
Script = tuple[Wanted, list[list[dict[str, Any]]]]
SCRIPTS: st.SearchStrategy[Script] = st.tuples(
    st.sampled_from(["full", "search"]),
    st.lists(st.lists(DEFINITIONS, max_size=4), min_size=2, max_size=4),
)


def forms(toolset: Toolset) -> list[tuple[str, Lint, list[dict[str, Any]]]]:
    made: list[tuple[str, Lint, list[dict[str, Any]]]] = []
    for native in (False, True):
        tools = toolset.for_anthropic(native_search=native, cache="1h")
        made.append(("anthropic", anthropic.lint, tools))
        for strict in (False, True):
            tools = toolset.for_openai_responses(native_search=native, strict=strict)
            made.append(("openai responses", openai_responses.lint, tools))
    for either in (False, True):
        made.append(("openai chat", openai_chat.lint, toolset.for_openai_chat(strict=either)))
        declared = toolset.for_gemini(json_schema=either)
        made += [("gemini", gemini.lint, it["functionDeclarations"]) for it in declared]
    return made


def check(toolset: Toolset) -> None:
    for provider, lint, tools in forms(toolset):
        for tool in tools:
            assert lint(tool) == [], provider
        names = [tool.get("name") or tool.get("function", {}).get("name") for tool in tools]
        assert len(set(names)) == len(names), "two tools of one name"
    again = [json.dumps(tools) for _, _, tools in forms(toolset)]
    assert again == [json.dumps(tools) for _, _, tools in forms(toolset)]


async def play(script: Script) -> None:
    exposure, listings = script
    server = ScriptedUpstream(listings[0])
    async with scripted_crib({"odd": server}) as (crib, _):
        catalogs = crib.catalogs()
        await catalogs.reach()
        toolset = await crib.toolset(exposure=exposure)
        for listing in listings[1:]:
            check(toolset)
            server.change(listing)
            await anyio.sleep(15)
            await toolset.refresh()
        toolset.show(*(it["name"] for it in toolset.for_json()))
        check(toolset)


PLAYS = Plays(play, SCRIPTS, examples=16)


def test_no_provider_would_refuse_what_a_conversation_shows() -> None:
    PLAYS.hold()


FAULTS = [
    CodeFault(
        "schemas go as they are", anthropic.tool, "copied.schema", "definition['inputSchema']"
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_form_that_a_provider_would_refuse_is_noticed(
    fault: CodeFault, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault.plant(monkeypatch)
    PLAYS.fail()
