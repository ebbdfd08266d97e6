"""Serves tools behind the search of FastMCP: run by `.peers/fastmcp`, where it is installed.

The first argument is a file with tools as `fastmcp_search.py` takes them, the second how many hits
are answered; with a third, a port, over Streamable HTTP, else over stdio. `echo` is one more tool.
"""

import json
import logging
import sys
from pathlib import Path

from fastmcp_search import serving


def echo(text: str) -> str:
    """Says it again."""
    return text


def main() -> None:
    """Serves until it is ended."""
    logging.disable(logging.WARNING)
    file, hits, *port = sys.argv[1:]
    server, _ = serving(json.loads(Path(file).read_text()), int(hits))
    server.tool(echo)
    if port:
        server.run("http", show_banner=False, port=int(port[0]), log_level="error")
    else:
        server.run("stdio", show_banner=False)


if __name__ == "__main__":
    main()
