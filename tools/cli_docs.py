"""Write docs/cli.md from the help of every command."""

import os
from collections.abc import Iterator

from typer import Typer
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
    for words in verbs():
        parts += [f"## toolcrib {' '.join(words)}\n", f"```text\n{help_of(*words)}\n```\n"]
    return "\n".join(parts)


def verbs() -> Iterator[tuple[str, ...]]:
    """The words of every command, in the order of the help; those of groups last."""
    yield from ((name,) for name in names_in(app))
    for registered in app.registered_groups:
        group = registered.typer_instance
        if group is not None:
            yield from ((str(group.info.name), name) for name in names_in(group))


def names_in(group: Typer) -> Iterator[str]:
    """What the commands of a group are called."""
    for command in group.registered_commands:
        yield command.name or getattr(command.callback, "__name__", "")


if __name__ == "__main__":
    write_or_check(PAGE, page(), __doc__)
