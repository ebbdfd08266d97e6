"""How a verb is run, once its words are parsed."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import typer

from toolcrib.cli.exits import Exit
from toolcrib.cli.interruption import until_signalled
from toolcrib.cli.opening import Source, make_output
from toolcrib.cli.output import Output
from toolcrib.errors import ToolcribError


def source_of(
    config: list[Path] | None, url: str | None, no_store: bool, wait: float = 10.0
) -> Source:
    """Where the servers of a command are, by its options."""
    return Source(tuple(config or ()), url, keep=not no_store, patience=wait)


def run_verb(
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
