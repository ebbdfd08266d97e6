"""The verbs and their options: parsing and nothing else."""

import logging
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import anyio
import typer

from toolcrib.cli.arguments import parse_arguments
from toolcrib.cli.exits import Exit, UsageError
from toolcrib.cli.interruption import until_signalled
from toolcrib.cli.opening import Source, make_output
from toolcrib.cli.output import Output
from toolcrib.errors import ToolcribError
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

Config = Annotated[
    list[Path] | None,
    typer.Option(
        "--config",
        "-c",
        metavar="FILE",
        help="An mcp.json or toolcrib.toml; repeat it for more. Without it: the files of the "
        "working directory and of the user's configuration.",
    ),
]
Url = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Speak to a running gateway instead, such as http://127.0.0.1:8770/mcp.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON instead of tables.")]
NoStore = Annotated[bool, typer.Option("--no-store", help="Keep nothing on disk.")]
Wait = Annotated[
    float,
    typer.Option(
        metavar="SECONDS", help="How long to wait for servers to start; 0: take what is kept."
    ),
]
KindName = Annotated[
    str, typer.Option("--kind", metavar="KIND", help="tools, prompts, resources or templates.")
]
Arguments = Annotated[
    list[str] | None,
    typer.Argument(
        help="name=value, name:=json, outer.inner=value; or all at once: {json}, @file, - for "
        "standard input.",
        metavar="ARGUMENT",
    ),
]
AllArguments = Annotated[
    str | None,
    typer.Option(metavar="JSON", help="All arguments as JSON, @file, or - for standard input."),
]
Servers = Annotated[
    list[str] | None, typer.Argument(help="Server ids; none: all of them.", metavar="SERVER")
]


def _source(
    config: list[Path] | None, url: str | None, no_store: bool, wait: float = 10.0
) -> Source:
    return Source(tuple(config or ()), url, keep=not no_store, patience=wait)


def _run(
    as_json: bool,
    work: Callable[[Output], Awaitable[Exit]],
    *,
    interrupted: Exit = Exit.FOUND,
) -> None:
    """Runs a verb and exits with its code; errors of ours are told, not traced.

    A verb that a signal cut off has not done what it was asked to, so it is no success unless it
    is one that runs until then.
    """
    output = make_output(as_json=as_json)
    code = Exit.FINE
    try:
        code = anyio.run(until_signalled, lambda: work(output), interrupted)
    except* ToolcribError as errors:
        code = max(output.fail(error) for error in _leaves(errors))
    raise typer.Exit(code)


def _leaves(errors: BaseExceptionGroup[ToolcribError]) -> list[ToolcribError]:
    found: list[ToolcribError] = []
    for error in errors.exceptions:
        found += _leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found


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


@app.command()
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
        typer.Option(help="What the model sees; `full` is the one there is so far."),
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
    source = _source(config, None, no_store)
    # Not as JSON: an error goes to standard error, for standard output is the host's.
    _run(False, lambda output: run(source, output, serving), interrupted=Exit.FINE)


@app.command("list")
def list_(
    config: Config = None,
    url: Url = None,
    kind: KindName = "tools",
    servers: Annotated[
        bool, typer.Option("--servers", help="List the servers instead of what they have.")
    ] = False,
    wait: Wait = 10.0,
    no_store: NoStore = False,
    as_json: AsJson = False,
) -> None:
    """List what the servers have, under the names that hosts see.

    Exit code 1 where a server did not answer; it is told on standard error.
    """
    from toolcrib.cli.verb_list import list_items, list_servers

    source = _source(config, url, no_store, wait)
    if servers:
        _run(as_json, lambda output: list_servers(source, output))
    else:
        _run(as_json, lambda output: list_items(source, output, kind))


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="The name that hosts see, or a URI.", metavar="NAME")],
    arguments: Arguments = None,
    args: AllArguments = None,
    config: Config = None,
    url: Url = None,
    kind: KindName = "tools",
    wait: Wait = 10.0,
    no_store: NoStore = False,
    as_json: AsJson = False,
) -> None:
    """Show one definition in full.

    With arguments it also tells how a call with them would fare, and makes none: exit code 1 where
    they do not fit, or policy denies it.
    """
    from toolcrib.cli.verb_show import show as run

    source = _source(config, url, no_store, wait)

    async def work(output: Output) -> Exit:
        told = bool(arguments) or args is not None
        given = parse_arguments(arguments or (), args, sys.stdin) if told else None
        return await run(source, output, name, kind, given)

    _run(as_json, work)


@app.command()
def call(
    name: Annotated[str, typer.Argument(help="The name that hosts see.", metavar="NAME")],
    arguments: Arguments = None,
    args: AllArguments = None,
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="How long the call may take.")
    ] = None,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes", help="Approve what policy asks a person about; what it denies stays."
        ),
    ] = False,
    config: Config = None,
    url: Url = None,
    wait: Wait = 10.0,
    no_store: NoStore = False,
    as_json: AsJson = False,
) -> None:
    """Call one tool and show its result.

    At a terminal you are asked what policy wants a person for, and what the server wants to know.
    Without one, or with --json, nobody is asked: such a call is refused and waits for `toolcrib
    approve`. Exit code 1 where the tool reports an error, or cannot be called.
    """
    from toolcrib.cli.verb_call import call as run

    source = replace(_source(config, url, no_store, wait), consent=yes)

    async def work(output: Output) -> Exit:
        given = parse_arguments(arguments or (), args, sys.stdin)
        return await run(source, output, name, given, timeout)

    _run(as_json, work)


@app.command()
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

    source = _source(config, url, no_store)
    _run(
        as_json,
        lambda output: run(source, output, tuple(kind or ()), seconds),
        interrupted=Exit.FINE,
    )


@app.command()
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

    source = _source(config, None, no_store=False, wait=wait)
    _run(as_json, lambda output: show_difference(source, output, tuple(servers or ()), kind))


@app.command()
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

    source = _source(config, None, no_store=False, wait=wait)
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

    _run(as_json, work)


@app.command()
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

    source = _source(config, None, no_store=True)
    if logout:
        _run(as_json, lambda output: log_out(source, output, server))
    else:
        _run(as_json, lambda output: log_in(source, output, server, browser=not no_browser))


@app.command()
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

    source = _source(config, url, no_store=True)
    chosen = tuple(servers or ())
    _run(as_json, lambda output: run(source, output, chosen, kind, walks, connections))
