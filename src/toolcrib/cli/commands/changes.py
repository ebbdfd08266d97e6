"""How catalogs change: `watch`, `diff`, `probe`."""

from typing import Annotated

import typer

from toolcrib.cli.commands.options import AsJson, Config, KindName, NoStore, Servers, Url, Wait
from toolcrib.cli.commands.running import run_verb, source_of
from toolcrib.cli.exits import Exit


def watch(
    config: Config = None,
    url: Url = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            help="tools, prompts, resources or templates; may be given several times.  "
            "[default: tools]",
        ),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--for", metavar="SECONDS", help="Stop after so long.")
    ] = None,
    no_store: NoStore = False,
    as_json: AsJson = False,
) -> None:
    """Print a line for every change, until interrupted."""
    from toolcrib.cli.verb_watch import watch as run

    source = source_of(config, url, no_store)
    run_verb(
        as_json,
        lambda output: run(source, output, tuple(kind or ()), seconds),
        interrupted=Exit.FINE,
    )


def diff(
    servers: Servers = None,
    config: Config = None,
    kind: KindName = "tools",
    wait: Wait = 10.0,
    as_json: AsJson = False,
) -> None:
    """Compare the servers with what was kept of them.

    Exit code 1 where anything changed, or a server did not answer.
    """
    from toolcrib.cli.verb_diff import show_difference

    source = source_of(config, None, no_store=False, wait=wait)
    run_verb(as_json, lambda output: show_difference(source, output, tuple(servers or ()), kind))


def probe(
    servers: Servers = None,
    config: Config = None,
    url: Url = None,
    kind: KindName = "tools",
    walks: Annotated[
        int,
        typer.Option(min=1, max=100, metavar="COUNT", help="Listings over each connection."),
    ] = 3,
    connections: Annotated[
        int, typer.Option(min=1, max=20, metavar="COUNT", help="New connections.")
    ] = 2,
    as_json: AsJson = False,
) -> None:
    """Ask for the same listing again and again.

    Exit code 1 where a listing failed, or differs from another one.
    """
    from toolcrib.cli.verb_probe import probe as run

    source = source_of(config, url, no_store=True)
    chosen = tuple(servers or ())
    run_verb(as_json, lambda output: run(source, output, chosen, kind, walks, connections))
