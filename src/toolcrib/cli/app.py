"""The command line: every verb, in the order that help shows them."""

import sys
from typing import Annotated

import typer

from toolcrib.cli.commands.catalog import call, list_, search, show
from toolcrib.cli.commands.changes import diff, probe, watch
from toolcrib.cli.commands.decisions import approve, login
from toolcrib.cli.commands.evaluation import bench
from toolcrib.cli.commands.gateway import serve
from toolcrib.cli.commands.programs import run
from toolcrib.version import __version__

app = typer.Typer(
    name="toolcrib",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="One MCP server in front of all of yours: true definitions, checked calls.",
)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"toolcrib {__version__}\n")
        raise typer.Exit


@app.callback()
def _everything(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which version.")
    ] = False,
) -> None:
    pass


app.command()(serve)
app.command("list")(list_)
app.command()(search)
app.command()(show)
app.command()(call)
app.command()(run)
app.command()(watch)
app.command()(diff)
app.command()(approve)
app.command()(login)
app.command()(probe)
app.add_typer(bench)
