"""`toolcrib.toml`: strict, with the line and the nearest known key, and it fails closed."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

import pytest

from toolcrib.config.http_address import parse_http_address
from toolcrib.config.loading import Loaded, interpret
from toolcrib.config.problem import Problem
from toolcrib.config.sources import parse_source
from toolcrib.config.toolcrib_toml import GATEWAY_KEYS, TUNING_KEYS
from toolcrib.errors import ConfigError
from toolcrib.settings import (
    GatewaySettings,
    HttpLaunch,
    Limits,
    Reconnect,
    ServerSettings,
    StdioLaunch,
    ToolFilter,
    Waits,
)

HOSTS = '{"mcpServers": {"git": {"command": "git-server"}, "web": {"url": "https://w.test/"}}}'


def loaded(toml: str, env: Mapping[str, str] | None = None) -> Loaded:
    """What /etc/crib/toolcrib.toml says of the servers of a host's file."""
    sources = [
        parse_source(Path("/etc/crib/toolcrib.toml"), toml.encode()),
        parse_source(Path("/project/mcp.json"), HOSTS.encode()),
    ]
    return interpret(sources, env or {}, Path("/home/me"))


def server(found: Loaded, server_id: str) -> ServerSettings:
    return next(it for it in found.settings.servers if it.id == server_id)


def the_problem(found: Loaded) -> Problem:
    assert len(found.problems) == 1, found.problems
    return found.problems[0]


def test_every_table_reaches_the_settings() -> None:
    found = loaded("""
        [gateway]
        names = "plain"
        exposure = "search"
        http = "127.0.0.1:8770"
        allowed_hosts = ["crib.example.com:443"]
        allowed_origins = ["https://app.example.com"]

        [limits]
        walk_pages = 5
        walk_seconds = 7
        name_length = 64
        ttl_clamp = 0

        [waits]
        min_interval = 0
        list_wait = 0.25

        [reconnect]
        give_up_after = 3
        sustained = 0

        [servers.git]
        connect = "lazy"
        strategy = "notify+verify"
        tools.allow = ["git_*"]
        tools.deny = ["git_push"]
        trust_public = true
        stateful = true
        request_seconds = 5
        waits = { cold_wait = 9 }
        reconnect.probe_timeout = 60

        [servers.own]
        command = "own"
        args = ["--x"]
        """)
    assert found.problems == ()
    assert found.settings.gateway == GatewaySettings(
        names="plain",
        exposure="search",
        http=("127.0.0.1", 8770),
        allowed_hosts=("crib.example.com:443",),
        allowed_origins=("https://app.example.com",),
    )
    assert found.settings.limits == Limits(
        walk_pages=5, walk_seconds=7.0, name_length=64, ttl_clamp=0.0
    )
    waits = Waits(min_interval=0.0, list_wait=0.25)
    reconnect = Reconnect(give_up_after=3, sustained=0.0)
    assert server(found, "git") == ServerSettings(
        id="git",
        launch=StdioLaunch("git-server"),
        connect="lazy",
        strategy="notify+verify",
        tools=ToolFilter(("git_*",), ("git_push",)),
        trust_public=True,
        stateful=True,
        request_seconds=5.0,
        waits=Waits(min_interval=0.0, list_wait=0.25, cold_wait=9.0),
        reconnect=Reconnect(give_up_after=3, sustained=0.0, probe_timeout=60.0),
        source="/project/mcp.json:1",
    )
    web = server(found, "web")
    assert (web.waits, web.reconnect, web.tools) == (waits, reconnect, ToolFilter())
    own = server(found, "own")
    assert own.launch == StdioLaunch("own", ("--x",))
    assert own.source == "/etc/crib/toolcrib.toml:34"


def test_nothing_said_means_the_defaults() -> None:
    found = loaded("")
    assert found.problems == ()
    assert found.settings.limits == Limits()
    assert found.settings.gateway == GatewaySettings()
    assert server(found, "git").waits == Waits()
    assert server(found, "git").reconnect == Reconnect()


@pytest.mark.parametrize(
    ("line", "message", "remedy"),
    [
        ("[limits]\nwalk_page = 1", "limits.walk_page is not known", "did you mean walk_pages?"),
        ("[limits]\nzzz = 1", "limits.zzz is not known", "known are"),
        (
            "[limits]\nwalk_pages = 1.5",
            "limits.walk_pages is a number, not a whole",
            "whole number",
        ),
        ("[limits]\nwalk_pages = true", "is true or false, not a whole number", "whole number"),
        (
            "[limits]\nwalk_pages = 0",
            "limits.walk_pages is 0, but must be more than 0",
            "more than",
        ),
        ("[limits]\nwalk_pages = -1", "limits.walk_pages is -1", "more than 0"),
        ("[limits]\nttl_clamp = -1", "limits.ttl_clamp is -1, but must be 0 or more", "0 or more"),
        ("[limits]\nwalk_seconds = inf", "limits.walk_seconds is inf", "seconds"),
        ("[limits]\nwalk_seconds = nan", "limits.walk_seconds is nan", "seconds"),
        ('[limits]\ncall_seconds = "5s"', "limits.call_seconds is text, not a number", "seconds"),
        ("[limits]\nname_length = 10", "limits.name_length is 10", "24 to 128"),
        ("[limits]\nname_length = 200", "limits.name_length is 200", "24 to 128"),
        ("[waits]\nlist_wiat = 1", "waits.list_wiat is not known", "did you mean list_wait?"),
        ("[waits]\nlist_wait = -0.1", "waits.list_wait is -0.1", "0 or more"),
        ("[waits]\npoll_base = 0", "waits.poll_base is 0", "more than 0"),
        ("[waits]\npoll_base = 700", "has poll_base 700.0 above poll_max 600.0", "poll_max"),
        ("[waits]\nbackoff_max = 0.1", "has backoff_base 0.5 above backoff_max 0.1", "lower"),
        ("[reconnect]\nbackoff_base = 90", "has backoff_base 90.0 above", "backoff_max"),
        ("[reconnect]\ngive_up_after = 0", "reconnect.give_up_after is 0", "more than 0"),
        ('[gateway]\nname = "plain"', "gateway.name is not known", "did you mean names?"),
        ('[gateway]\nnames = "short"', "gateway.names is not one of", "qualified, plain"),
        ("[gateway]\nexposure = 1", "gateway.exposure is a number", "auto, full, search, code"),
        ("[gateway]\nhttp = 8770", "gateway.http is a number, not a text", "quotes"),
        ('[gateway]\nhttp = "8770"', "gateway.http is no HOST:PORT", "127.0.0.1:8770"),
        ('[gateway]\nallowed_hosts = "h"', "gateway.allowed_hosts is text, not a list", '["one"'),
        ("[gateway]\nallowed_origins = [1]", "gateway.allowed_origins[0] is a number", "quotes"),
        ('[store]\nfile = "x"', "store.file is not known", "path"),
        ("[store]\npath = []", "store.path is a list, not a text", "quotes"),
        ('[store]\npath = ""', "store.path is empty", ":memory:"),
        (
            '[store]\npath = "${MISSING}/x"',
            "store.path needs the environment variable",
            "set MISSING",
        ),
    ],
)
def test_a_wrong_setting_is_told_with_its_line_and_leaves_the_default(
    line: str, message: str, remedy: str
) -> None:
    found = loaded(f"\n# a comment\n{line}\n")
    problem = the_problem(found)
    assert message in problem.message
    assert remedy in problem.remedy
    assert problem.place in {"/etc/crib/toolcrib.toml:4", "/etc/crib/toolcrib.toml:3"}
    assert (problem.entry, problem.severity) == (None, "error")
    assert [it.id for it in found.settings.servers] == ["git", "web"]
    assert found.settings.limits == Limits()
    assert found.settings.gateway == GatewaySettings()
    assert server(found, "git").waits == Waits()
    assert server(found, "git").reconnect == Reconnect()


@pytest.mark.parametrize(
    ("line", "message", "remedy"),
    [
        ('tools.dney = ["*"]', "servers.git.tools.dney is not known", "did you mean deny?"),
        ('tools.deny = "x"', "servers.git.tools.deny is text, not a list", '["one", "two"]'),
        ('tools.deny = [""]', "servers.git.tools.deny[0] is empty", "quotes"),
        ('tools = ["x"]', "servers.git.tools is a list, not a table", "table"),
        ('tool.deny = ["x"]', "servers.git.tool is not known", "did you mean tools?"),
        ('connect = "later"', "servers.git.connect is not one of", "lazy, eager"),
        ('strategy = "push"', "servers.git.strategy is not one of", "notify+verify"),
        ('trust_public = "yes"', "servers.git.trust_public is text", "true or false"),
        ("stateful = 1", "servers.git.stateful is a number", "true or false"),
        ("disabled = 0", "servers.git.disabled is a number", "true or false"),
        ("request_seconds = 0", "servers.git.request_seconds is 0", "more than 0"),
        ("waits.list_wait = -1", "servers.git.waits.list_wait is -1", "0 or more"),
        ("waits = 3", "servers.git.waits is a number, not a table", "table"),
        ("reconnect.slow = 1", "servers.git.reconnect.slow is not known", "slow_probe"),
        ('args = ["x"]', "servers.git.args launches nothing by itself", "command or url"),
    ],
)
def test_an_error_under_a_server_costs_that_server(line: str, message: str, remedy: str) -> None:
    found = loaded(f"[servers.git]\n{line}\n")
    problem = the_problem(found)
    assert message in problem.message
    assert remedy in problem.remedy
    assert (problem.entry, problem.place) == ("git", "/etc/crib/toolcrib.toml:2")
    assert dict(found.entries) == {"git": "unusable", "web": "ready"}
    assert [it.id for it in found.settings.servers] == ["web"]


@pytest.mark.parametrize(
    ("toml", "message", "remedy"),
    [
        ('[server.git]\ntools.deny = ["*"]', "server is not known", "did you mean servers?"),
        ("servers = 3", "servers is not a table", "[servers.<id>]"),
        ("[[servers]]\nid = 'x'", "servers is not a table", "[servers.<id>]"),
        ("[servers.git\n", "is no TOML", "toml.io"),
    ],
)
def test_where_the_top_is_not_understood_no_server_starts(
    toml: str, message: str, remedy: str
) -> None:
    found = loaded(toml)
    first, second = sorted(found.problems, key=lambda it: it.line is None)
    assert message in first.message
    assert remedy in first.remedy
    assert first.file == second.file == "/etc/crib/toolcrib.toml"
    assert "no server is started" in second.message
    assert found.settings.servers == ()
    assert dict(found.entries) == {"git": "unusable", "web": "unusable"}


def test_tuning_a_server_that_nobody_configures_is_told_with_the_nearest_name() -> None:
    problem = the_problem(loaded("[servers.gti]\nconnect = 'lazy'\n"))
    assert problem.entry == "gti"
    assert "servers.gti tunes a server that no file configures" in problem.message
    assert problem.remedy == "did you mean git?"
    assert "command or url" in the_problem(loaded("[servers.zzzz]\nconnect = 'lazy'")).remedy


def test_a_server_can_be_switched_off_and_on_here() -> None:
    assert loaded("[servers.git]\ndisabled = true").entries["git"] == "disabled"
    assert loaded("[servers.git]\nenabled = false").entries["git"] == "disabled"
    off = '{"mcpServers": {"git": {"command": "x", "disabled": true}}}'
    sources = [
        parse_source(Path("t.toml"), b"[servers.git]\ndisabled = false"),
        parse_source(Path("mcp.json"), off.encode()),
    ]
    found = interpret(sources, {}, Path("/"))
    assert found.entries["git"] == "ready"
    assert not server(found, "git").disabled


def test_a_server_of_its_own_may_be_remote_and_take_references() -> None:
    toml = '[servers.own]\nurl = "https://${H}/mcp"\nheaders.Authorization = "Bearer ${T}"\n'
    found = loaded(toml, {"H": "h.test", "T": "tok"})
    launch = server(found, "own").launch
    assert isinstance(launch, HttpLaunch)
    assert launch.url.reveal() == "https://h.test/mcp"
    assert launch.headers["Authorization"].reveal() == "Bearer tok"
    problem = the_problem(loaded(toml, {"H": "h.test"}))
    assert problem.place == "/etc/crib/toolcrib.toml:3"
    assert problem.message.startswith("servers.own.headers.Authorization needs")


def test_a_switch_of_the_wrong_type_is_told_once() -> None:
    problem = the_problem(loaded('[servers.own]\ncommand = "x"\ndisabled = "no"\n'))
    assert "servers.own.disabled is text" in problem.message


def test_a_server_of_another_file_counts_first_but_is_tuned_from_here() -> None:
    sources = [
        parse_source(Path("mcp.json"), HOSTS.encode()),
        parse_source(Path("t.toml"), b'[servers.git]\ncommand = "y"\nconnect = "lazy"'),
    ]
    found = interpret(sources, {}, Path("/"))
    assert server(found, "git").launch == StdioLaunch("git-server")
    assert server(found, "git").connect == "lazy"
    problem = the_problem(found)
    assert (problem.severity, problem.place) == ("warning", "t.toml:1")
    assert "is configured in mcp.json:1 already" in problem.message


def test_an_empty_allow_list_allows_nothing() -> None:
    found = loaded("[servers.git]\ntools.allow = []")
    assert server(found, "git").tools == ToolFilter((), ())


@pytest.mark.parametrize(
    ("path", "becomes"),
    [
        ("crib.sqlite", "/etc/crib/crib.sqlite"),
        ("/var/crib.sqlite", "/var/crib.sqlite"),
        ("~/crib.sqlite", "/home/me/crib.sqlite"),
        ("${userHome}/x", "/home/me/x"),
        (":memory:", None),
    ],
)
def test_the_store_is_where_the_file_says(path: str, becomes: str | None) -> None:
    assert loaded(f'[store]\npath = "{path}"').settings.store.path == becomes


def test_the_store_is_at_its_default_where_no_file_says() -> None:
    found = loaded("", {"XDG_DATA_HOME": "/data"})
    assert found.settings.store.path is not None
    assert found.settings.store.path.endswith("catalogs.sqlite")


def test_two_files_are_one_and_the_first_to_set_a_key_wins() -> None:
    sources = [
        parse_source(Path("a.toml"), b"[limits]\nwalk_pages = 1\n[servers.x]\ncommand = 'x'"),
        parse_source(Path("b.toml"), b"[limits]\nwalk_pages = 2\nwalk_items = 3\n[waits]\n"),
    ]
    found = interpret(sources, {}, Path("/"))
    assert (found.settings.limits.walk_pages, found.settings.limits.walk_items) == (1, 3)
    problem = the_problem(found)
    assert (problem.severity, problem.place) == ("warning", "b.toml:2")
    assert problem.message == "limits.walk_pages is set in a.toml:2 already"
    assert list(found.entries) == ["x"]


def test_every_field_of_the_settings_can_be_set_in_the_file() -> None:
    """A new field must be taken up here, or it could not be configured."""
    gateway = {field.name for field in fields(GatewaySettings)}
    assert gateway == GATEWAY_KEYS
    per_server = {field.name for field in fields(ServerSettings)}
    assert per_server - {"id", "launch", "disabled", "source"} == TUNING_KEYS


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8770", ("127.0.0.1", 8770)),
        ("localhost:0", ("localhost", 0)),
        ("[::1]:80", ("::1", 80)),
        ("192.0.2.1:65535", ("192.0.2.1", 65535)),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, address: tuple[str, int]) -> None:
    assert parse_http_address(text) == address


@pytest.mark.parametrize(
    "text", ["", "8770", ":8770", "h:", "h:x", "h:65536", "::1:80", "http://h:1", "h:1/x", "h:-1"]
)
def test_what_is_no_address_is_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_http_address(text)
    assert repr(text) in caught.value.message
    assert "127.0.0.1:8770" in (caught.value.remedy or "")
