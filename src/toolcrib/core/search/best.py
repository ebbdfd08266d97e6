"""The best of many numbers, without putting all of them in order."""

from collections.abc import Collection
from typing import Final

_NEAR: Final = (1 / 2, 1 / 4, 1 / 8)
"""Shares of the best number above which the wanted one is looked for, one after the other."""


def kth_best(values: Collection[float], k: int) -> float:
    """The `k`-th largest of at least `k` numbers; equal ones count each.

    Nearly all scores are far below the best one, so only what is near it is put in order.
    """
    top = max(values)
    for share in _NEAR:
        least = top * share
        near = [value for value in values if value >= least]
        if len(near) >= k:
            return sorted(near, reverse=True)[k - 1]
    return sorted(values, reverse=True)[k - 1]
