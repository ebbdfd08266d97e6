"""What the servers have, and its use: `list`, `search`, `show`, `call`."""

import sys
from dataclasses import replace
from typing import Annotated, Literal

import typer

from toolcrib.cli.arguments import parse_arguments
from toolcrib.cli.commands.options import (
    AllArguments,
    Arguments,
    AsJson,
    Config,
    KindName,
    NoStore,
    Url,
    Wait,
)
from toolcrib.cli.commands.running import run_verb, source_of
from toolcrib.cli.exits import Exit, UsageError
from toolcrib.cli.output import Output


def list_(
    config: Config = None,
    url: Url = None,
    kind: KindName = "tools",
    servers: Annotated[
        bool, typer.Option("--servers", help="List the servers instead of what they have.")
    ] = False,
    tokens: Annotated[
        bool,
        typer.Option(
            "--tokens",
            help="List what the definitions of tools cost a model, by server: all of them, and "
            "those that it is shown at the start.",
        ),
    ] = False,
    wait: Wait = 10.0,
    no_store: NoStore = False,
    as_json: AsJson = False,
) -> None:
    """List what the servers have, under the names that hosts see.

    Tokens are counted exactly (o200k) where `toolcrib[tokens]` is installed, and estimated
    otherwise. With --url a gateway tells of the servers behind it. Exit code 1 where a server did
    not answer; it is told on standard error.
    """
    from toolcrib.cli.verb_list import list_items, list_servers, list_tokens

    source = source_of(config, url, no_store, wait)

    async def refused(_: Output) -> Exit:
        raise UsageError(
            "--tokens goes with neither --servers nor --kind nor --url",
            remedy="it is about the tools of the configured servers: leave the others out",
        )

    if tokens and (servers or kind != "tools" or url is not None):
        run_verb(as_json, refused)
    elif tokens:
        exact = replace(source, exact_tokens=True)
        run_verb(as_json, lambda output: list_tokens(exact, output))
    elif servers:
        run_verb(as_json, lambda output: list_servers(source, output))
    else:
        run_verb(as_json, lambda output: list_items(source, output, kind))


def search(
    query: Annotated[
        str,
        typer.Argument(
            help="What the tool should do, in a few words, in any language; between slashes, or "
            "with --method regex, a pattern; empty: which servers there are.",
            metavar="QUERY",
        ),
    ],
    server: Annotated[
        list[str] | None,
        typer.Option(metavar="SERVER", help="Only tools of this server; repeat it for more."),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, max=50, metavar="COUNT", help="Most tools that are shown.")
    ] = 10,
    detail: Annotated[
        Literal["name", "brief", "full"],
        typer.Option(help="Names; also parameters and a line; or whole definitions."),
    ] = "brief",
    method: Annotated[
        Literal["auto", "lexical", "regex", "semantic", "hybrid", "subagent"],
        typer.Option(help="How to search; `auto` is what the configuration says."),
    ] = "auto",
    config: Config = None,
    url: Url = None,
    wait: Wait = 10.0,
    no_store: NoStore = False,
    as_json: AsJson = False,
) -> None:
    """Find tools by what they do.

    A query means what it means in a model's `search_tools`, and where nothing is found you read
    what the model would. With --url the gateway searches, as it does for its model. Exit code 1
    where nothing was found, or a server did not answer; it is told on standard error.
    """
    from toolcrib.cli.verb_search import Wanted
    from toolcrib.cli.verb_search import search as run

    source = source_of(config, url, no_store, wait)
    wanted = Wanted(query, tuple(server or ()), limit, detail, method)
    run_verb(as_json, lambda output: run(source, output, wanted))


def show(
    name: Annotated[str, typer.Argument(help="The name that hosts see, or a URI.", metavar="NAME")],
    arguments: Arguments = None,
    args: AllArguments = None,
    config: Config = None,
    url: Url = None,
    kind: KindName = "tools",
    detail: Annotated[
        Literal["brief", "full"],
        typer.Option(help="brief: the parameters of a tool and a line of what it is for."),
    ] = "full",
    wait: Wait = 10.0,
    no_store: NoStore = False,
    as_json: AsJson = False,
) -> None:
    """Show one definition in full.

    With arguments it also tells how a call with them would fare, and makes none: exit code 1 where
    they do not fit, or policy denies it.
    """
    from toolcrib.cli.verb_show import show as run

    source = source_of(config, url, no_store, wait)

    async def work(output: Output) -> Exit:
        told = bool(arguments) or args is not None
        given = parse_arguments(arguments or (), args, sys.stdin) if told else None
        return await run(source, output, name, kind, given, brief=detail == "brief")

    run_verb(as_json, work)


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

    source = replace(source_of(config, url, no_store, wait), consent=yes)

    async def work(output: Output) -> Exit:
        given = parse_arguments(arguments or (), args, sys.stdin)
        return await run(source, output, name, given, timeout)

    run_verb(as_json, work)
