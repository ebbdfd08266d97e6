"""Files, or parts of them, that are made from the code: written anew, or checked."""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def write_or_check(path: Path, text: str, description: str | None) -> None:
    """Write `text` to a file of the project; with `--check`, exit with 1 where it differs."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if it is outdated")
    here = path.relative_to(ROOT)
    if not parser.parse_args().check:
        path.write_text(text)
        print(f"wrote {here}")
    elif not path.exists() or path.read_text() != text:
        sys.exit(f"{here} is outdated: run `python {Path(sys.argv[0]).name}` in tools/")
