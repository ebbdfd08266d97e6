"""Write docs/cli.md from the help of every command."""

import os

from typer.testing import CliRunner

from generated import ROOT, write_or_check
from toolcrib.cli.app import app

PAGE = ROOT / "docs" / "cli.md"
COLUMNS = "80"
HEAD = """\
# The command line

This page is made from the help of the commands; `python tools/cli_docs.py` writes it anew.

Exit codes are the same everywhere: 0 fine, 1 a finding or a tool's own error, 2 usage or
configuration. Answers go to standard output, everything else to standard error. Every verb has
`--json`: answers as one document, of `watch` and `probe` as one line each; for `serve`, it is the
log. An error is then such a document, too: `{"error": {"code", "message", "server", "remedy",
"details"}}`; [docs/calls.md](calls.md) says what the details of each code hold.

Verbs that look at servers start them themselves, over the same store on disk that gateways use, or
ask a running gateway with `--url`. `approve` has none: a gateway does not know who speaks to it, so
whatever reaches its address, the agent included, could approve there.
"""


def help_of(*words: str) -> str:
    """What `--help` prints, as wide as a plain terminal."""
    result = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": COLUMNS})
    return result.stdout.rstrip()


def page() -> str:
    """The whole page."""
    os.environ["COLUMNS"] = COLUMNS
    parts = [HEAD, f"```text\n{help_of()}\n```\n"]
    for command in app.registered_commands:
        verb = command.name or getattr(command.callback, "__name__", "")
        parts += [f"## toolcrib {verb}\n", f"```text\n{help_of(verb)}\n```\n"]
    return "\n".join(parts)


if __name__ == "__main__":
    write_or_check(PAGE, page(), __doc__)
