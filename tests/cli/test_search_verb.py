"""`toolcrib search`, `list --tokens` and `show --detail`, over scripted servers."""

import io
import json
from collections.abc import Awaitable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from toolcrib.cli import opening
from toolcrib.cli.exits import Exit, UsageError
from toolcrib.cli.opening import GATEWAY, Source
from toolcrib.cli.output import Output
from toolcrib.cli.verb_list import list_tokens
from toolcrib.cli.verb_search import Wanted, search
from toolcrib.cli.verb_show import show
from toolcrib.compose import Parts
from toolcrib.config.keys import InstallationKey
from toolcrib.errors import UpstreamUnreachable
from toolcrib.settings import Settings
from toolcrib.testing.scripted import ScriptedUpstream
from toolcrib.testing.scripted_crib import ScriptedWorld

pytestmark = pytest.mark.virtual_time


def tool(name: str, said: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties}
    return {"name": name, "description": said, "inputSchema": schema}


MAIL = [
    tool("send_email", "Sends an email to somebody.", to={"type": "string"}),
    tool("list_inbox", "Lists the messages of the inbox."),
]
FILES = [tool("read_file", "Reads a file.", path={"type": "string"})]
URL = "http://127.0.0.1:8770/mcp"


class Line:
    """A command line over scripted servers."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.scripts = {"mail": ScriptedUpstream(MAIL), "files": ScriptedUpstream(FILES)}
        self.config = tmp_path / "toolcrib.toml"
        self.config.write_text("[servers.mail]\ncommand = 'm'\n[servers.files]\ncommand = 'f'\n")
        self.source = Source((self.config,))
        self.settings = Settings()
        self.stdout, self.stderr = io.StringIO(), io.StringIO()
        self.output = Output(as_json=True, stdout=self.stdout, stderr=self.stderr, env={})
        monkeypatch.setattr(opening, "open_parts", self._parts)
        monkeypatch.setattr(opening, "installation_key", lambda: (InstallationKey(b"k" * 32), None))

    def at_server(self, tools: Sequence[Mapping[str, Any]]) -> ScriptedUpstream:
        """Speaks to a server with these tools, which is no gateway of ours."""
        self.source = Source(url=URL)
        self.scripts = {GATEWAY: ScriptedUpstream(tools)}
        return self.scripts[GATEWAY]

    @contextmanager
    def _parts(self, settings: Settings, **_: Any) -> Generator[Parts]:
        self.settings = settings
        yield ScriptedWorld(self.scripts, None).parts()

    async def search(self, text: str, **wanted: Any) -> Exit:
        return await search(self.source, self.output, Wanted(text, **wanted))

    @property
    def document(self) -> Any:
        return json.loads(self.stdout.getvalue())

    @property
    def names(self) -> list[str]:
        return [hit["name"] for hit in self.document["hits"]]


async def refusal(doing: Awaitable[Exit]) -> UsageError:
    """The error of usage that a verb ends with."""
    with pytest.raises(UsageError) as refused:
        await doing
    return refused.value


@pytest.fixture
def line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Line:
    return Line(tmp_path, monkeypatch)


# ---- the configured servers ----


async def test_tools_of_all_servers_are_found_the_best_first(line: Line) -> None:
    assert await line.search("sending emails") == Exit.FINE
    assert line.names[0] == "mail__send_email"
    assert line.document["method"] in {"lexical", "hybrid"}
    assert line.document["hits"][0]["parameters"] == "(to?: string)"


async def test_only_tools_of_the_named_servers_are_found(line: Line) -> None:
    assert await line.search("email file messages", servers=("files",)) == Exit.FINE
    assert line.names == ["files__read_file"]


async def test_the_limit_and_the_method_are_those_that_were_asked_for(line: Line) -> None:
    assert await line.search("s$|^list", limit=1, method="regex") == Exit.FINE
    assert (line.document["method"], len(line.names)) == ("regex", 1)


async def test_nothing_found_is_a_finding(line: Line) -> None:
    assert await line.search("zzz", method="lexical") == Exit.FOUND
    assert line.names == []


async def test_a_server_that_is_not_there_is_told_and_is_a_finding(line: Line) -> None:
    line.scripts["files"].faults.connect = UpstreamUnreachable("it died", server="files")
    assert await line.search("send an email") == Exit.FOUND
    assert line.names[0] == "mail__send_email", "the others are searched all the same"
    assert "it died" in line.stderr.getvalue()


async def test_an_unknown_server_is_an_error_of_usage(line: Line) -> None:
    error = await refusal(line.search("send", servers=("post",)))
    assert error.message == "there is no server 'post'"
    assert error.remedy == "configured: files, mail"


async def test_slashes_make_a_query_a_pattern_as_they_do_for_a_model(line: Line) -> None:
    assert await line.search("/_file$/") == Exit.FINE
    assert (line.document["method"], line.names) == ("regex", ["files__read_file"])


async def test_of_any_other_method_slashes_are_words(line: Line) -> None:
    assert await line.search("/_file$/", method="lexical") == Exit.FINE
    assert line.document["method"] == "lexical"


@pytest.mark.parametrize("query", ["", "*"])
async def test_an_empty_query_asks_which_servers_there_are(line: Line, query: str) -> None:
    assert await line.search(query) == Exit.FINE
    assert set(line.document) == {"query", "text"}
    assert "3 tools on 2 servers:" in line.document["text"]


async def test_with_a_server_it_asks_for_all_its_tools(line: Line) -> None:
    assert await line.search("", servers=("files",)) == Exit.FINE
    assert "files__read_file" in line.document["text"]
    assert "mail__" not in line.document["text"]


@pytest.mark.parametrize(("query", "method"), [("zzz", "auto"), ("^zzz", "regex")])
async def test_where_nothing_is_found_a_person_reads_what_a_model_would(
    line: Line, query: str, method: Any
) -> None:
    assert await line.search(query, method=method) == Exit.FOUND
    assert line.names == []
    text = line.document["text"]
    assert text.startswith(f"No tool found for `{query}`.")
    assert "Searched: `files` (1 tool), `mail` (2 tools)." in text


async def test_people_see_it_as_it_is(line: Line) -> None:
    line.output = Output(as_json=False, stdout=line.stdout, stderr=line.stderr, env={})
    assert await line.search("zzz") == Exit.FOUND
    assert line.stdout.getvalue().startswith("No tool found for `zzz`.\nSearched: ")


# ---- what is no gateway ----


async def test_the_listing_of_what_is_no_gateway_is_searched_here(line: Line) -> None:
    server = line.at_server([tool("mail__send_email", "Sends an email."), *FILES])
    assert await line.search("send an email") == Exit.FINE
    assert line.names[0] == "mail__send_email"
    assert server.calls == []


async def test_such_a_listing_knows_no_servers(line: Line) -> None:
    line.at_server(FILES)
    error = await refusal(line.search("read", servers=("files",)))
    assert error.remedy == "leave out --server"


# ---- list --tokens ----


async def test_tokens_are_listed_for_every_server_and_together(line: Line) -> None:
    assert await list_tokens(line.source, line.output) == Exit.FINE
    document = line.document
    assert set(document["servers"]) == {"mail", "files"}
    assert document["full"] == sum(each["full"] for each in document["servers"].values())
    assert document["exposure"] == "full", "so few tools are all shown"
    assert document["servers"]["mail"]["exposed"] == document["servers"]["mail"]["full"] > 0


async def test_under_search_only_the_meta_tools_cost(line: Line) -> None:
    line.config.write_text(f"{line.config.read_text()}[gateway]\nexposure = 'search'\n")
    assert await list_tokens(line.source, line.output) == Exit.FINE
    assert line.document["exposed"] == line.document["meta"] > 0
    assert line.document["full"] > 0


@pytest.mark.parametrize("there", [True, False])
async def test_tokens_are_counted_exactly_where_that_is_installed(
    line: Line, monkeypatch: pytest.MonkeyPatch, *, there: bool
) -> None:
    def find_spec(_: str) -> object:
        return object() if there else None

    monkeypatch.setattr(opening, "find_spec", find_spec)
    settings, _ = opening.settings_of(replace(line.source, exact_tokens=True), line.output)
    assert settings.exposure.counting == ("exact" if there else "heuristic")
    settings, _ = opening.settings_of(line.source, line.output)
    assert settings.exposure.counting == "heuristic"


async def test_a_missing_server_makes_the_costs_a_finding(line: Line) -> None:
    line.scripts["files"].faults.connect = UpstreamUnreachable("it died", server="files")
    assert await list_tokens(line.source, line.output) == Exit.FOUND
    assert "it died" in line.stderr.getvalue()


# ---- show --detail ----


async def test_a_tool_is_shown_in_brief(line: Line) -> None:
    assert await show(line.source, line.output, "mail__send_email", "tools", brief=True) == 0
    assert line.document == {
        "server": "mail",
        "name": "mail__send_email",
        "key": "send_email",
        "parameters": "(to?: string)",
        "description": "Sends an email to somebody.",
    }


async def test_a_tool_in_brief_still_tells_how_a_call_would_fare(line: Line) -> None:
    code = await show(
        line.source, line.output, "files__read_file", "tools", {"path": 1}, brief=True
    )
    assert code == Exit.FOUND
    assert line.document["trial"]["faults"]
    assert "definition" not in line.document


async def test_only_tools_are_shown_in_brief(line: Line) -> None:
    with pytest.raises(UsageError, match="prompts are shown in full"):
        await show(line.source, line.output, "x", "prompts", brief=True)
