"""`toolcrib bench search` beside the search of FastMCP, both measured in the same run.

    make bench BENCH=search ARGS="FOLDER --method lexical,hybrid --json"

takes the options of that command but `--baseline`, and prints what it prints.
"""

import sys
import tempfile
from pathlib import Path

from typer.exceptions import TyperException
from typer.main import get_command

from fastmcp_rankings import write_rankings
from toolcrib.cli.app import app
from toolcrib.cli.commands.evaluation import trials_of
from toolcrib.cli.opening import make_output
from toolcrib.cli.verb_bench_search import chosen_sets
from toolcrib.errors import ToolcribError


def main() -> None:
    """Lets FastMCP rank what is asked for, then measures and compares."""
    words = ["bench", "search", *sys.argv[1:]]
    if not words[2:] or "--help" in words or "-h" in words:
        app([*words[:2], "--help"], prog_name="toolcrib")
    command = get_command(app).commands["bench"].commands["search"]
    try:
        given = command.make_context("search", sys.argv[1:]).params
        given.pop("as_json")
        sets = chosen_sets(trials_of(**given), make_output(as_json=False))
    except (ToolcribError, TyperException):
        # The command itself says what is wrong with its options, and ends with 2.
        app(words, prog_name="toolcrib")
        raise
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fastmcp.json"
        write_rankings(sets, path)
        app([*words, "--baseline", str(path)], prog_name="toolcrib")


if __name__ == "__main__":
    main()
