"""Options and arguments that several verbs have."""

from pathlib import Path
from typing import Annotated

import typer

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
