"""The tables of docs/search.md: what is marked in them is so, and one says what the other does."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/search.md").read_text()


def table(name: str) -> list[str]:
    """The lines of a marked table."""
    return PAGE.partition(f"figures: {name} -->\n")[2].partition("<!-- end -->")[0].splitlines()


def cells(line: str) -> list[str]:
    return [it.strip() for it in line.split("|")[1:-1]]


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
