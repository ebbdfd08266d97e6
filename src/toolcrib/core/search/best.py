"""The best of many numbers, without putting all of them in order."""

from collections.abc import Collection
from itertools import islice
from typing import Final

_SAMPLE: Final = 64
"""Numbers that are put in order to see from where on there are about as many as are wanted."""
_SPARE: Final = 4
"""Of the sample, how many more are let in than are expected to be needed."""


def highest(values: Collection[float], k: int) -> list[float]:
    """The `k` largest of at least `k` numbers, the largest first; equal ones count each."""
    step = len(values) // _SAMPLE
    if step > 1:
        sample = sorted(islice(values, None, None, step), reverse=True)
        least = sample[min(len(sample) - 1, 2 * k // step + _SPARE)]
        near = [value for value in values if value >= least]
        if len(near) >= k:
            return sorted(near, reverse=True)[:k]
    return sorted(values, reverse=True)[:k]
