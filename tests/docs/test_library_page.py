"""docs/library.md: its programs print what it says, and no public name or error is left out."""

import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import toolcrib
from toolcrib import Crib, errors
from toolcrib.errors import ToolcribError
from toolcrib.testing.live.room import Room

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/library.md").read_text()
FENCES: list[tuple[str, str]] = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
PRINTING = [
    (program, told)
    for (language, program), (after, told) in pairwise(FENCES)
    if (language, after) == ("python", "text")
]


def rows(name: str) -> list[list[str]]:
    """The cells of a marked table, without its head."""
    table = PAGE.partition(f"table: {name} -->\n")[2].partition("<!-- end -->")[0]
    return [[it.strip() for it in line.split("|")[1:-1]] for line in table.splitlines()[2:]]


def test_every_program_is_followed_by_what_it_prints() -> None:
    assert len(PRINTING) == 3
    assert [language for language, _ in FENCES] == ["python", "text"] * 3


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("program", "told"), PRINTING)
def test_a_program_prints_what_is_shown(program: str, told: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=Room(tmp_path).env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == told


def test_a_program_under_trio_prints_the_same(tmp_path: Path) -> None:
    program, told = PRINTING[2]
    assert "It works under asyncio and under Trio" in PAGE
    done = subprocess.run(
        [sys.executable, "-c", program.replace("run(main)", "run(main, backend='trio')")],
        cwd=ROOT,
        env=Room(tmp_path).env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, told)


async def test_an_error_that_leaves_the_block_can_be_caught_around_it() -> None:
    with pytest.raises(errors.ToolGone):
        async with Crib.start(toolcrib.Settings()) as crib:
            await crib.call("nobody")


def test_settings_by_hand_keep_nothing_on_disk() -> None:
    store = toolcrib.Settings().store
    assert (store.path, store.vault) == (None, None)
    assert "nothing is kept on disk" in " ".join(PAGE.split())


# ---------------------------------------------------------------- complete


def test_every_public_name_has_its_line_and_nothing_else_has_one() -> None:
    assert [name.strip("`") for name, _ in rows("names")] == toolcrib.__all__
    assert all(meaning for _, meaning in rows("names"))


def shown_signature(name: str) -> str:
    """A call as the table writes it."""
    parameters = [
        it for it in inspect.signature(getattr(Crib, name)).parameters.values() if it.name != "self"
    ]
    shown = [
        it.name
        if it.default is it.empty
        else f"{it.name}=…"
        if it.name in {"requester", "principal"}
        else f"{it.name}={it.default!r}".replace("'", '"')
        for it in parameters
    ]
    owner = "Crib" if name in {"start", "open"} else "crib"
    return f"`{owner}.{name}({', '.join(shown)})`"


def test_every_method_has_its_line_with_its_parameters() -> None:
    methods = [it for it in vars(Crib) if not it.startswith("_")]
    assert {call for call, _ in rows("crib")} == {shown_signature(it) for it in methods}


def every_error(root: type[ToolcribError]) -> Iterator[type[ToolcribError]]:
    for child in root.__subclasses__():
        if child.__module__ == errors.__name__:
            yield child
        yield from every_error(child)


def test_every_error_has_its_line_with_its_code() -> None:
    shown = {name.strip("`"): code.strip("`") for name, code, _ in rows("errors")}
    kinds = {"ModelMustAdapt", "PersonMustDecide", "OperatorMustFix"}
    assert shown == {
        it.__name__: "" if it.__name__ in kinds else it.code for it in every_error(ToolcribError)
    }
    assert all(when for _, _, when in rows("errors"))


def test_an_error_stands_below_its_kind() -> None:
    kinds = {"ModelMustAdapt", "PersonMustDecide", "OperatorMustFix"}
    kind, apart = "", {"CapabilityMissing", "NotAllowed", "SnapshotRefused", "UpstreamRefused"}
    for name, _, _ in rows("errors"):
        plain = name.strip("`")
        if plain in kinds:
            kind = plain
        elif plain not in {*apart, "ToolcribBug"}:
            assert issubclass(getattr(errors, plain), getattr(errors, kind)), plain
