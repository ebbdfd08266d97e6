"""Modules of odd and hostile tools as type checkers read them: Monty's own, and Deno's."""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pydantic_monty import (
    FunctionSnapshot,
    Monty,
    MontyRuntimeError,
    MontyTypingError,
)

from toolcrib.adapters.deno.command import find_deno
from toolcrib.adapters.monty.checking import GATE
from toolcrib.adapters.monty.modules import external_modules
from toolcrib.core.snapshot import Item
from toolcrib.core.stubs.server_stubs import ServerStubs, server_stubs
from toolcrib.ports import Program, SandboxModule
from toolcrib.testing import hostile_json, odd_schemas

DEFINITIONS: st.SearchStrategy[Any] = hostile_json.often(
    (1, odd_schemas.DEFINITIONS), (1, hostile_json.DEFINITIONS)
)
SERVERS = st.lists(DEFINITIONS, min_size=24, max_size=24)
MODULES: Final = 36
SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)

_DEFINED: Final = re.compile(r"^(?:class (\w+)|(\w+) = )", re.MULTILINE)
_QUOTED: Final = re.compile(r"`(\w+)`")


def module(definitions: list[dict[str, Any]]) -> ServerStubs:
    """A server with these tools, some under names of their own and some under odd ones."""
    items: list[Item] = []
    for number, definition in enumerate(definitions):
        name = str(definition.get("name"))
        items.append(Item(f"{number}_{name}" if number % 3 else name, definition, "", ""))
    return server_stubs("s", "s", items)


@pytest.fixture(scope="module")
def monty() -> Iterator[Monty]:
    with Monty() as pool:
        yield pool


def findings(pool: Monty, text: str, **modules: str) -> list[dict[str, Any]]:
    """What the checker says of a program, without the line that keeps it from running."""
    seen = {name: SandboxModule(each, frozenset()) for name, each in modules.items()}
    outside = external_modules(Program(text, seen), {})
    with pool.checkout(
        type_check=True, type_check_format="json", external_modules=outside
    ) as session:
        try:
            step = session.feed_start(f"{GATE}\n{text}")
            while isinstance(step, FunctionSnapshot) and step.is_os_function:
                step = step.resume_auto()
        except MontyTypingError as error:
            found: list[dict[str, Any]] = json.loads(error.display())
            return [it for it in found if it["location"]["row"] > 1]
        except MontyRuntimeError as error:
            if not isinstance(error.exception(), AssertionError):  # of the gate
                raise
    return []


def is_of_stubs(finding: Mapping[str, Any], text: str) -> bool:
    """Whether it is about what declarations alone may have: no bodies, no order, new words."""
    code, message = finding["code"], finding["message"]
    if code == "unresolved-reference":
        defined = {name for pair in _DEFINED.findall(text) for name in pair if name}
        return set(_QUOTED.findall(message)) <= defined
    newer = "`extra_items` parameter of `typing.TypedDict` was added in" in message
    return newer or code == "empty-body" or "EllipsisType" in message


@settings(max_examples=MODULES, suppress_health_check=SLOW)
@given(definitions=SERVERS)
def test_the_checker_of_monty_finds_nothing_in_any_module(
    monty: Monty, definitions: list[dict[str, Any]]
) -> None:
    stubs = module(definitions)
    text = stubs.text("python")
    assert [it for it in findings(monty, text) if not is_of_stubs(it, text)] == []
    names = ", ".join(stubs.stubs)
    assert findings(monty, f"from s import {names}", s=text) == []


def test_the_checker_of_monty_does_read_what_it_is_given(monty: Monty) -> None:
    bad = "from typing import Literal\nasync def f(*, a: Missing, b: Literal[x]) -> int: ...\n"
    found = [it for it in findings(monty, bad) if not is_of_stubs(it, bad)]
    assert {it["code"] for it in found} >= {"unresolved-reference"}
    assert findings(monty, "from s import g", s=bad) != []


def test_types_that_are_named_before_they_are_defined_are_known(monty: Monty) -> None:
    """Also those whose keys are no identifiers, and which so are no classes."""
    tree: dict[str, Any] = {
        "type": "object",
        "properties": {"a b": {"$ref": "#"}, "n": {"type": "integer"}},
        "required": ["a b", "n"],
    }
    definition = {"name": "t", "inputSchema": {"type": "object"}, "outputSchema": tree}
    text = server_stubs("s", "s", [Item("t", definition, "", "")]).text("python")
    program = "from s import t\nx = await t()\ny: {} = x['a b']['a b']['n']"
    assert findings(monty, program.format("int"), s=text) == []
    (found,) = findings(monty, program.format("str"), s=text)
    assert found["location"]["row"] == 4


def test_the_checker_of_deno_finds_nothing_in_any_module(tmp_path: Path) -> None:
    """All of them at once: it takes a second to begin."""
    written: list[str] = []

    @settings(max_examples=MODULES, phases=[Phase.generate], suppress_health_check=SLOW)
    @given(SERVERS)
    def write(definitions: list[dict[str, Any]]) -> None:
        stubs = module(definitions)
        name = f"m{len(written)}.d.ts"
        (tmp_path / name).write_text(stubs.text("typescript"), encoding="utf-8")
        names = ", ".join(f"{it} as {it}_{len(written)}" for it in stubs.stubs)
        written.append(f'export {{ {names} }} from "./{name}";')

    write()
    (tmp_path / "all.ts").write_text("\n".join(written), encoding="utf-8")
    assert said_by_deno(tmp_path) == ""
    assert len(written) >= MODULES
    (tmp_path / "bad.d.ts").write_text("export function f(): Missing;", encoding="utf-8")
    assert "Cannot find name 'Missing'" in said_by_deno(tmp_path)


def said_by_deno(folder: Path) -> str:
    """What `deno check` finds in all files of a folder."""
    files = sorted(path.name for path in folder.glob("*.ts"))
    off = ["--quiet", "--no-remote", "--no-npm", "--no-lock", "--no-config"]
    ran = subprocess.run(
        [find_deno(), "check", *off, *files],
        cwd=folder,
        env={"DENO_DIR": str(folder / "cache"), "NO_COLOR": "1", "DENO_NO_UPDATE_CHECK": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode == 0) is (ran.stderr == "")
    return ran.stderr
