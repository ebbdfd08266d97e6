"""Differences, events and results as people and programs see them."""

import io
import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import anyio
import pytest
from rich.console import Console

from toolcrib import facts
from toolcrib.catalog.access import PublishedChange
from toolcrib.cli import opening
from toolcrib.cli.call_result import call_exit, call_view
from toolcrib.cli.diff_lines import CatalogChange, diff_summary, diff_view
from toolcrib.cli.exits import Exit
from toolcrib.cli.opening import Source
from toolcrib.cli.output import Output, View
from toolcrib.cli.verb_watch import watch
from toolcrib.cli.watch_lines import change_line, fact_line
from toolcrib.compose import Parts
from toolcrib.config.keys import InstallationKey
from toolcrib.core.diff import CatalogDiff, diff
from toolcrib.core.fingerprint import contract, fingerprint
from toolcrib.core.snapshot import Item, Kind, Snapshot
from toolcrib.facts import Fact, event_name
from toolcrib.settings import Settings
from toolcrib.testing.scripted import ScriptedUpstream
from toolcrib.testing.scripted import tool as scripted
from toolcrib.testing.scripted_crib import ScriptedWorld

KINDS: tuple[type[Any], ...] = get_args(Fact)
AT = 1_785_225_600.25


def shown(view: View) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=200, color_system=None, markup=False, emoji=False)
    console.print(view.shown)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def document(view: View) -> Any:
    return json.loads(json.dumps(view.document))


def tool(key: str, **definition: Any) -> Item:
    whole = {"name": key, "inputSchema": {"type": "object"}, **definition}
    return Item(key, whole, fingerprint(whole), contract(whole))


def snapshot(*items: Item) -> Snapshot:
    return Snapshot(Kind.TOOLS, items, f"digest of {[item.fingerprint for item in items]}")


OLD = snapshot(
    tool("gone", description="g"),
    tool("same"),
    tool("schema"),
    tool("words", description="old"),
)
NEW = snapshot(
    tool("new", inputSchema={"type": "object", "properties": {"q": {"type": "string"}}}),
    tool("same"),
    tool("schema", inputSchema={"type": "object", "required": ["id"]}),
    tool("words", description="new"),
)


# ---- differences ----


def test_a_difference_shows_what_came_went_and_changed() -> None:
    view = diff_view([CatalogChange("git", Kind.TOOLS, diff(OLD, NEW))])
    found = shown(view).splitlines()
    assert found[:4] == ["git tools: 1 added, 1 removed, 2 changed", "- gone", "+ new", "~ schema"]
    assert "~ words (calls stay as they are)" in found
    assert any("id" in line for line in found[4:])
    (change,) = document(view)["changes"]
    assert (change["server"], change["kind"]) == ("git", "tools")
    assert (change["added"], change["removed"], change["renamed"]) == (["new"], ["gone"], [])
    schema, words = change["changed"]
    assert (schema["key"], schema["contract_changed"]) == ("schema", True)
    assert (words["key"], words["contract_changed"]) == ("words", False)
    assert schema["changes"]


def test_a_renaming_is_shown_as_a_guess() -> None:
    shape = {"type": "object", "properties": {"path": {"type": "string"}}}
    before, after = snapshot(tool("a", inputSchema=shape)), snapshot(tool("b", inputSchema=shape))
    view = diff_view([CatalogChange("fs", Kind.TOOLS, diff(before, after))])
    assert shown(view).splitlines()[-1] == "? a may be b now"
    assert document(view)["changes"][0]["renamed"] == [{"before": "a", "after": "b"}]


def test_no_difference_says_so() -> None:
    view = diff_view([CatalogChange("git", Kind.TOOLS, CatalogDiff())])
    assert shown(view) == "Nothing changed."
    assert document(view) == {"changes": []}
    assert diff_summary(CatalogDiff()) == "nothing changed"


def test_a_name_cannot_forge_a_line_of_a_difference() -> None:
    view = diff_view([CatalogChange("g", Kind.TOOLS, diff(None, snapshot(tool("a\n- b\x1b[1m"))))])
    assert shown(view).splitlines() == ["g tools: 1 added", "+ a\\n- b\\x1b[1m"]


# ---- events ----


def test_a_published_change_is_one_line_with_its_names() -> None:
    view = change_line(PublishedChange("git", Kind.TOOLS, OLD, NEW, 7), AT)
    line = shown(view)
    assert line.endswith(
        "git tools: 4 now, 1 added, 1 removed, 2 changed +new -gone ~schema ~words"
    )
    assert "\n" not in line
    found = document(view)
    assert found["at"] == "2026-07-28T08:00:00.250+00:00"
    assert (found["event"], found["generation"], found["server"]) == ("published", 7, "git")
    assert found["added"] == ["new"]


def test_a_withdrawal_says_so_and_a_large_change_names_only_some() -> None:
    gone = change_line(PublishedChange("git", Kind.TOOLS, OLD, None, 8), AT)
    assert "git tools: withdrawn -gone -same" in shown(gone)
    many = snapshot(*(tool(f"tool-{number:03}") for number in range(100)))
    line = shown(change_line(PublishedChange("git", Kind.TOOLS, None, many, 1), AT))
    assert line.count("+tool-") == 8
    assert "100 added" in line


def test_what_watching_begins_with_is_not_told_as_added() -> None:
    view = change_line(PublishedChange("git", Kind.TOOLS, None, NEW, 1), AT, first=True)
    line = shown(view)
    assert line.endswith("git tools: 4 to begin with")
    found = document(view)
    assert (found["event"], found["first"], found["generation"]) == ("published", True, 1)
    later = document(change_line(PublishedChange("git", Kind.TOOLS, OLD, NEW, 2), AT))
    assert later["first"] is False


@pytest.mark.virtual_time
async def test_only_the_first_catalog_of_a_server_is_what_watching_begins_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = ScriptedUpstream([scripted("a"), scripted("b")])
    world = ScriptedWorld({"git": script}, None)

    @contextmanager
    def parts(_settings: Settings, **_: Any) -> Generator[Parts]:
        yield world.parts()

    monkeypatch.setattr(opening, "open_parts", parts)
    monkeypatch.setattr(opening, "installation_key", lambda: (InstallationKey(b"k" * 32), None))
    config = tmp_path / "mcp.json"
    config.write_text('{"mcpServers": {"git": {"command": "git"}}}')
    stdout = io.StringIO()
    output = Output(as_json=False, stdout=stdout, stderr=io.StringIO(), env={})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch, Source((config,)), output, (), 60.0)
        await anyio.sleep(10)
        script.change([scripted("a"), scripted("b"), scripted("c")])
        await anyio.sleep(10)
        script.change([scripted("c")])
    told = [line.partition(" tools: ")[2] for line in stdout.getvalue().splitlines()]
    assert list(filter(None, told)) == [
        "2 to begin with",
        "3 now, 1 added +c",
        "1 now, 2 removed -a -b",
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_every_fact_is_one_line_for_people_and_one_document(kind: type[Any]) -> None:
    types = {"str": "a\nb", "int": 1, "float": 1.5, "bool": True}
    fact = kind(**{f.name: types[getattr(f.type, "__name__", str(f.type))] for f in fields(kind)})
    view = fact_line(fact, AT)
    line = shown(view)
    assert "\n" not in line
    assert len(line) > len("00:00:00 ")
    found = document(view)
    assert found.pop("at") == "2026-07-28T08:00:00.250+00:00"
    assert found.pop("event") == event_name(fact)
    assert set(found) == {f.name for f in fields(kind)}


@pytest.mark.parametrize(
    ("fact", "said"),
    [
        (facts.ConnectionChanged("git", "ready"), "git connection ready"),
        (facts.ConnectionChanged("git", "lost", detail="hung up"), "git connection lost: hung up"),
        (facts.Refreshed("git", "tools", 2, 12, 1, 2, 3), "git tools: 12 now (+1 -2 ~3)"),
        (facts.Invalidated("git", "tools", "signal"), "git tools: stale (signal)"),
        (facts.ServedStale("git", "tools", 90.0), "git tools: served although 2 min old"),
        (
            facts.RefreshFailed("git", "tools", "timeout", "no answer", 4.0),
            "git tools: refresh failed (timeout: no answer), again in 4 s",
        ),
        (facts.CallRefused("git", "push", "schema_changed"), "git call of push refused: schema_"),
        (
            facts.CallForwarded("git", "tools/call", "log", "ok", 0.25),
            "git tools/call log: ok in 0.250 s",
        ),
        (facts.StoreDegraded("disk full"), "the store cannot be used: disk full"),
        (facts.HostNotified("tools"), "a host was told that tools changed"),
        (
            facts.RuntimeStarted("python", "monty 1", "bubblewrap 1"),
            "programs in python run in monty 1, jailed by bubblewrap 1",
        ),
        (
            facts.RuntimeStarted("python", "monty 1", "", "there is none"),
            "programs in python run without a jail (monty 1): there is none",
        ),
        (
            facts.ExposureChanged("full", "search", 6_000, "they cost too much"),
            "models are shown search now: they cost too much",
        ),
    ],
)
def test_facts_read_as_sentences(fact: Fact, said: str) -> None:
    assert said in shown(fact_line(fact, AT))


# ---- results ----


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"content": [{"type": "text", "text": "one\ntwo"}]}, "one\ntwo"),
        ({"content": [{"type": "text", "text": "[bold]\x1b[2J"}]}, "[bold]\\x1b[2J"),
        (
            {"content": [{"type": "image", "mimeType": "image/png", "data": "QUJD" * 1000}]},
            "[image image/png, 3,000 bytes]",
        ),
        ({"content": [{"type": "audio", "data": "QUJD"}]}, "[audio of unknown type, 3 bytes]"),
        ({"content": [{"type": "resource_link", "uri": "file:///a\n"}]}, "[link file:///a\\n]"),
        (
            {"content": [{"type": "resource", "resource": {"uri": "f:///a", "text": "words"}}]},
            "[resource f:///a]\nwords",
        ),
        (
            {"content": [{"type": "resource", "resource": {"uri": "f:///a", "blob": "QUJD"}}]},
            "[resource f:///a, of unknown type, 3 bytes]",
        ),
        ({"content": [{"type": "new", "x": 1}]}, '{\n  "type": "new",\n  "x": 1\n}'),
        ({"content": [{"type": "text"}]}, '{\n  "type": "text"\n}'),
        ({"content": [3, None]}, "The tool returned nothing."),
        ({"content": "odd"}, "The tool returned nothing."),
        ({}, "The tool returned nothing."),
        ({"structuredContent": {"a": 1}}, '{\n  "a": 1\n}'),
        (
            {"content": [{"type": "text", "text": "x"}], "structuredContent": {"a": 1}},
            'x\n{\n  "a": 1\n}',
        ),
        (
            {"content": [{"type": "text", "text": '{"a":1}'}], "structuredContent": {"a": 1}},
            '{"a":1}',
        ),
        (
            {"content": [{"type": "text", "text": "no such file"}], "isError": True},
            "the tool reports an error\nno such file",
        ),
    ],
)
def test_a_result_shows_its_content_and_structure_once(result: dict[str, Any], text: str) -> None:
    view = call_view(result)
    assert shown(view) == text
    assert document(view) == result
    assert call_exit(result) is (Exit.FOUND if result.get("isError") else Exit.FINE)


def test_only_true_is_an_error() -> None:
    assert call_exit({"isError": "no"}) is Exit.FINE
