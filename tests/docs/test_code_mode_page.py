"""docs/code-mode.md: its programs are answered as it says, and what it promises is so."""

import ast
import json
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import anyio
import pytest

from toolcrib.adapters.jail.order import Order, arguments
from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.config.code_toml import CODE_KEYS
from toolcrib.config.loading import load
from toolcrib.core.naming import expose
from toolcrib.core.program.toolcrib_module import PYTHON_DECLARATIONS
from toolcrib.errors import SandboxUnavailable, ScriptFailed
from toolcrib.settings import (
    ApprovalRule,
    ApprovalSettings,
    CodeSettings,
    Language,
    ToolFilter,
)
from toolcrib.testing.coded_server import (
    CodedServer,
    CodingHost,
    answering,
    coded,
    text_of,
    texts,
    value_of,
)
from toolcrib.testing.live.room import Room
from toolcrib.testing.scripted import tool
from toolcrib.testing.scripted_crib import scripted_crib, server_settings
from toolcrib.testing.scripted_gateway import ScriptedGateway
from toolcrib.testing.scripted_server import Answer, Content, scripted_stdio

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/code-mode.md").read_text()
TEXT = " ".join(PAGE.split())
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FENCES: list[tuple[str, str]] = FENCE.findall(PAGE)
ANSWERED = [
    (text, answer)
    for (language, text), (after, answer) in pairwise(FENCES)
    if (language, after) == ("python", "text")
]
"""Programs that are followed by what `run_code` answers."""

EXAMPLES: Any = runpy.run_path(str(ROOT / "examples/servers.py"))
"""The servers that a reader can start."""


def fences(language: str) -> list[str]:
    return [text for lang, text in FENCES if lang == language]


def rows(name: str) -> list[list[str]]:
    """The cells of a marked table, without its head."""
    table = PAGE.partition(f"{name} -->\n")[2].partition("<!-- end -->")[0]
    return [[it.strip() for it in line.split("|")[1:-1]] for line in table.splitlines()[2:]]


class Example(CodedServer):
    """One of the servers that a reader can start, in this process."""

    def __init__(self, server: str) -> None:
        tools = EXAMPLES["tools_of"](server)
        super().__init__(
            {it.name: partial(self.answer, it) for it in tools}, *(it.definition for it in tools)
        )

    async def answer(self, called: Any, given: dict[str, Any]) -> dict[str, Any]:
        return EXAMPLES["called"](called, given)


@asynccontextmanager
async def world(**options: Any) -> AsyncGenerator[tuple[CodingHost, Example, ScriptedGateway]]:
    tracker = Example("tracker")
    async with coded({"logs": Example("logs"), "tracker": tracker}, **options) as (host, gateway):
        await gateway.crib.catalogs().reach()
        yield host, tracker, gateway


async def answer_of(program: str) -> str:
    """What the model reads."""
    async with world() as (host, _, _):
        with anyio.fail_after(20):
            return text_of(await host.run(program))


# ---------------------------------------------------------------- examples


def test_there_are_programs_on_the_page() -> None:
    assert len(ANSWERED) == 10


@pytest.mark.parametrize(("program", "answer"), ANSWERED)
async def test_a_program_is_answered_as_the_page_says(program: str, answer: str) -> None:
    # `…` stands for what is another text each time.
    pattern = ".*".join(map(re.escape, answer.split("…")))
    assert re.fullmatch(pattern, f"{await answer_of(program)}\n")


async def test_the_example_made_a_ticket_for_each_error() -> None:
    async with world() as (host, tracker, _):
        assert await host.value(ANSWERED[0][0]) == "8 tickets for 250 errors"
        assert sorted(it["arguments"]["title"] for _, it in tracker.calls) == [
            f"mishap {number}" for number in range(8)
        ]


@pytest.mark.timeout(60)
def test_a_reader_can_run_the_example(tmp_path: Path) -> None:
    line = next(it for it in fences("console") if "tickets.json" in it).removeprefix("$ ")
    program, *words = shlex.split(line)
    assert (ROOT / words[-1]).read_text() == ANSWERED[0][0]
    done = subprocess.run(
        [str(Path(sys.executable).parent / Path(program).name), *words],
        cwd=ROOT,
        env=Room(tmp_path).env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ANSWERED[0][1])


async def test_a_tool_is_described_as_the_page_says() -> None:
    asked = [it.partition("\n") for it in fences("text") if it.startswith("> ")]
    assert len(asked) == 2
    async with world() as (host, _, _):
        for question, _, answer in asked:
            name, _, given = question.removeprefix("> ").partition(" ")
            assert f"{text_of(await host.tool(name, **json.loads(given)))}\n" == answer


async def test_what_is_listed_is_what_the_page_says() -> None:
    async with world() as (_, _, gateway):
        assert await gateway.names() == [
            "search_tools",
            "get_tool_details",
            "call_tool",
            "run_code",
        ]


def test_a_file_that_is_shown_has_no_problems(tmp_path: Path) -> None:
    exposure, flow = fences("toml")
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"logs": {"command": "x"}}}))
    for text in (exposure, flow):
        (tmp_path / "toolcrib.toml").write_text(text)
        found = load([tmp_path / "toolcrib.toml", tmp_path / "mcp.json"], {}, tmp_path)
        assert found.problems == ()
        assert (found.settings.gateway.exposure == "code") is (text == exposure)
        assert len(found.settings.code.flows) == (text == flow)


# ---------------------------------------------------------------- how a program is written


@pytest.mark.parametrize("program", ["return 3", "1 + 2", "x = 3", "def f():\n    return 3\nf()"])
async def test_the_value_is_what_is_returned_or_stands_last(program: str) -> None:
    assert await answer_of(program) == "3"


async def test_names_that_are_no_identifiers_are_made_some() -> None:
    alike = [tool("close-ticket"), tool("close.ticket"), tool("late orders")]
    async with coded({"t": CodedServer(None, *alike)}) as (host, _):
        names = [expose("t", it["name"], style="qualified", limit=48) for it in alike]
        told = text_of(await host.tool("get_tool_details", names=names))
        first, second = re.findall(r"in programs t\.(close_ticket_[0-9a-f]{8})\)", told)
        assert first != second
        for name in (first, second, "late_orders"):
            assert await host.value(f"from t import {name}\nawait {name}()") == {}


def test_the_helpers_are_those_of_the_module() -> None:
    declared = [it for it in ast.parse(PYTHON_DECLARATIONS).body if not isinstance(it, ast.Import)]
    named = [it.name for it in declared if isinstance(it, ast.AsyncFunctionDef)]
    shown = [re.findall(r"`(\w+)\(", row[0])[0] for row in rows("helpers")]
    assert shown == named


async def test_the_program_in_typescript_runs_or_is_refused_with_the_remedy() -> None:
    (program,) = fences("typescript")
    languages: tuple[Language, ...] = ("python", "typescript")
    assert set(languages) == set(get_args(Language))
    tracker = Example("tracker")
    code = CodeSettings(languages=languages)
    refused: SandboxUnavailable | None = None
    async with scripted_crib({"tracker": tracker}, code=code) as (crib, _):
        await crib.catalogs().reach()
        with anyio.fail_after(60):
            try:
                ran = await crib.run(program, language="typescript")
            except SandboxUnavailable as error:
                refused = error
            else:
                assert ran.value == [{"ok": True, "value": "Ada", "error": ""}]
    assert len(tracker.calls) == (refused is None)
    assert refused is None or refused.remedy


async def test_a_server_named_like_a_module_of_python_has_an_underscore(tmp_path: Path) -> None:
    assert "`from time_ import get_current_time`" in PAGE
    async with coded({"time": CodedServer(None, tool("get_current_time"))}) as (host, _):
        assert (
            await host.value("from time_ import get_current_time\nawait get_current_time()") == {}
        )
        for wrong in (
            "from time import get_current_time\nawait get_current_time()",
            "import time\nawait time.get_current_time()",
        ):
            told = await host.failure(wrong)
            assert "The module of server `time` is `time_`: import from there." in told
        details = await host.tool("get_tool_details", names=["time__get_current_time"])
        assert "in programs time_.get_current_time" in text_of(details)
    room = Room(tmp_path)
    async with scripted_stdio(Content(tools=[tool("get_current_time")])) as server:
        config = room.configure({"time": server.entry()})
        shown = await room.run("show", "time__get_current_time", "--config", config)
        assert ", in programs time_.get_current_time, " in shown.out
        json_shown = await room.run("show", "time__get_current_time", "--json", "--config", config)
        assert json_shown.document["program"] == "time_.get_current_time"


# ---------------------------------------------------------------- values

PICTURE = {"type": "image", "data": "/9j/", "mimeType": "image/png"}
RESULTS: Mapping[str, list[tuple[dict[str, Any], Any]]] = {
    "`structuredContent`": [({**texts("other"), "structuredContent": {"n": 1}}, {"n": 1})],
    "one text that is JSON": [
        (texts("42"), 42),
        (texts("[1, 2]"), [1, 2]),
        (texts('{"a": 1}'), {"a": 1}),
        (texts("null"), None),
    ],
    "one text that is none": [(texts("4 2"), "4 2"), (texts("NaN"), "NaN")],
    "several texts": [(texts("1", "b"), ["1", "b"])],
    "an image, sound, or other bytes": [
        ({"content": [PICTURE]}, {"$content": "image", "mimeType": "image/png", "bytes": 3})
    ],
    "nothing": [({"content": []}, None)],
}


def test_every_kind_of_result_is_tried() -> None:
    assert [row[0] for row in rows("values")] == [*RESULTS]


@pytest.mark.parametrize(
    ("result", "value"), [case for cases in RESULTS.values() for case in cases]
)
async def test_the_value_of_a_call_is_what_the_table_says(
    result: dict[str, Any], value: Any
) -> None:
    async def give(_: dict[str, Any]) -> dict[str, Any]:
        return result

    async with coded({"s": CodedServer({"t": give})}) as (host, gateway):
        [found] = await host.value("from s import t\nreturn [await t()]")
        if PICTURE in result["content"]:
            uri = found.pop("handle")
            part = (await gateway.ask("resources/read", {"uri": uri}))["contents"][0]
            assert part["blob"] == PICTURE["data"]
        assert found == value


# ---------------------------------------------------------------- errors, output, limits


async def test_what_a_tool_says_and_what_stopped_a_call_can_be_caught() -> None:
    program = (
        "from toolcrib import call\nsaid = []\n"
        "for tool, args in [('close-ticket', {'id': 7}), ('nothing', {}), ('on_call', {})]:\n"
        "    try:\n        await call('tracker', tool, args)\n"
        "    except RuntimeError as error:\n        said.append(str(error))\n"
        "return said"
    )
    async with world() as (host, _, _):
        own, gone, wrong = await host.value(program)
    assert own == "There is no ticket 7."
    assert gone.startswith("toolcrib.tool_gone: ")
    assert wrong.startswith("toolcrib.bad_arguments: ")


async def test_what_is_too_large_is_cut_as_json_and_kept() -> None:
    async with world() as (host, _, gateway):
        told = text_of(await host.run("return {'numbers': [*range(100_000)]}"))
        beginning, cut = told.split("\n")
        assert json.loads(beginning)["numbers"][:3] == [0, 1, 2]
        handle = cut.removesuffix(")]").rpartition(" ")[2]
        part = (await gateway.ask("resources/read", {"uri": handle}))["contents"][0]
        assert part["text"].startswith('{"numbers":[0,1,2')
        told = text_of(await host.run("print('x' * 100_000)"))
        assert len(told) < 40_000
        assert "the beginning of 100,001 bytes" in told


def test_every_limit_that_is_named_is_a_key() -> None:
    named = set(re.findall(r"`code\.(\w+)`", PAGE))
    assert named <= CODE_KEYS
    assert {"calls", "in_flight", "memory_bytes", "wall_seconds", "turn_seconds"} <= named


@pytest.mark.parametrize(
    ("key", "program"),
    [
        ("calls", "from tracker import on_call\nwhile True:\n    await on_call(day='1')"),
        ("memory_bytes", "kept = []\nwhile True:\n    kept.append('x' * 1_000)"),
        ("wall_seconds", "import asyncio\nawait asyncio.sleep(4)"),
    ],
)
async def test_an_error_names_the_limit(key: str, program: str) -> None:
    small = CodeSettings(calls=3, wall_seconds=1.0, memory_bytes=8 * 2**20)
    async with world(code=small) as (host, _, _):
        with anyio.fail_after(20):
            assert f"code.{key}" in await host.failure(program)


# ---------------------------------------------------------------- calls

APPROVAL = ApprovalSettings((ApprovalRule("ask", tools=("create_ticket",), source="x.toml:1"),))
YES = {"action": "accept", "content": {"answer": "yes, for this program"}}
MANY = (
    "from tracker import create_ticket, on_call\nawait on_call(day='1')\n"
    "for n in range(5):\n    await create_ticket(title=str(n), body='')\nreturn 'done'"
)


async def test_what_is_denied_is_denied_in_programs() -> None:
    settings = {"tracker": server_settings("tracker", tools=ToolFilter(deny=("on_call",)))}
    code = "import toolcrib\nawait toolcrib.call('tracker', 'on_call', {'day': '1'})"
    async with world(settings={"logs": server_settings("logs"), **settings}) as (host, tracker, _):
        assert "tool_gone" in await host.failure(code)
        assert tracker.calls == []


async def test_a_person_is_asked_once_and_the_program_goes_on_in_another_process() -> None:
    tracker, store = Example("tracker"), None
    async with coded({"tracker": tracker}, approval=APPROVAL) as (host, gateway):
        store = gateway.world.store
        first = await host.run(MANY)
        assert first["resultType"] == "input_required"
        assert tracker.called == ["on_call"]
    assert isinstance(store, MemoryStore)
    async with coded({"tracker": tracker}, approval=APPROVAL, store=store) as (host, _):
        again = answering(first, YES)
        assert value_of(await host.run(MANY, **again)) == "done"
        assert tracker.called == ["on_call", *["create_ticket"] * 5]
        assert (await host.run(MANY)).get("resultType") == "input_required", "for one program"
        second = await host.run(MANY, **again)
        assert second.get("resultType") != "complete"
        assert tracker.called.count("create_ticket") == 5, "good for one return"


async def test_a_no_is_raised() -> None:
    async with world(approval=APPROVAL) as (host, tracker, _):
        first = await host.run(MANY)
        told = text_of(await host.run(MANY, **answering(first, {"action": "decline"})))
        assert "toolcrib.not_allowed" in told
        assert "create_ticket" not in tracker.called


async def test_a_flow_that_is_denied_stops_the_example(tmp_path: Path) -> None:
    _, text = fences("toml")
    (tmp_path / "toolcrib.toml").write_text(f'[servers.logs]\ncommand = "x"\n{text}')
    flows = load([tmp_path / "toolcrib.toml"], {}, tmp_path).settings.code.flows
    (shown,) = (it for it in fences("text") if it.startswith("toolcrib.not_allowed"))
    async with world(code=CodeSettings(flows=flows)) as (host, tracker, _):
        assert f"RuntimeError: {shown}" in await host.failure(ANSWERED[0][0])
        assert tracker.calls == []


# ---------------------------------------------------------------- the sandbox


async def test_a_program_has_neither_files_nor_network_nor_environment_nor_processes() -> None:
    for program in (
        "open('/etc/hostname').read()",
        "import pathlib\npathlib.Path('/etc/hostname').read_text()",
        "import socket",
        "import subprocess",
        "import os\nos.environ['HOME']",
    ):
        async with world() as (host, _, _):
            assert await host.failure(program)


def test_the_jail_has_what_the_page_says() -> None:
    line = arguments(Order(Path("/worker")), lock_namespaces=True)
    assert {"--unshare-all", "--clearenv", "--die-with-parent"} <= {*line}
    assert line[line.index("--cap-drop") + 1] == "ALL"
    assert line[line.index("--ro-bind") :][:3] == ["--ro-bind", "/worker", "/worker"]
    assert "--share-net" not in line


# ---------------------------------------------------------------- figures


@pytest.mark.timeout(120)
def test_the_tokens_are_those_of_the_page() -> None:
    done = subprocess.run(
        [sys.executable, "bench/logs_to_tickets.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    counted = [json.loads(line) for line in done.stdout.splitlines()]
    table = rows("figures: logs_to_tickets")
    assert [f"{task}, {way}" for task, way, *_ in table] == [it["figure"] for it in counted]
    keys = ("requests", "window", "prompt_tokens", "weighed")
    for (_, _, *cells, share), told in zip(table, counted, strict=True):
        assert cells == [f"{told[key]:,}" for key in keys]
        assert float(share) == told["of_direct"]
    of_direct = {it["figure"]: it["of_direct"] for it in counted}
    assert of_direct["a ticket for each error of 2,000 log entries, program"] < 0.05
    assert 4.5 < of_direct["one look-up, program"] < 5.5, "the page says five times"


def test_the_aims_are_those_of_the_benchmark() -> None:
    source = (ROOT / "bench/programs.py").read_text()
    (found,) = re.findall(r"^UNCHECKED_AIM.* = (.*)$", source, re.MULTILINE)
    unchecked, checked, beside, gathered = (float(it) for it in found.split(", "))
    aims = [float(row[2].split()[0]) for row in rows("figures: programs")]
    assert aims == [unchecked, checked, beside, beside, gathered]
    assert "GROWTH_MIB = 16.0" in source


# ---------------------------------------------------------------- without a model


@pytest.mark.timeout(60)
async def test_the_command_runs_a_program(tmp_path: Path) -> None:
    command = fences("console")[-1].strip()
    assert command == "$ toolcrib run report.py --config mcp.json"
    room = Room(tmp_path)
    room.write("report.py", "from clock import now\nawait now()")
    async with scripted_stdio(Content(tools=[tool("now")])) as server:
        await server.on("tools/call:now", Answer({**texts("noon")}))
        room.configure({"clock": server.entry()})
        ran = await room.run(*command.split()[2:])
    assert (ran.code, ran.out) == (0, "noon\n")
    assert ran.err.startswith("1. clock now (line 2)\n")


async def test_the_lines_in_python_run() -> None:
    lines = fences("python")[-1]
    shown: list[tuple[Any, ...]] = []

    def show(*values: Any) -> None:
        shown.append(values)

    names: dict[str, Any] = {"print": show}
    body = "\n".join(f"    {line}" for line in lines.splitlines())
    exec(f"async def shows(crib, program):\n{body}", names)  # noqa: S102 - what the page shows
    async with scripted_crib({"tracker": Example("tracker")}) as (crib, _):
        await crib.catalogs().reach()
        await names["shows"](crib, "from tracker import on_call\nawait on_call(day='1')")
        with pytest.raises(ScriptFailed):
            await crib.run("raise ValueError")
    ((value, printed, calls, seconds),) = shown
    assert (value, printed, [it["tool"] for it in calls]) == ("Ada", "", ["on_call"])
    assert seconds > 0


def test_the_commands_name_what_there_is() -> None:
    for bench in re.findall(r"make bench BENCH=(\w+)", PAGE):
        assert (ROOT / f"bench/{bench}.py").exists()
