"""What a run of tests tells at its end of the hostile programs in it, over all of its processes.

A test records what its program took; reports carry that from process to process.
"""

from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass
from typing import Any, Final

from toolcrib.testing.gauged import Taken

_KEY: Final = "hostile program"
_MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Row:
    language: str
    name: str
    peak: int
    host: int
    seconds: float


def record(
    keep: Callable[[str, object], None], language: str, name: str, taken: Taken, seconds: float
) -> None:
    """Keep what a program took.

    Args:
        keep: The fixture `record_property` of its test.
        language: Of the program.
        name: Of the program.
        taken: What it took.
        seconds: How long it ran.
    """
    keep(_KEY, list(astuple(_Row(language, name, taken.peak, taken.host, seconds))))


def told(reports: Iterable[Any]) -> list[str]:
    """A line for each language; none where no hostile program ran.

    Args:
        reports: Whatever pytest keeps; what is no report of a test that ran does not matter.
    """
    rows: dict[str, list[tuple[_Row, bool]]] = {}
    for report in reports:
        if getattr(report, "when", "") != "call":
            continue
        for key, value in report.user_properties:
            if key == _KEY:
                row = _Row(*value)
                rows.setdefault(row.language, []).append((row, report.passed))
    return [_line(language, rows[language]) for language in sorted(rows)]


def _line(language: str, rows: list[tuple[_Row, bool]]) -> str:
    contained = sum(passed for _, passed in rows)
    fattest = max((row for row, _ in rows), key=lambda row: row.peak)
    heaviest = max((row for row, _ in rows), key=lambda row: row.host)
    longest = max((row for row, _ in rows), key=lambda row: row.seconds)
    return (
        f"{language}: {contained} of {len(rows)} contained; "
        f"peak of a worker {fattest.peak / _MIB:.0f} MiB ({fattest.name}), "
        f"growth of the host {heaviest.host / _MIB:.0f} MiB ({heaviest.name}), "
        f"longest {longest.seconds:.1f} s ({longest.name})"
    )
