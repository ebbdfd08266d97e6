"""`[servers.<id>.oauth]` and what hosts write: read alike, refused with a place and a remedy."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolcrib.config.loading import Loaded, load
from toolcrib.settings import HttpLaunch, OAuthSettings, Secret, StdioLaunch, launch_digest

URL = "https://mcp.example/mcp"
ENV = {"SECRET": "s3cret-value", "EMPTY": ""}


def read(tmp_path: Path, toml: str | None = None, entry: dict[str, Any] | None = None) -> Loaded:
    files: list[Path] = []
    if toml is not None:
        files.append(tmp_path / "toolcrib.toml")
        files[-1].write_text(toml)
    if entry is not None:
        files.append(tmp_path / "mcp.json")
        files[-1].write_text(json.dumps({"mcpServers": {"s": entry}}))
    return load(files, ENV, tmp_path)


def oauth_of(loaded: Loaded) -> OAuthSettings | None:
    (server,) = loaded.settings.servers
    assert isinstance(server.launch, HttpLaunch)
    return server.launch.oauth


def test_everything_can_be_set(tmp_path: Path) -> None:
    loaded = read(
        tmp_path,
        """
        [servers.s]
        url = "https://mcp.example/mcp"
        [servers.s.oauth]
        grant = "authorization_code"
        client_id = "mine"
        client_secret = "${SECRET}"
        issuer = "https://as.example"
        client_metadata_url = "https://crib.example/client.json"
        scopes = ["a", "b"]
        redirect_port = 8123
        insecure = true
        """,
    )
    assert loaded.problems == ()
    assert oauth_of(loaded) == OAuthSettings(
        client_id="mine",
        client_secret=Secret("s3cret-value"),
        issuer="https://as.example",
        client_metadata_url="https://crib.example/client.json",
        scopes=("a", "b"),
        redirect_port=8123,
        insecure=True,
    )
    assert "s3cret-value" not in repr(loaded)


@pytest.mark.parametrize("toml", ["[servers.s.oauth]", "[servers.s]\noauth = true"])
def test_a_server_of_a_host_is_given_oauth_by_an_empty_table(tmp_path: Path, toml: str) -> None:
    loaded = read(tmp_path, toml, {"url": URL})
    assert loaded.problems == ()
    assert oauth_of(loaded) == OAuthSettings()


def test_without_a_word_there_is_no_oauth_and_false_takes_it_away(tmp_path: Path) -> None:
    assert oauth_of(read(tmp_path, entry={"url": URL})) is None
    assert oauth_of(read(tmp_path, entry={"url": URL, "oauth": False})) is None
    loaded = read(tmp_path, "[servers.s]\noauth = false", {"url": URL, "oauth": {}})
    assert oauth_of(loaded) is None


@pytest.mark.parametrize(
    ("member", "expected"),
    [
        ({"oauth": {}}, OAuthSettings()),
        ({"oauth": True}, OAuthSettings()),
        ({"auth": "oauth"}, OAuthSettings()),
        (
            {"oauth": {"clientId": "x", "callbackPort": 81}},
            OAuthSettings(client_id="x", redirect_port=81),
        ),
        (
            {"auth": {"CLIENT_ID": "x", "CLIENT_SECRET": "${SECRET}", "scopes": ["a"]}},
            OAuthSettings(client_id="x", client_secret=Secret("s3cret-value"), scopes=("a",)),
        ),
        (
            {"oauth": {"clientId": "x", "clientSecret": "y", "scope": "a b"}},
            OAuthSettings(client_id="x", client_secret=Secret("y"), scopes=("a", "b")),
        ),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)
def test_what_hosts_write_is_understood(
    tmp_path: Path, member: dict[str, Any], expected: OAuthSettings
) -> None:
    loaded = read(tmp_path, entry={"url": URL, **member})
    assert loaded.problems == ()
    assert oauth_of(loaded) == expected


def test_an_unknown_key_of_a_host_is_a_warning_and_in_our_file_an_error(tmp_path: Path) -> None:
    loaded = read(tmp_path, entry={"url": URL, "oauth": {"tokenUrl": "https://x"}})
    (problem,) = loaded.problems
    assert problem.severity == "warning"
    assert oauth_of(loaded) == OAuthSettings()
    loaded = read(tmp_path, "[servers.s.oauth]\nclient = 'x'", {"url": URL})
    (problem,) = loaded.errors
    assert problem.line == 2
    assert "client_id" in problem.remedy
    assert loaded.settings.servers == ()


@pytest.mark.parametrize("key", ["clientId", "CLIENT_ID", "callback_port", "scope"])
def test_our_file_knows_our_words_alone(tmp_path: Path, key: str) -> None:
    loaded = read(tmp_path, f"[servers.s.oauth]\n{key} = 'x'", {"url": URL})
    (problem,) = loaded.errors
    assert "is not known" in problem.message


@pytest.mark.parametrize(
    ("table", "part"),
    [
        ("grant = 'password'", "not one of the words"),
        ("grant = 'client_credentials'\nclient_id = 'x'\nissuer = 'https://a'", "without a secret"),
        ("grant = 'client_credentials'\nclient_id = 'x'\nclient_secret = 'y'", "without an issuer"),
        ("client_secret = 'y'", "no client_id"),
        ("client_id = 'x'\nprivate_key = 'y'", "private_key"),
        ("client_id = ''", "is empty"),
        ("client_id = '${EMPTY}'", "EMPTY"),
        ("client_id = '${NOWHERE}'", "NOWHERE"),
        ("client_id = ['x']", "not a text"),
        ("scopes = 'a'\ninsecure = 1", "not true or false"),
        ("scopes = [1]", "not a text"),
        ("redirect_port = 65536", "is no port"),
        ("redirect_port = -1", "is no port"),
        ("redirect_port = true", "is no port"),
        ("redirect_port = '80'", "is no port"),
    ],
)
def test_what_cannot_be_used_costs_the_server_and_is_told(
    tmp_path: Path, table: str, part: str
) -> None:
    loaded = read(tmp_path, f"[servers.s.oauth]\n{table}", {"url": URL})
    assert any(part in problem.message for problem in loaded.errors)
    assert all(problem.remedy and problem.line for problem in loaded.errors)
    assert loaded.settings.servers == ()


@pytest.mark.parametrize("value", ["sk-123", 5, ["oauth"]], ids=str)
def test_a_word_that_means_no_oauth_is_an_error_without_its_value(
    tmp_path: Path, value: object
) -> None:
    loaded = read(tmp_path, entry={"url": URL, "auth": value})
    (problem,) = loaded.errors
    assert "sk-123" not in str(problem)


def test_a_program_takes_no_oauth(tmp_path: Path) -> None:
    loaded = read(tmp_path, "[servers.s.oauth]", {"command": "x"})
    assert "program" in loaded.errors[0].message
    loaded = read(tmp_path, entry={"command": "x", "oauth": {}})
    assert [problem.severity for problem in loaded.problems] == ["warning"]
    assert isinstance(loaded.settings.servers[0].launch, StdioLaunch)


@pytest.mark.parametrize("header", ["Authorization", "authorization"])
def test_oauth_and_a_configured_credential_exclude_each_other(tmp_path: Path, header: str) -> None:
    entry = {"url": URL, "headers": {header: "Bearer ${SECRET}"}}
    for loaded in (
        read(tmp_path, "[servers.s.oauth]", entry),
        read(tmp_path, entry={**entry, "oauth": {}}),
    ):
        assert any("Authorization header" in problem.message for problem in loaded.errors)
    with_key = {"url": URL, "headers": {"X-Api-Key": "k"}, "oauth": {}}
    assert read(tmp_path, entry=with_key).problems == ()


def test_saved_logins_lie_beside_the_configuration(tmp_path: Path) -> None:
    loaded = load([], {"XDG_CONFIG_HOME": str(tmp_path / "c")}, tmp_path)
    assert loaded.settings.store.vault == str(tmp_path / "c" / "toolcrib" / "vault")


def test_two_accounts_are_two_servers_and_a_secret_or_scope_is_none() -> None:
    def digest(oauth: OAuthSettings | None) -> str:
        return launch_digest(bytes(32), HttpLaunch(Secret(URL), oauth=oauth))

    same = [OAuthSettings(), OAuthSettings(scopes=("a",)), OAuthSettings(redirect_port=1)]
    others = [
        None,
        OAuthSettings(client_id="x"),
        OAuthSettings(grant="client_credentials"),
        OAuthSettings(issuer="https://a.example"),
    ]
    assert len({digest(one) for one in same}) == 1
    assert len({digest(one) for one in [*others, same[0]]}) == 5
