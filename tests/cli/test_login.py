"""`toolcrib login`: what is shown, asked, kept and said; over real sockets and a real vault."""

import json
import logging
import os
import stat
import urllib.request
import webbrowser
from collections.abc import AsyncGenerator
from io import StringIO
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from anyio.abc import SocketAttribute

from toolcrib.cli.app import app
from toolcrib.cli.exits import Exit
from toolcrib.cli.opening import Source, opened
from toolcrib.cli.output import Output
from toolcrib.cli.verb_login import log_in, log_out
from toolcrib.core.snapshot import Kind
from toolcrib.errors import AuthRequired, ConfigError, ToolcribError, UpstreamUnreachable
from toolcrib.testing.oauth_world import CANARY, OAuthWorld, serve_oauth_world
from toolcrib.testing.recorder import Recorder


class Desk:
    """A home, a configuration, a browser, and a person who types."""

    def __init__(self, world: OAuthWorld, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world = world
        self.home = home
        self.typed: list[str] = ["y\n"]
        self.visited: list[str] = []
        self.pages: list[str] = []
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
        monkeypatch.delenv("XDG_DATA_HOME", raising=False)
        monkeypatch.chdir(home)
        monkeypatch.setattr(webbrowser, "open", self.browse)
        self.configure("")

    def configure(self, oauth: str) -> None:
        """Write the files: a host's, and ours with what belongs into its OAuth table."""
        servers = {"s": {"url": self.world.url}, "p": {"command": "true"}, "n": {"url": "http://x"}}
        (self.home / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
        (self.home / "toolcrib.toml").write_text(f"[servers.s.oauth]\n{oauth}\n")

    @property
    def source(self) -> Source:
        return Source((self.home / "toolcrib.toml", self.home / "mcp.json"), keep=False)

    def browse(self, url: str) -> bool:
        self.visited.append(url)
        with urllib.request.urlopen(url, timeout=5) as page:  # noqa: S310 - the test's own server
            self.pages.append(page.read().decode())
        return True

    async def read_line(self) -> str:
        return self.typed.pop(0)

    async def log_in(self, *, as_json: bool = False, **how: Any) -> "Said":
        said = Said(as_json=as_json)
        how = {"browser": True, "read_line": self.read_line} | how
        said.code = await log_in(self.source, said.output, "s", **how)
        return said

    def vault_files(self) -> list[Path]:
        return [path for path in self.home.rglob("*.sealed") if path.is_file()]


class Heard(StringIO):
    """Tells when an address is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.shown = anyio.Event()

    def write(self, text: str) -> int:
        if "/authorize?" in text:
            self.shown.set()
        return super().write(text)


class Said:
    def __init__(self, *, as_json: bool = False) -> None:
        self._out, self._err = StringIO(), Heard()
        self.shown = self._err.shown
        self.output = Output(as_json=as_json, stdout=self._out, stderr=self._err, env=os.environ)
        self.code = Exit.USAGE

    @property
    def out(self) -> str:
        return self._out.getvalue()

    @property
    def err(self) -> str:
        return self._err.getvalue()


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Desk]:
    with anyio.fail_after(20):
        async with serve_oauth_world() as world:
            yield Desk(world, tmp_path, monkeypatch)


async def test_a_login_shows_the_address_asks_opens_and_says_what_it_brought(desk: Desk) -> None:
    said = await desk.log_in()
    (url,) = desk.visited
    assert url in said.err.splitlines()
    assert f"sends you to 127.0.0.1:{desk.world.server.port} to log in" in said.err
    assert "[y/N]" in said.err
    assert said.code is Exit.FINE
    for part in ("logged in", desk.world.issuer, "client-one", "3600 s, renewed without you"):
        assert part in said.out
    assert "not from programs that run as you" in said.out
    assert "You can close this window" in desk.pages[0]
    (file,) = desk.vault_files()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_a_program_gets_a_document(desk: Desk) -> None:
    said = await desk.log_in(as_json=True)
    told = json.loads(said.out)["logged_in"]
    assert told["server"] == "s"
    assert told["issuer"] == desk.world.issuer
    assert told["registration"] == "dynamic"
    assert told["renewable"] is True


@pytest.mark.parametrize("typed", ["n\n", "\n", "", "no\n", "yeah\n"])
async def test_without_a_yes_nothing_is_opened_or_kept(desk: Desk, typed: str) -> None:
    desk.typed = [typed]
    with pytest.raises(AuthRequired, match="declined") as declined:
        await desk.log_in()
    assert declined.value.server == "s"
    assert desk.visited == []
    assert desk.vault_files() == []
    assert desk.world.issued == 0


@pytest.mark.parametrize("browser", [True, False], ids=["no terminal", "asked not to"])
async def test_where_nobody_can_be_asked_the_address_is_only_shown(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, browser: object
) -> None:
    monkeypatch.setattr("sys.stdin", StringIO("y\n"))
    said = Said()

    async def open_by_hand() -> None:
        await said.shown.wait()
        line = next(one for one in said.err.splitlines() if "/authorize?" in one)
        await anyio.to_thread.run_sync(desk.browse, line)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(open_by_hand)
        await log_in(desk.source, said.output, "s", browser=bool(browser))
    assert len(desk.visited) == 1
    assert "[y/N]" not in said.err
    assert "logged in" in said.out


async def test_after_a_login_every_command_may_use_the_server(desk: Desk) -> None:
    await desk.log_in()
    assert desk.world.executed == []
    async with opened(desk.source, Said().output, Recorder()) as open_:
        reading = await open_.crib.catalogs().read_one("s", Kind.TOOLS)
        assert reading.snapshot is not None
    assert "tools/list" in desk.world.executed


async def test_before_a_login_a_command_says_how_to_log_in_and_opens_nothing(desk: Desk) -> None:
    async with opened(desk.source, Said().output, Recorder()) as open_:
        reading = await open_.crib.catalogs().read_one("s", Kind.TOOLS)
    assert reading.snapshot is None
    assert desk.visited == []
    assert desk.world.registrations == []
    assert desk.world.asked("/mcp") > 0


async def test_a_second_login_uses_the_registration_and_the_port_of_the_first(desk: Desk) -> None:
    await desk.log_in()
    desk.typed.append("y\n")
    await desk.log_in()
    assert desk.world.registrations == ["one"]
    assert desk.world.issued == 2


async def test_a_configured_port_is_used_or_nothing(desk: Desk) -> None:
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener:
        port = listener.extra_attributes[SocketAttribute.local_port]()
        desk.configure(f"redirect_port = {port}")
        with pytest.raises(ConfigError, match=str(port)):
            await desk.log_in()
    await desk.log_in()
    assert f"127.0.0.1%3A{port}%2Fcallback" in desk.visited[0]


async def test_a_logout_forgets_and_revokes(desk: Desk) -> None:
    await desk.log_in()
    said = Said()
    assert await log_out(desk.source, said.output, "s") is Exit.FINE
    assert "revoked the tokens" in said.out
    assert desk.vault_files() == []
    assert desk.world.tokens == {}
    again = Said(as_json=True)
    await log_out(desk.source, again.output, "s")
    assert json.loads(again.out) == {"logged_out": {"server": "s", "issuer": "", "revoked": False}}


async def test_a_logout_where_nothing_can_be_revoked_says_so(desk: Desk) -> None:
    desk.world.metadata = {"revocation_endpoint": None}
    await desk.log_in()
    said = Said()
    await log_out(desk.source, said.output, "s")
    assert "copies last until they run out" in said.out
    assert desk.vault_files() == []


async def test_client_credentials_are_tried_without_a_person(desk: Desk) -> None:
    desk.configure(
        f'grant = "client_credentials"\nclient_id = "m"\nclient_secret = "{CANARY}-s"\n'
        f'issuer = "{desk.world.issuer}"'
    )
    said = await desk.log_in(as_json=True)
    assert json.loads(said.out)["logged_in"]["registration"] == "configured"
    assert desk.visited == []
    assert CANARY not in said.out + said.err


@pytest.mark.parametrize(
    ("server", "part"), [("p", "local program"), ("n", "[servers.n.oauth]"), ("x", "no server")]
)
def test_a_server_that_takes_no_login_is_an_error_of_usage(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    server: str,
    part: str,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    servers = {"p": {"command": "true"}, "n": {"url": "https://x.example"}}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    with pytest.raises(SystemExit) as ended:
        app(["login", server], prog_name="toolcrib")
    assert ended.value.code == 2
    assert part in capsys.readouterr().err


async def test_a_server_that_is_away_is_no_login(desk: Desk) -> None:
    desk.configure("")
    servers = {"s": {"url": "http://127.0.0.1:9/mcp"}}
    (desk.home / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    with pytest.raises(UpstreamUnreachable) as away:
        await desk.log_in()
    assert away.value.server == "s"


async def test_a_login_that_cannot_be_decrypted_is_told_and_can_be_made_again(desk: Desk) -> None:
    await desk.log_in()
    (file,) = desk.vault_files()
    file.write_bytes(b"damaged")
    desk.typed.append("y\n")
    said = await desk.log_in()
    assert "cannot be decrypted" in said.err
    assert "logged in" in said.out


# ---- nothing secret is ever written ----


def cause(world: OAuthWorld, trouble: str) -> None:
    """Have the servers say something that quotes their secrets."""
    match trouble:
        case "revoked":
            world.revoke_all()
        case "garbage":
            world.revoke_all()
            world.token_body = f'{{"access_token": ["{CANARY}-list"]}}'
        case "refused":
            world.token_body, world.token_status = f"{CANARY} is wrong", 400
        case _:
            pass  # the server quotes the token in an error of its own


async def test_no_token_is_in_any_log_output_fact_error_or_file(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    for name in (None, "httpcore2", "mcp", "mcp.client.auth", "toolcrib"):
        caplog.set_level(logging.DEBUG, logger=name)
    source = Source((desk.home / "toolcrib.toml", desk.home / "mcp.json"))
    said, facts, errors = Said(), Recorder(), list[str]()
    await log_in(source, said.output, "s", browser=True, read_line=desk.read_line)
    async with opened(source, said.output, facts) as open_:
        catalogs = open_.crib.catalogs()
        await catalogs.read_one("s", Kind.TOOLS)
        for trouble in ("quoted", "revoked", "garbage", "refused"):
            cause(desk.world, trouble)
            with pytest.raises(ToolcribError) as failed:
                await catalogs.request("s", "x/y", {})
            errors += [failed.value.for_operator(), repr(failed.value), repr(vars(failed.value))]
    desk.world.token_body, desk.world.token_status = None, 200
    await log_out(source, said.output, "s")
    desk.typed.append("y\n")
    await log_in(source, said.output, "s", browser=True, read_line=desk.read_line)
    files = [path.read_bytes() for path in desk.home.rglob("*") if path.is_file()]
    written = [
        said.out,
        said.err,
        caplog.text,
        "".join(repr(vars(record)) for record in caplog.records),
        repr(facts.facts),
        *errors,
        b"".join(files).decode("latin-1"),
    ]
    assert desk.world.issued == 3
    assert (desk.home / ".local/share/toolcrib/catalogs.sqlite").exists()
    assert len(desk.vault_files()) == 1
    for text in written:
        assert text
        assert CANARY not in text
