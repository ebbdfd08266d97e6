"""How the house is furnished: no junk rooms, no file too long to read in one go."""

from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "toolcrib"
JUNK_ROOMS = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "managers"}
LONGEST, LONGEST_IN_CORE = 450, 250
GENERATED = "_generated_"
"""What the name of a generated file starts with: such a file may be as long as it needs to be."""


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def limit_of(path: Path) -> int:
    return LONGEST_IN_CORE if SOURCE / "core" in path.parents else LONGEST


def test_no_module_is_named_after_nothing() -> None:
    names = {part for path in modules() for part in path.relative_to(SOURCE).with_suffix("").parts}
    junk = {name for name in names if JUNK_ROOMS & set(name.split("_"))}
    assert junk == set()


def test_no_hand_written_file_is_too_long() -> None:
    lengths = {
        str(path.relative_to(SOURCE)): (len(path.read_text().splitlines()), limit_of(path))
        for path in modules()
        if not path.name.startswith(GENERATED)
    }
    too_long = {name: found for name, found in lengths.items() if found[0] > found[1]}
    assert too_long == {}


def test_the_package_says_that_it_is_typed() -> None:
    assert (SOURCE / "py.typed").exists()
