"""What a person decides: `approve`, `login`."""

from typing import Annotated

import typer

from toolcrib.cli.commands.options import AsJson, Config, Wait
from toolcrib.cli.commands.running import run_verb, source_of
from toolcrib.cli.exits import Exit, UsageError
from toolcrib.cli.output import Output


def approve(
    which: Annotated[
        list[str] | None,
        typer.Argument(
            help="Questions to answer; none: list them. With --changes: server ids, none for all.",
            metavar="ID",
        ),
    ] = None,
    deny: Annotated[bool, typer.Option("--deny", help="Say no: the call is refused.")] = False,
    lasting: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="TIME",
            help="How long a yes covers what the same rule asks about: run (until the gateway "
            "ends), or 30m, 8h, 2d, as far as the rule lets it. Without it: one call.",
        ),
    ] = None,
    changes: Annotated[
        bool,
        typer.Option(
            "--changes",
            help="Show definitions that are new or changed at servers with on_change = ask, and "
            "approve them.",
        ),
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Approve without being asked at the terminal.")
    ] = False,
    config: Config = None,
    wait: Wait = 10.0,
    as_json: AsJson = False,
) -> None:
    """Answer what waits for a person: calls, and changed definitions.

    It works over the store that gateways keep, while they run; it finds calls without --config,
    unless a file there sets another store. At a terminal each question is shown and asked; anywhere
    else a yes takes --yes. Exit code 1 where something is left waiting that was named.
    """
    from toolcrib.cli.verb_approve import Answer, parse_lasting
    from toolcrib.cli.verb_approve import approve as run
    from toolcrib.cli.verb_approve_changes import approve_changes

    source = source_of(config, None, no_store=False, wait=wait)
    chosen = tuple(which or ())

    async def work(output: Output) -> Exit:
        run_long, seconds = parse_lasting(lasting)
        if changes and (deny or lasting is not None):
            raise UsageError(
                "--changes goes with neither --deny nor --for",
                remedy="what is not approved is kept out anyhow",
            )
        if changes:
            return await approve_changes(source, output, chosen, sure=yes)
        if deny and lasting is not None:
            raise UsageError("--deny and --for exclude each other", remedy="give one of them")
        return await run(source, output, chosen, Answer(not deny, run_long, seconds, sure=yes))

    run_verb(as_json, work)


def login(
    server: Annotated[str, typer.Argument(help="The id of the server.", metavar="SERVER")],
    config: Config = None,
    logout: Annotated[
        bool, typer.Option("--logout", help="Forget the login, and have its tokens revoked.")
    ] = False,
    no_browser: Annotated[
        bool,
        typer.Option(
            "--no-browser", help="Only show the address; open it on this machine yourself."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Log in to a server that wants OAuth.

    Shows the address and asks before a browser is opened. What it brings is kept encrypted for
    every command; where, and how safe that is, is told at the end.
    """
    from toolcrib.cli.verb_login import log_in, log_out

    source = source_of(config, None, no_store=True)
    if logout:
        run_verb(as_json, lambda output: log_out(source, output, server))
    else:
        run_verb(as_json, lambda output: log_in(source, output, server, browser=not no_browser))
