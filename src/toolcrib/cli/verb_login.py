"""`toolcrib login`: lets a person log in to a server that wants OAuth, and out again."""

import sys
import webbrowser
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread
from rich.text import Text

from toolcrib.cli.exits import Exit
from toolcrib.cli.opening import Source, chosen, settings_of
from toolcrib.cli.output import Output, View, warning_view
from toolcrib.cli.terminal_text import visible
from toolcrib.compose import open_login
from toolcrib.config.keys import installation_key
from toolcrib.core.quoting import quoted
from toolcrib.errors import AuthRequired
from toolcrib.facts import Fact, Finding

if TYPE_CHECKING:
    from toolcrib.compose import Login

ReadLine = Callable[[], Awaitable[str]]
"""Reads one line from the person."""

_YES: Final = frozenset({"y", "yes"})


class _VaultAlarm:
    """An observer that tells what became of saved logins, and drops everything else."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def note(self, fact: Fact) -> None:
        """Tell of a login that cannot be read."""
        if isinstance(fact, Finding):
            self._output.complain(warning_view(fact.detail))


class _Consent:
    """Shows the whole URL and its host, and opens it only after a yes."""

    def __init__(self, output: Output, server: str, *, asks: bool, read_line: ReadLine) -> None:
        self._output = output
        self._server = server
        self._asks = asks
        self._read_line = read_line

    async def visit(self, url: str, host: str) -> None:
        """The `Visit` of a login."""
        server = quoted(self._server)
        self._output.complain_whole(f"The server {server} sends you to {host} to log in:")
        self._output.complain_whole(url)
        if not self._asks:
            self._output.complain_whole("Open the address in a browser on this machine.")
            return
        self._output.complain_whole("Open the address in your browser? [y/N]")
        if (await self._read_line()).strip().lower() not in _YES:
            raise AuthRequired(
                "the login was declined",
                server=self._server,
                remedy="with --no-browser the address is only shown",
            )
        # It takes a list of arguments or an interface of the system, never a shell's command line.
        if not await anyio.to_thread.run_sync(webbrowser.open, url):
            self._output.complain(warning_view("no browser could be started: open it yourself"))


async def log_in(
    source: Source,
    output: Output,
    server: str,
    *,
    browser: bool,
    read_line: ReadLine | None = None,
) -> Exit:
    """Logs in, and says who, where and for what; never the token.

    Without `browser`, or where nobody can be asked, the address is only shown.

    Raises:
        AuthRequired: The person or the authorization server says no, or must not be asked.
        UpstreamUnreachable: The server or its authorization server is away.
        ConfigError: The server is not configured for OAuth.
    """
    login = _login(source, output, server)
    asks = browser and (read_line is not None or sys.stdin.isatty())
    consent = _Consent(output, server, asks=asks, read_line=read_line or _from_terminal)
    done = await login.run(consent.visit)
    lasts = "as long as the server likes" if done.seconds is None else f"{done.seconds} s"
    rows = {
        "server": done.server,
        "at": done.issuer,
        "client": f"{done.client_id} ({done.registration})",
        "scopes": " ".join(done.scopes) or "none named",
        "lasts": f"{lasts}{', renewed without you' if done.renewable else ''}",
        "kept": done.where,
    }
    text = "\n".join(f"{name:<8}{visible(value)}" for name, value in rows.items())
    output.show(_view(f"logged in\n{text}", {"logged_in": asdict(done)}))
    return Exit.FINE


async def log_out(source: Source, output: Output, server: str) -> Exit:
    """Forgets the login, and tells the authorization server where it wants to know."""
    done = await _login(source, output, server).end()
    issuer = visible(done.issuer)
    if not issuer:
        text = "nobody was logged in"
    elif done.revoked:
        text = f"logged out; {issuer} revoked the tokens"
    else:
        text = f"logged out; {issuer} did not revoke the tokens, so copies last until they run out"
    output.show(_view(text, {"logged_out": asdict(done)}))
    return Exit.FINE


def _login(source: Source, output: Output, server: str) -> "Login":
    settings, _ = settings_of(source, output)
    (found,) = chosen(settings, [server])
    keys, problem = installation_key()
    output.tell([problem] if problem is not None else [])
    return open_login(found, settings, keys=keys, observer=_VaultAlarm(output))


async def _from_terminal() -> str:
    """One line of standard input.

    It is waited for on the event loop, so that an interruption ends the waiting: a thread that
    reads would keep the process until somebody presses return.
    """
    if sys.platform == "win32":
        return await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True)
    await anyio.wait_readable(sys.stdin)
    return sys.stdin.readline()


def _view(text: str, document: object) -> View:
    return View(Text(text), document)
