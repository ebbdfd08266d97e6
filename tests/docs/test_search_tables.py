"""The tables of docs/search.md on quality, steps and stuffing are those that benchmarks print."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from test_search_benches import put

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/search.md").read_text()


def table(name: str) -> list[str]:
    """The lines of a marked table."""
    return PAGE.partition(f"figures: {name} -->\n")[2].partition("<!-- end -->")[0].splitlines()


def cells(line: str) -> list[str]:
    return [it.strip() for it in line.split("|")[1:-1]]


def printed(script: str, folder: Path, *options: str) -> list[list[list[str]]]:
    """The cells of the tables that a program in `bench` prints, with their heads."""
    done = subprocess.run(
        [sys.executable, f"bench/{script}.py", str(folder), *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr
    tables = done.stdout.strip().split("\n\n")
    return [[cells(line) for line in it.splitlines() if set(line) - set("|-")] for it in tables]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    names = ["get_file", "delete_file", "create_folder", "search_image", "send-message", "runQuery"]
    for name in ("livemcp", "livemcp_steps", "metatool"):
        put(tmp_path, name, names, "known")
    return tmp_path


def test_what_is_in_bold_is_significantly_above_what_it_is_compared_with() -> None:
    baseline: list[float] = []
    head, _, *lines = table("quality")
    metrics = cells(head)[2:-1]
    assert metrics == ["nDCG@10", "R@5", "R@10", "MRR"]
    for line in lines:
        _, search, *figures, chances = cells(line)
        means = [float(re.sub(r"^\*?\*?(\.\d+).*", r"\1", it)) for it in figures]
        for mean, figure in zip(means, figures, strict=True):
            low, high = map(float, re.findall(r"(\.\d+|1\.\d+)(?: to|\))", figure)[-2:])
            assert low <= mean <= high, line
        if not search.startswith("`"):
            baseline = means
            continue
        told = [float(it.removeprefix("<")) for it in chances.split(", ")]
        for mean, other, figure, p in zip(means, baseline, figures, told, strict=True):
            assert figure.startswith("**") == (p < 0.05 and mean > other), (line, p)


def test_nothing_is_significantly_below_what_it_is_compared_with() -> None:
    searches = [cells(line)[1] for line in table("quality")[2:]]
    assert searches == ["FastMCP 4.2.3", "`lexical`", "`hybrid`"] * (len(searches) // 3)
    first = [cells(line)[2] for line in table("quality")[2:]]
    assert all(first[at].startswith("**") for at in range(len(first)) if at % 3)


@pytest.mark.timeout(240)
def test_the_tables_of_steps_are_those_that_the_ladder_prints(folder: Path) -> None:
    words, meaning = printed("ladder", folder, "--alone")
    named = ("ladder", "meaning")
    for name, made in zip(named, (words, meaning), strict=True):
        rows = [cells(line) for line in table(name)]
        steps = [row[0] for row in rows[2:] if not row[0].startswith("FastMCP")]
        assert steps == [row[0] for row in made[1:]]
        assert rows[0][-1] == made[0][-1] == "mean"
    # A name is found by itself, once identifiers are taken apart; in the last rows by everything.
    assert words[-1][1:] == ["1.000"] * 4
    assert words[-1][1:] == meaning[1][1:], "words alone are the last step"


@pytest.mark.timeout(240)
def test_the_tables_of_stuffing_are_those_that_are_printed(folder: Path) -> None:
    repeating, imitating = printed("stuffing", folder)
    for name, made in (("stuffing", repeating), ("imitation", imitating)):
        rows = [cells(line) for line in table(name)]
        assert rows[0] == made[0]
        assert [row[0] for row in rows[2:]] == [row[0] for row in made[1:]]


def test_the_last_steps_are_what_the_table_of_quality_has() -> None:
    quality = {(cells(line)[0], cells(line)[1]): cells(line)[2] for line in table("quality")[2:]}
    for name, search, last in (
        ("ladder", "`lexical`", cells(table("ladder")[-1])),
        ("meaning", "`hybrid`", cells(table("meaning")[-3])),
    ):
        sets = cells(table(name)[0])[1:-1]
        for one, mean in zip(sets, last[1:], strict=False):
            assert quality[one, search].strip("*").startswith(mean), (name, one)


@pytest.mark.parametrize("bench", ["quality", "ladder", "stuffing"])
def test_the_command_that_prints_a_table_stands_at_it(bench: str) -> None:
    assert f"make bench BENCH={bench} ARGS=FOLDER" in " ".join(PAGE.split())
    assert f"| `{bench}` |" in (ROOT / "bench/README.md").read_text()
