"""`import toolcrib` gives the public names, and costs nothing until one is used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import toolcrib

SOURCE = Path(toolcrib.__file__).read_text()


@pytest.mark.parametrize("name", toolcrib.__all__)
def test_a_public_name_is_there_and_documented(name: str) -> None:
    found = getattr(toolcrib, name)
    assert name in dir(toolcrib)
    if isinstance(found, type):
        assert found.__doc__


def test_what_type_checkers_see_is_what_there_is() -> None:
    imports = {
        (alias.name, node.module)
        for node in ast.walk(ast.parse(SOURCE))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("toolcrib.")
        for alias in node.names
    }
    homes = toolcrib._HOMES  # pyright: ignore[reportPrivateUsage]
    assert imports == {*homes.items(), ("__version__", "toolcrib.version")}
    assert [*toolcrib.__all__] == sorted([*homes, "__version__"], key=_as_ruff_sorts)


def _as_ruff_sorts(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="'toolcrib' has no attribute 'nothing'"):
        getattr(toolcrib, "nothing")  # noqa: B009 - there is no such attribute to write down


def test_importing_it_imports_no_room() -> None:
    program = "import sys, toolcrib; print(*(n for n in sys.modules if n.startswith('toolcrib')))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) == {"toolcrib", "toolcrib.version"}
