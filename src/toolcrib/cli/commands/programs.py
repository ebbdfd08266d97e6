"""Programs that call tools: `run`."""

from dataclasses import replace
from typing import Annotated, Literal

import typer

from toolcrib.cli.commands.options import AsJson, Config, NoStore, Wait
from toolcrib.cli.commands.running import run_verb, source_of


def run(
    script: Annotated[
        str, typer.Argument(help="The program, or - for standard input.", metavar="SCRIPT")
    ],
    language: Annotated[
        Literal["python", "typescript"] | None,
        typer.Option(help="What it is written in; without it, typescript for .ts, else python."),
    ] = None,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes", help="Approve what policy asks a person about; what it denies stays."
        ),
    ] = False,
    config: Config = None,
    wait: Wait = 10.0,
    no_store: NoStore = False,
    as_json: AsJson = False,
) -> None:
    """Run a program that calls tools.

    It runs as `run_code` of exposure `code` does (docs/code-mode.md). Its calls are told on
    standard error as they happen; then comes what it printed and what it returned, with --json as
    {value, printed, calls, seconds}. At a terminal you are asked what policy wants a person for,
    once for each kind of call, and what servers want to know. Without one, with --json, or where
    the program comes from standard input, nobody is asked: such a call raises, and waits for
    `toolcrib approve`. Exit code 1 where the program was not run, or ended in an error: then the
    calls that it made are listed.
    """
    from toolcrib.cli.verb_run import Script
    from toolcrib.cli.verb_run import run as run_script

    source = replace(source_of(config, None, no_store, wait), consent=yes)
    run_verb(as_json, lambda output: run_script(source, output, Script.of(script, language)))
