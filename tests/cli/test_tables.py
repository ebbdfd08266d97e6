"""Servers, definitions, probes and problems as people and programs see them."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from toolcrib.catalog.access import ServerStatus
from toolcrib.catalog.probe import Oddity, ProbedWalk, ProbeReport
from toolcrib.catalog.reading import Reading
from toolcrib.catalog.server_row import ServerRow, server_row
from toolcrib.cli.exits import Exit
from toolcrib.cli.item_details import ItemDetails, item_view
from toolcrib.cli.item_table import ItemRow, Waiting, item_rows, items_view, waiting_in
from toolcrib.cli.output import View
from toolcrib.cli.probe_table import probe_exit, probe_view
from toolcrib.cli.problem_list import problems_view
from toolcrib.cli.server_table import servers_view
from toolcrib.config.loading import interpret
from toolcrib.config.sources import parse_source
from toolcrib.core.snapshot import Item, Kind, Quarantined, Snapshot
from toolcrib.core.vetting import NOT_APPROVED
from toolcrib.ports import ServerFacts


def shown(view: View, width: int = 160) -> str:
    """What people see, without colours and without spaces at line ends."""
    stream = io.StringIO()
    Console(file=stream, width=width, color_system=None, markup=False, emoji=False).print(
        view.shown
    )
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()).strip("\n")


def lines(view: View) -> list[str]:
    """The same without rules and empty lines."""
    said = (line.strip() for line in shown(view).splitlines())
    return [line for line in said if line.strip("─")]


def document(view: View) -> Any:
    """What programs read, after a journey through JSON."""
    return json.loads(json.dumps(view.document))


def tool(key: str, notes: tuple[str, ...] = (), **definition: Any) -> Item:
    return Item(key, {"name": key, **definition}, f"f-{key}", f"contract-of-{key}", notes)


def snapshot(*items: Item, kind: Kind = Kind.TOOLS) -> Snapshot:
    return Snapshot(kind, items, "digest-0123456789")


FACTS = ServerFacts("modern", "2026-07-28", {}, "git server", "1.2")


# ---- servers ----


def test_servers_show_state_protocol_counts_age_and_trouble() -> None:
    ready = server_row(
        ServerStatus("git", "ready", FACTS, ""),
        [
            Reading("git", Kind.TOOLS, snapshot(tool("a"), tool("b")), fresh=True, age=1.0),
            Reading(
                "git", Kind.PROMPTS, snapshot(tool("p"), kind=Kind.PROMPTS), fresh=True, age=2.0
            ),
            Reading("git", Kind.RESOURCES, None),
        ],
    )
    stale = server_row(
        ServerStatus("web", "backoff", None, "connection refused"),
        [Reading("web", Kind.TOOLS, snapshot(tool("a")), fresh=False, age=7200.0)],
    )
    view = servers_view([ready, stale, ServerRow("off", "disabled")])
    assert lines(view) == [
        "server   state      protocol            tools   prompts   catalog   trouble",
        "git      ready      2026-07-28 modern       2         1   fresh",
        "web      backoff                            1         -   2 h old   connection refused",
        "off      disabled                           -         -   none",
    ]


def test_a_crib_without_servers_says_so() -> None:
    view = servers_view([])
    assert shown(view) == "No servers are configured."
    assert document(view) == {"servers": []}


def test_servers_for_programs_carry_everything() -> None:
    row = server_row(
        ServerStatus("git", "ready", FACTS, ""),
        [Reading("git", Kind.TOOLS, snapshot(tool("a")), fresh=True, age=1.0)],
    )
    assert document(servers_view([row])) == {
        "servers": [
            {
                "id": "git",
                "state": "ready",
                "era": "modern",
                "protocol": "2026-07-28",
                "name": "git server",
                "version": "1.2",
                "counts": {"tools": 1},
                "age": 1.0,
                "fresh": True,
                "trouble": "",
            }
        ]
    }


def test_a_server_is_fresh_where_everything_that_is_held_is_fresh() -> None:
    fresh = Reading("git", Kind.TOOLS, snapshot(tool("a")), fresh=True, age=1.0)
    stale = Reading("git", Kind.PROMPTS, snapshot(tool("a"), kind=Kind.PROMPTS), age=9.0)
    status = ServerStatus("git", "ready", FACTS, "")
    assert server_row(status, [fresh]).fresh
    assert not server_row(status, [fresh, stale]).fresh
    assert server_row(status, [fresh, stale]).age == 9.0
    assert not server_row(status, []).fresh


# ---- definitions ----

READ = tool(
    "read_file",
    ("empty inputSchema repaired",),
    title="Read a file",
    description="Reads a file.\n\nNever writes.",
    inputSchema={
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "where"},
            "n": {"type": ["integer", "null"]},
            "x": {"enum": [1]},
            "y": True,
            "z": False,
            "odd": 3,
        },
        "required": ["path"],
    },
    outputSchema={"type": "object"},
    annotations={"readOnlyHint": True},
)


def exposed(server: str, key: str) -> str:
    return f"{server}__{key}"


def test_definitions_show_name_words_age_and_notes() -> None:
    old = Reading("fs", Kind.TOOLS, snapshot(READ), age=7200.0)
    new = Reading("git", Kind.TOOLS, snapshot(tool("log", title="Log")), fresh=True, age=1.0)
    none = Reading("web", Kind.TOOLS, None)
    view = items_view(Kind.TOOLS, item_rows([old, new, none], exposed))
    assert lines(view) == [
        "server   name            description                                catalog   notes",
        (
            "fs       fs__read_file   Read a file: Reads a file. Never writes.   2 h old   "
            "empty inputSchema repaired"
        ),
        "git      git__log                                                   fresh",
    ]
    assert document(view)["tools"][0] == {
        "server": "fs",
        "name": "fs__read_file",
        "key": "read_file",
        "title": "Read a file",
        "description": "Reads a file.\n\nNever writes.",
        "fresh": False,
        "age": 7200.0,
        "notes": ["empty inputSchema repaired"],
    }


def test_a_long_description_is_cut_and_a_long_name_is_not() -> None:
    row = ItemRow("s", "n" * 120, "n", description="word " * 100)
    text = shown(items_view(Kind.TOOLS, [row]), width=80)
    assert "".join(text.split()).count("n") >= 120
    assert "…" in text
    assert "notes" not in text


def test_where_there_is_nothing_it_says_of_what() -> None:
    assert shown(items_view(Kind.TEMPLATES, [])) == "There are no templates."
    assert document(items_view(Kind.PROMPTS, [])) == {"prompts": []}


def test_where_everything_waits_that_is_said_and_not_only_that_there_is_nothing() -> None:
    kept = (
        Quarantined("t", NOT_APPROVED, "the definition is new", "f"),
        Quarantined("u", "malformed", "has no name", "f"),
    )
    held = Snapshot(Kind.TOOLS, (), "digest-0123456789", kept)
    readings = [Reading("s", Kind.TOOLS, held), Reading("away", Kind.TOOLS, None)]
    waiting = waiting_in(readings)
    assert waiting == (Waiting("s", 1),)
    assert lines(items_view(Kind.TOOLS, [], waiting, "toolcrib approve --changes s\x1b[2J")) == [
        "There are no tools.",
        "1 definition waits for a person to look at: `toolcrib approve --changes s\\x1b[2J`",
    ]


def test_words_that_are_no_words_are_left_out() -> None:
    reading = Reading("s", Kind.TOOLS, snapshot(tool("t", title=3, description=["x"])))
    (row,) = item_rows([reading], exposed)
    assert (row.title, row.description) == ("", "")


def test_names_and_descriptions_cannot_command_the_terminal_or_forge_rows() -> None:
    row = ItemRow("s", "a\nb \x1b[2J", "a", description="[red]x[/red]\n\u202e y")
    text = shown(items_view(Kind.TOOLS, [row]))
    assert "\x1b" not in text
    assert "\\x1b[2J" in text
    assert "[red]x[/red] \\u202e y" in text
    assert len(text.splitlines()) == 3


def test_one_definition_shows_everything_there_is() -> None:
    view = item_view(ItemDetails("fs", "fs__read_file", READ, 3, fresh=True, age=2.0))
    found = lines(view)
    assert found[:14] == [
        "fs__read_file  Read a file",
        "of fs, there read_file, generation 3, contract contract-o, fresh",
        "note: empty inputSchema repaired",
        "Reads a file.",
        "Never writes.",
        "Arguments",
        "name   type                         description",
        "path   string            required   where",
        "n      integer or null",
        "x      enum",
        "y      anything",
        "z      nothing",
        "odd    ?",
        "{",
    ]
    assert "Result" in found
    assert found[-6:] == ["Also", "{", '"annotations": {', '"readOnlyHint": true', "}", "}"]
    assert document(view) == {
        "server": "fs",
        "name": "fs__read_file",
        "key": "read_file",
        "definition": dict(READ.definition),
        "contract": "contract-of-read_file",
        "fingerprint": "f-read_file",
        "generation": 3,
        "fresh": True,
        "age": 2.0,
        "notes": ["empty inputSchema repaired"],
    }


@pytest.mark.parametrize(
    "definition",
    [
        {},
        {"inputSchema": None},
        {"inputSchema": {"properties": []}},
        {"inputSchema": {"properties": {"a": {}}, "required": "a"}},
        {"inputSchema": {"properties": {"a": {"type": {}, "description": 1}}, "required": [1]}},
        {"title": 1, "description": {}},
        {"description": "\x1b]0;t\x07"},
    ],
)
def test_odd_definitions_are_shown_all_the_same(definition: dict[str, Any]) -> None:
    view = item_view(ItemDetails("s", "t", tool("t", **definition)))
    assert "of s, contract contract-o\n" in f"{shown(view)}\n"
    assert "\x1b" not in shown(view)


# ---- probes ----

AGREE = ProbeReport("git", Kind.TOOLS, "modern", (ProbedWalk(1, 2, 0.123, snapshot(READ)),), ())
DIFFER = ProbeReport(
    "git",
    Kind.TOOLS,
    "handshake",
    (ProbedWalk(1, 2, 0.5, snapshot(READ)), ProbedWalk(2, 1, 0.25, None, failure="timed\nout")),
    (Oddity("walk_failed", "1 of 2 listings failed"),),
)


def test_a_probe_shows_each_listing_and_the_verdict() -> None:
    assert lines(probe_view(DIFFER)) == [
        "connection   requests   seconds   items   outcome",
        "1            2          0.50          1   digest-012",
        "2            1          0.25          -   timed out",
        "git tools: the listings are not all equal",
        "walk_failed: 1 of 2 listings failed",
    ]
    assert lines(probe_view(AGREE))[-1] == "git tools: all listings are equal"


def test_a_probe_for_programs_and_its_exit_code() -> None:
    assert document(probe_view(DIFFER)) == {
        "server": "git",
        "kind": "tools",
        "era": "handshake",
        "consistent": False,
        "walks": [
            {
                "connection": 1,
                "requests": 2,
                "seconds": 0.5,
                "items": 1,
                "digest": "digest-0123456789",
                "failure": "",
            },
            {
                "connection": 2,
                "requests": 1,
                "seconds": 0.25,
                "items": None,
                "digest": None,
                "failure": "timed\nout",
            },
        ],
        "oddities": [{"code": "walk_failed", "detail": "1 of 2 listings failed"}],
    }
    assert probe_exit(DIFFER) is Exit.FOUND
    assert probe_exit(AGREE) is Exit.FINE


# ---- problems ----


def test_problems_show_place_server_and_remedy() -> None:
    text = b'{"mcpServers":\n{"a":{},\n"b":{"command":"x","zz":1}}}'
    view = problems_view(interpret([parse_source(Path("mcp.json"), text)], {}, Path("/")).problems)
    assert lines(view) == [
        "error: mcp.json:2: server a: mcpServers.a has neither command nor url",
        'add "command" for a local program or "url" for a remote server',
        "warning: mcp.json:3: mcpServers.b.zz is not used",
        "check its spelling, or remove it",
    ]
    assert document(view)["problems"][0] == {
        "file": "mcp.json",
        "line": 2,
        "entry": "a",
        "message": "mcpServers.a has neither command nor url",
        "remedy": 'add "command" for a local program or "url" for a remote server',
        "severity": "error",
    }
