"""What chance makes of a mean, and of the difference of two: a paired bootstrap.

Every resample draws as many tasks as there are, with replacement, and all rankings are averaged
over the same draw, so that a difference is one between answers to the same tasks.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from random import Random
from typing import Final, Literal

RESAMPLES: Final = 10_000
SEED: Final = 20_260_728
CERTAIN: Final = 0.05
"""The p below which a difference counts."""

_EXACT: Final = 1 << 32
"""Scores are summed as whole numbers of this part, so that equal sums are equal."""

Values = Sequence[float]
"""The values of one metric, one for each task, always in the same order."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean, and where it lies with 95 % confidence."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference(Estimate):
    """How far a mean lies above that of the baseline, over the same tasks."""

    p: float
    """Two-sided: how likely a difference as sure as this one is where there is none."""

    @property
    def verdict(self) -> Literal["above", "below", "even"]:
        """Whether it counts, and in which direction."""
        if self.p >= CERTAIN:
            return "even"
        return "above" if self.mean > 0 else "below"


class Bootstrap:
    """The means of several columns of values over the same resamples."""

    def __init__(
        self, columns: Mapping[str, Values], *, resamples: int = RESAMPLES, seed: int = SEED
    ) -> None:
        """ValueError where there is no column, or they differ in length, or are empty."""
        lengths = {len(column) for column in columns.values()}
        if len(lengths) != 1 or lengths == {0}:
            raise ValueError("columns need the same tasks, and at least one")
        (self._tasks,) = lengths
        self._exact = {
            name: tuple(round(value * _EXACT) for value in column)
            for name, column in columns.items()
        }
        self._sums = _sums(tuple(self._exact.values()), self._tasks, resamples, seed)

    def estimate(self, column: str) -> Estimate:
        """The mean of a column."""
        low, high = self._interval(sorted(self._of(column)))
        return Estimate(self._mean(sum(self._exact[column])), low, high)

    def difference(self, column: str, baseline: str) -> Difference:
        """The mean of a column less that of another one."""
        drawn = sorted(
            one - other for one, other in zip(self._of(column), self._of(baseline), strict=True)
        )
        low, high = self._interval(drawn)
        mean = self._mean(sum(self._exact[column]) - sum(self._exact[baseline]))
        not_above = sum(each <= 0 for each in drawn)
        not_below = sum(each >= 0 for each in drawn)
        p = 2 * (min(not_above, not_below) + 1) / (len(drawn) + 1)
        # Few tasks look surer in resamples than they are: chance alone turns all of them one way
        # this often.
        alike = 2.0 ** (1 - self._tasks)
        return Difference(mean, low, high, min(max(p, alike), 1.0))

    def _of(self, column: str) -> list[int]:
        return self._sums[tuple(self._exact).index(column)]

    def _mean(self, total: int) -> float:
        return total / _EXACT / self._tasks

    def _interval(self, drawn: Sequence[int]) -> tuple[float, float]:
        """The middle 95 % of sorted sums, as means."""
        out = len(drawn) // 40
        return self._mean(drawn[out]), self._mean(drawn[-1 - out])


def _sums(
    columns: Sequence[tuple[int, ...]], tasks: int, resamples: int, seed: int
) -> list[list[int]]:
    """The sum of each column over each resample."""
    draw = Random(seed).choices  # noqa: S311 - the same draws in every run
    places = range(tasks)
    padded = [(*column, 0) for column in columns]
    sums: list[list[int]] = [[] for _ in columns]
    for _ in range(resamples):
        # A single place would make it give a value instead of a tuple; a second one adds a zero.
        chosen: Callable[[tuple[int, ...]], tuple[int, ...]] = itemgetter(
            *draw(places, k=tasks), tasks
        )
        for column, found in zip(padded, sums, strict=True):
            found.append(sum(chosen(column)))
    return sums
