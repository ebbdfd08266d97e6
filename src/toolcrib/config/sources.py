"""Configuration files as they were found: read and parsed, or with the problem that prevents it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from toolcrib.config import jsonc, toml_document
from toolcrib.config.document import LARGEST, BrokenDocument, Node, decoded
from toolcrib.config.problem import Problem
from toolcrib.config.regular_file import NotRegularError, open_regular

_EDITOR_FOLDERS: Final = frozenset({".vscode", ".cursor"})


@dataclass(frozen=True, slots=True)
class Source:
    """One configuration file."""

    path: Path
    root: Node | None = field(repr=False)
    """What it says; None where it could not be read."""
    problem: Problem | None = None
    """Why it could not be read."""

    @property
    def is_toml(self) -> bool:
        """Whether it is a `toolcrib.toml`, by its ending; everything else is an `mcp.json`."""
        return self.path.suffix.lower() == ".toml"

    @property
    def workspace(self) -> Path:
        """What `${workspaceFolder}` stands for in this file."""
        folder = self.path.absolute().parent
        return folder.parent if folder.name in _EDITOR_FOLDERS else folder


def read_raw(path: Path) -> bytes | Problem:
    """The bytes of a file, no more than are ever read of one."""
    try:
        with open_regular(path) as file:
            return file.read(LARGEST + 1)
    except FileNotFoundError:
        return _unreadable(path, "does not exist", "check the path, or create the file")
    except IsADirectoryError:
        return _unreadable(path, "is a directory", "name a file inside it")
    except NotRegularError as error:
        return _unreadable(path, str(error.strerror), "name a file, or a link to one")
    except PermissionError:
        return _unreadable(path, "may not be read by this user", "change its permissions")
    except OSError as error:
        return _unreadable(path, f"cannot be read: {error.strerror}", "check the path")


def parse_source(path: Path, raw: bytes | Problem) -> Source:
    """The file as a tree, or with the place where it breaks."""
    if isinstance(raw, Problem):
        return Source(path, None, raw)
    file = str(path)
    parse = toml_document.parse if path.suffix.lower() == ".toml" else jsonc.parse
    try:
        return Source(path, parse(decoded(raw), file))
    except BrokenDocument as broken:
        message = f"the file {broken.message} (column {broken.column})"
        return Source(path, None, Problem(file, broken.line, None, message, broken.hint))


def read_source(path: Path) -> Source:
    """Reads and parses one file."""
    return parse_source(path, read_raw(path))


def _unreadable(path: Path, message: str, remedy: str) -> Problem:
    return Problem(str(path), None, None, f"the file {message}", remedy)
