"""The gateway itself: `serve`."""

import logging
from typing import Annotated, Literal

import typer

from toolcrib.cli.commands.options import Config, NoStore
from toolcrib.cli.commands.running import run_verb, source_of
from toolcrib.cli.exits import Exit


def serve(
    config: Config = None,
    http: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Serve HTTP there, port 0 for a free one; without it, standard streams.",
        ),
    ] = None,
    exposure: Annotated[
        Literal["auto", "full", "search", "code"] | None,
        typer.Option(help="What the model sees at the start."),
    ] = None,
    names: Annotated[
        Literal["qualified", "plain"] | None,
        typer.Option(help="server__tool, or the servers' own names."),
    ] = None,
    no_store: NoStore = False,
    no_watch: Annotated[
        bool, typer.Option("--no-watch", help="Do not take over changes of the files.")
    ] = False,
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        typer.Option(help="From which level on the log on standard error is written."),
    ] = "info",
    as_json: Annotated[
        bool, typer.Option("--json", help="Write the log as JSON, one line each.")
    ] = False,
) -> None:
    """Serve every configured server as one MCP server.

    Ends with code 0 when it is interrupted, or when its host closes standard input.
    """
    from toolcrib.cli.verb_serve import Serving
    from toolcrib.cli.verb_serve import serve as run

    serving = Serving(
        http=http,
        exposure=exposure,
        names=names,
        log_format="json" if as_json else "text",
        log_level=logging.getLevelNamesMapping()[log_level.upper()],
        watch=not no_watch,
    )
    source = source_of(config, None, no_store)
    # Not as JSON: an error goes to standard error, for standard output is the host's.
    run_verb(False, lambda output: run(source, output, serving), interrupted=Exit.FINE)
