"""The import contract holds, and would be noticed if it did not."""

import ast
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "toolcrib"
LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")

DOWNWARDS = "Rooms import downwards only"
COMPOSED = "Only compose sees adapters"
UNTESTED = "Nobody imports testing"
FACADE = "No room imports the facade of public names"
PURE = "Core and protocol are pure"
SDK = "Only adapters and wire speak to the SDK"
FOREIGN = "A foreign library lives in its adapter"
FILES = "Only config, cli and adapters read files, environment and programs"


def check_contract(tree: Path) -> tuple[int, set[str], str]:
    """The exit code of lint-imports over a tree, the contracts it calls broken, and all it said."""
    found = subprocess.run(
        [LINT_IMPORTS, "--no-logo", "--no-cache"],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree / "src"), "COLUMNS": "200", "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    lines = [line.split(" (")[0].strip() for line in found.stdout.splitlines()]
    broken = {line.removesuffix(" BROKEN") for line in lines if line.endswith(" BROKEN")}
    return found.returncode, broken, found.stdout


def test_the_real_tree_keeps_every_contract() -> None:
    code, broken, said = check_contract(ROOT)
    assert (code, broken) == (0, set()), said


@dataclass(frozen=True)
class Plant:
    """One line of code in a room where it must not stand."""

    room: str
    line: str
    contract: str
    sees: str | None = None
    """The room that the line imports, made up where it does not exist yet."""


PLANTS = [
    Plant("core", "import time", PURE),
    Plant("core", "from random import choice", PURE),
    Plant("core.freshness", "import asyncio", PURE),
    Plant("core.freshness", "import anyio.abc", PURE),
    Plant("core", "import logging", PURE),
    Plant("protocol", "from secrets import token_hex", PURE),
    Plant("protocol", "import uuid", PURE),
    Plant("protocol", "import threading", PURE),
    Plant("core", "from toolcrib import gateway", DOWNWARDS, sees="gateway"),
    Plant("core", "from toolcrib.protocol import planted", DOWNWARDS, sees="protocol"),
    Plant("protocol", "import toolcrib.settings", DOWNWARDS, sees="settings"),
    Plant("catalog", "from toolcrib.calls import planted", DOWNWARDS, sees="calls"),
    Plant("registry", "from toolcrib import doctor", DOWNWARDS, sees="doctor"),
    Plant("crib", "from toolcrib import cli", DOWNWARDS, sees="cli"),
    Plant("adapters", "from toolcrib import catalog", DOWNWARDS, sees="catalog"),
    Plant("testing", "from toolcrib import cli", DOWNWARDS, sees="cli"),
    Plant("utils", "import enum", DOWNWARDS),
    Plant("catalog", "from toolcrib import adapters", COMPOSED, sees="adapters"),
    Plant("gateway", "from toolcrib.adapters import planted", COMPOSED, sees="adapters"),
    Plant("cli", "from toolcrib import adapters", COMPOSED, sees="adapters"),
    Plant("crib", "from toolcrib import testing", UNTESTED, sees="testing"),
    Plant("cli", "from toolcrib import testing", UNTESTED, sees="testing"),
    Plant("config", "from toolcrib import Crib", FACADE),
    Plant("catalog", "import mcp", SDK),
    Plant("gateway", "from mcp.server import lowlevel", SDK),
    Plant("registry", "from mcp_types import Tool", SDK),
    Plant("calls", "import jsonschema_rs", FOREIGN),
    Plant("catalog", "import sqlite3", FOREIGN),
    Plant("catalog", "import os", FILES),
    Plant("doctor", "from pathlib import Path", FILES),
    Plant("gateway", "import subprocess", FILES),
]

ALLOWED = [
    Plant("adapters", "import mcp, sqlite3, os, time", ""),
    Plant("wire", "from mcp.server import lowlevel", ""),
    Plant("compose", "from toolcrib import adapters", "", sees="adapters"),
    Plant("testing", "from toolcrib import adapters, crib", "", sees="crib"),
    Plant("config", "import os, pathlib", ""),
    Plant("cli", "from toolcrib import crib", "", sees="crib"),
    Plant("core", "import hashlib, json", ""),
]


def name_of(plant: Plant) -> str:
    return f"{plant.room}: {plant.line}"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package and its contract, to plant in."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(SOURCE, tmp_path / "src" / "toolcrib")
    return tmp_path


def open_room(package: Path, room: str) -> Path:
    """The file or directory of a room, made as a package where the room does not exist yet."""
    module = package.joinpath(*room.split(".")).with_suffix(".py")
    if module.exists():
        return module
    directory = module.with_suffix("")
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "__init__.py").touch()
    return directory


def plant_in(tree: Path, plant: Plant) -> None:
    package = tree / "src" / "toolcrib"
    room = open_room(package, plant.room)
    if plant.sees:
        open_room(package, plant.sees)
    if room.is_file():
        room.write_text(f"{plant.line}\n{room.read_text()}")
    else:
        (room / "planted.py").write_text(f"{plant.line}\n")


@pytest.mark.parametrize("plant", PLANTS, ids=name_of)
def test_a_planted_violation_is_caught_by_its_contract(copy: Path, plant: Plant) -> None:
    plant_in(copy, plant)
    code, broken, said = check_contract(copy)
    assert code == 1, said
    assert plant.contract in broken, said


@pytest.mark.parametrize("plant", ALLOWED, ids=name_of)
def test_what_a_room_may_import_is_let_through(copy: Path, plant: Plant) -> None:
    plant_in(copy, plant)
    code, broken, said = check_contract(copy)
    assert (code, broken) == (0, set()), said


def imported_roots(path: Path) -> set[str]:
    """The top-level names that a file imports absolutely."""
    roots: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            roots |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            roots.add(node.module.partition(".")[0])
    return roots


def foreign_imports(*rooms: Path) -> dict[str, set[str]]:
    """What files of these rooms import beyond the standard library and the package itself."""
    own = sys.stdlib_module_names | {"toolcrib"}
    files = [file for room in rooms for file in (room, *room.rglob("*.py")) if file.is_file()]
    foreign = {str(path): imported_roots(path) - own for path in files}
    return {path: names for path, names in foreign.items() if names}


def test_errors_core_and_protocol_import_the_standard_library_only() -> None:
    assert foreign_imports(SOURCE / "errors.py", SOURCE / "core", SOURCE / "protocol") == {}


def test_a_foreign_import_is_noticed(tmp_path: Path) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text("import json\nfrom pydantic import BaseModel\n")
    assert foreign_imports(tmp_path) == {str(planted): {"pydantic"}}


def test_errors_import_nothing_of_toolcrib() -> None:
    assert "toolcrib" not in imported_roots(SOURCE / "errors.py")
