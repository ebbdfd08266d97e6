"""Verbs with `--url`: what a running gateway knows of its servers reaches the command line."""

import io
import json
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any

import anyio
import pytest

from toolcrib.cli import opening
from toolcrib.cli.exits import Exit, UsageError
from toolcrib.cli.opening import GATEWAY, Source
from toolcrib.cli.output import Output
from toolcrib.cli.verb_call import call
from toolcrib.cli.verb_list import list_items, list_servers
from toolcrib.cli.verb_search import Wanted, search
from toolcrib.compose import Parts
from toolcrib.config.keys import InstallationKey
from toolcrib.core.exposure import Wanted as Exposure
from toolcrib.errors import BadArguments, ToolcribError, ToolGone, UpstreamUnreachable
from toolcrib.ports import Connector, Era
from toolcrib.settings import GatewaySettings, Settings
from toolcrib.testing.chain import Hop
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import ScriptedWorld
from toolcrib.testing.scripted_gateway import scripted_gateway

pytestmark = pytest.mark.virtual_time

URL = "http://127.0.0.1:8770/mcp"
ERAS: list[Era] = ["modern", "handshake"]
EXPOSURES: list[Exposure] = ["full", "search"]


def times() -> ScriptedUpstream:
    return ScriptedUpstream([{**tool("now"), "description": "Tells what time it is."}])


def files() -> ScriptedUpstream:
    read = {**tool("read_log"), "description": "Reads a file."}
    return ScriptedUpstream([read, {**tool("list_dir"), "description": "Lists files."}])


def broken(note: str | None = None) -> ScriptedUpstream:
    script = ScriptedUpstream()
    script.faults.connect = UpstreamUnreachable("it died", server="broken", operator_note=note)
    return script


def hanging() -> ScriptedUpstream:
    script = ScriptedUpstream()
    script.faults.silent = True
    return script


class Line:
    """A command line that speaks to what is at a URL."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.source = Source(url=URL)
        self.connector: Connector | None = None
        self.stdout, self.stderr = io.StringIO(), io.StringIO()
        self.output = Output(as_json=True, stdout=self.stdout, stderr=self.stderr, env={})
        monkeypatch.setattr(opening, "open_parts", self._parts)
        monkeypatch.setattr(opening, "installation_key", lambda: (InstallationKey(b"k" * 32), None))

    @contextmanager
    def _parts(self, settings: Settings, **_: Any) -> Generator[Parts]:
        del settings
        parts = ScriptedWorld({}, None).parts()
        yield replace(parts, connector=self.connector or parts.connector)

    @asynccontextmanager
    async def before(
        self,
        scripts: Mapping[str, ScriptedUpstream],
        exposure: Exposure = "full",
        era: Era = "modern",
    ) -> AsyncGenerator["Line"]:
        """Speaks to a gateway before these servers, which has nothing kept."""
        async with scripted_gateway(scripts, gateway=GatewaySettings(exposure=exposure)) as made:
            self.connector = Hop(made.gateway, era)
            yield self

    def at(self, script: ScriptedUpstream) -> "Line":
        """Speaks to what is no gateway."""
        self.connector = script
        return self

    async def error(self, name: str, **arguments: Any) -> ToolcribError:
        """What a call ends with."""
        with pytest.raises(ToolcribError) as refused:
            await call(self.source, self.output, name, arguments, None)
        return refused.value

    @property
    def document(self) -> Any:
        """The answer, which is read once."""
        told = self.stdout.getvalue()
        self.stdout.seek(0)
        self.stdout.truncate()
        return json.loads(told)

    @property
    def complaints(self) -> list[list[str]]:
        """The words of each line of standard error."""
        return [line.split() for line in self.stderr.getvalue().splitlines()]


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Line:
    return Line(monkeypatch)


# ---- a server that hangs ----


@pytest.mark.parametrize("era", ERAS)
async def test_a_server_that_hangs_costs_only_its_own_tools(line: Line, era: Era) -> None:
    async with line.before({"time": times(), "dead": hanging()}, era=era):
        assert await call(line.source, line.output, "time__now", {}, None) == Exit.FINE
        assert "isError" not in line.document
        assert await list_items(line.source, line.output, "tools") == Exit.FOUND
        assert [row["name"] for row in line.document["tools"]] == ["time__now"]
        (row,) = [words for words in line.complaints if words[:1] == ["dead"]]
        assert row[1] == "connecting"
        assert "reached" in row


async def test_a_gateway_is_waited_for_as_long_as_was_said(line: Line) -> None:
    line.source = replace(line.source, patience=20.0)
    line.at(ScriptedUpstream([tool("any")], latency=15.0))
    assert await list_items(line.source, line.output, "tools") == Exit.FINE
    assert [row["name"] for row in line.document["tools"]] == ["any"]


@pytest.mark.parametrize(("patience", "wait"), [(0.0, 3.0), (10.0, 10.0), (60.0, 60.0)])
def test_the_wait_is_never_shorter_than_that_of_others(
    line: Line, patience: float, wait: float
) -> None:
    settings, _ = opening.settings_of(replace(line.source, patience=patience), line.output)
    assert settings.servers[0].waits.cold_wait == wait


# ---- list --servers ----


@pytest.mark.parametrize("era", ERAS)
async def test_the_servers_behind_a_gateway_are_listed_with_what_ails_them(
    line: Line, era: Era
) -> None:
    scripts = {"time": times(), "broken": broken("token hunter2"), "dead": hanging()}
    async with line.before(scripts, era=era):
        await anyio.sleep(1)
        assert await list_servers(line.source, line.output) == Exit.FOUND
        told = line.document
    rows = {row["id"]: row for row in told["servers"]}
    assert list(rows) == ["broken", "dead", "time"]
    assert (rows["broken"]["state"], rows["broken"]["trouble"]) == ("backoff", "it died")
    assert (rows["dead"]["state"], rows["dead"]["counts"]) == ("connecting", {})
    assert rows["dead"]["trouble"] == "the server was not reached so far"
    assert (rows["time"]["state"], rows["time"]["trouble"]) == ("ready", "")
    assert (rows["time"]["counts"]["tools"], rows["time"]["name"]) == (1, "scripted")
    assert "hunter2" not in json.dumps(told)


async def test_where_all_are_there_all_is_fine(line: Line) -> None:
    async with line.before({"time": times(), "files": files()}):
        assert await list_servers(line.source, line.output) == Exit.FINE
        assert [row["id"] for row in line.document["servers"]] == ["files", "time"]


async def test_what_is_no_gateway_is_one_server_itself(line: Line) -> None:
    script = times()
    assert await list_servers(line.at(script).source, line.output) == Exit.FINE
    (row,) = line.document["servers"]
    assert (row["id"], row["state"], row["counts"]["tools"]) == (GATEWAY, "ready", 1)
    assert script.calls == [], "it is not asked for tools that it does not list"


async def test_a_catalog_that_is_not_there_is_a_finding_with_its_reason(line: Line) -> None:
    script = times()
    script.faults.lists = UpstreamUnreachable("the list broke off")
    assert await list_servers(line.at(script).source, line.output) == Exit.FOUND
    (row,) = line.document["servers"]
    assert row["state"] == "ready"
    assert "the list broke off" in row["trouble"]


# ---- list ----


async def test_tools_are_listed_under_their_own_server(line: Line) -> None:
    odd = ScriptedUpstream([tool("a__b"), tool("c")])
    async with line.before({"time": times(), "files": files(), "files_2": odd}):
        assert await list_items(line.source, line.output, "tools") == Exit.FINE
        rows = {row["name"]: row["server"] for row in line.document["tools"]}
    assert rows.pop("time__now") == "time"
    assert rows.pop("files__read_log") == "files"
    assert rows.pop("files_2__c") == "files_2"
    del rows["files__list_dir"]
    assert len(rows) == 1, "a name with a hash is of its server, too"


# ---- call ----


async def test_a_name_that_nobody_has_tells_of_servers_that_were_not_reached(line: Line) -> None:
    async with line.before({"time": times(), "broken": broken()}):
        error = await line.error("broken__x")
    assert isinstance(error, ToolGone)
    assert error.message == "there is no tool 'broken__x'; not reached: broken"
    assert error.remedy == f"see `toolcrib list --servers --url {URL}`"
    (row,) = [words for words in line.complaints if words[:1] == ["broken"]]
    assert row[-2:] == ["it", "died"]


async def test_where_all_were_reached_nothing_is_told_of_servers(line: Line) -> None:
    async with line.before({"time": times()}):
        error = await line.error("other__x")
    assert (error.message, line.complaints) == ("there is no tool 'other__x'", [])


async def test_a_tool_that_the_gateway_does_not_list_is_called(line: Line) -> None:
    script = times()
    async with line.before({"time": script}, "search"):
        assert await call(line.source, line.output, "time__now", {}, None) == Exit.FINE
        assert [params["name"] for _, params in script.calls] == ["now"]
        assert await call(line.source, line.output, "time__no", {}, None) == Exit.FOUND
        assert "there is no tool `time__no`" in json.dumps(line.stdout.getvalue())


# ---- search ----


async def hits(line: Line, text: str, **wanted: Any) -> list[tuple[str, str]]:
    assert await search(line.source, line.output, Wanted(text, **wanted)) == Exit.FINE
    return [(hit["server"], hit["name"]) for hit in line.document["hits"]]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("exposure", EXPOSURES)
async def test_a_gateway_searches_under_every_exposure(
    line: Line, exposure: Exposure, era: Era
) -> None:
    async with line.before({"time": times(), "files": files()}, exposure, era):
        assert (await hits(line, "what time is it"))[0] == ("time", "time__now")
        assert await hits(line, "files", servers=("files",), limit=1) == [
            ("files", "files__list_dir")
        ]
        assert await hits(line, "_log$", method="regex") == [("files", "files__read_log")]
        assert await hits(line, "/_log$/") == [("files", "files__read_log")]


async def test_an_empty_query_asks_which_servers_there_are(line: Line) -> None:
    async with line.before({"time": times(), "files": files()}):
        assert await search(line.source, line.output, Wanted("")) == Exit.FINE
        told = line.document
    assert "hits" not in told
    assert "3 tools on 2 servers:" in told["text"]


async def test_where_nothing_is_found_the_gateway_says_what_may_help(line: Line) -> None:
    async with line.before({"time": times(), "broken": broken()}):
        assert await search(line.source, line.output, Wanted("xyzzy")) == Exit.FOUND
        told = line.document
    assert told["hits"] == []
    assert "No tool found for `xyzzy`." in told["text"]
    assert "Not reached: `broken` (it died)." in told["text"]


async def test_hits_beside_a_server_that_is_not_there_are_a_finding(line: Line) -> None:
    async with line.before({"time": times(), "broken": broken()}):
        assert await search(line.source, line.output, Wanted("time")) == Exit.FOUND
        assert line.document["hits"][0]["server"] == "time"
    assert [words[0] for words in line.complaints if words[-2:] == ["it", "died"]] == ["broken"]


async def test_a_gateway_searches_by_its_own_method(line: Line) -> None:
    async with line.before({"time": times()}):
        with pytest.raises(UsageError) as refused:
            await search(line.source, line.output, Wanted("x", method="lexical"))
    assert "the gateway searches by its own method" in repr(refused.value)


async def test_what_a_gateway_cannot_search_for_is_told(line: Line) -> None:
    async with line.before({"time": times()}):
        with pytest.raises(BadArguments) as refused:
            await search(line.source, line.output, Wanted("x", servers=("tiem",)))
    assert "there is no server `tiem`; there are: `time`" in repr(refused.value)


# ---- addresses ----


@pytest.mark.parametrize(
    "url",
    ["127.0.0.1:8770/mcp", "localhost", "ws://127.0.0.1/mcp", "http:///mcp", "http://a b/", ""],
)
async def test_an_address_that_is_none_is_refused_before_anything_is_asked(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        opening.settings_of(
            Source(url=url),
            Output(as_json=False, stdout=io.StringIO(), stderr=io.StringIO(), env={}),
        )
    assert "--url is no whole http or https address" in str(refused.value)
    assert "http://127.0.0.1:8770/mcp" in (refused.value.remedy or "")
